//! What a channel carries: streams of ticks, of messages of any size, and plain regions.

use taut_ring::{Control, broadcast, cell, control_words, log, mpsc};
use taut_sync::atomic::AtomicU64;

use crate::error::IpcError;
use crate::header::{Descriptor, NAME_BYTES};

/// What a stream carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    /// Messages of 56 bytes, a cache line each.
    Ticks {
        /// Slots, a power of two.
        slot_count: usize,
    },
    /// Messages of any size up to an eighth of the capacity.
    Log {
        /// Capacity in bytes, a power of two.
        capacity_bytes: usize,
    },
    /// Messages of 56 bytes from many writers to the one who owns the stream.
    Requests {
        /// Slots, a power of two.
        slot_count: usize,
    },
    /// The newest value of some words.
    Cell {
        /// Its words of 8 bytes.
        word_count: usize,
    },
}

/// A stream of a channel, as it is created or asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream<'a> {
    /// Its name within the channel, at most 31 bytes.
    pub name: &'a str,
    /// What it carries.
    pub kind: StreamKind,
    /// Readers that may register, for the writer to wait for; of requests, writers at a time.
    pub reader_count: usize,
    /// What its messages look like, such as [`layout_hash`] of their schema; 0 for raw bytes.
    pub layout: u64,
}

/// A number for a layout: the hash of its description, such as the text of an SBE schema (FNV-1a).
#[must_use]
pub const fn layout_hash(description: &str) -> u64 {
    let bytes = description.as_bytes();
    let mut hash = 0xCBF2_9CE4_8422_2325_u64;
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0000_0100_0000_01B3);
        at += 1;
    }
    hash
}

const TICKS: u64 = 1;
const LOG: u64 = 2;
const REQUESTS: u64 = 3;
const CELL: u64 = 4;
/// The largest cell: a page.
const CELL_WORDS_MAX: usize = 512;

impl Stream<'_> {
    /// How the header describes it.
    pub(crate) fn descriptor(&self) -> Result<Descriptor, IpcError> {
        let bytes = self.name.as_bytes();
        if bytes.is_empty() || bytes.len() >= NAME_BYTES || bytes.contains(&0) {
            return Err(IpcError::Name);
        }
        let mut name = [0; NAME_BYTES];
        name[..bytes.len()].copy_from_slice(bytes);
        let (kind, capacity, least) = match self.kind {
            StreamKind::Ticks { slot_count } => (TICKS, slot_count, 2),
            StreamKind::Log { capacity_bytes } => (LOG, capacity_bytes, log::LOG_BYTES_MIN),
            StreamKind::Requests { slot_count } => (REQUESTS, slot_count, 2),
            StreamKind::Cell { word_count } => (CELL, word_count, 1),
        };
        let sane = match kind {
            CELL => (least..=CELL_WORDS_MAX).contains(&capacity),
            _ => capacity.is_power_of_two() && (least..=1 << 40).contains(&capacity),
        };
        if !sane || self.reader_count > 1024 {
            return Err(IpcError::Misuse);
        }
        let words = words_for(kind, capacity, self.reader_count);
        let (layout, reader_count) = (self.layout, self.reader_count);
        Ok(Descriptor { kind, words, capacity, reader_count, layout, name, ..Default::default() })
    }
}

fn words_for(kind: u64, capacity: usize, reader_count: usize) -> usize {
    match kind {
        TICKS => broadcast::words_for(capacity, reader_count),
        LOG => log::words_for(capacity, reader_count),
        // In front of these stand the words of the owner and of the sleepers alone.
        REQUESTS => control_words(0) + mpsc::words_for(capacity, reader_count),
        _ => control_words(0) + cell::words_for(capacity),
    }
}

impl Descriptor {
    /// The stream that it describes, if it does and its sizes agree.
    pub(crate) fn stream(&self) -> Option<Stream<'_>> {
        let kind = match self.kind {
            TICKS => StreamKind::Ticks { slot_count: self.capacity },
            LOG => StreamKind::Log { capacity_bytes: self.capacity },
            REQUESTS => StreamKind::Requests { slot_count: self.capacity },
            CELL => StreamKind::Cell { word_count: self.capacity },
            _ => return None,
        };
        let name = std::str::from_utf8(self.name()).ok()?;
        let stream = Stream { name, kind, reader_count: self.reader_count, layout: self.layout };
        let expected = stream.descriptor().ok()?;
        (expected.words == self.words).then_some(stream)
    }

    pub(crate) const fn ticks_layout(&self) -> broadcast::Layout {
        broadcast::Layout { slot_count: self.capacity, reader_count: self.reader_count }
    }

    pub(crate) const fn log_layout(&self) -> log::Layout {
        log::Layout { capacity_bytes: self.capacity, reader_count: self.reader_count }
    }
}

impl Descriptor {
    pub(crate) const fn requests_layout(&self) -> mpsc::Layout {
        mpsc::Layout { slot_count: self.capacity, producer_count: self.reader_count }
    }
}

/// What stands behind the control words of a stream of requests or a cell.
pub(crate) fn behind_control(words: &[AtomicU64]) -> &[AtomicU64] {
    words.get(control_words(0)..).unwrap_or(&[])
}

/// The control words of a stream.
pub(crate) fn control_of<'m>(
    words: &'m [AtomicU64],
    descriptor: &Descriptor,
) -> Result<Control<'m>, IpcError> {
    let has_readers = matches!(descriptor.kind, TICKS | LOG);
    Ok(Control::of(words, if has_readers { descriptor.reader_count } else { 0 })?)
}
