//! The sending half: sequence numbers, the header, and the text of administrative messages.

use core::ops::Range;

use taut_types::Nanos;

use crate::codec::tag;
use crate::codec::text::ShortText;
use crate::codec::timestamp::{Precision, StampCache};
use crate::codec::writer::Writer;
use crate::error::FixError;
use crate::messages::admin::{BusinessMessageReject, Logon, Reject, ResendRequest, SequenceReset};
use crate::messages::msg_type::MsgType;
use crate::session::config::Now;
use crate::session::queue::{Admin, LogoutText};

/// TestReqID (112) of our TestRequests.
const TEST_REQ_ID: &[u8] = b"TEST";
/// Words of a Logout beyond this are cut.
const LOGOUT_TEXT_BYTES_MAX: usize = 128;

/// Who sends, and the next number.
#[derive(Clone, Copy, Debug)]
pub struct Outbound {
    sender: ShortText,
    target: Option<ShortText>,
    next: u64,
    /// Monotonic time of the last message.
    last_sent: Nanos,
    stamps: StampCache,
}

impl Outbound {
    /// Starts at number 1.
    pub fn new(sender: ShortText, target: Option<ShortText>, precision: Precision) -> Self {
        let stamps = StampCache::new(precision);
        Self { sender, target, next: 1, last_sent: Nanos::ZERO, stamps }
    }

    /// The number of the next message.
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// Goes on at this number.
    pub const fn set_next(&mut self, next: u64) {
        self.next = next;
    }

    /// To whom the messages go.
    pub const fn set_target(&mut self, target: Option<ShortText>) {
        self.target = target;
    }

    /// Monotonic time of the last message.
    pub const fn last_sent(&self) -> Nanos {
        self.last_sent
    }

    /// Counts as sent now, so that it is not queued twice.
    pub const fn touch(&mut self, mono: Nanos) {
        self.last_sent = mono;
    }

    /// Writes one message under the next number, which is used up only if it fits.
    #[inline]
    pub fn encode(
        &mut self,
        now: Now,
        msg_type: MsgType,
        out: &mut [u8],
        body: impl FnOnce(&mut Writer<'_>),
    ) -> Result<Range<usize>, FixError> {
        let mut writer = Writer::begin(out, &mut self.stamps, msg_type.code());
        writer.number::<{ tag::MSG_SEQ_NUM }>(self.next);
        writer.short::<{ tag::SENDER_COMP_ID }, 23>(&self.sender);
        writer.timestamp::<{ tag::SENDING_TIME }>(now.utc);
        if let Some(target) = &self.target {
            writer.short::<{ tag::TARGET_COMP_ID }, 23>(target);
        }
        body(&mut writer);
        let range = writer.finish()?;
        self.next = self.next.saturating_add(1);
        self.last_sent = now.mono;
        Ok(range)
    }

    /// Writes an administrative message.
    pub fn encode_admin(
        &mut self,
        now: Now,
        admin: &Admin,
        out: &mut [u8],
    ) -> Result<Range<usize>, FixError> {
        match *admin {
            Admin::Logon { heartbeat_interval, reset } => {
                let logon = Logon { heartbeat_interval, reset };
                self.encode(now, MsgType::Logon, out, |writer| logon.encode_body(writer))
            }
            Admin::Heartbeat(id) => self.encode(now, MsgType::Heartbeat, out, |writer| {
                if let Some(id) = &id {
                    writer.short::<{ tag::TEST_REQ_ID }, 63>(id);
                }
            }),
            Admin::TestRequest => self.encode(now, MsgType::TestRequest, out, |writer| {
                writer.text::<{ tag::TEST_REQ_ID }>(TEST_REQ_ID);
            }),
            Admin::ResendRequest(begin) => {
                let request = ResendRequest { begin, end: 0 };
                self.encode(now, MsgType::ResendRequest, out, |writer| request.encode_body(writer))
            }
            Admin::Reject(note) => {
                let reject = Reject {
                    ref_sequence: note.ref_sequence,
                    ref_tag: note.ref_tag,
                    ref_msg_type: note.ref_msg_type,
                    reason: Some(note.reason),
                    text: note.reason.as_str().as_bytes(),
                };
                self.encode(now, MsgType::Reject, out, |writer| reject.encode_body(writer))
            }
            Admin::BusinessReject { ref_sequence, ref_msg_type, reason } => {
                let text = reason.as_str().as_bytes();
                let reject = BusinessMessageReject {
                    ref_sequence,
                    ref_msg_type,
                    ref_id: None,
                    reason,
                    text,
                };
                self.encode(now, MsgType::BusinessMessageReject, out, |writer| {
                    reject.encode_body(writer);
                })
            }
            Admin::GapFill { first, next } => {
                let next = next.unwrap_or(self.next);
                self.encode_gap_fill(now, first, next, out)
            }
            Admin::Logout(text) => self.encode(now, MsgType::Logout, out, |writer| {
                encode_logout_text(text, writer);
            }),
        }
    }

    /// Stands for the messages from `first` to before `next`: carries the number of the first, is
    /// itself marked as sent before, and uses up no number.
    fn encode_gap_fill(
        &mut self,
        now: Now,
        first: u64,
        next: u64,
        out: &mut [u8],
    ) -> Result<Range<usize>, FixError> {
        let code = MsgType::SequenceReset.code();
        let mut writer = Writer::begin(out, &mut self.stamps, code);
        writer.number::<{ tag::MSG_SEQ_NUM }>(first);
        writer.flag::<{ tag::POSS_DUP_FLAG }>(true);
        writer.short::<{ tag::SENDER_COMP_ID }, 23>(&self.sender);
        writer.timestamp::<{ tag::SENDING_TIME }>(now.utc);
        if let Some(target) = &self.target {
            writer.short::<{ tag::TARGET_COMP_ID }, 23>(target);
        }
        writer.timestamp::<{ tag::ORIG_SENDING_TIME }>(now.utc);
        SequenceReset { new_sequence: next, gap_fill: true }.encode_body(&mut writer);
        let range = writer.finish()?;
        self.last_sent = now.mono;
        Ok(range)
    }
}

fn encode_logout_text(text: LogoutText, writer: &mut Writer<'_>) {
    match text {
        LogoutText::Empty => {}
        LogoutText::Words(words) => {
            let words = words.as_bytes();
            let cut = words.get(..words.len().min(LOGOUT_TEXT_BYTES_MAX)).unwrap_or(&[]);
            // Words that would forge a field are left out rather than left unsent.
            if !cut.contains(&1) {
                writer.text::<{ tag::TEXT }>(cut);
            }
        }
        LogoutText::SequenceTooLow { expected, received } => {
            writer.open::<{ tag::TEXT }>();
            writer.part(b"MsgSeqNum too low, expecting ");
            writer.part_number(expected);
            writer.part(b" but received ");
            writer.part_number(received);
            writer.close();
        }
    }
}
