//! Spies: what a publication takes, seen beside its subscribers, without holding it up.

use taut_ring::Policy;
use taut_ring::log::Appender;

use super::memory::{CAPACITY_BYTES, Memory, WRITER};
use super::subscription::InprocSubscription;
use crate::error::ChannelError;

/// The log that a publication copies its messages to, once there is a spy.
#[derive(Debug)]
pub(crate) struct Spies {
    appender: Appender<'static>,
    memory: &'static Memory,
}

/// A spy's end.
pub(crate) type SpySubscription = InprocSubscription;

impl Spies {
    pub(crate) fn new() -> Result<Self, ChannelError> {
        let memory = Memory::spied(CAPACITY_BYTES);
        let appender = Appender::resume(&memory.words, memory.layout, Policy::Overwrite)?;
        Ok(Self { appender, memory })
    }

    /// One more spy, from the next message on.
    pub(crate) fn subscribe(&self) -> Result<SpySubscription, ChannelError> {
        InprocSubscription::passive(self.memory)
    }

    /// Copies a message. One that is longer than an eighth of the log is not seen by spies.
    #[inline]
    pub(crate) fn copy(&mut self, message: &[u8]) -> bool {
        let copied = self.appender.append(message).is_ok();
        self.memory.ring();
        copied
    }
}

impl Drop for Spies {
    fn drop(&mut self) {
        self.memory.give_back(WRITER);
    }
}
