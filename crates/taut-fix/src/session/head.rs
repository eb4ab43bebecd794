//! The header of an indexed message.

use crate::codec::index::Slot;
use crate::codec::number::parse_u64;
use crate::codec::tag;

/// The header's fields that a session needs; what is absent or unreadable is `None`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Head<'a> {
    /// MsgType (35): empty only when it has no value.
    pub msg_type: &'a [u8],
    /// MsgSeqNum (34).
    pub sequence: Option<u64>,
    /// SenderCompID (49).
    pub sender: Option<&'a [u8]>,
    /// TargetCompID (56).
    pub target: Option<&'a [u8]>,
    /// SendingTime (52).
    pub sending_time: Option<Slot>,
    /// OrigSendingTime (122).
    pub orig_sending_time: Option<Slot>,
    /// PossDupFlag (43).
    pub poss_dup: bool,
    /// PossResend (97).
    pub poss_resend: bool,
}

impl<'a> Head<'a> {
    /// Reads the header, and on over the body when a needed field is not in it.
    #[inline]
    pub fn read(message: &'a [u8], slots: &[Slot]) -> Self {
        let mut head = Self::default();
        for slot in slots {
            let is_header = head.take(message, slot);
            if !is_header && head.is_complete() {
                break;
            }
        }
        head
    }

    const fn is_complete(&self) -> bool {
        self.sequence.is_some()
            && self.sender.is_some()
            && self.target.is_some()
            && self.sending_time.is_some()
    }

    /// Whether it is one of the session layer's own messages.
    pub const fn is_admin(&self) -> bool {
        matches!(self.msg_type, [b'0'..=b'5' | b'A'])
    }

    /// Takes a field, the first of its tag; returns whether it belongs to the header.
    #[inline]
    fn take(&mut self, message: &'a [u8], slot: &Slot) -> bool {
        let value = slot.value(message);
        match u32::try_from(slot.tag).unwrap_or(0) {
            tag::MSG_TYPE if self.msg_type.is_empty() => self.msg_type = value,
            tag::MSG_SEQ_NUM => self.sequence = self.sequence.or_else(|| parse_u64(value)),
            tag::SENDER_COMP_ID => self.sender = self.sender.or(Some(value)),
            tag::TARGET_COMP_ID => self.target = self.target.or(Some(value)),
            tag::SENDING_TIME => self.sending_time = self.sending_time.or(Some(*slot)),
            tag::ORIG_SENDING_TIME => {
                self.orig_sending_time = self.orig_sending_time.or(Some(*slot));
            }
            tag::POSS_DUP_FLAG => self.poss_dup |= value == b"Y",
            tag::POSS_RESEND => self.poss_resend |= value == b"Y",
            other => return tag::is_header(other),
        }
        true
    }
}
