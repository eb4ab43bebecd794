//! One session that connects: several addresses in turn, again after a wait that grows.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};

use taut_fix::{FieldIndex, Now};
use taut_sys::{Address, ConnectProgress, Socket, StreamOptions, Wanted};
use taut_types::Nanos;

use crate::application::{Application, Outbox};
use crate::back_off::BackOff;
use crate::endpoint::Endpoint;
use crate::link::Link;
use crate::random::random;
use crate::settings::SessionSettings;

/// Fields of one message.
const FIELDS_MAX: usize = 4096;
/// How long the peer may take to close after our end.
const PATIENCE: Nanos = Nanos::from_secs(2);
/// How often the hours of a closed session are looked at.
const HOURS_CHECK: Nanos = Nanos::from_secs(1);

/// An initiator: its session, and the connection while there is one.
///
/// A driver's loop is [`Initiator::wait`] and [`Initiator::turn`]. The names of addresses are
/// looked up when their turn comes, which blocks: give numbers where that matters.
#[derive(Debug)]
pub struct Initiator<A> {
    endpoint: Endpoint<A>,
    phase: Phase,
    /// Which address is next.
    turn: usize,
    back_off: BackOff,
    /// The addresses that the last name stood for and that were not tried.
    resolved: Vec<SocketAddr>,
    index: FieldIndex,
    /// Why the last attempt failed.
    last_failure: Option<io::Error>,
    attempts: u64,
}

#[derive(Debug)]
enum Phase {
    /// Until then nothing is tried.
    Waiting(Nanos),
    /// A connection on its way, and when it is given up.
    Connecting(Link, Nanos),
    /// A connection, and, once our end is sent, how long the peer's is waited for.
    Connected(Link, Option<Nanos>),
}

impl<A: Application> Initiator<A> {
    /// Opens store and log; nothing is connected yet.
    ///
    /// # Errors
    /// They cannot be opened, or the settings have no address.
    pub fn open(settings: SessionSettings, application: A) -> io::Result<Self> {
        if settings.addresses.is_empty() {
            return Err(io::Error::other("the session has no addresses"));
        }
        let back_off = BackOff::new(settings.reconnect_min, settings.reconnect_max);
        Ok(Self {
            endpoint: Endpoint::open(settings, application)?,
            phase: Phase::Waiting(Nanos::ZERO),
            turn: 0,
            back_off,
            resolved: Vec::new(),
            index: FieldIndex::with_capacity(FIELDS_MAX),
            last_failure: None,
            attempts: 0,
        })
    }

    /// The session and its application.
    pub const fn endpoint(&mut self) -> &mut Endpoint<A> {
        &mut self.endpoint
    }

    /// Why the last attempt to connect failed, told once.
    pub const fn take_failure(&mut self) -> Option<io::Error> {
        self.last_failure.take()
    }

    /// How often it tried to connect.
    #[must_use]
    pub const fn attempts(&self) -> u64 {
        self.attempts
    }

    /// Whether there is a connection, or one under way.
    #[must_use]
    pub const fn is_connected(&self) -> bool {
        !matches!(self.phase, Phase::Waiting(_))
    }

    /// Lets the application act, when there is a connection.
    pub fn with_application(&mut self, now: Now, act: impl FnOnce(&mut A, &mut Outbox<'_>)) {
        if let Phase::Connected(link, None) = &mut self.phase {
            self.endpoint.with_application(now, &mut link.output, act);
            link.flush();
        }
    }

    /// Waits until something can be read or written, something is due, or it is `until`.
    ///
    /// # Errors
    /// What the system says.
    pub fn wait(&self, now: Now, until: Option<Nanos>) -> io::Result<()> {
        let (link, due) = match &self.phase {
            Phase::Waiting(until) => (None, Some(*until)),
            Phase::Connecting(link, until) => (Some(link), Some(*until)),
            Phase::Connected(link, until) => {
                let due = self.endpoint.due(now);
                (Some(link), [*until, due].into_iter().flatten().min())
            }
        };
        let is_connecting = matches!(self.phase, Phase::Connecting(..));
        let wanted: Vec<_> = link
            .iter()
            .map(|link| Wanted {
                fd: std::os::fd::AsFd::as_fd(*link),
                write: is_connecting || !link.output.is_empty(),
            })
            .collect();
        let due = [due, until].into_iter().flatten().min();
        let span = due.map(|due| (due - now.mono).max(Nanos::ZERO));
        taut_sys::wait_ready(&wanted, span).map_err(io::Error::from)?;
        Ok(())
    }

    /// One turn: connects, serves, or waits for the next attempt.
    pub fn turn(&mut self, now: Now) {
        self.phase = match std::mem::replace(&mut self.phase, Phase::Waiting(now.mono)) {
            Phase::Waiting(until) if now.mono < until => Phase::Waiting(until),
            Phase::Waiting(_) if !self.endpoint.is_open(now) => {
                Phase::Waiting(now.mono + HOURS_CHECK)
            }
            Phase::Waiting(_) => self.start(now),
            Phase::Connecting(link, until) => self.go_on(now, link, until),
            Phase::Connected(link, until) => self.serve(now, link, until),
        };
    }

    /// Tries the next address.
    fn start(&mut self, now: Now) -> Phase {
        self.attempts += 1;
        let made = self.next_address().and_then(|address| {
            let options = StreamOptions { no_delay: true, ..StreamOptions::default() };
            Socket::connect(&Address::Inet(address), &options).map_err(io::Error::from)
        });
        let until = now.mono + self.endpoint.settings().connect_timeout;
        match made {
            Ok((socket, ConnectProgress::Underway)) => Phase::Connecting(Link::new(socket), until),
            Ok((socket, _)) => self.begin(now, Link::new(socket)),
            Err(error) => self.give_up(now, error),
        }
    }

    fn next_address(&mut self) -> io::Result<SocketAddr> {
        if let Some(address) = self.resolved.pop() {
            return Ok(address);
        }
        let addresses = &self.endpoint.settings().addresses;
        let name = addresses.get(self.turn % addresses.len().max(1));
        let name = name.ok_or_else(|| io::Error::other("the session has no addresses"))?;
        self.turn += 1;
        self.resolved = name.to_socket_addrs()?.collect();
        // The first of a name is tried first.
        self.resolved.reverse();
        self.resolved.pop().ok_or_else(|| io::Error::other(format!("{name}: no address")))
    }

    fn go_on(&mut self, now: Now, link: Link, until: Nanos) -> Phase {
        let wanted = [Wanted { fd: std::os::fd::AsFd::as_fd(&link), write: true }];
        let is_ready = taut_sys::wait_ready(&wanted, Some(Nanos::ZERO)).unwrap_or(true);
        match link.connect_result() {
            Err(error) => self.give_up(now, error.into()),
            Ok(()) if is_ready => self.begin(now, link),
            Ok(()) if now.mono >= until => {
                self.give_up(now, io::Error::from(io::ErrorKind::TimedOut))
            }
            Ok(()) => Phase::Connecting(link, until),
        }
    }

    fn begin(&mut self, now: Now, mut link: Link) -> Phase {
        self.endpoint.connect(now, &mut link.output);
        link.flush();
        Phase::Connected(link, None)
    }

    fn serve(&mut self, now: Now, mut link: Link, until: Option<Nanos>) -> Phase {
        let (endpoint, index) = (&mut self.endpoint, &mut self.index);
        link.receive(|output, bytes| endpoint.receive(now, bytes, index, output));
        let mut until = until;
        if until.is_none() {
            endpoint.tick(now, index, &mut link.output);
            if endpoint.has_logged_on() {
                self.back_off.reset();
                self.resolved.clear();
            }
            if endpoint.is_over() {
                link.end();
                until = Some(now.mono + PATIENCE);
            }
        }
        link.flush();
        if link.is_over || until.is_some_and(|until| now.mono >= until) {
            self.endpoint.disconnect(now);
            return Phase::Waiting(now.mono + self.wait_before_next());
        }
        Phase::Connected(link, until)
    }

    fn give_up(&mut self, now: Now, error: io::Error) -> Phase {
        self.last_failure = Some(error);
        Phase::Waiting(now.mono + self.wait_before_next())
    }

    fn wait_before_next(&mut self) -> Nanos {
        self.back_off.wait(random().map_or(0, u64::from_ne_bytes))
    }
}
