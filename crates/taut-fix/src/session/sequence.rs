//! What a sequence number demands: gaps, duplicates, too low.

use core::ops::ControlFlow;

use crate::codec::begin::BeginString;
use crate::codec::tag;
use crate::codec::timestamp::parse_timestamp;
use crate::error::RejectReason;
use crate::session::disconnect::DisconnectReason;
use crate::session::event::Event;
use crate::session::gap::Gap;
use crate::session::machine::{Cause, Session};
use crate::session::message::Message;
use crate::session::now::Now;
use crate::session::send_queue::QueuedMessage;
use crate::session::table::Input;
use crate::store::Store;

/// EndSeqNo (16) for "all that there is" in FIX 4.0 and 4.1.
pub(super) const END_OF_OLD: u64 = 999_999;

impl<S: Store> Session<S> {
    /// Lets a message in sequence pass; otherwise does what its number demands.
    #[inline]
    pub(super) fn admit(&mut self, now: Now, message: &Message<'_>) -> ControlFlow<Option<Event>> {
        let expected = self.store.next_incoming();
        if message.sequence == expected {
            ControlFlow::Continue(())
        } else if message.sequence > expected {
            ControlFlow::Break(self.handle_gap(now, message))
        } else {
            ControlFlow::Break(self.handle_too_low(now, message))
        }
    }

    /// The message that was reported last is done with: its number is used up.
    #[inline]
    pub(super) fn confirm(&mut self, now: Now) {
        if core::mem::take(&mut self.unconfirmed) {
            self.advance(now);
        }
    }

    /// The last number that is done with, or being worked on.
    #[inline]
    pub(super) fn last_processed(&self) -> u64 {
        let before = self.store.next_incoming().saturating_sub(1);
        before.saturating_add(u64::from(self.unconfirmed))
    }

    /// The expected number came.
    #[inline]
    pub(super) fn advance(&mut self, now: Now) {
        let next = self.store.next_incoming().saturating_add(1);
        self.set_expected(now, next);
    }

    /// Goes on at this number; closes the gap that lies before it, or asks for its next part.
    pub(super) fn set_expected(&mut self, now: Now, expected: u64) {
        let result = self.store.set_next_incoming(expected);
        self.stored(result);
        if let Some(gap) = self.gap {
            if expected > gap.highest {
                self.gap = None;
            } else if expected > gap.asked_to && !self.held.has(expected) {
                self.ask(now, expected, gap.highest);
            } else if let Some(gap) = &mut self.gap {
                // It closes: the time-out is for one that stands still.
                gap.asked_at = now.mono;
            }
        }
    }

    /// A gap fill led up to this number. A peer that takes EndSeqNo (16) of a part for the first
    /// number that is not wanted stops there: the rest is asked for. One that does not sends it
    /// twice, and the second is a duplicate.
    #[cold]
    pub(super) fn set_expected_by_fill(&mut self, now: Now, expected: u64) {
        self.set_expected(now, expected);
        if let Some(gap) = self.gap
            && expected == gap.asked_to
            && gap.asked_from < expected
            && !self.held.has(expected)
        {
            self.ask(now, expected, gap.highest);
        }
    }

    /// Holds a message that is too high, and asks for those before it unless that is done.
    ///
    /// A resend comes in order, so a message of it that is too high shows a hole in the resend
    /// itself: that is asked for again, once for each place where one starts.
    #[cold]
    pub(super) fn handle_gap(&mut self, now: Now, message: &Message<'_>) -> Option<Event> {
        self.counters.out_of_sequence += 1;
        let is_held = self.held.push(message.sequence, message.bytes);
        let from = self.store.next_incoming();
        let (highest, ask) = match &mut self.gap {
            None => (message.sequence, true),
            Some(gap) => {
                gap.highest = gap.highest.max(message.sequence);
                if !is_held {
                    // It may have left behind what the request covers: then nobody brings it again.
                    gap.asked_to = gap.asked_to.min(message.sequence.saturating_sub(1));
                }
                (gap.highest, message.head.poss_dup && gap.asked_from != from)
            }
        };
        if ask {
            self.ask(now, from, highest);
        }
        None
    }

    #[cold]
    fn ask(&mut self, now: Now, from: u64, highest: u64) {
        // A request is itself a message: two sides that both miss some, and ask for one at a time,
        // would never come to the end.
        let chunk = match self.config.resend_chunk {
            1 => 2,
            chunk => chunk,
        };
        let all = if self.config.begin <= BeginString::Fix41 { END_OF_OLD } else { 0 };
        let last = highest.saturating_sub(1).max(from);
        let (asked_to, end) = match from.saturating_add(chunk.saturating_sub(1)) {
            _ if chunk == 0 => (u64::MAX, all),
            end if end >= last => (last, last),
            end => (end, end),
        };
        self.gap = Some(Gap { asked_from: from, asked_to, asked_at: now.mono, highest });
        self.counters.gaps += 1;
        self.apply(now, Input::Gap, Cause::Gap { begin: from, end });
    }

    #[cold]
    fn handle_too_low(&mut self, now: Now, message: &Message<'_>) -> Option<Event> {
        if !message.head.poss_dup {
            return self.end_too_low(now, message.sequence);
        }
        let Some(original) = message.head.orig_sending_time else {
            // A gap fill that comes again needs no original time.
            if message.head.msg_type != b"4" {
                let tag = i32::try_from(tag::ORIG_SENDING_TIME).ok();
                self.refuse_message(now, message, RejectReason::RequiredTagMissing, tag);
            }
            return None;
        };
        let original = parse_timestamp(original.value(message.bytes));
        let sent =
            message.head.sending_time.and_then(|slot| parse_timestamp(slot.value(message.bytes)));
        if original > sent {
            return self.end_with_reject(now, message, RejectReason::SendingTimeAccuracy);
        }
        self.counters.duplicates += 1;
        None
    }

    #[cold]
    pub(super) fn end_too_low(&mut self, now: Now, received: u64) -> Option<Event> {
        let expected = self.store.next_incoming();
        let reason = DisconnectReason::SequenceTooLow { expected, received };
        self.end(now, Input::SequenceTooLow, reason)
    }

    /// Rejects a message; its number is used up when it is the expected one.
    #[cold]
    pub(super) fn refuse_message(
        &mut self,
        now: Now,
        message: &Message<'_>,
        reason: RejectReason,
        tag: Option<i32>,
    ) {
        self.counters.rejected += 1;
        self.send_queue.push(QueuedMessage::Reject(message.refusal(reason, tag)));
        if message.sequence == self.store.next_incoming() && message.head.msg_type != b"4" {
            self.advance(now);
        }
    }

    /// Rejects a message and logs out.
    #[cold]
    pub(super) fn end_with_reject(
        &mut self,
        now: Now,
        message: &Message<'_>,
        reason: RejectReason,
    ) -> Option<Event> {
        if message.sequence == self.store.next_incoming() {
            self.advance(now);
        }
        self.apply(now, Input::HeaderViolation, Cause::Reject(&message.refusal(reason, None)))
    }
}
