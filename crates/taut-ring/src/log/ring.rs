//! The memory of a log: words of records, by position.

use taut_simd::{prefetch_read, prefetch_write};
use taut_sync::atomic::AtomicU64;

use crate::bytes::WORD_BYTES;

pub(crate) const WORD: u64 = WORD_BYTES as u64;
/// How many bytes ahead a writer asks for its line: three. Without it, in a ring that fits a cache,
/// the writer's stores wait for each line that the reader has; 320 bytes are as good.
const CLAIM_AHEAD: u64 = 192;
/// How many bytes ahead a reader asks for its line: four.
const FETCH_AHEAD: u64 = 256;

/// The words of a log, by position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ring<'m> {
    words: &'m [AtomicU64],
}

impl<'m> Ring<'m> {
    /// The words of a ring, a power of two of them.
    pub(crate) const fn new(words: &'m [AtomicU64]) -> Self {
        Self { words }
    }

    pub(crate) const fn bytes(self) -> u64 {
        self.words.len() as u64 * WORD
    }

    #[inline]
    fn index(self, position: u64) -> usize {
        // The mask keeps the index below the length, a power of two.
        (position / WORD) as usize & (self.words.len() - 1)
    }

    #[inline]
    pub(crate) fn header(self, position: u64) -> &'m AtomicU64 {
        &self.words[self.index(position)]
    }

    /// The words of a record's body; shorter than asked at the end of the ring.
    #[inline]
    pub(crate) fn body(self, position: u64, bytes: u64) -> &'m [AtomicU64] {
        let first = self.index(position) + 1;
        let end = first + bytes.div_ceil(WORD) as usize;
        &self.words[first.min(self.words.len())..end.min(self.words.len())]
    }

    /// Asks for the line of a record that will be written soon.
    #[inline]
    pub(crate) fn claim_soon(self, position: u64) {
        prefetch_write(self.header(position.wrapping_add(CLAIM_AHEAD)));
    }

    /// Asks for the line of a record that will be read soon.
    #[inline]
    pub(crate) fn fetch_soon(self, position: u64) {
        prefetch_read(self.header(position.wrapping_add(FETCH_AHEAD)));
    }

    /// Bytes up to the end of the ring.
    #[inline]
    pub(crate) const fn to_end(self, position: u64) -> u64 {
        self.bytes() - (position & (self.bytes() - 1))
    }
}

/// Bytes of a record with its header.
#[inline]
pub(crate) const fn record_bytes(bytes: u64) -> u64 {
    WORD + bytes.next_multiple_of(WORD)
}
