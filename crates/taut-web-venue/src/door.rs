//! The driver: listeners and connections on the venue's loop, HTTP and WebSocket on one port.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;

use taut_book::OrderBook;
use taut_engine::{Command, Event};
use taut_fix::Now;
use taut_io::{Admission, Completion, Handle, Io, Kernel};
use taut_net::TlsServerConfig;
use taut_sys::{Address, StreamOptions};
use taut_types::Nanos;
use taut_venue::{Observer, VenueError};
use taut_ws::{Connection, Event as WsEvent, KeepAlive, State, WsConfig};

use crate::front::{Front, HttpRequest, Output};
use crate::http::{self, Parsed};
use crate::wire::Wire;

/// What a client may leave unread before it is cut off.
const PENDING_BYTES_MAX: usize = 16 << 20;
/// Requests of one connection that wait for their answer.
const PIPELINED_MAX: usize = 16;

/// Where a door listens.
#[derive(Debug, Default)]
pub struct DoorConfig {
    /// Plain HTTP and WebSocket.
    pub plain: Vec<SocketAddr>,
    /// The same over TLS.
    pub tls: Vec<SocketAddr>,
    /// FIX, where the venue speaks it.
    pub fix: Vec<SocketAddr>,
    /// The same over TLS.
    pub fix_tls: Vec<SocketAddr>,
    /// The certificate of what is over TLS.
    pub identity: Option<TlsServerConfig>,
    /// Connections at the most.
    pub connections_max: usize,
}

/// A venue's front end: give it to
/// [`Venue::with_observer`](taut_venue::Venue::with_observer), whose configuration has room for
/// [`Door::sources`].
#[derive(Debug)]
pub struct Door<F> {
    front: F,
    config: DoorConfig,
    listeners: Vec<Port>,
    addresses: Vec<SocketAddr>,
    connections: BTreeMap<u64, Client>,
    by_stream: HashMap<Handle, u64>,
    next: u64,
    /// The time of the venue's last poll.
    now: Now,
    /// Whether something has come that nobody has served.
    has_work: bool,
}

/// Something that listens.
#[derive(Clone, Copy, Debug)]
struct Port {
    listener: Handle,
    is_tls: bool,
    is_fix: bool,
}

#[derive(Debug)]
struct Client {
    wire: Wire,
    speaks: Speaks,
    /// Bytes that are not parsed.
    input: Vec<u8>,
    /// Bytes that have not left.
    output: Vec<u8>,
    /// HTTP requests without an answer.
    waiting: usize,
    is_ending: bool,
    is_proved: bool,
}

#[derive(Debug)]
enum Speaks {
    Http,
    WebSocket(Box<Connection>),
    Fix,
}

impl<F: Front> Door<F> {
    /// A door that opens when its venue starts.
    #[must_use]
    pub fn new(front: F, config: DoorConfig) -> Self {
        Self {
            front,
            config,
            listeners: Vec::new(),
            addresses: Vec::new(),
            connections: BTreeMap::new(),
            by_stream: HashMap::new(),
            next: 1,
            now: Now::default(),
            has_work: false,
        }
    }

    /// For how many sources the venue's loop needs room.
    #[must_use]
    pub fn sources(config: &DoorConfig) -> usize {
        let ports = [&config.plain, &config.tls, &config.fix, &config.fix_tls];
        ports.iter().map(|it| it.len()).sum::<usize>() + config.connections_max + 2
    }

    /// Where it listens: the plain ports, then those with TLS, then FIX, plain and with TLS.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// What it speaks.
    #[must_use]
    pub const fn front(&self) -> &F {
        &self.front
    }

    /// What it speaks, to change.
    pub const fn front_mut(&mut self) -> &mut F {
        &mut self.front
    }

    fn accept<K: Kernel>(&mut self, io: &mut Io<K>, stream: Handle, port: Port) {
        let identity = self.config.identity.as_ref().filter(|_| port.is_tls);
        let Ok(wire) = Wire::start(io, stream, identity) else {
            let _ = io.close(stream);
            return;
        };
        let connection = self.next;
        self.next += 1;
        self.by_stream.insert(stream, connection);
        let is_fix = port.is_fix && self.front.open_fix(self.now, connection);
        let client = Client {
            wire,
            speaks: if is_fix { Speaks::Fix } else { Speaks::Http },
            input: Vec::new(),
            output: Vec::new(),
            waiting: 0,
            is_ending: false,
            is_proved: false,
        };
        self.connections.insert(connection, client);
    }

    fn take(&mut self, connection: u64, bytes: &[u8]) {
        let (front, now) = (&mut self.front, self.now);
        let Some(client) = self.connections.get_mut(&connection) else { return };
        if client.is_ending {
            return;
        }
        match &mut client.speaks {
            Speaks::WebSocket(_) => client.take_frames(now, connection, bytes, front),
            Speaks::Fix => {
                client.is_proved = true;
                front.bytes(now, connection, bytes, None);
            }
            Speaks::Http => {
                client.input.extend_from_slice(bytes);
                client.take_requests(now, connection, front);
            }
        }
    }

    fn send(&mut self, output: Output) {
        match output {
            Output::Text { connection, text } => {
                let Some(client) = self.connections.get_mut(&connection) else { return };
                if let Speaks::WebSocket(socket) = &mut client.speaks
                    && socket.outbox().text(&text).is_err()
                {
                    // It reads too slowly: a gap would be worse than the end.
                    client.is_ending = true;
                    client.output.clear();
                }
            }
            Output::Answer { connection, status, headers, body } => {
                let Some(client) = self.connections.get_mut(&connection) else { return };
                client.output.extend_from_slice(&http::answer(status, &headers, &body));
                client.waiting = client.waiting.saturating_sub(1);
                // A pipelined request may have waited for it.
                client.take_requests(self.now, connection, &mut self.front);
            }
            Output::Bytes { connection, bytes } => {
                if let Some(client) = self.connections.get_mut(&connection) {
                    client.output.extend_from_slice(&bytes);
                }
            }
            Output::Close { connection } => {
                if let Some(client) = self.connections.get_mut(&connection) {
                    client.is_ending = true;
                }
            }
        }
    }

    fn flush<K: Kernel>(&mut self, io: &mut Io<K>) {
        for client in self.connections.values_mut() {
            client.flush(io);
        }
    }

    fn forget(&mut self, stream: Handle) {
        if let Some(connection) = self.by_stream.remove(&stream) {
            self.connections.remove(&connection);
            self.front.closed(self.now, connection);
            self.has_work = true;
        }
    }
}

impl Client {
    fn take_requests(&mut self, now: Now, connection: u64, front: &mut impl Front) {
        while matches!(self.speaks, Speaks::Http) && !self.is_ending && self.waiting < PIPELINED_MAX
        {
            match http::parse(&self.input) {
                Parsed::Partial => return,
                Parsed::Bad(status) => {
                    self.output.extend_from_slice(&http::answer(status, &[], "{}"));
                    self.is_ending = true;
                }
                Parsed::Request(request, length) => {
                    self.input.drain(..length);
                    self.waiting += 1;
                    self.is_proved = true;
                    front.request(now, connection, request);
                }
                Parsed::Upgrade(request) => self.upgrade(now, connection, &request, front),
            }
        }
    }

    fn upgrade(
        &mut self,
        now: Now,
        connection: u64,
        request: &HttpRequest,
        front: &mut impl Front,
    ) {
        let config = WsConfig {
            message_bytes_max: 1 << 20,
            send_bytes_max: PENDING_BYTES_MAX,
            head_bytes_max: 16 << 10,
            keep_alive: Some(KeepAlive {
                interval: Nanos::from_secs(20),
                timeout: Nanos::from_secs(600),
            }),
            ..WsConfig::default()
        };
        if !front.open(now, connection, request) {
            self.output.extend_from_slice(&http::answer(404, &[], "{}"));
            self.is_ending = true;
            return;
        }
        match Connection::server(&config, now.mono) {
            Ok(socket) => {
                self.speaks = Speaks::WebSocket(Box::new(socket));
                let bytes = std::mem::take(&mut self.input);
                self.take_frames(now, connection, &bytes, front);
            }
            Err(_) => self.is_ending = true,
        }
    }

    fn take_frames(&mut self, now: Now, connection: u64, bytes: &[u8], front: &mut impl Front) {
        let Speaks::WebSocket(socket) = &mut self.speaks else { return };
        let mut rest = bytes;
        while !rest.is_empty() {
            let handled = socket.handle_bytes(now.mono, rest);
            match handled.event {
                Some(WsEvent::Requested(_)) => {
                    self.is_proved |= handled.outbox.accept(None, &[]).is_ok();
                }
                Some(WsEvent::Text(text)) => front.text(now, connection, text),
                Some(WsEvent::Closed(_)) => self.is_ending = true,
                _ => {}
            }
            let consumed = handled.consumed;
            rest = rest.get(consumed..).unwrap_or(&[]);
            if consumed == 0 && self.is_ending {
                return;
            }
        }
    }

    fn flush<K: Kernel>(&mut self, io: &mut Io<K>) {
        let taken = self.wire.write(io, &self.output);
        self.output.drain(..taken);
        if self.output.is_empty()
            && let Speaks::WebSocket(socket) = &mut self.speaks
        {
            while !socket.poll_transmit().is_empty() {
                let taken = self.wire.write(io, socket.poll_transmit());
                socket.transmitted(taken);
                if taken == 0 {
                    break;
                }
            }
        }
        if std::mem::take(&mut self.is_proved) {
            // A stale handle is closed already.
            let _ = io.prove(self.wire.stream());
        }
        if self.output.len() > PENDING_BYTES_MAX {
            self.wire.abort(io);
        } else if self.is_ending && self.is_flushed() {
            self.wire.close(io);
        }
    }

    fn is_flushed(&self) -> bool {
        let is_empty = match &self.speaks {
            Speaks::Http | Speaks::Fix => true,
            Speaks::WebSocket(socket) => {
                socket.poll_transmit().is_empty() || socket.state() == State::Closed
            }
        };
        self.output.is_empty() && is_empty
    }
}

impl<K: Kernel, F: Front> Observer<K> for Door<F> {
    fn on_start(&mut self, io: &mut Io<K>) -> Result<(), VenueError> {
        let admission = Admission {
            connections_max: self.config.connections_max,
            per_source_max: self.config.connections_max,
            handshake_timeout: Some(Nanos::from_secs(10)),
        };
        let DoorConfig { plain, tls, fix, fix_tls, .. } = &self.config;
        let places =
            [(plain, false, false), (tls, true, false), (fix, false, true), (fix_tls, true, true)];
        for (address, is_tls, is_fix) in
            places.into_iter().flat_map(|(all, tls, fix)| all.iter().map(move |it| (*it, tls, fix)))
        {
            let listener =
                io.listen(&Address::Inet(address), &StreamOptions::default(), &admission)?;
            if let Address::Inet(address) = io.local_address(listener)? {
                self.addresses.push(address);
            }
            self.listeners.push(Port { listener, is_tls, is_fix });
        }
        Ok(())
    }

    fn on_book(&mut self, place: usize, book: &OrderBook) {
        self.front.on_book(place, book);
    }

    fn on_events(&mut self, now: Now, place: usize, events: &[Event]) {
        self.front.on_events(now, place, events);
    }

    fn next_command(&mut self, now: Now) -> Option<(usize, Command)> {
        self.now = now;
        self.has_work = false;
        self.front.next_command(now)
    }

    fn on_turn(&mut self, io: &mut Io<K>, now: Now) -> bool {
        self.now = now;
        self.front.on_time(now);
        for client in self.connections.values_mut() {
            if let Speaks::WebSocket(socket) = &mut client.speaks
                && socket.poll_timeout().is_some_and(|due| due <= now.mono)
                && let Some(WsEvent::Closed(_)) = socket.handle_timeout(now.mono).event
            {
                client.is_ending = true;
            }
        }
        let mut worked = false;
        while let Some(output) = self.front.poll_output() {
            worked = true;
            self.send(output);
        }
        self.flush(io);
        worked | self.has_work
    }

    fn due(&self) -> Option<Nanos> {
        self.front.due()
    }

    fn on_completion(&mut self, io: &mut Io<K>, completion: &Completion<'_>) {
        let stream = match *completion {
            Completion::Accepted { listener, stream, .. } => {
                let port = self.listeners.iter().find(|it| it.listener == listener);
                if let Some(port) = port.copied() {
                    self.accept(io, stream, port);
                }
                return;
            }
            Completion::Received { stream, .. }
            | Completion::Ended { stream }
            | Completion::Written { stream, .. } => stream,
            Completion::Failed { source, .. } | Completion::Closed { source, .. } => source,
            _ => return,
        };
        let Some(&connection) = self.by_stream.get(&stream) else { return };
        let Some(client) = self.connections.get_mut(&connection) else { return };
        let arrived = client.wire.handle(io, completion);
        if !arrived.bytes.is_empty() {
            self.has_work = true;
            self.take(connection, &arrived.bytes);
        }
        if arrived.has_ended
            && let Some(client) = self.connections.get_mut(&connection)
        {
            client.is_ending = true;
            client.wire.close(io);
        }
        if matches!(completion, Completion::Closed { .. }) {
            self.forget(stream);
        }
    }
}
