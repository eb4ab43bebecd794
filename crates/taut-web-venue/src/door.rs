//! The driver: listeners and connections on the venue's loop, HTTP and WebSocket on one port.
//!
//! A WebSocket proves itself with its upgrade and a FIX session with the Logon that is accepted.
//! HTTP has no session: a connection stays for as long as its requests wait, and gives way to a
//! newcomer while it is idle.

mod client;

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;

use taut_book::OrderBook;
use taut_engine::{Command, Event};
use taut_fix::Now;
use taut_io::{Admission, AdmissionCounters, Completion, Handle, Io, Kernel};
use taut_net::{TlsServerConfig, Wire};
use taut_sys::{Address, StreamOptions};
use taut_types::Nanos;
use taut_venue::{Observer, VenueError};
use taut_ws::Event as WsEvent;

use crate::door::client::{Client, Speaks};
use crate::front::{Front, Output};
use crate::http;

/// From being accepted to the first request, the upgrade or the Logon.
const HANDSHAKE: Nanos = Nanos::from_secs(10);

/// Where a door listens.
#[derive(Debug)]
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
    /// Connections at the most, of which one source has half.
    pub connections_max: usize,
    /// How long an HTTP connection may stay without a request; a newcomer ends it sooner.
    pub idle_timeout: Nanos,
    /// What a client may leave unread beside what the loop has taken of it. Who leaves more is cut off: on a WebSocket with close code
    /// 1008 behind what it was sent, as a gap would be worse than the end.
    pub unread_bytes_max: usize,
    /// What waits for all clients together, and the messages that have not come whole. Over it, who
    /// has most of it is cut off.
    pub memory_bytes_max: usize,
}

impl Default for DoorConfig {
    /// Nowhere, with 512 connections, a minute, 16 MiB, and 256 MiB.
    fn default() -> Self {
        Self {
            plain: Vec::new(),
            tls: Vec::new(),
            fix: Vec::new(),
            fix_tls: Vec::new(),
            identity: None,
            connections_max: 512,
            idle_timeout: Nanos::from_secs(60),
            unread_bytes_max: 16 << 20,
            memory_bytes_max: 256 << 20,
        }
    }
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
    /// What all clients had at the last turn.
    memory_bytes: usize,
    /// Clients that were closed because all together had too much.
    cut_off: u64,
    /// Clients that were closed because they read too slowly.
    too_slow: u64,
}

/// Something that listens.
#[derive(Clone, Copy, Debug)]
struct Port {
    listener: Handle,
    is_tls: bool,
    is_fix: bool,
    /// As of the last turn.
    counters: AdmissionCounters,
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
            memory_bytes: 0,
            cut_off: 0,
            too_slow: 0,
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

    /// Where it listens, in the same order, and what it made of who came, as of the last turn.
    pub fn admissions(&self) -> impl Iterator<Item = (SocketAddr, AdmissionCounters)> {
        self.addresses.iter().copied().zip(self.listeners.iter().map(|port| port.counters))
    }

    /// What waited for all clients together, and came from them in part, at the last turn.
    #[must_use]
    pub const fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// Clients that were cut off because all together had too much.
    #[must_use]
    pub const fn cut_off(&self) -> u64 {
        self.cut_off
    }

    /// Clients that were cut off because they left more unread than
    /// [`DoorConfig::unread_bytes_max`].
    #[must_use]
    pub const fn too_slow(&self) -> u64 {
        self.too_slow
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
        let speaks = if is_fix { Speaks::Fix } else { Speaks::Http };
        let client = Client::new(wire, speaks, self.config.unread_bytes_max);
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
            Speaks::Fix => front.bytes(now, connection, bytes, None),
            Speaks::Http => {
                client.input.extend_from_slice(bytes);
                client.take_requests(now, connection, front);
            }
        }
    }

    fn send(&mut self, output: Output) {
        match output {
            Output::Text { connection, text } => {
                let now = self.now.mono;
                let Some(client) = self.connections.get_mut(&connection) else { return };
                self.too_slow += u64::from(client.say(now, |it| it.text(&text)));
            }
            Output::Message { connection, bytes } => {
                let now = self.now.mono;
                let Some(client) = self.connections.get_mut(&connection) else { return };
                self.too_slow += u64::from(client.say(now, |it| it.binary(&bytes)));
            }
            Output::Torn { connection, whole, at } => {
                let unsent =
                    |door: &Self| door.connections.get(&connection).map_or(0, Client::unsent);
                let before = unsent(self);
                self.send(*whole);
                if let Some(client) = self.connections.get_mut(&connection) {
                    client.tear(before, at);
                }
            }
            Output::Answer { connection, status, headers, body } => {
                let Some(client) = self.connections.get_mut(&connection) else { return };
                client.output.extend_from_slice(&http::answer(status, &headers, &body));
                client.answered();
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

    /// Sends what there is room for; whether that let requests in that had come before.
    fn flush<K: Kernel>(&mut self, io: &mut Io<K>) -> bool {
        let Self { connections, front, config, now, too_slow, .. } = self;
        let (mut worked, mut memory_bytes) = (false, 0);
        for (&connection, client) in connections.iter_mut() {
            if let Speaks::Fix = client.speaks
                && !client.is_proved
                && front.has_logged_on(connection)
            {
                client.prove(io);
            }
            *too_slow += u64::from(client.flush(io, config.idle_timeout));
            worked |= client.take_waiting(io, *now, connection, front);
            client.memory_bytes = client.count_memory(io);
            memory_bytes += client.memory_bytes;
        }
        while memory_bytes > config.memory_bytes_max {
            let Some(largest) = connections.values_mut().max_by_key(|it| it.memory_bytes) else {
                break;
            };
            memory_bytes -= std::mem::take(&mut largest.memory_bytes);
            largest.abort(io);
            self.cut_off += 1;
        }
        self.memory_bytes = memory_bytes;
        for port in &mut self.listeners {
            port.counters = io.admission_counters(port.listener).unwrap_or(port.counters);
        }
        worked
    }

    fn forget(&mut self, stream: Handle) {
        if let Some(connection) = self.by_stream.remove(&stream) {
            self.connections.remove(&connection);
            self.front.closed(self.now, connection);
            self.has_work = true;
        }
    }
}

impl<K: Kernel, F: Front> Observer<K> for Door<F> {
    fn on_start(&mut self, io: &mut Io<K>) -> Result<(), VenueError> {
        let admission = Admission::new(self.config.connections_max, HANDSHAKE);
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
            let counters = AdmissionCounters::default();
            self.listeners.push(Port { listener, is_tls, is_fix, counters });
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
        worked |= self.flush(io);
        worked | self.has_work
    }

    fn due(&self) -> Option<Nanos> {
        self.front.due()
    }

    fn on_completion(&mut self, io: &mut Io<K>, completion: &Completion<'_>) {
        // The first connection may come before the first turn.
        self.now.mono = io.now();
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
            if let Some(client) = self.connections.get_mut(&connection) {
                client.pause_or_resume(io);
            }
        }
        if arrived.has_ended
            && let Some(client) = self.connections.get_mut(&connection)
        {
            client.is_ending = true;
            client.close(io);
        }
        if matches!(completion, Completion::Closed { .. }) {
            self.forget(stream);
        }
    }
}
