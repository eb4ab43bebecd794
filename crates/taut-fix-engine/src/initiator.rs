//! One session that connects: several addresses in turn, again after a wait that grows.

use std::io;

use taut_fix::{FieldIndex, Now};
use taut_io::{Completion, Handle, Io, Kernel};
use taut_net::{Connecting, Connector, NetError, Target};
use taut_sys::StreamOptions;
use taut_types::Nanos;

use crate::application::{Application, Outbox};
use crate::back_off::BackOff;
use crate::clock::{self, Clock};
use crate::endpoint::Endpoint;
use crate::lazy_timer::LazyTimer;
use crate::random::random;
use crate::settings::SessionSettings;
use crate::transport::{CLOSE_TIMEOUT, Transport, TransportEvent, stream_of};

/// Fields of one message.
const FIELDS_MAX: usize = 4096;
/// How often the hours of a closed session are looked at.
const HOURS_CHECK: Nanos = Nanos::from_secs(1);
/// Tells its timers from others when a loop is looked into; what counts is the timer.
const TOKEN: u64 = u64::from_be_bytes(*b"tautinit");

/// An initiator: its session, and the connection while there is one.
///
/// It is a driver of the loop: [`Initiator::handle`] is given every completion. Names are looked up
/// off the loop's thread; the addresses of one name are tried in one attempt, each for its share of
/// the time that an attempt may take.
#[derive(Debug)]
pub struct Initiator<A> {
    endpoint: Endpoint<A>,
    clock: Clock,
    phase: Phase,
    /// Expires when the phase, or the session, has something to do.
    timer: LazyTimer,
    /// Of what the timer is about, beside the session's own times.
    deadline: Option<Nanos>,
    /// Which address is next.
    turn: usize,
    /// The one of this attempt.
    address: String,
    back_off: BackOff,
    index: FieldIndex,
    /// Why the last attempt failed.
    failure: Option<io::Error>,
    attempts: u64,
    /// Nothing is tried any more.
    is_stopped: bool,
}

#[derive(Debug)]
enum Phase {
    /// Nothing is tried before the deadline.
    Waiting,
    Connecting(Connector),
    /// A stream stands; TLS may still be on its way.
    Connected(Transport),
}

impl<A: Application> Initiator<A> {
    /// Opens store and log, and starts to connect.
    ///
    /// # Errors
    /// They cannot be opened, the settings have no address, or the loop has no timer left.
    pub fn start<K: Kernel>(
        events: &mut Io<K>,
        settings: SessionSettings,
        application: A,
    ) -> io::Result<Self> {
        if settings.addresses.is_empty() {
            return Err(io::Error::other("the session has no addresses"));
        }
        let back_off = BackOff::new(settings.reconnect_min, settings.reconnect_max);
        let mut initiator = Self {
            endpoint: Endpoint::open(settings, application)?,
            clock: clock::system,
            phase: Phase::Waiting,
            timer: LazyTimer::new(),
            deadline: Some(events.now()),
            turn: 0,
            address: String::new(),
            back_off,
            index: FieldIndex::with_capacity(FIELDS_MAX),
            failure: None,
            attempts: 0,
            is_stopped: false,
        };
        let due = initiator.deadline;
        initiator.timer.set(events, due, TOKEN).map_err(io::Error::other)?;
        Ok(initiator)
    }

    /// Another clock than the system's: what UTC it is at a moment of the loop's time.
    pub const fn set_clock(&mut self, clock: Clock) {
        self.clock = clock;
    }

    /// The session and its application.
    pub const fn endpoint(&mut self) -> &mut Endpoint<A> {
        &mut self.endpoint
    }

    /// Why the last attempt came to no session, told once.
    pub const fn take_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }

    /// How often it tried to connect.
    #[must_use]
    pub const fn attempts(&self) -> u64 {
        self.attempts
    }

    /// Whether there is a connection, or one under way.
    #[must_use]
    pub const fn is_connected(&self) -> bool {
        !matches!(self.phase, Phase::Waiting)
    }

    /// Lets the application act, when there is a connection.
    pub fn with_application<K: Kernel>(
        &mut self,
        events: &mut Io<K>,
        act: impl FnOnce(&mut A, &mut Outbox<'_>),
    ) {
        let now = clock::read(events, self.clock);
        if let Phase::Connected(transport) = &mut self.phase
            && !transport.is_ending()
            && self.endpoint.is_connected()
        {
            self.endpoint.with_application(now, act);
            self.settle(events, now);
        }
    }

    /// Gives up: what is connected ends without a Logout, and nothing is tried any more.
    pub fn stop<K: Kernel>(&mut self, events: &mut Io<K>) {
        let now = clock::read(events, self.clock);
        self.is_stopped = true;
        self.endpoint.disconnect(now);
        match &mut self.phase {
            Phase::Connected(transport) => {
                transport.take_rest(&mut self.endpoint);
                transport.end(events, now.mono + CLOSE_TIMEOUT);
            }
            Phase::Connecting(connector) => {
                connector.cancel(events);
                self.phase = Phase::Waiting;
            }
            Phase::Waiting => {}
        }
        self.deadline = None;
        self.settle(events, now);
    }

    /// Takes a completion; false when it is another source's.
    pub fn handle<K: Kernel>(&mut self, events: &mut Io<K>, completion: &Completion<'_>) -> bool {
        if let Completion::Timer { timer, .. } = *completion {
            let is_mine = self.timer.is_expired_by(timer);
            if is_mine {
                self.handle_timer(events);
            }
            return is_mine;
        }
        match &mut self.phase {
            Phase::Waiting => false,
            Phase::Connecting(connector) => match connector.handle(events, completion) {
                Connecting::NotMine => false,
                Connecting::Underway => true,
                Connecting::Connected(stream) => {
                    self.connected(events, stream);
                    true
                }
                Connecting::Failed(error) => {
                    self.give_up(events, &error);
                    true
                }
            },
            Phase::Connected(transport) => {
                let is_mine = stream_of(completion) == Some(transport.stream());
                if is_mine {
                    self.serve(events, completion);
                }
                is_mine
            }
        }
    }

    /// What is due.
    fn handle_timer<K: Kernel>(&mut self, events: &mut Io<K>) {
        let now = clock::read(events, self.clock);
        let is_due = self.deadline.is_some_and(|deadline| now.mono >= deadline);
        match &mut self.phase {
            Phase::Waiting if is_due && !self.endpoint.is_open(now) => {
                self.deadline = Some(now.mono + HOURS_CHECK);
            }
            Phase::Waiting if is_due => return self.connect(events, now),
            Phase::Connected(transport) if is_due => {
                // The peer does not close.
                self.deadline = None;
                transport.break_off(events, None);
            }
            Phase::Connected(transport)
                if !transport.is_ending() && self.endpoint.is_connected() =>
            {
                self.endpoint.tick(now);
            }
            _ => {}
        }
        self.settle(events, now);
    }

    /// Tries the next address.
    fn connect<K: Kernel>(&mut self, events: &mut Io<K>, now: Now) {
        self.attempts += 1;
        let addresses = &self.endpoint.settings().addresses;
        self.address =
            addresses.get(self.turn % addresses.len().max(1)).cloned().unwrap_or_default();
        self.turn += 1;
        let deadline = now.mono + self.endpoint.settings().connect_timeout;
        let made = Target::parse(&self.address).and_then(|target| {
            Connector::start(events, &target, &StreamOptions::default(), deadline)
        });
        match made {
            Ok(connector) => {
                self.deadline = None;
                self.phase = Phase::Connecting(connector);
            }
            Err(error) => self.give_up(events, &error),
        }
    }

    fn connected<K: Kernel>(&mut self, events: &mut Io<K>, stream: Handle) {
        let now = clock::read(events, self.clock);
        let settings = self.endpoint.settings();
        let made = match &settings.tls {
            None => Transport::plain(events, stream),
            Some(tls) => {
                let name = tls.name_for(&self.address);
                let deadline = now.mono + settings.connect_timeout;
                Transport::client(events, stream, (&tls.config, name), deadline)
            }
        };
        match made {
            Ok(transport) => {
                if transport.is_plain() {
                    self.endpoint.connect(now);
                }
                self.phase = Phase::Connected(transport);
                self.settle(events, now);
            }
            Err(error) => {
                // A stale handle is closed already.
                let _ = events.close(stream);
                self.give_up(events, &error);
            }
        }
    }

    fn serve<K: Kernel>(&mut self, events: &mut Io<K>, completion: &Completion<'_>) {
        let now = clock::read(events, self.clock);
        let Phase::Connected(transport) = &mut self.phase else { return };
        let (endpoint, index) = (&mut self.endpoint, &mut self.index);
        let (mut has_ended, mut closed) = (false, None);
        transport.handle(events, completion, |event| match event {
            TransportEvent::Ready => endpoint.connect(now),
            TransportEvent::Bytes(bytes) => endpoint.receive(now, bytes, index),
            TransportEvent::Ended => has_ended = true,
            TransportEvent::Closed(why) => closed = Some(why),
        });
        if self.endpoint.has_logged_on() {
            self.back_off.reset();
        }
        if (has_ended || closed == Some(None))
            && self.endpoint.is_connected()
            && !self.endpoint.has_logged_on()
        {
            self.failure = Some(no_session(&self.endpoint, &self.address));
        }
        if let Some(why) = closed {
            let was_up = self.endpoint.has_logged_on();
            self.endpoint.disconnect(now);
            return match why.filter(|_| !was_up) {
                Some(error) => self.give_up(events, &error),
                None => self.wait_for_next(events),
            };
        }
        if has_ended {
            self.endpoint.disconnect(now);
            transport.take_rest(&mut self.endpoint);
            transport.end(events, now.mono + CLOSE_TIMEOUT);
        }
        self.settle(events, now);
    }

    /// Sends what there is, ends what is over, and sets the timer.
    fn settle<K: Kernel>(&mut self, events: &mut Io<K>, now: Now) {
        let mut due = self.deadline;
        if let Phase::Connected(transport) = &mut self.phase {
            transport.flush(events);
            if !transport.is_ending() && self.endpoint.is_connected() {
                let next = transport.serve(events, now, &mut self.endpoint, &mut self.index);
                due = [due, next].into_iter().flatten().min();
            }
            if transport.is_ending() || self.endpoint.session().is_closed() {
                due = Some(*self.deadline.get_or_insert(now.mono + CLOSE_TIMEOUT));
            }
        }
        if self.timer.set(events, due, TOKEN).is_err()
            && let Phase::Connected(transport) = &mut self.phase
        {
            // Without a timer nobody would notice that the peer is gone.
            transport.break_off(events, None);
        }
    }

    fn give_up<K: Kernel>(&mut self, events: &mut Io<K>, error: &NetError) {
        let address = &self.address;
        let words = match &self.endpoint.settings().tls {
            Some(tls) => tls.explain(address, error),
            None => error.to_string(),
        };
        self.failure = Some(io::Error::other(format!("{address}: {words}")));
        self.wait_for_next(events);
    }

    fn wait_for_next<K: Kernel>(&mut self, events: &mut Io<K>) {
        let wait = self.back_off.wait(random().map_or(0, u64::from_ne_bytes));
        self.phase = Phase::Waiting;
        self.deadline = (!self.is_stopped).then(|| events.now() + wait);
        let due = self.deadline;
        if self.timer.set(events, due, TOKEN).is_err() {
            self.is_stopped = true;
            self.failure = Some(io::Error::other("the loop has no timer left: raise timers_max"));
        }
    }
}

/// The peer ended the connection instead of answering our Logon: what it said, or what it may mean.
fn no_session<A: Application>(endpoint: &Endpoint<A>, address: &str) -> io::Error {
    let config = &endpoint.settings().config;
    let words = match endpoint.refusal_text() {
        _ if endpoint.refused().is_some() => {
            endpoint.refused().map_or_else(String::new, |why| format!("no session: {why}"))
        }
        Some("") => "the peer refuses our Logon without a reason".to_owned(),
        Some(text) => format!("the peer refuses our Logon: {text}"),
        None => format!(
            "the peer closed the connection instead of answering our Logon: perhaps it has no \
             session {} {} -> {}, it is in use, or closed at this time",
            config.begin.as_str(),
            config.sender_comp_id.as_str(),
            config.target_comp_id.as_str()
        ),
    };
    io::Error::other(format!("{address}: {words}"))
}
