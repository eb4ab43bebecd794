//! Many sessions on one port: a connection belongs to the session that its Logon names.

mod connection;

use std::io;
use std::net::SocketAddr;

use taut_fix::{CompId, DataTags, FieldIndex, Now, Peek, Received, lead_with_msg_type, peek};
use taut_io::{Admission, AdmissionCounters, Completion, Handle, Io, IoError, Kernel};
use taut_net::TlsServerConfig;
use taut_sys::{Address, StreamOptions};
use taut_types::{Host, Nanos};

use crate::acceptor::connection::{Connection, StreamState};
use crate::application::{Application, Outbox};
use crate::clock::{self, Clock};
use crate::endpoint::Endpoint;
use crate::refusal::{LogonNames, Refusal, RefusalCause};
use crate::settings::{SessionSettings, Settings};
use crate::throttle::LogonThrottle;
use crate::transport::{CLOSE_TIMEOUT, Transport, stream_of};

/// Fields of one message.
const FIELDS_MAX: usize = 4096;
/// Connections beside those of the sessions, which have not logged on, and those of them that one
/// source may have.
const LOGGING_ON_MAX: usize = 1024;
const LOGGING_ON_PER_SOURCE_MAX: usize = LOGGING_ON_MAX / 2;

/// An acceptor: one listening socket of a loop, its sessions, their connections.
///
/// It is a driver of the loop: [`Acceptor::handle`] is given every completion. A connection whose
/// session is in use, closed by its hours, or unknown is closed without a word to the peer; why is
/// in [`Acceptor::take_refusal`]. One that has not logged on gives way to newcomers, and has ten
/// seconds (see [`Admission`]).
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
        // Without a `"*"` none is made, and there is no room for any.
        let made_max = if dynamic.is_empty() { 0 } else { settings.dynamic_sessions_max };
        let sessions_max = named.len() + made_max;
        let admission = Admission {
            connections_max: sessions_max.saturating_add(LOGGING_ON_MAX),
            per_source_max: sessions_max.saturating_add(LOGGING_ON_PER_SOURCE_MAX),
            handshake_timeout: Some(CLOSE_TIMEOUT),
        };
        let endpoints = named.into_iter().map(open).collect::<io::Result<_>>()?;
        let listener = events
            .listen(&Address::Inet(listen), &StreamOptions::default(), &admission)
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

    /// What its listener counted of connections.
    ///
    /// # Errors
    /// It accepts no more.
    pub fn admission_counters<K: Kernel>(
        &self,
        io: &mut Io<K>,
    ) -> Result<AdmissionCounters, IoError> {
        io.admission_counters(self.listener)
    }

    /// Whether nobody is connected.
    #[must_use]
    pub const fn is_idle(&self) -> bool {
        self.open_count == 0
    }

    /// The last connection that came to no session, told once: ask after each
    /// [`Acceptor::handle`], which ends one at the most.
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
                self.release(now, &mut connection, why.map(RefusalCause::Net));
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
            // The peer does not close.
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
            self.release(now, &mut connection, fault.map(RefusalCause::Net));
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
        let made = match &self.tls {
            Some(config) => Transport::server(io, stream, config, now.mono + CLOSE_TIMEOUT).ok(),
            None => Transport::plain(io, stream).ok(),
        };
        let Some(transport) = made else {
            // A stale handle is closed already.
            let _ = io.close(stream);
            return;
        };
        self.open_count += 1;
        self.settle(io, now, Box::new(Connection::new(transport, peer)));
    }

    /// Gives a connection to the session that its Logon names, or ends it.
    fn find_session<K: Kernel>(&mut self, io: &mut Io<K>, now: Now, connection: &mut Connection) {
        let mut settings = self.endpoints.iter().map(Endpoint::settings).chain(&self.dynamic);
        if settings.any(|settings| settings.msg_type_anywhere) {
            lead_with_msg_type(&mut connection.first);
        }
        let (found, names) = self.find_endpoint(now, connection.host(), &connection.first);
        connection.logon = names;
        match found {
            Found::NeedMore => {}
            Found::Nobody(why) => {
                self.release(now, connection, Some(why));
                connection.transport.end(io, now.mono + CLOSE_TIMEOUT);
            }
            Found::Endpoint(place) => {
                connection.endpoint = Some(place);
                let first = std::mem::take(&mut connection.first);
                let Some(endpoint) = self.endpoints.get_mut(place) else { return };
                endpoint.connect(now);
                endpoint.receive(now, &first, &mut self.index);
            }
        }
    }

    /// The session that a Logon names, unless it has a connection or is closed; and the names.
    fn find_endpoint(
        &mut self,
        now: Now,
        host: Option<Host>,
        first: &[u8],
    ) -> (Found, Option<LogonNames>) {
        let bytes_max = self.endpoints.iter().map(Endpoint::settings).chain(&self.dynamic);
        let bytes_max = bytes_max.map(|settings| settings.config.message_bytes_max).max();
        let bytes_max = bytes_max.unwrap_or(0);
        let (begin, sender, target) = match peek(first, bytes_max, &mut self.index, &self.data_tags)
        {
            Peek::NeedMore => return (Found::NeedMore, None),
            Peek::Other => return (Found::Nobody(RefusalCause::NoLogon), None),
            Peek::Logon { begin, sender, target } => {
                (begin, CompId::new(sender), CompId::new(target))
            }
        };
        let (Some(sender), Some(target)) = (sender, target) else {
            return (Found::Nobody(RefusalCause::UnknownSession), None);
        };
        let names = LogonNames { begin, sender, target };
        if !host.is_none_or(|host| self.throttle.admits(now.mono, (host, sender))) {
            return (Found::Nobody(RefusalCause::TooManyFailures), Some(names));
        }
        let found = self.session_of(&names, first);
        if let (Err(RefusalCause::Credentials), Some(host)) = (&found, host) {
            self.throttle.note_failure(now.mono, (host, sender));
        }
        let found = found.map_or_else(Found::Nobody, |place| match self.endpoints.get(place) {
            Some(endpoint) if endpoint.is_connected() => Found::Nobody(RefusalCause::InUse),
            Some(endpoint) if endpoint.is_open(now) => Found::Endpoint(place),
            _ => Found::Nobody(RefusalCause::Closed),
        });
        (found, Some(names))
    }

    /// The place of the session that a Logon names; one is made for a peer that fits a `"*"`.
    fn session_of(&mut self, names: &LogonNames, first: &[u8]) -> Result<usize, RefusalCause> {
        let fits = |settings: &SessionSettings| {
            let config = &settings.config;
            config.begin == names.begin && config.sender_comp_id == names.target
        };
        let named = self.endpoints.iter().position(|endpoint| {
            let settings = endpoint.settings();
            fits(settings) && settings.config.target_comp_id == names.sender
        });
        if let Some(place) = named {
            return Ok(place);
        }
        let dynamic = self.dynamic.iter().find(|it| fits(it));
        let dynamic = dynamic.ok_or(RefusalCause::UnknownSession)?;
        if self.dynamic_left == 0 {
            return Err(RefusalCause::NoRoom);
        }
        // Who is not believed takes no place, and leaves no file behind.
        if !dynamic.admits(Received::new(first, &self.index)) {
            return Err(RefusalCause::Credentials);
        }
        let settings = dynamic.for_peer(names.sender);
        let application = (self.make)(&settings);
        let endpoint = Endpoint::open(settings, application).map_err(|_| RefusalCause::Store)?;
        self.dynamic_left -= 1;
        self.endpoints.push(endpoint);
        Ok(self.endpoints.len() - 1)
    }

    /// The session of a connection that is over is free for another one.
    fn release(&mut self, now: Now, connection: &mut Connection, why: Option<RefusalCause>) {
        if std::mem::replace(&mut connection.is_released, true) {
            return;
        }
        let endpoint = connection.endpoint.and_then(|at| self.endpoints.get_mut(at));
        let has_logged_on = endpoint.as_ref().is_some_and(|it| it.has_logged_on());
        // Only a Logon that names a session counts: whoever says nothing guesses nothing.
        if let (Some(host), Some(it)) = (connection.host(), &endpoint) {
            let who = (host, it.settings().config.target_comp_id);
            match has_logged_on {
                true => self.throttle.note_success(who),
                false => self.throttle.note_failure(now.mono, who),
            }
        }
        // Who connects and goes without a word is nobody.
        let why = why.or_else(|| match &endpoint {
            Some(endpoint) => endpoint.refused(),
            None => (!connection.first.is_empty()).then_some(RefusalCause::NoLogon),
        });
        if let Some(why) = why.filter(|_| !has_logged_on) {
            let Connection { peer, logon, .. } = *connection;
            self.refusal = Some(Refusal { peer, logon, why });
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
    Nobody(RefusalCause),
    Endpoint(usize),
}
