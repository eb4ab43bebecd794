//! The simulated kernel: a network inside the process, on virtual time, with seeded delays, partial
//! reads and writes, blocked sends, resets, and datagrams that are lost, doubled or overtaken. The
//! same seed gives the same run. A datagram to a group reaches every socket that is bound to it.
//!
//! Both ends of a connection are sources of one loop. A look without waiting costs
//! [`SimConfig::look_ns`] of virtual time, so that a spinning loop gets on.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::fmt;
use core::net::SocketAddr;

use taut_sys::{
    Address, ConnectProgress, DatagramBatch, DatagramInfo, DatagramOptions, Granted, Readiness,
    StreamOptions, SysError,
};
use taut_types::Nanos;

use super::{Bell, Calls, Kernel, Received};

mod config;

pub use config::SimConfig;

const ADDRESS_IN_USE: i32 = 98;
const CONNECTION_ABORTED: i32 = 103;
const CONNECTION_RESET: i32 = 104;
const CONNECTION_REFUSED: i32 = 111;
const BROKEN_PIPE: i32 = 32;
const BAD_DESCRIPTOR: i32 = 9;
const DEADLOCK: i32 = 35;
const NO_DESTINATION: i32 = 89;

/// A socket's name: its place, and which of the sockets that were there.
type Name = (u32, u64);

enum Flight {
    Bytes(Name, Vec<u8>),
    End(Name),
    Reset(Name),
    Connect(Name, SocketAddr),
    Connected(Name, Result<(), SysError>),
    Writable(Name),
    Datagram(Name, Vec<u8>, SocketAddr),
}

#[derive(Default)]
struct Stream {
    peer: Option<Name>,
    local: Option<SocketAddr>,
    connected: Option<Result<(), SysError>>,
    inbox: VecDeque<u8>,
    /// Of ours: sent and not yet read by the peer.
    outstanding: usize,
    blocked: bool,
    ended: bool,
    reset: bool,
    shut_down: bool,
    /// What is sent arrives in order.
    last_arrival: Nanos,
}

enum Socket {
    Listener(SocketAddr, VecDeque<Name>),
    Stream(Stream),
    Datagram(SocketAddr, Option<SocketAddr>, VecDeque<(Vec<u8>, SocketAddr)>),
}

/// A loop's kernel that simulates one.
pub struct SimKernel {
    config: SimConfig,
    now: Nanos,
    random: u64,
    births: u64,
    next_port: u16,
    sockets: Box<[Option<(u64, Socket)>]>,
    flights: BTreeMap<(Nanos, u64), Flight>,
    flown: u64,
    calls: Calls,
}

/// Where the simulated kernel puts received bytes.
#[derive(Debug, Default)]
pub struct SimBuffers {
    bytes: Vec<u8>,
    from: Option<SocketAddr>,
}

/// Nobody sleeps in a simulation.
#[derive(Clone, Copy, Debug)]
pub struct SimBell;

impl Bell for SimBell {
    fn ring(&self) {}
}

impl SimKernel {
    /// A kernel with places for `sources_max` sockets.
    #[must_use]
    pub fn new(sources_max: usize, config: SimConfig) -> Self {
        Self {
            config,
            now: Nanos::ZERO,
            random: config.seed,
            births: 0,
            next_port: 40_000,
            sockets: (0..sources_max).map(|_| None).collect(),
            flights: BTreeMap::new(),
            flown: 0,
            calls: Calls::default(),
        }
    }

    /// Breaks a stream: both ends read a reset.
    pub fn reset(&mut self, place: u32) {
        let Some((birth, Socket::Stream(stream))) = self.slot(place) else { return };
        let (name, peer) = ((place, *birth), stream.peer);
        self.fly(self.now, Flight::Reset(name));
        if let Some(peer) = peer {
            self.fly(self.now, Flight::Reset(peer));
        }
    }

    /// From now on the network behaves like this, but for the seed.
    pub const fn configure(&mut self, config: SimConfig) {
        self.config = config;
    }

    /// Time passes in which nobody looks.
    pub fn pass(&mut self, span: Nanos) {
        self.now = self.now + span;
    }

    /// The places of streams, connected or about to be.
    pub fn streams(&self) -> impl Iterator<Item = u32> {
        let is_stream =
            |socket: &Option<(u64, Socket)>| matches!(socket, Some((_, Socket::Stream(_))));
        (0..)
            .zip(&self.sockets)
            .filter(move |(_, socket)| is_stream(socket))
            .map(|(place, _)| place)
    }

    /// Whether nothing is under way on any stream and nothing waits to be read there.
    #[must_use]
    pub fn are_streams_quiet(&self) -> bool {
        self.flights.values().all(|flight| matches!(flight, Flight::Datagram(..)))
            && self.sockets.iter().flatten().all(|(_, socket)| match socket {
                Socket::Listener(_, waiting) => waiting.is_empty(),
                Socket::Stream(stream) => stream.inbox.is_empty(),
                Socket::Datagram(..) => true,
            })
    }

    /// SplitMix64.
    fn draw(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % below.max(1)
    }

    fn part(&mut self, whole: usize) -> usize {
        if self.config.is_partial && whole > 0 {
            1 + self.draw(whole as u64) as usize
        } else {
            whole
        }
    }

    fn delay(&mut self) -> Nanos {
        let span = self.config.delay_ns_max + 1;
        Nanos(self.draw(span).cast_signed())
    }

    fn fly(&mut self, at: Nanos, flight: Flight) {
        self.flown += 1;
        self.flights.insert((at, self.flown), flight);
    }

    fn slot(&mut self, place: u32) -> Option<&mut (u64, Socket)> {
        self.sockets.get_mut(place as usize)?.as_mut()
    }

    fn stream(&mut self, place: u32) -> Result<&mut Stream, SysError> {
        match self.slot(place) {
            Some((_, Socket::Stream(stream))) => Ok(stream),
            _ => Err(SysError::from_errno("stream", BAD_DESCRIPTOR)),
        }
    }

    fn named(&mut self, (place, birth): Name) -> Option<&mut Socket> {
        let (current, socket) = self.slot(place)?;
        (*current == birth).then_some(socket)
    }

    fn put(&mut self, place: u32, socket: Socket) -> Result<Name, SysError> {
        self.births += 1;
        let birth = self.births;
        let slot = self.sockets.get_mut(place as usize);
        *slot.ok_or(SysError::from_errno("place", BAD_DESCRIPTOR))? = Some((birth, socket));
        Ok((place, birth))
    }

    fn port(&mut self) -> u16 {
        self.next_port = self.next_port.wrapping_add(1).max(40_000);
        self.next_port
    }

    /// The address to bind: inet only, with a port.
    fn bind(&mut self, at: &Address, operation: &'static str) -> Result<SocketAddr, SysError> {
        let mut at = match at {
            Address::Inet(at) => *at,
            // A Unix name is as good as a port of its own.
            Address::Unix(name) => {
                let sum = name
                    .as_bytes()
                    .iter()
                    .fold(7u16, |sum, byte| sum.wrapping_mul(31).wrapping_add(u16::from(*byte)));
                SocketAddr::from(([127, 0, 0, 9], sum | 1))
            }
        };
        if at.port() == 0 {
            at.set_port(self.port());
        }
        let taken = self.sockets.iter().flatten().any(|(_, socket)| match socket {
            Socket::Listener(other, _) => operation == "listen" && *other == at,
            Socket::Datagram(other, ..) => {
                operation == "bind" && *other == at && !at.ip().is_multicast()
            }
            Socket::Stream(_) => false,
        });
        if taken { Err(SysError::from_errno(operation, ADDRESS_IN_USE)) } else { Ok(at) }
    }

    /// Lets one thing arrive; says where it is noticed.
    fn arrive(&mut self, flight: Flight) -> Option<(u32, Readiness)> {
        let readable = Readiness { readable: true, writable: false, ended: false };
        let writable = Readiness { readable: false, writable: true, ended: false };
        let ended = Readiness { readable: true, writable: true, ended: true };
        match flight {
            Flight::Bytes(to, bytes) => match self.named(to)? {
                Socket::Stream(stream) => {
                    stream.inbox.extend(bytes);
                    Some((to.0, readable))
                }
                _ => None,
            },
            Flight::End(to) => match self.named(to)? {
                Socket::Stream(stream) => {
                    stream.ended = true;
                    Some((to.0, readable))
                }
                _ => None,
            },
            Flight::Reset(to) => match self.named(to)? {
                Socket::Stream(stream) => {
                    stream.reset = true;
                    Some((to.0, ended))
                }
                _ => None,
            },
            Flight::Connected(to, result) => match self.named(to)? {
                Socket::Stream(stream) => {
                    stream.connected = Some(result);
                    Some((to.0, writable))
                }
                _ => None,
            },
            Flight::Writable(to) => self.named(to).map(|_| (to.0, writable)),
            Flight::Datagram(to, bytes, from) => match self.named(to)? {
                Socket::Datagram(_, peer, inbox) if peer.is_none_or(|peer| peer == from) => {
                    inbox.push_back((bytes, from));
                    Some((to.0, readable))
                }
                _ => None,
            },
            Flight::Connect(from, to) => self.connect_arrives(from, to).map(|at| (at, readable)),
        }
    }

    fn connect_arrives(&mut self, from: Name, to: SocketAddr) -> Option<u32> {
        self.named(from)?;
        let listener = self.sockets.iter().position(|socket| match socket {
            Some((_, Socket::Listener(at, _))) => {
                at.port() == to.port() && (at.ip() == to.ip() || at.ip().is_unspecified())
            }
            _ => false,
        });
        let Some(listener) = listener else {
            let refused = SysError::from_errno("connect", CONNECTION_REFUSED);
            let at = self.now + self.delay();
            self.fly(at, Flight::Connected(from, Err(refused)));
            return None;
        };
        if let Some(Some((_, Socket::Listener(_, backlog)))) = self.sockets.get_mut(listener) {
            backlog.push_back(from);
        }
        u32::try_from(listener).ok()
    }

    fn read_stream(&mut self, place: u32, into: &mut [u8]) -> Result<Received<usize>, SysError> {
        let waiting = self.stream(place)?.inbox.len().min(into.len());
        let take = self.part(waiting);
        let stream = self.stream(place)?;
        if stream.reset {
            return Err(SysError::from_errno("receive", CONNECTION_RESET));
        }
        if take == 0 {
            return Ok(if stream.ended { Received::End } else { Received::Nothing });
        }
        for (byte, taken) in into.iter_mut().zip(stream.inbox.drain(..take)) {
            *byte = taken;
        }
        let (more, peer) = (!stream.inbox.is_empty() || stream.ended, stream.peer);
        self.reopen_window(peer, take);
        Ok(Received::Some { lease: take, more })
    }

    /// Sends datagrams with one call; false when there is no room for any.
    fn send_all(
        &mut self,
        place: u32,
        datagrams: &[&[u8]],
        to: Option<&SocketAddr>,
    ) -> Result<bool, SysError> {
        self.calls.io += 1;
        let Some((_, Socket::Datagram(from, peer, _))) = self.slot(place) else {
            return Err(SysError::from_errno("send", BAD_DESCRIPTOR));
        };
        let (from, to) = (*from, to.copied().or(*peer));
        let Some(to) = to else { return Err(SysError::from_errno("send", NO_DESTINATION)) };
        if self.happens(self.config.full_per_mille) {
            return Ok(false);
        }
        let receivers: Vec<Name> = self.bound_to(to).collect();
        for bytes in datagrams {
            for receiver in &receivers {
                if self.happens(self.config.lost_per_mille) {
                    continue;
                }
                let copies = 1 + u8::from(self.happens(self.config.duplicated_per_mille));
                for _ in 0..copies {
                    let at = self.now + self.delay();
                    self.fly(at, Flight::Datagram(*receiver, bytes.to_vec(), from));
                }
            }
        }
        Ok(true)
    }

    /// The datagram sockets that an address reaches: one, or of a group all.
    fn bound_to(&self, to: SocketAddr) -> impl Iterator<Item = Name> {
        let all = self.sockets.iter().enumerate();
        let bound = all.filter_map(move |(index, socket)| match socket {
            Some((birth, Socket::Datagram(at, ..)))
                if at.port() == to.port() && (at.ip() == to.ip() || at.ip().is_unspecified()) =>
            {
                Some((u32::try_from(index).ok()?, *birth))
            }
            _ => None,
        });
        bound.take(if to.ip().is_multicast() { usize::MAX } else { 1 })
    }

    fn happens(&mut self, per_mille: u64) -> bool {
        per_mille > 0 && self.draw(1000) < per_mille
    }

    /// The reader took bytes: its peer may send again.
    fn reopen_window(&mut self, peer: Option<Name>, bytes: usize) {
        let now = self.now;
        let Some(peer) = peer else { return };
        let Some(Socket::Stream(writer)) = self.named(peer) else { return };
        writer.outstanding = writer.outstanding.saturating_sub(bytes);
        if core::mem::take(&mut writer.blocked) {
            self.fly(now, Flight::Writable(peer));
        }
    }
}

impl Kernel for SimKernel {
    type Buffers = SimBuffers;
    type Lease = usize;
    type Bell = SimBell;

    fn buffers(&mut self) -> SimBuffers {
        SimBuffers::default()
    }

    fn bytes<'b>(buffers: &'b SimBuffers, lease: &'b usize) -> &'b [u8] {
        buffers.bytes.get(..*lease).unwrap_or(&[])
    }

    fn info(buffers: &SimBuffers, _lease: &usize) -> Option<DatagramInfo> {
        let only = DatagramInfo { first_of_call: true, ..DatagramInfo::default() };
        buffers.from.map(|from| DatagramInfo { from: Some(from), ..only })
    }

    fn release(&mut self, _lease: usize) {}

    fn now(&self) -> Nanos {
        self.now
    }

    fn bell(&self) -> Result<SimBell, SysError> {
        Ok(SimBell)
    }

    fn listen(
        &mut self,
        place: u32,
        at: &Address,
        _options: &StreamOptions,
    ) -> Result<(), SysError> {
        let at = self.bind(at, "listen")?;
        self.put(place, Socket::Listener(at, VecDeque::new())).map(drop)
    }

    fn accept(
        &mut self,
        listener: u32,
        place: u32,
        _options: &StreamOptions,
    ) -> Result<Option<Address>, SysError> {
        let Some((_, Socket::Listener(at, backlog))) = self.slot(listener) else {
            return Err(SysError::from_errno("accept", BAD_DESCRIPTOR));
        };
        let local = *at;
        let Some(from) = backlog.pop_front() else { return Ok(None) };
        if self.happens(self.config.aborted_per_mille) {
            let reset = SysError::from_errno("connect", CONNECTION_RESET);
            self.fly(self.now, Flight::Connected(from, Err(reset)));
            return Err(SysError::from_errno("accept", CONNECTION_ABORTED));
        }
        let stream = Stream { peer: Some(from), local: Some(local), ..Stream::default() };
        let accepted = self.put(place, Socket::Stream(stream))?;
        let at = self.now + self.delay();
        let mut peer = None;
        if let Some(Socket::Stream(stream)) = self.named(from) {
            stream.peer = Some(accepted);
            peer = stream.local;
            self.fly(at, Flight::Connected(from, Ok(())));
        } else {
            self.fly(at, Flight::Reset(accepted));
        }
        Ok(Some(Address::Inet(peer.unwrap_or(local))))
    }

    fn connect(
        &mut self,
        place: u32,
        to: &Address,
        options: &StreamOptions,
    ) -> Result<ConnectProgress, SysError> {
        let to = self.bind(to, "connect")?;
        let mut local = options.local.unwrap_or(SocketAddr::new(to.ip(), 0));
        if local.port() == 0 {
            local.set_port(self.port());
        }
        let stream = Stream { local: Some(local), ..Stream::default() };
        let name = self.put(place, Socket::Stream(stream))?;
        let at = self.now + self.delay();
        self.fly(at, Flight::Connect(name, to));
        Ok(ConnectProgress::Underway)
    }

    fn connect_result(&mut self, place: u32) -> Result<(), SysError> {
        let result = self.stream(place)?.connected.take();
        result.unwrap_or(Err(SysError::from_errno("connect", CONNECTION_RESET)))
    }

    fn datagram(
        &mut self,
        place: u32,
        at: &Address,
        options: &DatagramOptions,
    ) -> Result<(), SysError> {
        let at = self.bind(at, "bind")?;
        self.put(place, Socket::Datagram(at, options.peer, VecDeque::new())).map(drop)
    }

    fn start_receiving(&mut self, place: u32) -> Result<(), SysError> {
        let name = self.slot(place).map(|(birth, _)| (place, *birth));
        // Whatever is there already is noticed.
        name.into_iter().for_each(|name| self.fly(self.now, Flight::Bytes(name, Vec::new())));
        Ok(())
    }

    fn stop_receiving(&mut self, _place: u32) -> Result<(), SysError> {
        Ok(())
    }

    fn receive(
        &mut self,
        place: u32,
        buffers: &mut SimBuffers,
    ) -> Result<Received<usize>, SysError> {
        self.calls.io += 1;
        buffers.bytes.clear();
        buffers.from = None;
        if let Some((_, Socket::Datagram(_, _, inbox))) = self.slot(place) {
            let Some((bytes, from)) = inbox.pop_front() else { return Ok(Received::Nothing) };
            let more = !inbox.is_empty();
            buffers.bytes.extend(bytes);
            buffers.from = Some(from);
            return Ok(Received::Some { lease: buffers.bytes.len(), more });
        }
        let waiting = self.stream(place)?.inbox.len();
        buffers.bytes.resize(waiting, 0);
        self.read_stream(place, &mut buffers.bytes)
    }

    fn watch(&mut self, place: u32) -> Result<(), SysError> {
        let has_something = match self.slot(place) {
            Some((_, Socket::Stream(stream))) => {
                !stream.inbox.is_empty() || stream.ended || stream.reset
            }
            Some((_, Socket::Datagram(_, _, inbox))) => !inbox.is_empty(),
            _ => false,
        };
        if has_something { self.start_receiving(place) } else { Ok(()) }
    }

    fn read(&mut self, place: u32, into: &mut [u8]) -> Result<Received<usize>, SysError> {
        self.calls.io += 1;
        let Some((_, Socket::Datagram(_, _, inbox))) = self.slot(place) else {
            return self.read_stream(place, into);
        };
        let Some((bytes, _)) = inbox.pop_front() else { return Ok(Received::Nothing) };
        let more = !inbox.is_empty();
        let length = bytes.len().min(into.len());
        into[..length].copy_from_slice(&bytes[..length]);
        Ok(Received::Some { lease: length, more })
    }

    fn receive_batch(&mut self, place: u32, batch: &mut DatagramBatch) -> Result<usize, SysError> {
        self.calls.io += 1;
        batch.clear();
        let Some((_, Socket::Datagram(_, _, inbox))) = self.slot(place) else {
            return Err(SysError::from_errno("receive", BAD_DESCRIPTOR));
        };
        while let Some((bytes, from)) = inbox.front()
            && batch.push(from, bytes)
        {
            inbox.pop_front();
        }
        Ok(batch.received())
    }

    fn send(&mut self, place: u32, parts: &[&[u8]]) -> Result<Option<usize>, SysError> {
        self.calls.io += 1;
        let window = self.config.window_bytes;
        let stream = self.stream(place)?;
        let Some(peer) = stream.peer.filter(|_| !stream.reset && !stream.shut_down) else {
            return Err(SysError::from_errno("send", BROKEN_PIPE));
        };
        let room = window.saturating_sub(stream.outstanding);
        let wanted: usize = parts.iter().map(|part| part.len()).sum();
        let take = self.part(room.min(wanted));
        let at = self.now + self.delay();
        let stream = self.stream(place)?;
        stream.blocked = take < wanted && room == take;
        if take == 0 {
            return Ok(None);
        }
        stream.outstanding += take;
        let at = at.max(stream.last_arrival);
        stream.last_arrival = at;
        let still_open = take < wanted && !stream.blocked;
        let bytes = parts.iter().flat_map(|part| part.iter()).copied().take(take).collect();
        self.fly(at, Flight::Bytes(peer, bytes));
        if still_open {
            let name = self.slot(place).map(|(birth, _)| (place, *birth));
            name.into_iter().for_each(|name| self.fly(self.now, Flight::Writable(name)));
        }
        Ok(Some(take))
    }

    fn send_to(
        &mut self,
        place: u32,
        bytes: &[u8],
        to: Option<&SocketAddr>,
    ) -> Result<Option<usize>, SysError> {
        Ok(self.send_all(place, &[bytes], to)?.then_some(bytes.len()))
    }

    fn send_batch(
        &mut self,
        place: u32,
        datagrams: &[&[u8]],
        to: Option<&SocketAddr>,
    ) -> Result<usize, SysError> {
        let are_sent = self.send_all(place, datagrams, to)?;
        Ok(if are_sent { datagrams.len() } else { 0 })
    }

    fn send_segmented(
        &mut self,
        place: u32,
        bytes: &[u8],
        segment_bytes: u16,
        to: Option<&SocketAddr>,
    ) -> Result<usize, SysError> {
        let segments: Vec<&[u8]> = bytes.chunks(usize::from(segment_bytes).max(1)).collect();
        let are_sent = self.send_all(place, &segments, to)?;
        Ok(if are_sent { bytes.len() } else { 0 })
    }

    fn shut_down_send(&mut self, place: u32) -> Result<(), SysError> {
        let at = self.now + self.delay();
        let stream = self.stream(place)?;
        stream.shut_down = true;
        let (at, peer) = (at.max(stream.last_arrival), stream.peer);
        peer.into_iter().for_each(|peer| self.fly(at, Flight::End(peer)));
        Ok(())
    }

    fn close(&mut self, place: u32) {
        let now = self.now;
        let Some(slot) = self.sockets.get_mut(place as usize) else { return };
        match slot.take() {
            Some((_, Socket::Stream(stream))) => {
                let at = now.max(stream.last_arrival);
                let flight = |peer| match stream.inbox.is_empty() {
                    true => Flight::End(peer),
                    false => Flight::Reset(peer),
                };
                stream.peer.into_iter().for_each(|peer| self.fly(at, flight(peer)));
            }
            Some((_, Socket::Listener(_, backlog))) => {
                let refused = SysError::from_errno("connect", CONNECTION_REFUSED);
                for from in backlog {
                    self.fly(now, Flight::Connected(from, Err(refused)));
                }
            }
            _ => {}
        }
    }

    fn set_hot(&mut self, _place: u32, _hot: bool) -> Result<(), SysError> {
        Ok(())
    }

    fn local_address(&self, place: u32) -> Result<Address, SysError> {
        let at = match self.sockets.get(place as usize) {
            Some(Some((_, Socket::Listener(at, _) | Socket::Datagram(at, ..)))) => Some(*at),
            Some(Some((_, Socket::Stream(stream)))) => stream.local,
            _ => None,
        };
        at.map(Address::Inet).ok_or(SysError::from_errno("local address", BAD_DESCRIPTOR))
    }

    fn granted(&self, _place: u32) -> Result<Granted, SysError> {
        Ok(Granted {
            send_buffer_bytes: self.config.window_bytes,
            receive_buffer_bytes: self.config.window_bytes,
            reuse_port: false,
            reuse_address: true,
            no_delay: true,
            keep_alive: false,
            busy_poll_micros: 0,
            user_timeout: Nanos::ZERO,
        })
    }

    fn wait(
        &mut self,
        span: Option<Nanos>,
        report: &mut impl FnMut(u32, Readiness),
    ) -> Result<usize, SysError> {
        let next = self.flights.first_key_value().map(|((at, _), _)| *at);
        self.now = match (span, next) {
            (Some(Nanos(..=0)), _) => self.now + Nanos(self.config.look_ns),
            (Some(span), Some(next)) => self.now.max(next).min(self.now + span),
            (Some(span), None) => self.now + span,
            (None, Some(next)) => self.now.max(next),
            // Nothing is under way and nobody waits for a time: this would last for ever.
            (None, None) => return Err(SysError::from_errno("wait", DEADLOCK)),
        };
        let mut reported = 0;
        while let Some(entry) = self.flights.first_entry()
            && entry.key().0 <= self.now
        {
            let flight = entry.remove();
            if let Some((place, ready)) = self.arrive(flight) {
                report(place, ready);
                reported += 1;
            }
        }
        if reported == 0 && span == Some(Nanos::ZERO) {
            self.calls.idle += 1;
        } else {
            self.calls.io += 1;
        }
        Ok(reported)
    }

    fn calls(&self) -> Calls {
        self.calls
    }
}

impl fmt::Debug for SimKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimKernel").field("now", &self.now).finish_non_exhaustive()
    }
}
