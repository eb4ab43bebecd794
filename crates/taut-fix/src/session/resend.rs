//! Resend requests and sequence resets of the peer.

use core::ops::ControlFlow;

use crate::codec::begin::BeginString;
use crate::codec::number::parse_u64;
use crate::codec::tag;
use crate::error::RejectReason;
use crate::session::event::Event;
use crate::session::machine::Session;
use crate::session::message::Message;
use crate::session::now::Now;
use crate::session::send_queue::QueuedMessage;
use crate::session::sequence::END_OF_OLD;
use crate::store::Store;

impl<S: Store> Session<S> {
    /// Answered whatever its number is: when both sides miss messages and both wait for theirs
    /// first, neither would ever get them. The own request, if one is due, follows.
    #[cold]
    pub(super) fn handle_resend_request(
        &mut self,
        now: Now,
        message: &Message<'_>,
    ) -> Option<Event> {
        let expected = self.store.next_incoming();
        if message.sequence < expected && message.head.poss_dup {
            return None;
        }
        let begin = message.value(tag::BEGIN_SEQ_NO).and_then(parse_u64);
        let end = message.value(tag::END_SEQ_NO).and_then(parse_u64);
        let last = self.store.next_outgoing().saturating_sub(1);
        let refused = match (begin, end) {
            (None | Some(0), _) => Some(tag::BEGIN_SEQ_NO),
            (Some(begin), _) if begin > last => Some(tag::BEGIN_SEQ_NO),
            (Some(begin), Some(end)) if end == 0 || end >= begin => {
                self.counters.resends += 1;
                let old = self.config.begin <= BeginString::Fix42;
                let is_all = end == 0 || end > last || (old && end == END_OF_OLD);
                self.send_queue.push(QueuedMessage::Resend {
                    next: begin,
                    last: if is_all { last } else { end },
                });
                None
            }
            _ => Some(tag::END_SEQ_NO),
        };
        if let Some(tag) = refused {
            let reason = RejectReason::ValueIncorrect;
            self.refuse_message(now, message, reason, i32::try_from(tag).ok());
            return None;
        }
        if message.sequence == expected {
            self.advance(now);
        } else if message.sequence > expected {
            return self.handle_gap(now, message);
        }
        None
    }

    #[cold]
    pub(super) fn handle_sequence_reset(
        &mut self,
        now: Now,
        message: &Message<'_>,
    ) -> Option<Event> {
        let is_gap_fill = message.value(tag::GAP_FILL_FLAG) == Some(b"Y");
        // A reset is for when the numbers are beyond repair: its own does not count.
        if is_gap_fill && let ControlFlow::Break(event) = self.admit(now, message) {
            return event;
        }
        let expected = self.store.next_incoming();
        let lowest = if is_gap_fill { message.sequence.saturating_add(1) } else { expected };
        match message.value(tag::NEW_SEQ_NO).and_then(parse_u64) {
            Some(next) if next >= lowest => {
                self.counters.passed_over += u64::from(next > expected);
                match is_gap_fill {
                    true => self.set_expected_by_fill(now, next),
                    false => self.set_expected(now, next),
                }
            }
            found => {
                let (reason, tag) = match found {
                    Some(_) => (RejectReason::ValueIncorrect, None),
                    None => (RejectReason::RequiredTagMissing, i32::try_from(tag::NEW_SEQ_NO).ok()),
                };
                self.refuse_message(now, message, reason, tag);
                if is_gap_fill {
                    self.advance(now);
                }
            }
        }
        None
    }
}
