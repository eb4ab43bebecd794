//! Messages that come compressed (RFC 7692, 7.2.2).

use taut_simd::Level;
use zlib_rs::{Inflate, InflateFlush, Status};

use crate::deflate::settings::{Deflate, WINDOW_BITS_MAX};
use crate::error::Violation;
use crate::message::Message;

/// The end of every message, which is not sent: an empty block.
pub const TAIL: [u8; 4] = [0, 0, 0xff, 0xff];
/// So much is unmasked at a time.
const PIECE_BYTES: usize = 2048;

/// The receiving half of what was agreed on.
pub struct Inflating {
    /// The peer's messages do not refer to earlier ones.
    resets: bool,
    /// It is built when the first compressed message comes.
    stream: Option<Inflate>,
    /// The last byte so far was the last of a stream that says that it ends.
    has_ended: bool,
}

impl Inflating {
    pub const fn new(resets: bool) -> Self {
        Self { resets, stream: None, has_ended: false }
    }

    pub const fn memory_bytes(&self) -> usize {
        if self.stream.is_some() { Deflate::RECEIVING_BYTES_MAX } else { 0 }
    }

    /// Takes payload, masked from this place of its frame on.
    pub fn take_masked(
        &mut self,
        level: Level,
        payload: &[u8],
        mut key: [u8; 4],
        payload_done: u64,
        message: &mut Message,
    ) -> Result<(), Violation> {
        key.rotate_left((payload_done & 3) as usize);
        let mut place = [0; PIECE_BYTES];
        // A piece is a multiple of the key: each begins with it.
        for piece in payload.chunks(PIECE_BYTES) {
            let place = place.get_mut(..piece.len()).unwrap_or(&mut []);
            level.mask_into(place, piece, key);
            self.take(place, message)?;
        }
        Ok(())
    }

    /// The message has all its payload.
    pub fn finish(&mut self, message: &mut Message) -> Result<(), Violation> {
        if !core::mem::take(&mut self.has_ended) {
            self.take(&TAIL, message)?;
            self.has_ended = false;
        }
        if self.resets
            && let Some(stream) = &mut self.stream
        {
            stream.reset(false);
        }
        Ok(())
    }

    /// Takes payload: what it says goes to the message, and not a byte beyond the longest one.
    pub fn take(&mut self, payload: &[u8], message: &mut Message) -> Result<(), Violation> {
        if payload.is_empty() {
            return Ok(());
        }
        self.has_ended = false;
        let stream = self.stream.get_or_insert_with(|| Inflate::new(false, WINDOW_BITS_MAX));
        let mut rest = payload;
        loop {
            // Whether there is more than a message may have, one byte tells.
            let mut beyond = [0; 1];
            let is_full = message.is_full();
            let place = if is_full { &mut beyond[..] } else { message.room() };
            let place_bytes = place.len();
            let (read, written) = (stream.total_in(), stream.total_out());
            let status = stream.decompress(rest, place, InflateFlush::SyncFlush);
            let status = status.map_err(|_| Violation::Deflate)?;
            let taken = (stream.total_in() - read) as usize;
            let made = (stream.total_out() - written) as usize;
            if is_full && made > 0 {
                return Err(Violation::MessageBytes);
            }
            message.wrote(made);
            rest = rest.get(taken..).unwrap_or(&[]);
            if status == Status::StreamEnd {
                // A sender may end its stream with a message, and begin another (7.2.3.4).
                stream.reset(false);
                if rest.is_empty() {
                    self.has_ended = true;
                    return Ok(());
                }
            } else if rest.is_empty() && made < place_bytes {
                return Ok(());
            } else if taken == 0 && made == 0 {
                return Err(Violation::Deflate);
            }
        }
    }
}

impl core::fmt::Debug for Inflating {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Inflating").field("resets", &self.resets).finish_non_exhaustive()
    }
}
