//! Spies: what a publication takes, seen beside its subscribers.
//!
//! A record of their log is the positions before and behind a message in the publication's own
//! measure, and the message.

use taut_ring::log::{Appender, ClaimError};
use taut_ring::{Control, Policy};

use super::memory::{CAPACITY_BYTES, Memory, WRITER};
use super::spy::{HEADER_BYTES, SpySubscription};
use crate::error::ChannelError;
use crate::offer::{MessageLimit, OfferError};
use crate::spied::Spied;

/// The log that a publication copies its messages to, once there is a spy.
#[derive(Debug)]
pub(crate) struct Spies {
    appender: Appender<'static>,
    control: Control<'static>,
    memory: &'static Memory,
    /// Session, and the position behind the last message.
    stream: Spied,
    record: Vec<u8>,
    back_pressured: u64,
}

impl Spies {
    pub(crate) fn new(stream: Spied) -> Result<Self, ChannelError> {
        // A record is at most an eighth of the log, with a word of the log's own.
        let record_bytes_max = stream.message_bytes_max + HEADER_BYTES + 8;
        let memory = Memory::spied((8 * record_bytes_max).next_power_of_two().max(CAPACITY_BYTES));
        let appender = Appender::resume(&memory.words, memory.layout, Policy::Block)?;
        let control = Control::of(&memory.words, memory.layout.reader_count)?;
        Ok(Self { appender, control, memory, stream, record: Vec::new(), back_pressured: 0 })
    }

    /// One more spy, from the next message on: one that is waited for, or one that is overtaken.
    pub(crate) fn subscribe(&self, is_tethered: bool) -> Result<SpySubscription, ChannelError> {
        SpySubscription::open(self.memory, self.stream, is_tethered)
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.memory.reader_count()
    }

    /// Offers that were refused because a spy that is waited for was behind.
    pub(crate) const fn back_pressured(&self) -> u64 {
        self.back_pressured
    }

    /// Whether the spies that are waited for let a message of this length pass.
    pub(crate) fn admit(&mut self, bytes: usize) -> Result<(), OfferError> {
        // A claim that is dropped leaves no trace.
        match self.appender.claim(bytes + HEADER_BYTES).map(drop) {
            Ok(()) => Ok(()),
            Err(ClaimError::Full) => {
                self.back_pressured += 1;
                Err(OfferError::BackPressured)
            }
            Err(ClaimError::TooLong { bytes_max }) if self.has_tethered() => {
                let bytes_max = bytes_max - HEADER_BYTES;
                Err(OfferError::TooLong { bytes, bytes_max, limit: MessageLimit::Spies })
            }
            // Those that are overtaken do not see it, and learn so from the next one.
            Err(ClaimError::TooLong { .. }) => Ok(()),
        }
    }

    /// Copies a message that was admitted and taken.
    pub(crate) fn copy(&mut self, parts: &[&[u8]], position: u64) {
        let record = &mut self.record;
        record.clear();
        record.extend_from_slice(&self.stream.position.to_le_bytes());
        record.extend_from_slice(&position.to_le_bytes());
        parts.iter().for_each(|part| record.extend_from_slice(part));
        if self.appender.append(record).is_ok() {
            self.stream.position = position;
        }
        self.memory.ring();
    }

    fn has_tethered(&self) -> bool {
        let mut slots = 0..self.control.reader_count();
        slots.any(|slot| self.control.reader(slot).is_some_and(|view| view.active))
    }
}

impl Drop for Spies {
    fn drop(&mut self) {
        self.memory.give_back(WRITER);
    }
}
