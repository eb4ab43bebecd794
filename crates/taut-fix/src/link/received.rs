//! A message that was received.

use crate::codec::index::{FieldIndex, Slot};
use crate::error::FixError;
use crate::messages::order_flow::OrderFlow;

/// A message that was received, and its fields.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// BeginString (8) to CheckSum (10).
    pub bytes: &'a [u8],
    /// From MsgType (35) on.
    pub slots: &'a [Slot],
}

impl<'a> Received<'a> {
    /// No message.
    pub(crate) const NONE: Self = Self { bytes: &[], slots: &[] };

    /// A message and the index that was filled from it.
    #[inline]
    #[must_use]
    pub fn new(bytes: &'a [u8], index: &'a FieldIndex) -> Self {
        Self { bytes, slots: if bytes.is_empty() { &[] } else { index.slots() } }
    }

    /// The value of the first field with this tag.
    #[must_use]
    pub fn value(&self, tag: i32) -> Option<&'a [u8]> {
        let slot = self.slots.iter().find(|slot| slot.tag == tag)?;
        Some(slot.value(self.bytes))
    }

    /// MsgType (35); empty when there is no message.
    #[inline]
    #[must_use]
    pub fn msg_type(&self) -> &'a [u8] {
        self.slots.first().map_or(&[], |slot| slot.value(self.bytes))
    }

    /// The message as a typed one.
    ///
    /// # Errors
    /// [`FixError::PeerViolation`]: answer it with [`crate::Outbox::refuse_content`].
    #[inline]
    pub fn order_flow(&self) -> Result<OrderFlow<'a>, FixError> {
        OrderFlow::decode_slots(self.bytes, self.slots)
    }
}
