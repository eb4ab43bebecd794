//! A message in work.

use crate::codec::index::Slot;
use crate::codec::text::ShortText;
use crate::error::RejectReason;
use crate::session::head::Head;
use crate::session::route::Route;
use crate::session::send_queue::Refusal;

/// A message in work: its bytes, its fields, its header.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    pub bytes: &'a [u8],
    pub slots: &'a [Slot],
    pub head: Head<'a>,
    /// MsgSeqNum (34).
    pub sequence: u64,
}

impl<'a> Message<'a> {
    /// The value of the first field with this tag.
    pub fn value(&self, tag: u32) -> Option<&'a [u8]> {
        let wanted = i64::from(tag);
        let slot = self.slots.iter().find(|slot| i64::from(slot.tag) == wanted)?;
        Some(slot.value(self.bytes))
    }

    /// What a Reject of it says.
    pub fn refusal(&self, reason: RejectReason, ref_tag: Option<i32>) -> Refusal {
        Refusal {
            ref_sequence: self.sequence,
            ref_tag,
            ref_msg_type: ShortText::new(self.head.msg_type),
            reason,
            route: Route::back(self.bytes, self.slots),
        }
    }
}
