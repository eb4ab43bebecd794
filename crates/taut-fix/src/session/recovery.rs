//! Sequence numbers: gaps, resends, resets, duplicates.

use core::ops::ControlFlow;

use crate::codec::fields::Fields;
use crate::codec::tag;
use crate::error::{FixError, RejectReason, Violation};
use crate::messages::admin::{ResendRequest, SequenceReset};
use crate::messages::header::Header;
use crate::session::config::Now;
use crate::session::event::{DisconnectReason, Event};
use crate::session::inbound::Order;
use crate::session::machine::{Cause, Session};
use crate::session::queue::{Admin, RejectNote};
use crate::session::table::Input;

impl Session {
    /// Lets a message in sequence pass; otherwise does what its number demands.
    #[inline]
    pub(super) fn admit<'a>(
        &mut self,
        now: Now,
        header: &Header<'a>,
    ) -> ControlFlow<Option<Event<'a>>> {
        match self.inbound.order(header.sequence) {
            Order::Expected => ControlFlow::Continue(()),
            Order::TooHigh => {
                ControlFlow::Break(self.note_gap(now, header.sequence, header.poss_dup))
            }
            Order::TooLow if header.poss_dup => {
                ControlFlow::Break(self.ignore_duplicate(now, header))
            }
            Order::TooLow => ControlFlow::Break(self.end_too_low(now, header.sequence)),
        }
    }

    #[cold]
    pub(super) fn note_gap<'a>(
        &mut self,
        now: Now,
        sequence: u64,
        poss_dup: bool,
    ) -> Option<Event<'a>> {
        self.counters.out_of_sequence += 1;
        let from = self.inbound.note_gap(sequence, poss_dup, now.mono)?;
        self.counters.gaps += 1;
        self.apply(now, Input::Gap, Cause::Gap { from })
    }

    #[cold]
    pub(super) fn end_too_low<'a>(&mut self, now: Now, received: u64) -> Option<Event<'a>> {
        let expected = self.inbound.expected();
        let reason = DisconnectReason::SequenceTooLow { expected, received };
        self.apply(now, Input::SequenceTooLow, Cause::End(reason))
    }

    /// Answered whatever its number is: when both sides miss messages and both wait for theirs
    /// first, neither would ever get them. The own request, if one is due, follows.
    #[cold]
    pub(super) fn handle_resend_request<'a>(
        &mut self,
        now: Now,
        header: &Header<'a>,
        body: Fields<'a>,
    ) -> Option<Event<'a>> {
        let request = match ResendRequest::decode(body) {
            Ok(request) => request,
            Err(error) => return self.admit_and_refuse(now, header, error),
        };
        let order = self.inbound.order(header.sequence);
        if !(order == Order::TooLow && header.poss_dup) {
            self.answer_resend_request(header, request);
        }
        match order {
            Order::Expected => self.inbound.advance(),
            Order::TooHigh => return self.note_gap(now, header.sequence, header.poss_dup),
            Order::TooLow => {}
        }
        None
    }

    #[cold]
    pub(super) fn handle_sequence_reset<'a>(
        &mut self,
        now: Now,
        header: &Header<'a>,
        body: Fields<'a>,
    ) -> Option<Event<'a>> {
        let reset = match SequenceReset::decode(body) {
            Ok(reset) => reset,
            Err(error) => return self.admit_and_refuse(now, header, error),
        };
        // A reset is for when the numbers are beyond repair: its own does not count.
        let lowest = if reset.gap_fill {
            header.sequence.saturating_add(1)
        } else {
            self.inbound.expected()
        };
        if reset.gap_fill
            && let ControlFlow::Break(event) = self.admit(now, header)
        {
            return event;
        }
        if reset.new_sequence >= lowest {
            self.inbound.set_expected(reset.new_sequence);
            return None;
        }
        self.push_reject(RejectNote::new(header, None, RejectReason::ValueIncorrect));
        if reset.gap_fill {
            self.inbound.advance();
        }
        None
    }

    #[cold]
    pub(super) fn admit_and_refuse<'a>(
        &mut self,
        now: Now,
        header: &Header<'a>,
        error: FixError,
    ) -> Option<Event<'a>> {
        match self.admit(now, header) {
            ControlFlow::Continue(()) => self.refuse_body(now, header, error),
            ControlFlow::Break(event) => event,
        }
    }

    /// A body that cannot be read: a garbled one is ignored and its number asked for again later,
    /// a wrong one is rejected and its number is used up.
    #[cold]
    pub(super) fn refuse_body<'a>(
        &mut self,
        now: Now,
        header: &Header<'a>,
        error: FixError,
    ) -> Option<Event<'a>> {
        let FixError::PeerViolation(violation) = error else {
            return self.ignore_garbled(now);
        };
        self.reject(header.sequence, header.msg_type_code, violation);
        self.inbound.advance();
        None
    }

    #[cold]
    pub(super) fn end_with_reject<'a>(
        &mut self,
        now: Now,
        header: &Header<'a>,
        reason: RejectReason,
    ) -> Option<Event<'a>> {
        self.apply(
            now,
            Input::HeaderViolation,
            Cause::Reject(RejectNote::new(header, None, reason)),
        )
    }

    /// Ignores what is garbled, except in place of the first message.
    #[cold]
    pub(super) fn ignore_garbled<'a>(&mut self, now: Now) -> Option<Event<'a>> {
        self.counters.garbled += 1;
        if self.state.is_logging_on() {
            return self.refuse_logon(now, DisconnectReason::GarbledLogon);
        }
        None
    }
}

impl Session {
    fn answer_resend_request(&mut self, header: &Header<'_>, request: ResendRequest) {
        let ResendRequest { begin, end } = request;
        let next = self.outbound.next();
        let wrong_tag = if begin == 0 || begin >= next {
            Some(tag::BEGIN_SEQ_NO)
        } else if end != 0 && end < begin {
            Some(tag::END_SEQ_NO)
        } else {
            None
        };
        if let Some(tag) = wrong_tag {
            let reason = RejectReason::ValueIncorrect;
            let violation = Violation::Field { reason, tag, offset: 0 };
            self.reject(header.sequence, header.msg_type_code, violation);
        } else {
            let to_the_end = end == 0 || end >= next - 1;
            let next = if to_the_end { None } else { Some(end + 1) };
            self.queue.push(Admin::GapFill { first: begin, next });
        }
    }

    #[cold]
    fn ignore_duplicate<'a>(&mut self, now: Now, header: &Header<'a>) -> Option<Event<'a>> {
        match header.orig_sending_time {
            None => {
                let reason = RejectReason::RequiredTagMissing;
                self.push_reject(RejectNote::new(header, Some(tag::ORIG_SENDING_TIME), reason));
                None
            }
            Some(original) if original > header.sending_time => {
                self.end_with_reject(now, header, RejectReason::SendingTimeAccuracy)
            }
            Some(_) => {
                self.counters.duplicates += 1;
                None
            }
        }
    }
}
