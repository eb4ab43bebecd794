//! Many sessions on one port: a connection belongs to the session that its Logon names.

mod connection;

use std::io;
use std::net::SocketAddr;

use taut_fix::{CompId, DataTags, FieldIndex, Now, Peek, Received, lead_with_msg_type, peek};
use taut_io::{Completion, Handle, Io, IoError, Kernel};
use taut_net::{NetError, TlsServerConfig};
use taut_sys::{Address, StreamOptions};
use taut_types::Nanos;

use crate::acceptor::connection::{Connection, StreamState};
use crate::application::{Application, Outbox};
use crate::clock::{self, Clock};
use crate::endpoint::Endpoint;
use crate::settings::{SessionSettings, Settings};
use crate::throttle::LogonThrottle;
use crate::transport::{CLOSE_TIMEOUT, Transport, stream_of};

/// Fields of one message.
const FIELDS_MAX: usize = 4096;
/// Connections that have not logged on, at the most.
const LOGGING_ON_MAX: usize = 1024;

/// An acceptor: one listening socket of a loop, its sessions, their connections.
///
/// It is a driver of the loop: [`Acceptor::handle`] is given every completion. A connection whose
/// session is in use, closed by its hours, or unknown is closed without a word.
#[derive(Debug)]
pub struct Acceptor<A, F> {
    listener: Handle,
    clock: Clock,
    tls: Option<TlsServerConfig>,
    endpoints: Vec<Endpoint<A>>,
    /// Sessions for whoever fits.
    dynamic: Vec<SessionSettings>,
    dynamic_left: usize,
    make: F,
    /// By the place of their stream in the loop.
    connections: Vec<Option<Box<Connection>>>,
    open_count: usize,
    throttle: LogonThrottle,
    /// Shared by all sessions: one message is in work at a time.
    index: FieldIndex,
    /// The data fields of all sessions: whose a Logon is stands in it.
    data_tags: DataTags,
    refusal: Option<Refusal>,
    fault: Option<IoError>,
}

/// A connection that ended before its Logon, through the peer's fault or the network's.
#[derive(Clone, Copy, Debug)]
pub struct Refusal {
    /// Who it was.
    pub peer: Option<SocketAddr>,
    /// Why.
    pub why: NetError,
}

impl<A: Application, F: FnMut(&SessionSettings) -> A> Acceptor<A, F> {
    /// Listens, and opens the stores of all sessions that are named. `make` gives each session its
    /// application.
    ///
    /// # Errors
    /// The address cannot be listened on, or a store or log cannot be opened.
    pub fn open<K: Kernel>(
        events: &mut Io<K>,
        listen: SocketAddr,
        settings: Settings,
        mut make: F,
    ) -> io::Result<Self> {
        let tags = settings.sessions.iter().map(|session| session.config.data_tags());
        let data_tags = tags.fold(DataTags::STANDARD.clone(), |all, more| all.union(&more));
        let (dynamic, named): (Vec<_>, Vec<_>) =
            settings.sessions.into_iter().partition(|session| session.is_dynamic);
        let open = |settings: SessionSettings| {
            let application = make(&settings);
            Endpoint::open(settings, application)
        };
        let endpoints = named.into_iter().map(open).collect::<io::Result<_>>()?;
        let listener = events
            .listen(&Address::Inet(listen), &StreamOptions::default())
            .map_err(|error| io::Error::other(format!("cannot listen on {listen}: {error}")))?;
        let minute = Nanos::from_secs(60);
        Ok(Self {
            listener,
            clock: clock::system,
            tls: settings.tls,
            endpoints,
            dynamic,
            dynamic_left: settings.dynamic_sessions_max,
            make,
            connections: Vec::new(),
            open_count: 0,
            throttle: LogonThrottle::new(settings.failed_logons_per_minute, minute),
            index: FieldIndex::with_capacity(FIELDS_MAX),
            data_tags,
            refusal: None,
            fault: None,
        })
    }

    /// Another clock than the system's: what UTC it is at a moment of the loop's time.
    pub const fn set_clock(&mut self, clock: Clock) {
        self.clock = clock;
    }

    /// Where it listens.
    ///
    /// # Errors
    /// What the system says.
    pub fn local_address<K: Kernel>(&self, events: &mut Io<K>) -> io::Result<SocketAddr> {
        let address = events.local_address(self.listener).map_err(io::Error::other)?;
        address.inet().ok_or_else(|| io::Error::other("no internet address"))
    }

    /// All sessions that there are.
    pub fn endpoints(&mut self) -> &mut [Endpoint<A>] {
        &mut self.endpoints
    }

    /// Whether nobody is connected.
    #[must_use]
    pub const fn is_idle(&self) -> bool {
        self.open_count == 0
    }

    /// The last connection that ended before its Logon with a fault, told once.
    pub const fn take_refusal(&mut self) -> Option<Refusal> {
        self.refusal.take()
    }

    /// Why accepting failed (no descriptors left, say), told once; it goes on when a connection
    /// ends.
    pub const fn take_fault(&mut self) -> Option<IoError> {
        self.fault.take()
    }

    /// Takes a completion; false when it is another source's.
    pub fn handle<K: Kernel>(&mut self, io: &mut Io<K>, completion: &Completion<'_>) -> bool {
        match *completion {
            Completion::Accepted { listener, stream, peer } if listener == self.listener => {
                self.admit(io, stream, peer.inet());
                true
            }
            Completion::Failed { source, error, .. } if source == self.listener => {
                self.fault = Some(error);
                true
            }
            Completion::Closed { source, .. } if source == self.listener => true,
            Completion::Timer { timer, token, .. } => {
                let place = usize::try_from(token).unwrap_or(usize::MAX);
                let slot = self.connections.get_mut(place);
                let expired =
                    slot.and_then(|slot| slot.take_if(|it| it.timer.is_expired_by(timer)));
                let Some(connection) = expired else { return false };
                self.handle_timer(io, connection);
                true
            }
            _ => self.handle_stream(io, completion),
        }
    }

    /// Lets the application of a session act, for what comes from elsewhere than its peer; `at` is
    /// its place in [`Acceptor::endpoints`]. Nothing happens without a connection. Cost: a look at
    /// every connection.
    pub fn with_application<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        at: usize,
        act: impl FnOnce(&mut A, &mut Outbox<'_>),
    ) {
        let found = self.connections.iter_mut().find_map(|slot| {
            slot.take_if(|connection| connection.endpoint == Some(at) && !connection.is_ending())
        });
        let Some(connection) = found else { return };
        let now = clock::read(io, self.clock);
        if let Some(endpoint) = self.endpoints.get_mut(at) {
            endpoint.with_application(now, act);
        }
        self.settle(io, now, connection);
    }

    /// Logs out of every session, and accepts no more, as a shutdown starts.
    pub fn log_out_all<K: Kernel>(&mut self, io: &mut Io<K>) {
        // A stale handle is closed already.
        let _ = io.close(self.listener);
        let now = clock::read(io, self.clock);
        for place in 0..self.connections.len() {
            let slot = self.connections.get_mut(place);
            let Some(mut connection) = slot.and_then(Option::take) else { continue };
            match connection.endpoint.and_then(|at| self.endpoints.get_mut(at)) {
                Some(endpoint) if !connection.is_ending() => {
                    endpoint.with_application(now, |_, outbox| {
                        outbox.log_out("the acceptor is stopping");
                    });
                }
                Some(_) => {}
                None => connection.transport.end(io, now.mono + CLOSE_TIMEOUT),
            }
            self.settle(io, now, connection);
        }
    }

    fn handle_stream<K: Kernel>(&mut self, io: &mut Io<K>, completion: &Completion<'_>) -> bool {
        let Some(stream) = stream_of(completion) else { return false };
        let slot = self.connections.get_mut(stream.index());
        let mine = slot.and_then(|slot| slot.take_if(|it| it.transport.stream() == stream));
        let Some(mut connection) = mine else { return false };
        let now = clock::read(io, self.clock);
        let endpoint = connection.endpoint.and_then(|at| self.endpoints.get_mut(at));
        match connection.receive(io, now, completion, endpoint, &mut self.index) {
            StreamState::Closed(why) => {
                self.release(now, &mut connection, why);
                connection.timer.cancel(io);
                self.open_count -= 1;
                return true;
            }
            StreamState::Ended => {
                self.release(now, &mut connection, None);
                connection.transport.end(io, now.mono + CLOSE_TIMEOUT);
            }
            StreamState::Open if connection.endpoint.is_none() && !connection.is_ending() => {
                self.find_session(io, now, &mut connection);
            }
            StreamState::Open => {}
        }
        self.settle(io, now, connection);
        true
    }

    /// What is due on a connection.
    fn handle_timer<K: Kernel>(&mut self, io: &mut Io<K>, mut connection: Box<Connection>) {
        let now = clock::read(io, self.clock);
        if connection.deadline.is_some_and(|deadline| now.mono >= deadline) {
            // It did not log on, or the peer does not close.
            self.release(now, &mut connection, None);
            connection.deadline = None;
            connection.transport.break_off(io, None);
        } else if let Some(endpoint) = connection.endpoint.and_then(|at| self.endpoints.get_mut(at))
            && !connection.is_ending()
        {
            endpoint.tick(now);
        }
        self.settle(io, now, connection);
    }

    /// Sends what there is, ends what is over, sets the timer, and puts the connection back.
    fn settle<K: Kernel>(&mut self, io: &mut Io<K>, now: Now, mut connection: Box<Connection>) {
        let endpoint = connection.endpoint.and_then(|at| self.endpoints.get_mut(at));
        connection.settle(io, now, endpoint, &mut self.index);
        if connection.endpoint.is_some() && connection.is_ending() {
            // A peer that has our end may connect anew before it closes this connection.
            let fault = connection.transport.fault();
            self.release(now, &mut connection, fault);
        }
        let place = connection.transport.stream().index();
        if self.connections.len() <= place {
            self.connections.resize_with(place + 1, || None);
        }
        if let Some(slot) = self.connections.get_mut(place) {
            *slot = Some(connection);
        }
    }

    fn admit<K: Kernel>(&mut self, io: &mut Io<K>, stream: Handle, peer: Option<SocketAddr>) {
        let now = clock::read(io, self.clock);
        let ip = peer.map(|peer| peer.ip().to_canonical());
        let is_logging_on = |it: &Connection| it.endpoint.is_none() && !it.is_ending();
        let logging_on = self.connections.iter().flatten().filter(|it| is_logging_on(it)).count();
        let is_admitted = ip.is_none_or(|ip| self.throttle.admits(now.mono, ip));
        let deadline = now.mono + CLOSE_TIMEOUT;
        let made = match &self.tls {
            _ if !is_admitted || logging_on >= LOGGING_ON_MAX => None,
            Some(config) => Transport::server(io, stream, config, deadline).ok(),
            None => Transport::plain(io, stream).ok(),
        };
        let Some(transport) = made else {
            // A stale handle is closed already.
            let _ = io.close(stream);
            return;
        };
        self.open_count += 1;
        self.settle(io, now, Box::new(Connection::new(transport, peer, deadline)));
    }

    /// Gives a connection to the session that its Logon names, or ends it.
    fn find_session<K: Kernel>(&mut self, io: &mut Io<K>, now: Now, connection: &mut Connection) {
        let mut settings = self.endpoints.iter().map(Endpoint::settings).chain(&self.dynamic);
        if settings.any(|settings| settings.msg_type_anywhere) {
            lead_with_msg_type(&mut connection.first);
        }
        match self.find_endpoint(now, &connection.first) {
            Found::NeedMore => {}
            Found::Nobody => {
                self.release(now, connection, None);
                connection.transport.end(io, now.mono + CLOSE_TIMEOUT);
            }
            Found::Endpoint(place) => {
                connection.endpoint = Some(place);
                connection.deadline = None;
                let first = std::mem::take(&mut connection.first);
                let Some(endpoint) = self.endpoints.get_mut(place) else { return };
                endpoint.connect(now);
                endpoint.receive(now, &first, &mut self.index);
            }
        }
    }

    /// The session that a Logon names, unless it has a connection or is closed.
    fn find_endpoint(&mut self, now: Now, first: &[u8]) -> Found {
        let bytes_max = self.endpoints.iter().map(Endpoint::settings).chain(&self.dynamic);
        let bytes_max = bytes_max.map(|settings| settings.config.message_bytes_max).max();
        let bytes_max = bytes_max.unwrap_or(0);
        let peeked = peek(first, bytes_max, &mut self.index, &self.data_tags);
        let (begin, sender, target) = match peeked {
            Peek::NeedMore => return Found::NeedMore,
            Peek::Other => return Found::Nobody,
            Peek::Logon { begin, sender, target } => (begin, sender, target),
        };
        let fits = |settings: &SessionSettings| {
            let config = &settings.config;
            config.begin == begin && config.sender_comp_id.as_bytes() == target
        };
        let named = self.endpoints.iter().position(|endpoint| {
            let settings = endpoint.settings();
            fits(settings) && settings.config.target_comp_id.as_bytes() == sender
        });
        let (dynamic, peer) = (self.dynamic.iter().find(|it| fits(it)), CompId::new(sender));
        let place = match (named, dynamic, peer) {
            (Some(place), ..) => place,
            // Who is not believed takes no place, and leaves no file behind.
            (None, Some(dynamic), Some(peer))
                if self.dynamic_left > 0 && dynamic.admits(Received::new(first, &self.index)) =>
            {
                let settings = dynamic.for_peer(peer);
                let application = (self.make)(&settings);
                let Ok(endpoint) = Endpoint::open(settings, application) else {
                    return Found::Nobody;
                };
                self.dynamic_left -= 1;
                self.endpoints.push(endpoint);
                self.endpoints.len() - 1
            }
            _ => return Found::Nobody,
        };
        let is_free = |it: &Endpoint<A>| !it.is_connected() && it.is_open(now);
        if self.endpoints.get(place).is_some_and(is_free) {
            Found::Endpoint(place)
        } else {
            Found::Nobody
        }
    }

    /// The session of a connection that is over is free for another one.
    fn release(&mut self, now: Now, connection: &mut Connection, why: Option<NetError>) {
        if std::mem::replace(&mut connection.is_released, true) {
            return;
        }
        let endpoint = connection.endpoint.and_then(|at| self.endpoints.get_mut(at));
        let has_logged_on = endpoint.as_ref().is_some_and(|it| it.has_logged_on());
        match connection.peer.map(|peer| peer.ip().to_canonical()) {
            Some(ip) if has_logged_on => self.throttle.note_success(ip),
            Some(ip) => self.throttle.note_failure(now.mono, ip),
            None => {}
        }
        if let Some(why) = why.filter(|_| !has_logged_on) {
            self.refusal = Some(Refusal { peer: connection.peer, why });
        }
        if let Some(endpoint) = endpoint {
            endpoint.disconnect(now);
            connection.transport.take_rest(endpoint);
        }
        connection.endpoint = None;
    }
}

enum Found {
    NeedMore,
    Nobody,
    Endpoint(usize),
}
