//! The session itself: its parts, its clockwork, and the table's actions carried out.

use taut_types::Nanos;

use crate::codec::text::ShortText;
use crate::error::{FixError, Misuse, Violation};
use crate::messages::admin::BusinessRejectReason;
use crate::session::config::{Now, Role, SessionConfig};
use crate::session::event::{DisconnectReason, Event};
use crate::session::inbound::Inbound;
use crate::session::outbound::Outbound;
use crate::session::queue::{Admin, AdminQueue, LogoutText, RejectNote};
use crate::session::table::{Action, Input, State, step};

/// The most administrative messages that one input queues.
const ADMIN_PER_INPUT_MAX: usize = 4;

/// What a session has seen since it was built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Well-framed messages received.
    pub received: u64,
    /// Messages written, administrative ones included.
    pub sent: u64,
    /// Runs of bytes that were no message, and messages with a broken field: ignored.
    pub garbled: u64,
    /// Messages that were answered with a Reject or a BusinessMessageReject.
    pub rejected: u64,
    /// Messages that came again (PossDupFlag) and were ignored.
    pub duplicates: u64,
    /// Messages that were ignored because others before them are missing.
    pub out_of_sequence: u64,
    /// ResendRequests that were sent.
    pub gaps: u64,
}

/// One FIX session, either role.
///
/// Pure: it is told the time with every call and hands out what to send. It stores no message and
/// allocates nothing. See the crate's page for the driver's loop.
#[derive(Clone, Debug)]
pub struct Session {
    pub(super) config: SessionConfig,
    pub(super) state: State,
    pub(super) inbound: Inbound,
    pub(super) outbound: Outbound,
    pub(super) queue: AdminQueue,
    /// The peer's name, once it is known.
    pub(super) peer: Option<ShortText>,
    pub(super) heartbeat_interval: Nanos,
    pub(super) last_received: Nanos,
    /// Monotonic time of the last change of state: the start of its wait.
    pub(super) since: Nanos,
    pub(super) logon_queued: bool,
    pub(super) counters: Counters,
}

/// What the actions of a step need to know.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cause<'a> {
    Nothing,
    Logon { reset: bool },
    Gap { from: u64 },
    Reject(RejectNote),
    PeerLogout(&'a [u8]),
    Wanted(&'static str),
    End(DisconnectReason),
}

impl Session {
    /// A session before its first connection.
    ///
    /// # Errors
    /// [`Misuse::TargetCompIdMissing`] for an initiator without one.
    pub fn new(config: SessionConfig) -> Result<Self, FixError> {
        if config.role == Role::Initiator && config.target_comp_id.is_none() {
            return Err(FixError::Misuse(Misuse::TargetCompIdMissing));
        }
        Ok(Self {
            state: State::Disconnected,
            inbound: Inbound::new(),
            outbound: Outbound::new(config.sender_comp_id, config.target_comp_id, config.precision),
            queue: AdminQueue::new(),
            peer: config.target_comp_id,
            heartbeat_interval: config.heartbeat_interval,
            last_received: Nanos::ZERO,
            since: Nanos::ZERO,
            logon_queued: false,
            counters: Counters::default(),
            config,
        })
    }

    /// The transport is up: an initiator queues its Logon, an acceptor waits for one.
    pub fn connect(&mut self, now: Now) {
        self.queue.clear();
        self.logon_queued = false;
        self.inbound.forget_gap();
        if self.config.reset_on_logon {
            self.inbound.restart(1);
            self.outbound.set_next(1);
        }
        self.peer = self.config.target_comp_id;
        self.outbound.set_target(self.peer);
        self.outbound.touch(now.mono);
        self.heartbeat_interval = self.config.heartbeat_interval;
        self.last_received = now.mono;
        let input = match self.config.role {
            Role::Initiator => Input::Connected,
            Role::Acceptor => Input::Accepted,
        };
        self.apply(now, input, Cause::Logon { reset: self.config.reset_on_logon });
    }

    /// The transport is gone.
    pub fn transport_closed(&mut self, now: Now) {
        self.queue.clear();
        self.apply(now, Input::TransportClosed, Cause::Nothing);
    }

    /// Starts to log out; before the Logon, ends the session at once.
    pub fn logout(&mut self, now: Now, text: &'static str) -> Option<Event<'static>> {
        let cause = if self.state.is_logging_on() {
            Cause::End(DisconnectReason::LoggedOutBeforeLogon)
        } else {
            Cause::Wanted(text)
        };
        self.apply(now, Input::LogoutWanted, cause)
    }

    /// Does what is due: heartbeats, test requests, the end of a wait.
    pub fn handle_timeout(&mut self, now: Now) -> Option<Event<'static>> {
        if self.poll_timeout().is_none_or(|due| now.mono < due) || !self.has_room() {
            return None;
        }
        let (wait, reason) = match self.state {
            State::AwaitingLogon | State::LogonSent => {
                (self.config.logon_timeout, DisconnectReason::LogonTimeout)
            }
            State::LogoutSent => (self.config.logout_timeout, DisconnectReason::LogoutTimeout),
            _ => return self.handle_active_timeout(now),
        };
        if now.mono < self.since + wait {
            return None;
        }
        self.apply(now, Input::Deadline, Cause::End(reason))
    }

    /// The monotonic time at which [`Session::handle_timeout`] has something to do.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Nanos> {
        match self.state {
            State::AwaitingLogon | State::LogonSent => Some(self.since + self.config.logon_timeout),
            State::LogoutSent => Some(self.since + self.config.logout_timeout),
            State::Active | State::AwaitingReply => {
                [self.resend_due(), self.receive_due(), self.send_due()].into_iter().flatten().min()
            }
            State::Disconnected | State::Closed => None,
        }
    }

    /// Whether application messages may be sent.
    #[must_use]
    pub const fn is_active(&self) -> bool {
        self.state.is_active() && !self.logon_queued
    }

    /// Whether the driver must close the connection once [`Session::poll_transmit`] is drained.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Where the session stands.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// The peer's CompID, once it is known.
    #[must_use]
    pub const fn peer_comp_id(&self) -> Option<ShortText> {
        self.peer
    }

    /// The sequence number of the next message that is written.
    #[must_use]
    pub const fn next_outgoing(&self) -> u64 {
        self.outbound.next()
    }

    /// The sequence number of the next message that is expected.
    #[must_use]
    pub const fn next_expected(&self) -> u64 {
        self.inbound.expected()
    }

    /// What it has seen since it was built.
    #[must_use]
    pub const fn counters(&self) -> Counters {
        self.counters
    }
}

/// For receiving and sending.
impl Session {
    /// Whether the queue has room for all that one input can queue.
    pub(super) const fn has_room(&self) -> bool {
        self.queue.free() >= ADMIN_PER_INPUT_MAX
    }

    /// Takes one step of the table.
    #[inline]
    pub(super) fn apply<'a>(
        &mut self,
        now: Now,
        input: Input,
        cause: Cause<'a>,
    ) -> Option<Event<'a>> {
        let step = step(self.state, input);
        if step.next != self.state {
            self.state = step.next;
            self.since = now.mono;
        }
        let mut event = None;
        for action in step.actions {
            event = self.act(*action, cause).or(event);
        }
        event
    }

    pub(super) fn reject(&mut self, ref_sequence: u64, msg_type_code: &[u8], violation: Violation) {
        match violation {
            Violation::Field { reason, tag, .. } => self.push_reject(RejectNote {
                ref_sequence,
                ref_tag: Some(tag),
                ref_msg_type: ShortText::new(msg_type_code),
                reason,
            }),
            Violation::ConditionallyRequired { .. } => self.push_business_reject(
                ref_sequence,
                msg_type_code,
                BusinessRejectReason::ConditionallyRequiredFieldMissing,
            ),
        }
    }

    pub(super) fn push_reject(&mut self, note: RejectNote) {
        self.counters.rejected += 1;
        self.queue.push(Admin::Reject(note));
    }

    pub(super) fn push_business_reject(
        &mut self,
        ref_sequence: u64,
        msg_type_code: &[u8],
        reason: BusinessRejectReason,
    ) {
        self.counters.rejected += 1;
        // Only types of the standard come here: two bytes at the most.
        if let Some(ref_msg_type) = ShortText::new(msg_type_code) {
            self.queue.push(Admin::BusinessReject { ref_sequence, ref_msg_type, reason });
        }
    }
}

impl Session {
    fn act<'a>(&mut self, action: Action, cause: Cause<'a>) -> Option<Event<'a>> {
        let admin = match (action, cause) {
            (Action::SendLogon, cause) => {
                self.logon_queued = true;
                let reset = matches!(cause, Cause::Logon { reset: true });
                Admin::Logon { heartbeat_interval: self.heartbeat_interval, reset }
            }
            (Action::SendHeartbeat, _) => Admin::Heartbeat(None),
            (Action::SendTestRequest, _) => Admin::TestRequest,
            (Action::SendResendRequest, Cause::Gap { from }) => Admin::ResendRequest(from),
            (Action::SendReject, Cause::Reject(note)) => {
                self.counters.rejected += 1;
                Admin::Reject(note)
            }
            (Action::SendLogout, cause) => Admin::Logout(logout_text(cause)),
            (Action::ReportLoggedOn, _) => {
                let heartbeat_interval = self.heartbeat_interval;
                let peer_comp_id = self.peer?;
                return Some(Event::LoggedOn { peer_comp_id, heartbeat_interval });
            }
            (Action::ReportLoggedOut, Cause::PeerLogout(text)) => {
                return Some(Event::LoggedOut { text });
            }
            (Action::ReportDisconnect, Cause::End(reason)) => {
                return Some(Event::Disconnect(reason));
            }
            // An action whose cause does not fit: no caller makes such a pair.
            _ => return None,
        };
        self.queue.push(admin);
        None
    }

    fn handle_active_timeout(&mut self, now: Now) -> Option<Event<'static>> {
        let is_due = |due: Option<Nanos>| due.is_some_and(|due| now.mono >= due);
        if is_due(self.resend_due()) {
            let cause = Cause::End(DisconnectReason::ResendTimeout);
            return self.apply(now, Input::Deadline, cause);
        }
        if is_due(self.receive_due()) {
            let cause = Cause::End(DisconnectReason::HeartbeatTimeout);
            let event = self.apply(now, Input::ReceiveIdle, cause);
            if event.is_some() {
                return event;
            }
        }
        if is_due(self.send_due()) {
            self.outbound.touch(now.mono);
            return self.apply(now, Input::SendIdle, Cause::Nothing);
        }
        None
    }

    fn resend_due(&self) -> Option<Nanos> {
        Some(self.inbound.gap_asked_at()? + self.config.resend_timeout)
    }

    /// An interval and a fifth ("a reasonable transmission time") after the last message, or after
    /// the TestRequest that was sent then.
    fn receive_due(&self) -> Option<Nanos> {
        let interval = self.heartbeat_interval;
        let patience = interval + Nanos(interval.0 / 5);
        let from = match self.state {
            State::AwaitingReply => self.since,
            _ => self.last_received,
        };
        (interval > Nanos::ZERO).then_some(from + patience)
    }

    fn send_due(&self) -> Option<Nanos> {
        let interval = self.heartbeat_interval;
        let beats = self.state == State::Active && interval > Nanos::ZERO;
        beats.then_some(self.outbound.last_sent() + interval)
    }
}

const fn logout_text(cause: Cause<'_>) -> LogoutText {
    match cause {
        Cause::End(DisconnectReason::SequenceTooLow { expected, received }) => {
            LogoutText::SequenceTooLow { expected, received }
        }
        Cause::End(DisconnectReason::WrongBeginString) => {
            LogoutText::Words("Incorrect BeginString")
        }
        Cause::End(reason) => LogoutText::Words(reason.as_str()),
        Cause::Wanted(words) => LogoutText::Words(words),
        _ => LogoutText::Empty,
    }
}
