//! Messages that leave compressed (RFC 7692, 7.2.1).

use zlib_rs::{DeflateConfig, DeflateFlush};

use crate::deflate::inflating::TAIL;
use crate::deflate::settings::{Deflate, library_window_bits};

/// A block without anything in it, but for the end that is not sent (7.2.3.6).
const EMPTY: u8 = 0;

/// The sending half of what was agreed on.
pub struct Deflating {
    settings: Deflate,
    window_bits: u8,
    /// Our messages do not refer to earlier ones.
    resets: bool,
    /// It is built when the first message is compressed.
    stream: Option<zlib_rs::Deflate>,
    /// The message under way is compressed.
    pub is_inside: bool,
}

impl Deflating {
    pub const fn new(settings: Deflate, window_bits: u8, resets: bool) -> Self {
        Self { settings, window_bits, resets, stream: None, is_inside: false }
    }

    pub const fn memory_bytes(&self) -> usize {
        match self.stream {
            Some(_) => self.settings.sending_bytes_max(self.window_bits),
            None => 0,
        }
    }

    /// Whether a message that begins with so many bytes is worth it.
    pub const fn wants(&self, bytes: usize) -> bool {
        bytes >= self.settings.threshold_bytes
    }

    /// Whether each message stands by itself: one can be left out then.
    pub const fn resets(&self) -> bool {
        self.resets
    }

    /// The most that so many bytes become: nine bits for each, the heads of blocks of 127, and an
    /// end. `None` when that is beyond what can be counted.
    pub fn bytes_max(bytes: usize) -> Option<usize> {
        bytes.checked_add(bytes / 8)?.checked_add(bytes / 32)?.checked_add(64)
    }

    /// Compresses a part of a message into this place, which has room for
    /// [`Deflating::bytes_max`]: how long it is then. `None` when the library does not do what it
    /// says, which nothing that is sent can bring about.
    pub fn compress(
        &mut self,
        part: &[u8],
        is_first: bool,
        is_last: bool,
        place: &mut [u8],
    ) -> Option<usize> {
        let (settings, bits) = (self.settings, library_window_bits(self.window_bits));
        let is_built = self.stream.is_some();
        let stream = self.stream.get_or_insert_with(|| {
            zlib_rs::Deflate::new_with_config(DeflateConfig {
                window_bits: -i32::from(bits),
                mem_level: i32::from(settings.memory_level),
                ..DeflateConfig::new(i32::from(settings.level))
            })
        });
        if is_built && is_first && self.resets {
            stream.reset();
        }
        if part.is_empty() {
            // The library has nothing to flush.
            let first = place.first_mut()?;
            *first = EMPTY;
            return Some(usize::from(is_last));
        }
        let (read, written) = (stream.total_in(), stream.total_out());
        stream.compress(part, place, DeflateFlush::SyncFlush).ok()?;
        let (taken, made) = (stream.total_in() - read, (stream.total_out() - written) as usize);
        let is_whole = taken == part.len() as u64 && made < place.len();
        let made = place.get(..made).filter(|_| is_whole)?;
        if !is_last {
            return Some(made.len());
        }
        made.strip_suffix(&TAIL).map(<[u8]>::len)
    }
}

impl core::fmt::Debug for Deflating {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Deflating")
            .field("settings", &self.settings)
            .field("window_bits", &self.window_bits)
            .field("resets", &self.resets)
            .finish_non_exhaustive()
    }
}
