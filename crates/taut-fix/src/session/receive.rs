//! Receiving: from bytes to an event.

use core::ops::ControlFlow;

use crate::codec::fields::Fields;
use crate::codec::frame::{Frame, Framed, frame};
use crate::codec::text::ShortText;
use crate::codec::writer::BEGIN_STRING;
use crate::error::{FixError, RejectReason, Violation};
use crate::messages::admin::{
    BusinessMessageReject, BusinessRejectReason, Logon, Logout, Reject, TestRequest,
};
use crate::messages::execution::{ExecutionReport, OrderCancelReject};
use crate::messages::header::Header;
use crate::messages::msg_type::MsgType;
use crate::messages::order::{NewOrderSingle, OrderCancelRequest};
use crate::session::config::{Now, Role};
use crate::session::event::{DisconnectReason, Event, Handled, MessageInfo};
use crate::session::inbound::Order;
use crate::session::machine::{Cause, Session};
use crate::session::queue::{Admin, RejectNote};
use crate::session::table::{Input, State};

impl Session {
    /// Handles at most one message at the start of the bytes.
    ///
    /// Call again with the rest until nothing is consumed, and drain
    /// [`Session::poll_transmit`] after each call: with a full queue nothing is consumed either.
    pub fn handle_bytes<'a>(&mut self, now: Now, bytes: &'a [u8]) -> Handled<'a> {
        if !self.state.is_connected() || !self.has_room() {
            return Handled::NOTHING;
        }
        match frame(bytes, self.config.message_bytes_max) {
            Ok(Framed::NeedMore) => Handled::NOTHING,
            Ok(Framed::Message(frame)) => {
                self.counters.received += 1;
                self.last_received = now.mono;
                let (event, info) = self.handle_message(now, &frame);
                Handled { consumed: frame.consumed(), event, info }
            }
            Ok(Framed::Garbled { skip }) => {
                let event = self.ignore_garbled(now);
                Handled { consumed: skip, event, info: None }
            }
            Err(_) => {
                let cause = Cause::End(DisconnectReason::MessageTooLarge);
                let event = self.apply(now, Input::FatalViolation, cause);
                Handled { consumed: 0, event, info: None }
            }
        }
    }
}

impl Session {
    fn handle_message<'a>(
        &mut self,
        now: Now,
        frame: &Frame<'a>,
    ) -> (Option<Event<'a>>, Option<MessageInfo>) {
        if frame.begin_string() != BEGIN_STRING {
            let cause = Cause::End(DisconnectReason::WrongBeginString);
            return (self.apply(now, Input::FatalViolation, cause), None);
        }
        let (header, body) = match Header::decode(frame.fields()) {
            Ok(parts) => parts,
            Err(error) => return (self.handle_bad_header(now, frame, error), None),
        };
        let event = if self.state.is_logging_on() {
            self.handle_first(now, &header, body)
        } else {
            self.handle_in_session(now, &header, body)
        };
        let info = MessageInfo {
            sequence: header.sequence,
            sending_time: header.sending_time,
            poss_dup: header.poss_dup,
            poss_resend: header.poss_resend,
        };
        (event, Some(info))
    }

    #[cold]
    fn handle_bad_header<'a>(
        &mut self,
        now: Now,
        frame: &Frame<'a>,
        error: FixError,
    ) -> Option<Event<'a>> {
        let FixError::PeerViolation(violation) = error else {
            return self.ignore_garbled(now);
        };
        if self.state.is_logging_on() {
            return self.refuse_logon(now, DisconnectReason::InvalidLogon);
        }
        let found = Header::diagnose(frame.fields());
        let Some(sequence) = found.sequence else {
            let cause = Cause::End(DisconnectReason::MissingSequence);
            return self.apply(now, Input::FatalViolation, cause);
        };
        match self.inbound.order(sequence) {
            Order::Expected => {}
            Order::TooHigh => return self.note_gap(now, sequence, found.poss_dup),
            Order::TooLow if found.poss_dup => return None,
            Order::TooLow => return self.end_too_low(now, sequence),
        }
        let violation = match found.misplaced {
            Some(tag) => Violation::Field { reason: RejectReason::TagOutOfOrder, tag, offset: 0 },
            None => violation,
        };
        self.reject(sequence, found.msg_type_code, violation);
        self.inbound.advance();
        None
    }

    /// The first message on a connection.
    #[cold]
    fn handle_first<'a>(
        &mut self,
        now: Now,
        header: &Header<'a>,
        body: Fields<'a>,
    ) -> Option<Event<'a>> {
        match self.check(now, header) {
            Ok(()) => {}
            Err(RejectReason::CompIdProblem) => {
                return self.refuse_logon(now, DisconnectReason::WrongCompId);
            }
            Err(_) => return self.refuse_logon(now, DisconnectReason::SendingTimeAccuracy),
        }
        if header.msg_type == MsgType::Logout {
            let text = Logout::decode(body).map_or(&[][..], |logout| logout.text);
            let cause = match self.state {
                State::LogonSent => Cause::PeerLogout(text),
                _ => Cause::End(DisconnectReason::InvalidLogon),
            };
            return self.apply(now, Input::Logout, cause);
        }
        let logon = match Logon::decode(body) {
            Ok(logon) if header.msg_type == MsgType::Logon => logon,
            _ => return self.refuse_logon(now, DisconnectReason::InvalidLogon),
        };
        let Some(peer) = ShortText::new(header.sender_comp_id) else {
            return self.refuse_logon(now, DisconnectReason::WrongCompId);
        };
        self.peer = Some(peer);
        self.outbound.set_target(self.peer);
        if logon.reset {
            self.inbound.restart(1);
            // An initiator's Logon was number 1 of the new count.
            let next = if self.config.role == Role::Initiator { 2 } else { 1 };
            self.outbound.set_next(next);
        }
        let order = self.inbound.order(header.sequence);
        if order == Order::TooLow {
            return self.end_too_low(now, header.sequence);
        }
        self.heartbeat_interval = logon.heartbeat_interval;
        let event = self.apply(now, Input::Logon, Cause::Logon { reset: logon.reset });
        match order {
            Order::TooHigh => {
                self.note_gap(now, header.sequence, header.poss_dup);
            }
            _ => self.inbound.advance(),
        }
        event
    }

    fn handle_in_session<'a>(
        &mut self,
        now: Now,
        header: &Header<'a>,
        body: Fields<'a>,
    ) -> Option<Event<'a>> {
        if let Err(reason) = self.check(now, header) {
            if self.inbound.order(header.sequence) == Order::Expected {
                self.inbound.advance();
            }
            return self.end_with_reject(now, header, reason);
        }
        self.apply(now, Input::Message, Cause::Nothing);
        match header.msg_type {
            MsgType::Logon => self.handle_second_logon(now, header, body),
            MsgType::Logout => self.handle_logout(now, header, body),
            MsgType::ResendRequest => self.handle_resend_request(now, header, body),
            MsgType::SequenceReset => self.handle_sequence_reset(now, header, body),
            _ => match self.admit(now, header) {
                ControlFlow::Continue(()) => self.deliver(now, header, body),
                ControlFlow::Break(event) => event,
            },
        }
    }

    /// A message in sequence that carries no session business of its own.
    #[inline]
    fn deliver<'a>(
        &mut self,
        now: Now,
        header: &Header<'a>,
        body: Fields<'a>,
    ) -> Option<Event<'a>> {
        let decoded = match header.msg_type {
            MsgType::NewOrderSingle => {
                NewOrderSingle::decode(body).map(|order| Some(Event::NewOrderSingle(order)))
            }
            MsgType::OrderCancelRequest => OrderCancelRequest::decode(body)
                .map(|cancel| Some(Event::OrderCancelRequest(cancel))),
            MsgType::ExecutionReport => {
                ExecutionReport::decode(body).map(|report| Some(Event::ExecutionReport(report)))
            }
            MsgType::OrderCancelReject => {
                OrderCancelReject::decode(body).map(|reject| Some(Event::OrderCancelReject(reject)))
            }
            MsgType::BusinessMessageReject => BusinessMessageReject::decode(body)
                .map(|reject| Some(Event::BusinessRejected(reject))),
            MsgType::Reject => Reject::decode(body).map(|reject| Some(Event::Rejected(reject))),
            MsgType::TestRequest => TestRequest::decode(body).map(|request| {
                self.queue.push(Admin::Heartbeat(Some(request.id)));
                None
            }),
            _ => check_fields(body).map(|()| {
                self.refuse_type(header);
                None
            }),
        };
        match decoded {
            Ok(event) => {
                self.inbound.advance();
                event
            }
            Err(error) => self.refuse_body(now, header, error),
        }
    }

    #[cold]
    fn handle_second_logon<'a>(
        &mut self,
        now: Now,
        header: &Header<'a>,
        body: Fields<'a>,
    ) -> Option<Event<'a>> {
        match Logon::decode(body) {
            Ok(logon) if logon.reset => {
                // What waits to be sent belongs to the old count.
                self.queue.clear();
                self.inbound.restart(1);
                self.outbound.set_next(1);
                self.heartbeat_interval = logon.heartbeat_interval;
                let event = self.apply(now, Input::Reset, Cause::Logon { reset: true });
                if header.sequence > 1 {
                    self.note_gap(now, header.sequence, header.poss_dup);
                } else {
                    self.inbound.advance();
                }
                event
            }
            Ok(_) => match self.admit(now, header) {
                ControlFlow::Continue(()) => {
                    let cause = Cause::End(DisconnectReason::UnexpectedLogon);
                    self.apply(now, Input::FatalViolation, cause)
                }
                ControlFlow::Break(event) => event,
            },
            Err(error) => self.admit_and_refuse(now, header, error),
        }
    }

    /// A Logout counts whatever its number is: the peer leaves.
    #[cold]
    fn handle_logout<'a>(
        &mut self,
        now: Now,
        header: &Header<'a>,
        body: Fields<'a>,
    ) -> Option<Event<'a>> {
        match Logout::decode(body) {
            Ok(logout) => {
                if self.inbound.order(header.sequence) == Order::Expected {
                    self.inbound.advance();
                }
                self.apply(now, Input::Logout, Cause::PeerLogout(logout.text))
            }
            Err(error) => self.admit_and_refuse(now, header, error),
        }
    }

    /// CompIDs and SendingTime.
    #[inline]
    fn check(&self, now: Now, header: &Header<'_>) -> Result<(), RejectReason> {
        let from_peer =
            self.peer.as_ref().is_none_or(|peer| peer.as_bytes() == header.sender_comp_id);
        if !from_peer || header.target_comp_id != self.config.sender_comp_id.as_bytes() {
            return Err(RejectReason::CompIdProblem);
        }
        let tolerance = self.config.sending_time_tolerance.0;
        if tolerance > 0 && now.utc.0.abs_diff(header.sending_time.0) > tolerance.unsigned_abs() {
            return Err(RejectReason::SendingTimeAccuracy);
        }
        Ok(())
    }

    #[cold]
    pub(super) fn refuse_logon<'a>(
        &mut self,
        now: Now,
        reason: DisconnectReason,
    ) -> Option<Event<'a>> {
        self.apply(now, Input::LogonRefused, Cause::End(reason))
    }

    /// A Heartbeat passes; every other type that comes here is one that nobody reads.
    fn refuse_type(&mut self, header: &Header<'_>) {
        match header.msg_type {
            MsgType::Unsupported => self.push_business_reject(
                header.sequence,
                header.msg_type_code,
                BusinessRejectReason::UnsupportedMessageType,
            ),
            MsgType::Unknown => {
                self.push_reject(RejectNote::new(header, None, RejectReason::InvalidMsgType));
            }
            _ => {}
        }
    }
}

/// Reads every field of a body that nobody decodes.
fn check_fields(body: Fields<'_>) -> Result<(), FixError> {
    for field in body {
        field?.ignored()?;
    }
    Ok(())
}
