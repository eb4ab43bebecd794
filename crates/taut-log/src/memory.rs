//! The memory of a log.

use alloc::boxed::Box;

use taut_ring::RingError;
use taut_ring::spsc::{Consumer, Producer, words_for};
use taut_sync::atomic::AtomicU64;

use crate::reader::LogReader;
use crate::writer::LogWriter;

/// The ring between the thread that says things and the one that writes them down.
#[derive(Debug)]
pub struct LogMemory(Box<[AtomicU64]>);

impl LogMemory {
    /// Memory for so many slots, a power of two: a message takes one, and one more for each 56
    /// bytes of its text.
    #[must_use]
    pub fn new(slots: usize) -> Self {
        Self((0..words_for(slots)).map(|_| AtomicU64::new(0)).collect())
    }

    /// Both ends. There must be one of each: ask once.
    ///
    /// # Errors
    /// When the slots are no power of two, or fewer than two.
    pub fn ends(&self) -> Result<(LogWriter<'_>, LogReader<'_>), RingError> {
        let (producer, consumer) = (Producer::resume(&self.0)?, Consumer::resume(&self.0)?);
        Ok((LogWriter::new(producer), LogReader::new(consumer)))
    }
}
