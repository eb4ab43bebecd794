//! A message that is written in the log itself.

use crate::counters::PublicationCounters;
use crate::frame::DATA_HEADER_BYTES;
use crate::log::TermLog;

/// A place for a message in the log: written by the caller, then [`commit`](Self::commit)ted.
/// Dropped without, nothing is sent.
#[derive(Debug)]
pub struct Claim<'a> {
    log: &'a mut TermLog,
    counters: &'a mut PublicationCounters,
    length: usize,
}

impl<'a> Claim<'a> {
    pub(super) const fn new(
        log: &'a mut TermLog,
        counters: &'a mut PublicationCounters,
        length: usize,
    ) -> Self {
        Self { log, counters, length }
    }

    /// The message's bytes: what lay there before, to be written over.
    #[inline]
    pub fn bytes(&mut self) -> &mut [u8] {
        self.log.claimed(self.length)
    }

    /// The message's bytes, to look at.
    #[must_use]
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        self.log.bytes(self.log.tail() + DATA_HEADER_BYTES as i64, self.length)
    }

    /// The message becomes part of the stream. Returns the position behind it.
    #[inline]
    pub fn commit(self) -> i64 {
        self.counters.messages += 1;
        self.log.commit(self.length)
    }
}
