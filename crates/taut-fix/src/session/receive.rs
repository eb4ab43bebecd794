//! Receiving: from bytes to an event.

use core::ops::ControlFlow;

use crate::codec::frame::{Frame, Framed, frame_at};
use crate::codec::index::FieldIndex;
use crate::codec::tag;
use crate::codec::text::ShortText;
use crate::codec::timestamp::parse_timestamp;
use crate::dictionary::rules::Fault;
use crate::error::RejectReason;
use crate::messages::reject::BusinessRejectReason;
use crate::session::disconnect::DisconnectReason;
use crate::session::event::{Event, Progress};
use crate::session::head::Head;
use crate::session::machine::{Cause, Session};
use crate::session::message::Message;
use crate::session::now::Now;
use crate::session::send_queue::QueuedMessage;
use crate::session::table::{Input, State};
use crate::store::Store;

impl<S: Store> Session<S> {
    /// Handles at most one message at the start of the bytes, and leaves its fields in the index.
    ///
    /// Call again with the rest until nothing is consumed; drain [`Session::poll_transmit`] and
    /// [`Session::take_held`] after each call: with a full queue nothing is consumed either.
    #[inline]
    pub fn handle_bytes(&mut self, now: Now, bytes: &[u8], index: &mut FieldIndex) -> Progress {
        self.confirm(now);
        if self.store_failed {
            return Progress { consumed: 0, event: self.report_store_failure(now) };
        }
        if !self.state.is_connected() || !self.has_room() {
            return Progress::NOTHING;
        }
        match frame_at(bytes, self.config.message_bytes_max, index.level()) {
            Ok(Framed::NeedMore) => Progress::NOTHING,
            Ok(Framed::Message(frame)) => {
                self.counters.received += 1;
                self.last_received = now.mono;
                let event = self.handle_frame(now, &frame, index);
                Progress { consumed: frame.consumed(), event }
            }
            Ok(Framed::Garbled { skip }) => {
                let event = self.ignore_garbled(now);
                Progress { consumed: skip, event }
            }
            Err(_) => {
                let reason = DisconnectReason::MessageTooLarge;
                Progress { consumed: 0, event: self.end(now, Input::FatalViolation, reason) }
            }
        }
    }

    /// The next message that was held and whose turn it is: hand it to
    /// [`Session::handle_bytes`]. `out` holds the largest message.
    pub fn take_held(&mut self, out: &mut [u8]) -> Option<usize> {
        let now = Now { mono: self.last_received, utc: self.last_received };
        self.confirm(now);
        if self.held.is_empty() || !self.state.is_connected() || !self.has_room() {
            return None;
        }
        loop {
            let len = self.held.take(self.store.next_incoming(), out)?;
            let message = out.get(..len).unwrap_or(&[]);
            // These were acted on when they came; only their number was still due.
            let is_done = [&b"\x0135=2\x01"[..], b"\x0135=A\x01"]
                .iter()
                .any(|start| message.windows(start.len()).take(32).any(|part| part == *start));
            if !is_done {
                return Some(len);
            }
            self.advance(now);
        }
    }

    /// Tells the peer that its application message, the last that was reported, is of a type that
    /// nobody here reads.
    pub fn refuse_type(&mut self, sequence: u64, msg_type: &[u8]) {
        self.counters.rejected += 1;
        if let Some(ref_msg_type) = ShortText::new(msg_type) {
            let reason = BusinessRejectReason::UnsupportedMessageType;
            self.send_queue.push(QueuedMessage::BusinessReject {
                ref_sequence: sequence,
                ref_msg_type,
                reason,
            });
        }
    }
}

impl<S: Store> Session<S> {
    fn handle_frame(
        &mut self,
        now: Now,
        frame: &Frame<'_>,
        index: &mut FieldIndex,
    ) -> Option<Event> {
        if index.fill_with(frame, &self.data_tags).is_err() {
            return self.ignore_garbled(now);
        }
        let (bytes, slots) = (frame.bytes(), index.slots());
        let head = Head::read(bytes, slots);
        if frame.begin_string() != self.config.begin.as_bytes() {
            return self.handle_wrong_version(now, &head);
        }
        let Some(sequence) = head.sequence else {
            return self.end(now, Input::FatalViolation, DisconnectReason::MissingSequence);
        };
        let message = Message { bytes, slots, head, sequence };
        if let Err(fault) = self.validate(&message) {
            return self.handle_fault(now, &message, fault);
        }
        if self.state.is_logging_on() {
            self.handle_first(now, &message)
        } else {
            self.handle_in_session(now, &message)
        }
    }

    /// What the session itself needs, and what the dictionary says.
    #[inline]
    fn validate(&self, message: &Message<'_>) -> Result<(), Fault> {
        let head = &message.head;
        let needed = [
            (tag::SENDER_COMP_ID, head.sender.is_none()),
            (tag::SENDING_TIME, head.sending_time.is_none()),
            (tag::TARGET_COMP_ID, head.target.is_none()),
        ];
        for (tag, is_missing) in needed {
            if is_missing {
                let reason = RejectReason::RequiredTagMissing;
                return Err(Fault { reason, tag: i32::try_from(tag).ok(), offset: 0 });
            }
        }
        let Some(dictionaries) = &self.config.dictionaries else { return Ok(()) };
        let transport = &dictionaries.transport;
        let body = if head.is_admin() { transport } else { &dictionaries.application };
        transport.check_application(body, message.bytes, message.slots, self.config.rules)
    }

    fn handle_in_session(&mut self, now: Now, message: &Message<'_>) -> Option<Event> {
        if let Err(reason) = self.check_header(now, message) {
            return self.end_with_reject(now, message, reason);
        }
        self.apply(now, Input::Message, Cause::Nothing);
        match message.head.msg_type {
            b"A" => return self.handle_second_logon(now, message),
            b"5" => return self.handle_logout(now, message),
            b"2" => return self.handle_resend_request(now, message),
            b"4" => return self.handle_sequence_reset(now, message),
            _ => {}
        }
        if let ControlFlow::Break(event) = self.admit(now, message) {
            return event;
        }
        let event = match message.head.msg_type {
            b"0" => None,
            b"1" if self.answer_test_request(now, message) => None,
            b"1" => return None,
            b"3" => Some(Event::Rejected),
            _ => Some(Event::Application {
                sequence: message.sequence,
                poss_dup: message.head.poss_dup,
                poss_resend: message.head.poss_resend,
            }),
        };
        self.unconfirmed = event.is_some();
        if event.is_none() {
            self.advance(now);
        }
        event
    }

    /// Whether it could: an id that cannot be repeated is refused.
    fn answer_test_request(&mut self, now: Now, message: &Message<'_>) -> bool {
        let reason = match message.value(tag::TEST_REQ_ID) {
            Some(id) if self.send_queue.push_answer(id) => return true,
            Some(_) => RejectReason::ValueIncorrect,
            None => RejectReason::RequiredTagMissing,
        };
        self.refuse_message(now, message, reason, i32::try_from(tag::TEST_REQ_ID).ok());
        false
    }

    /// A Logout counts whatever its number is: the peer leaves.
    #[cold]
    fn handle_logout(&mut self, now: Now, message: &Message<'_>) -> Option<Event> {
        if message.sequence == self.store.next_incoming() {
            self.advance(now);
        }
        // A Logout that is answered resets when the answer is written.
        let is_answer = self.state == State::LogoutSent;
        let event = self.apply(now, Input::Logout, Cause::Nothing);
        if is_answer && self.config.reset_on_logout {
            self.reset_numbers();
        }
        event
    }

    /// CompIDs and SendingTime.
    #[inline]
    pub(super) fn check_header(&self, now: Now, message: &Message<'_>) -> Result<(), RejectReason> {
        let head = &message.head;
        let from_peer = head.sender == Some(self.config.target_comp_id.as_bytes());
        let to_us = head.target == Some(self.config.sender_comp_id.as_bytes());
        if self.config.check_comp_ids && !(from_peer && to_us) {
            return Err(RejectReason::CompIdProblem);
        }
        let tolerance = self.config.sending_time_tolerance.0;
        if tolerance > 0 {
            let sent =
                head.sending_time.and_then(|slot| parse_timestamp(slot.value(message.bytes)));
            let sent = sent.ok_or(RejectReason::SendingTimeAccuracy)?;
            if now.utc.0.abs_diff(sent.0) > tolerance.unsigned_abs() {
                return Err(RejectReason::SendingTimeAccuracy);
            }
        }
        Ok(())
    }

    #[cold]
    fn handle_fault(&mut self, now: Now, message: &Message<'_>, fault: Fault) -> Option<Event> {
        if self.state.is_logging_on() {
            return self.end(now, Input::LogonRefused, DisconnectReason::InvalidLogon);
        }
        self.apply(now, Input::Message, Cause::Nothing);
        self.refuse_message(now, message, fault.reason, fault.tag);
        None
    }

    /// Another version in session: a Logout ends it, anything else is answered with one.
    #[cold]
    fn handle_wrong_version(&mut self, now: Now, head: &Head<'_>) -> Option<Event> {
        if self.state.is_logging_on() {
            return self.end(now, Input::LogonRefused, DisconnectReason::WrongBeginString);
        }
        if head.sequence == Some(self.store.next_incoming()) {
            self.advance(now);
        }
        if head.msg_type == b"5" {
            return self.apply(now, Input::Logout, Cause::Nothing);
        }
        self.end(now, Input::FatalViolation, DisconnectReason::WrongBeginString)
    }

    /// Ignores what is garbled, except in place of the first message.
    #[cold]
    fn ignore_garbled(&mut self, now: Now) -> Option<Event> {
        self.counters.garbled += 1;
        if matches!(self.state, State::AwaitingLogon | State::LogonSent) {
            return self.end(now, Input::LogonRefused, DisconnectReason::GarbledLogon);
        }
        None
    }
}
