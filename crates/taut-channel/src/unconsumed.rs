//! The message that a handler may abort: taken out of a ring, not yet consumed.

use crate::message::Message;

/// What is known of the message in a driver's buffer.
#[derive(Debug, Default)]
pub(crate) struct Unconsumed {
    bytes: Option<usize>,
    session: u64,
    position: u64,
}

impl Unconsumed {
    #[inline]
    pub(crate) const fn set(&mut self, bytes: usize, session: u64, position: u64) {
        *self = Self { bytes: Some(bytes), session, position };
    }

    #[inline]
    pub(crate) const fn is_some(&self) -> bool {
        self.bytes.is_some()
    }

    #[inline]
    pub(crate) const fn clear(&mut self) {
        self.bytes = None;
    }

    /// The message.
    #[inline]
    pub(crate) fn message<'a>(&self, buffer: &'a [u8]) -> Message<'a> {
        let payload = buffer.get(..self.bytes.unwrap_or(0)).unwrap_or(buffer);
        let (session, position) = (self.session, self.position);
        Message { payload, part_ends: &[], topic: &[], session, position }
    }
}
