//! Many sessions on one port: a connection belongs to the session that its Logon names.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

use taut_fix::{CompId, FieldIndex, Now, Peek, peek};
use taut_sys::{Address, Socket, StreamOptions, Wanted};
use taut_types::Nanos;

use crate::application::Application;
use crate::endpoint::Endpoint;
use crate::link::Link;
use crate::settings::{SessionSettings, Settings};
use crate::throttle::LogonThrottle;

/// Fields of one message.
const FIELDS_MAX: usize = 4096;
/// How long a connection may stay without a Logon, and how long the peer may take to close.
const PATIENCE: Nanos = Nanos::from_secs(10);
/// Connections that have not logged on, at the most.
const STRANGERS_MAX: usize = 1024;

/// An acceptor: one listening socket, its sessions, their connections.
///
/// A driver's loop is [`Acceptor::wait`] and [`Acceptor::turn`], on one thread. A connection whose
/// session is in use, closed by its hours, or unknown is closed without a word.
#[derive(Debug)]
pub struct Acceptor<A, F> {
    listener: Socket,
    endpoints: Vec<Endpoint<A>>,
    /// Sessions for whoever fits.
    dynamic: Vec<SessionSettings>,
    dynamic_left: usize,
    make: F,
    connections: Vec<Connection>,
    throttle: LogonThrottle,
    /// Shared by all sessions: one message is in work at a time.
    index: FieldIndex,
}

#[derive(Debug)]
struct Connection {
    link: Link,
    /// What came before the Logon was whole.
    first: Vec<u8>,
    endpoint: Option<usize>,
    /// When it came, or when its end was sent.
    since: Nanos,
}

impl<A: Application, F: FnMut(&SessionSettings) -> A> Acceptor<A, F> {
    /// Listens, and opens the stores of all sessions that are named. `make` gives each session its
    /// application.
    ///
    /// # Errors
    /// The address cannot be listened on, or a store or log cannot be opened.
    pub fn open(listen: SocketAddr, settings: Settings, mut make: F) -> io::Result<Self> {
        let options = StreamOptions::default();
        let listener = Socket::listen(&Address::Inet(listen), &options).map_err(io::Error::from)?;
        let (dynamic, named): (Vec<_>, Vec<_>) =
            settings.sessions.into_iter().partition(|session| session.is_dynamic);
        let open = |settings: SessionSettings| {
            let application = make(&settings);
            Endpoint::open(settings, application)
        };
        let endpoints = named.into_iter().map(open).collect::<io::Result<_>>()?;
        let minute = Nanos::from_secs(60);
        Ok(Self {
            listener,
            endpoints,
            dynamic,
            dynamic_left: settings.dynamic_sessions_max,
            make,
            connections: Vec::new(),
            throttle: LogonThrottle::new(settings.failed_logons_per_minute, minute),
            index: FieldIndex::with_capacity(FIELDS_MAX),
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// What the system says.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        let address = self.listener.local_address().map_err(io::Error::from)?;
        address.inet().ok_or_else(|| io::Error::other("no internet address"))
    }

    /// All sessions that there are.
    pub fn endpoints(&mut self) -> &mut [Endpoint<A>] {
        &mut self.endpoints
    }

    /// Waits until something can be read or written, something is due, or it is `until`.
    ///
    /// # Errors
    /// What the system says.
    pub fn wait(&self, now: Now, until: Option<Nanos>) -> io::Result<()> {
        let due = self.connections.iter().filter_map(|connection| {
            let endpoint = connection.endpoint.and_then(|at| self.endpoints.get(at));
            let patience = connection.since + PATIENCE;
            match endpoint.filter(|_| !connection.link.is_ending) {
                Some(endpoint) => endpoint.due(now),
                None => Some(patience),
            }
        });
        let due = due.chain(until).min();
        let span = due.map(|due| (due - now.mono).max(Nanos::ZERO));
        let mut wanted = vec![Wanted { fd: self.listener.as_fd(), write: false }];
        wanted.extend(self.connections.iter().map(|connection| Wanted {
            fd: connection.link.as_fd(),
            write: !connection.link.output.is_empty(),
        }));
        taut_sys::wait_ready(&wanted, span).map_err(io::Error::from)?;
        Ok(())
    }

    /// One turn: new connections, what came, what is due.
    ///
    /// # Errors
    /// The listening socket failed.
    pub fn turn(&mut self, now: Now) -> io::Result<()> {
        while let Some((socket, _)) = self.listener.accept().map_err(io::Error::from)? {
            self.admit(now, socket);
        }
        for at in 0..self.connections.len() {
            self.serve(now, at);
            // At once: the peer's next connection may be the next that is served.
            self.release(now, at);
        }
        self.connections.retain(|connection| !connection.link.is_over);
        Ok(())
    }

    /// Whether nobody is connected.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.connections.is_empty()
    }

    /// Logs out of every session, as a shutdown starts.
    pub fn log_out_all(&mut self, now: Now) {
        for connection in &mut self.connections {
            match connection.endpoint.and_then(|at| self.endpoints.get_mut(at)) {
                Some(endpoint) => {
                    endpoint.with_application(now, &mut connection.link.output, |_, outbox| {
                        outbox.log_out("the acceptor is stopping");
                    });
                }
                None => connection.link.end(),
            }
        }
    }

    fn admit(&mut self, now: Now, socket: Socket) {
        let options = StreamOptions { no_delay: true, ..StreamOptions::default() };
        let link = Link::new(socket);
        let strangers = self.connections.iter().filter(|c| c.endpoint.is_none()).count();
        let is_welcome = link.ip().is_none_or(|ip| self.throttle.admits(now.mono, ip));
        if is_welcome && strangers < STRANGERS_MAX && link.apply(&options).is_ok() {
            let first = Vec::new();
            self.connections.push(Connection { link, first, endpoint: None, since: now.mono });
        }
    }

    fn serve(&mut self, now: Now, at: usize) {
        let Some(connection) = self.connections.get_mut(at) else { return };
        if connection.endpoint.is_none() && !connection.link.is_ending {
            connection.link.receive(|_, bytes| connection.first.extend_from_slice(bytes));
            let found = self.find_endpoint(now, at);
            let Some(connection) = self.connections.get_mut(at) else { return };
            match found {
                Found::NeedMore => {}
                Found::Nobody => connection.end(now),
                Found::Endpoint(endpoint) => connection.endpoint = Some(endpoint),
            }
        }
        let Some(connection) = self.connections.get_mut(at) else { return };
        match connection.endpoint.and_then(|at| self.endpoints.get_mut(at)) {
            Some(endpoint) => connection.serve(now, endpoint, &mut self.index),
            None if connection.link.is_ending => connection.link.receive(|_, _| {}),
            // What came in the meantime is for the session that it names: the next turn's.
            None => {}
        }
        connection.link.flush();
        let is_waiting = connection.link.is_ending || connection.endpoint.is_none();
        connection.link.is_over |= is_waiting && now.mono >= connection.since + PATIENCE;
    }

    /// The session that the Logon names, unless it has a connection or is closed.
    fn find_endpoint(&mut self, now: Now, at: usize) -> Found {
        let Some(connection) = self.connections.get_mut(at) else { return Found::Nobody };
        let first = &connection.first;
        let bytes_max = self.endpoints.iter().map(Endpoint::settings).chain(&self.dynamic);
        let bytes_max = bytes_max.map(|settings| settings.config.message_bytes_max).max();
        let found = peek(first, bytes_max.unwrap_or(0), &mut self.index);
        let (begin, sender, target) = match found {
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
            (None, Some(dynamic), Some(peer)) if self.dynamic_left > 0 => {
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
        let endpoint = self.endpoints.get_mut(place);
        let Some(endpoint) = endpoint.filter(|it| !it.is_connected() && it.is_open(now)) else {
            return Found::Nobody;
        };
        let (output, first) = (&mut connection.link.output, std::mem::take(&mut connection.first));
        endpoint.connect(now, output);
        endpoint.receive(now, &first, &mut self.index, output);
        Found::Endpoint(place)
    }

    /// The session of a connection that is over is free for another one.
    fn release(&mut self, now: Now, at: usize) {
        let over = self.connections.get_mut(at).filter(|connection| connection.link.is_over);
        let Some(connection) = over else { return };
        let endpoint = connection.endpoint.and_then(|at| self.endpoints.get_mut(at));
        let has_logged_on = endpoint.as_ref().is_some_and(|it| it.has_logged_on());
        if let Some(ip) = connection.link.ip() {
            if has_logged_on {
                self.throttle.note_success(ip);
            } else {
                self.throttle.note_failure(now.mono, ip);
            }
        }
        if let Some(endpoint) = endpoint {
            endpoint.disconnect(now);
        }
    }
}

enum Found {
    NeedMore,
    Nobody,
    Endpoint(usize),
}

impl Connection {
    fn serve<A: Application>(
        &mut self,
        now: Now,
        endpoint: &mut Endpoint<A>,
        index: &mut FieldIndex,
    ) {
        self.link.receive(|output, bytes| endpoint.receive(now, bytes, index, output));
        if !self.link.is_ending {
            endpoint.tick(now, index, &mut self.link.output);
            if endpoint.is_over() {
                self.end(now);
            }
        }
    }

    fn end(&mut self, now: Now) {
        self.link.end();
        self.since = now.mono;
    }
}

impl<A, F> AsFd for Acceptor<A, F> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}
