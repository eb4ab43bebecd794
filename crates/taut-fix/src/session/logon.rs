//! Logons: the first message of a connection, and those that reset a session.

use taut_types::Nanos;

use crate::codec::number::parse_u64;
use crate::codec::tag;
use crate::error::RejectReason;
use crate::session::disconnect::DisconnectReason;
use crate::session::event::Event;
use crate::session::machine::{Cause, Session};
use crate::session::message::Message;
use crate::session::now::{Now, Role};
use crate::session::send_queue::QueuedMessage;
use crate::session::table::{Input, State};
use crate::store::Store;

/// What a Logon says.
struct Terms {
    heartbeat_interval: Nanos,
    reset: bool,
    /// NextExpectedMsgSeqNum (789).
    next_expected: Option<u64>,
    /// DefaultApplVerID (1137).
    application_version: Option<u8>,
}

impl Terms {
    /// `None` without a usable HeartBtInt (108), or with an EncryptMethod (98) other than none.
    fn read(message: &Message<'_>) -> Option<Self> {
        if message.value(tag::ENCRYPT_METHOD).is_some_and(|method| method != b"0") {
            return None;
        }
        let seconds = message.value(tag::HEART_BT_INT).and_then(parse_u64)?;
        let seconds = i64::from(u32::try_from(seconds).ok()?);
        Some(Self {
            heartbeat_interval: Nanos::from_secs(seconds),
            reset: message.value(tag::RESET_SEQ_NUM_FLAG) == Some(b"Y"),
            next_expected: message.value(tag::NEXT_EXPECTED_MSG_SEQ_NUM).and_then(parse_u64),
            application_version: match message.value(tag::DEFAULT_APPL_VER_ID) {
                Some([version]) => Some(*version),
                _ => None,
            },
        })
    }
}

impl<S: Store> Session<S> {
    /// The first message on a connection.
    #[cold]
    pub(super) fn handle_first(&mut self, now: Now, message: &Message<'_>) -> Option<Event> {
        match self.check_header(now, message) {
            Ok(()) => {}
            Err(RejectReason::CompIdProblem) => {
                return self.end(now, Input::LogonRefused, DisconnectReason::WrongCompId);
            }
            Err(_) => {
                return self.end(now, Input::LogonRefused, DisconnectReason::SendingTimeAccuracy);
            }
        }
        if message.head.msg_type == b"5" && self.state == State::LogonSent {
            return self.apply(now, Input::Logout, Cause::Nothing);
        }
        let terms = Terms::read(message).filter(|_| message.head.msg_type == b"A");
        let Some(terms) = terms else {
            return self.end(now, Input::LogonRefused, DisconnectReason::InvalidLogon);
        };
        let is_acceptor = self.config.role == Role::Acceptor;
        if terms.reset || (is_acceptor && self.config.reset_on_logon) {
            self.reset_numbers();
            if !is_acceptor {
                // An initiator's Logon was number 1 of the new count.
                let result = self.store.set_next_outgoing(2);
                self.stored(result);
            }
        }
        let expected = self.store.next_incoming();
        if message.sequence < expected && !message.head.poss_dup {
            return self.end_too_low(now, message.sequence);
        }
        if let Some(event) = self.check_next_expected(now, &terms) {
            return Some(event);
        }
        self.heartbeat_interval = terms.heartbeat_interval;
        self.outgoing.set_application_version(terms.application_version);
        let event = self.apply(now, Input::Logon, Cause::Logon { reset: terms.reset });
        if message.sequence == expected {
            self.advance(now);
        } else if message.sequence > expected && !self.peer_fills_gaps(&terms) {
            self.handle_gap(now, message);
        }
        self.fill_unasked(&terms);
        event
    }

    #[cold]
    pub(super) fn handle_second_logon(&mut self, now: Now, message: &Message<'_>) -> Option<Event> {
        let terms = Terms::read(message);
        let Some(terms) = terms.filter(|terms| terms.reset) else {
            return match self.admit(now, message) {
                core::ops::ControlFlow::Continue(()) => {
                    self.end(now, Input::FatalViolation, DisconnectReason::UnexpectedLogon)
                }
                core::ops::ControlFlow::Break(event) => event,
            };
        };
        // What waits to be sent belongs to the old count.
        self.send_queue.clear();
        self.reset_numbers();
        self.heartbeat_interval = terms.heartbeat_interval;
        let event = self.apply(now, Input::Reset, Cause::Logon { reset: true });
        if message.sequence > 1 {
            self.handle_gap(now, message);
        } else {
            self.advance(now);
        }
        event
    }

    /// A peer that expects more than we ever sent has another session in mind.
    fn check_next_expected(&mut self, now: Now, terms: &Terms) -> Option<Event> {
        let wanted = terms.next_expected.filter(|_| self.config.next_expected)?;
        if wanted <= self.store.next_outgoing() {
            return None;
        }
        let reason = DisconnectReason::NextExpectedTooHigh;
        self.end(now, Input::SequenceTooLow, reason)
    }

    /// With NextExpectedMsgSeqNum on both sides nobody asks for what the Logon shows missing.
    const fn peer_fills_gaps(&self, terms: &Terms) -> bool {
        self.config.next_expected && terms.next_expected.is_some()
    }

    fn fill_unasked(&mut self, terms: &Terms) {
        let Some(wanted) = terms.next_expected.filter(|_| self.config.next_expected) else {
            return;
        };
        // An acceptor's own Logon waits in front of the resend and takes the next number, an
        // initiator's was the last: the peer, which has a gap then, cannot count either.
        let next = self.store.next_outgoing();
        let is_acceptor = self.config.role == Role::Acceptor;
        let last = if is_acceptor { next } else { next.saturating_sub(1) };
        if wanted > 0 && wanted < next {
            self.send_queue.push(QueuedMessage::Resend { next: wanted, last });
        }
    }
}
