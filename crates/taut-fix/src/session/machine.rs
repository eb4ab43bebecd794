//! The session: its parts, its clockwork, and the table's actions carried out.

use taut_types::Nanos;

use crate::codec::data_tags::DataTags;
use crate::session::config::SessionConfig;
use crate::session::counters::Counters;
use crate::session::disconnect::DisconnectReason;
use crate::session::event::Event;
use crate::session::gap::Gap;
use crate::session::held::Held;
use crate::session::now::{Now, Role};
use crate::session::outgoing::Outgoing;
use crate::session::send_queue::{LogoutText, QueuedMessage, Refusal, SendQueue};
use crate::session::table::{Action, Input, State, step};
use crate::store::{Store, StoreError};

/// The most messages that one input queues.
const QUEUED_PER_INPUT_MAX: usize = 5;

/// One FIX session of any version, either role, over a store.
///
/// An application message counts as received when the driver comes back for the next one: a crash
/// while it is worked on makes the peer send it again, marked as a possible duplicate.
///
/// Pure: it is told the time with every call and hands out what to send. It allocates when it is
/// built and never again. A driver's loop:
///
/// ```
/// # use taut_fix::{Event, Session, FieldIndex, MemoryStore, Now};
/// # fn driver(session: &mut Session<MemoryStore>, index: &mut FieldIndex, now: Now,
/// #           received: &[u8], scratch: &mut [u8], out: &mut [u8]) -> usize {
/// let mut at = 0;
/// loop {
///     let made = session.handle_bytes(now, &received[at..], index);
///     // ... act on made.event: an application's message is received[at..], indexed ...
///     at += made.consumed;
///     while let Some(range) = session.poll_transmit(now, out) {
///         let _to_send = &out[range];
///     }
///     while let Some(bytes) = session.take_held(scratch) {
///         let _again = session.handle_bytes(now, &scratch[..bytes], index);
///         // Here too: with a full queue the session takes nothing, now or in the next turn.
///         while let Some(range) = session.poll_transmit(now, out) {
///             let _to_send = &out[range];
///         }
///     }
///     if made.consumed == 0 {
///         break; // keep received[at..] until more arrives; close if session.is_closed()
///     }
/// }
/// # at
/// # }
/// ```
#[derive(Debug)]
pub struct Session<S> {
    pub(super) config: SessionConfig,
    pub(super) store: S,
    pub(super) state: State,
    pub(super) outgoing: Outgoing,
    pub(super) send_queue: SendQueue,
    pub(super) gap: Option<Gap>,
    pub(super) held: Held,
    pub(super) heartbeat_interval: Nanos,
    pub(super) last_received: Nanos,
    /// Monotonic time of the last change of state: the start of its wait.
    pub(super) since: Nanos,
    pub(super) logon_queued: bool,
    /// Whether the last message was reported to the application and its number is not stored yet.
    pub(super) unconfirmed: bool,
    /// Whether the store failed: the session is over.
    pub(super) store_failed: bool,
    pub(super) counters: Counters,
    /// Those of both dictionaries.
    pub(super) data_tags: DataTags,
}

/// What the actions of a step need to know.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cause<'a> {
    Nothing,
    Logon { reset: bool },
    Gap { begin: u64, end: u64 },
    Reject(&'a Refusal),
    Wanted(&'static str),
    End(DisconnectReason),
}

impl<S: Store> Session<S> {
    /// A session before its first connection; its numbers are the store's.
    #[must_use]
    pub fn new(config: SessionConfig, store: S) -> Self {
        Self {
            store,
            state: State::Disconnected,
            outgoing: Outgoing::new(&config),
            send_queue: SendQueue::new(),
            gap: None,
            held: Held::new(config.held_bytes),
            heartbeat_interval: config.heartbeat_interval,
            last_received: Nanos::ZERO,
            since: Nanos::ZERO,
            logon_queued: false,
            unconfirmed: false,
            store_failed: false,
            counters: Counters::default(),
            data_tags: config.data_tags(),
            config,
        }
    }

    /// The data fields that its messages may have, and their lengths.
    #[must_use]
    pub const fn data_tags(&self) -> &DataTags {
        &self.data_tags
    }

    /// The transport is up: an initiator queues its Logon, an acceptor waits for one.
    pub fn connect(&mut self, now: Now) {
        self.send_queue.clear();
        self.logon_queued = false;
        self.gap = None;
        self.held.clear();
        self.outgoing.touch(now.mono);
        self.heartbeat_interval = self.config.heartbeat_interval;
        self.last_received = now.mono;
        let input = match self.config.role {
            Role::Initiator => Input::Connected,
            Role::Acceptor => Input::Accepted,
        };
        let reset = self.config.reset_on_logon;
        if reset && self.config.role == Role::Initiator {
            self.reset_numbers();
        }
        self.apply(now, input, Cause::Logon { reset });
    }

    /// Whether both numbers start again at 1 with the next Logon.
    pub const fn set_reset_on_logon(&mut self, reset: bool) {
        self.config.reset_on_logon = reset;
    }

    /// The transport is gone.
    pub fn transport_closed(&mut self, now: Now) {
        self.confirm(now);
        self.send_queue.clear();
        self.apply(now, Input::TransportClosed, Cause::Nothing);
        if self.config.reset_on_disconnect {
            self.reset_numbers();
        }
    }

    /// Starts to log out; before the Logon, ends the session at once.
    pub fn logout(&mut self, now: Now, text: &'static str) -> Option<Event> {
        let cause = if self.state.is_logging_on() {
            Cause::End(DisconnectReason::LoggedOutBeforeLogon)
        } else {
            Cause::Wanted(text)
        };
        self.apply(now, Input::LogoutWanted, cause)
    }

    /// Refuses a peer whose Logon was valid but whose credentials are not: instead of the Logon it
    /// gets a Logout, and the session ends.
    pub fn refuse(&mut self, now: Now, text: &'static str) {
        self.send_queue.clear();
        self.logon_queued = false;
        self.send_queue.push(QueuedMessage::Logout(LogoutText::Fixed(text)));
        self.state = State::Closed;
        self.since = now.mono;
    }

    /// Does what is due: heartbeats, test requests, the end of a wait.
    pub fn handle_timeout(&mut self, now: Now) -> Option<Event> {
        self.confirm(now);
        if self.store_failed {
            return self.report_store_failure(now);
        }
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
        if self.store_failed {
            return Some(self.since);
        }
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

    /// Whether the driver must close the connection once `poll_transmit` is drained.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Whether it wants to send something: [`Session::poll_transmit`] says what.
    #[inline]
    #[must_use]
    pub const fn has_queued(&self) -> bool {
        !self.send_queue.is_empty()
    }

    /// Where the session stands.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// What it was told when it was built.
    #[must_use]
    pub const fn config(&self) -> &SessionConfig {
        &self.config
    }

    /// Its store: the numbers are there.
    #[must_use]
    pub const fn store(&self) -> &S {
        &self.store
    }

    /// Its store, for what the session does not do itself, such as committing a batch.
    pub const fn store_mut(&mut self) -> &mut S {
        &mut self.store
    }

    /// What it has seen since it was built.
    #[must_use]
    pub const fn counters(&self) -> Counters {
        self.counters
    }
}

/// For receiving and sending.
impl<S: Store> Session<S> {
    /// Whether there is room for all that one input can add.
    pub(super) const fn has_room(&self) -> bool {
        self.send_queue.free() >= QUEUED_PER_INPUT_MAX
    }

    /// SendQueue what a write to the store came to.
    #[inline]
    pub(super) fn stored(&mut self, result: Result<(), StoreError>) {
        self.store_failed |= result.is_err();
    }

    pub(super) fn reset_numbers(&mut self) {
        let result = self.store.reset();
        self.stored(result);
        self.gap = None;
        self.held.clear();
    }

    /// Ends a session whose store failed: what cannot be remembered must not be sent.
    #[cold]
    pub(super) fn report_store_failure(&mut self, now: Now) -> Option<Event> {
        self.send_queue.clear();
        self.store_failed = false;
        self.logon_queued = false;
        let was_over = !self.state.is_connected();
        self.state = State::Closed;
        self.since = now.mono;
        (!was_over).then_some(Event::Disconnect(DisconnectReason::StoreFailed))
    }

    /// Takes one step of the table.
    #[inline]
    pub(super) fn apply(&mut self, now: Now, input: Input, cause: Cause<'_>) -> Option<Event> {
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

    /// Ends the session because of what the peer did.
    #[cold]
    pub(super) fn end(
        &mut self,
        now: Now,
        input: Input,
        reason: DisconnectReason,
    ) -> Option<Event> {
        self.apply(now, input, Cause::End(reason))
    }
}

impl<S: Store> Session<S> {
    fn act(&mut self, action: Action, cause: Cause<'_>) -> Option<Event> {
        let queued = match (action, cause) {
            (Action::SendLogon, cause) => {
                self.logon_queued = true;
                QueuedMessage::Logon { reset: matches!(cause, Cause::Logon { reset: true }) }
            }
            (Action::SendHeartbeat, _) => QueuedMessage::Heartbeat(None),
            (Action::SendTestRequest, _) => QueuedMessage::TestRequest,
            (Action::SendResendRequest, Cause::Gap { begin, end }) => {
                QueuedMessage::ResendRequest { begin, end }
            }
            (Action::SendReject, Cause::Reject(refusal)) => {
                self.counters.rejected += 1;
                QueuedMessage::Reject(*refusal)
            }
            (Action::SendLogout, cause) => QueuedMessage::Logout(logout_text(cause)),
            (Action::ReportLoggedOn, _) => return Some(Event::LoggedOn),
            (Action::ReportLoggedOut, _) => return Some(Event::LoggedOut),
            (Action::ReportDisconnect, Cause::End(reason)) => {
                return Some(Event::Disconnect(reason));
            }
            // An action whose cause does not fit: no caller makes such a pair.
            _ => return None,
        };
        self.send_queue.push(queued);
        None
    }

    fn handle_active_timeout(&mut self, now: Now) -> Option<Event> {
        let is_due = |due: Option<Nanos>| due.is_some_and(|due| now.mono >= due);
        if is_due(self.resend_due()) {
            return self.end(now, Input::Deadline, DisconnectReason::ResendTimeout);
        }
        if is_due(self.receive_due()) {
            let reason = DisconnectReason::HeartbeatTimeout;
            let event = self.apply(now, Input::ReceiveIdle, Cause::End(reason));
            if event.is_some() {
                return event;
            }
        }
        if is_due(self.send_due()) {
            self.outgoing.touch(now.mono);
            return self.apply(now, Input::SendIdle, Cause::Nothing);
        }
        None
    }

    fn resend_due(&self) -> Option<Nanos> {
        let asked = self.gap.as_ref()?.asked_at;
        (self.config.resend_timeout > Nanos::ZERO).then_some(asked + self.config.resend_timeout)
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
        beats.then_some(self.outgoing.last_sent() + interval)
    }
}

const fn logout_text(cause: Cause<'_>) -> LogoutText {
    match cause {
        Cause::End(DisconnectReason::SequenceTooLow { expected, received }) => {
            LogoutText::SequenceTooLow { expected, received }
        }
        Cause::End(DisconnectReason::WrongBeginString) => {
            LogoutText::Fixed("Incorrect BeginString")
        }
        Cause::End(reason) => LogoutText::Fixed(reason.as_str()),
        Cause::Wanted(words) => LogoutText::Fixed(words),
        _ => LogoutText::Empty,
    }
}
