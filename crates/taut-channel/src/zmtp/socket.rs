//! REQ, REP, DEALER, ROUTER, PAIR, PUSH and PULL on a loop of the caller's.

use std::sync::Arc;

use taut_io::{Completion, Handle, Io, Kernel};
use taut_sys::Address;
use taut_types::Nanos;
use taut_zmtp::{
    CloseReason, ConnectionConfig, LinkId, Seed, Socket, SocketConfig, SocketCounters, SocketEvent,
    SocketMessage, ZmtpError,
};

use super::settings;
use super::streams::Streams;
use super::transport::Transport;
use super::wire::{Read, Wire};
use crate::alarm::Alarm;
use crate::driver::{Opening, close_source};
use crate::error::ChannelError;
use crate::random::Random;
use crate::uri::{ChannelUri, ZmtpAddress, ZmtpEnd, ZmtpUri};

/// How often listeners, timers and idle connections are looked at while messages flow.
const LOOK_EVERY: Nanos = Nanos::from_micros(100);
/// What one read takes.
const BUFFER_BYTES: usize = 64 << 10;
/// What the messages of all peers may take, and their buffers: beyond it who has most is closed.
const QUEUED_BYTES_MAX: usize = 192 << 20;
const WIRES_BYTES_MAX: usize = 64 << 20;
/// Up to so many connections are simply read; of more, those that the loop told of.
const READ_ALL_MAX: usize = 2;
/// The scheme of sockets within the process, and what their names begin with, behind which stands
/// the process.
const INPROC: &str = "inproc://";
const INPROC_NAMES: &str = "@taut.inproc.";

/// A ZeroMQ socket on a loop of the caller's: bound to any number of places, connected to any
/// number, each with the security that its URI names. See [`ZmtpSocket`](crate::ZmtpSocket).
///
/// A part has 1 MiB at most and a message 16, unless the settings say otherwise, and all messages
/// that wait 256 MiB: beyond, the peer that has most of it is closed.
///
/// Hand it what the loop completes, and let it [work](ZmtpSocketEnd::work) when that was its own.
#[derive(Debug)]
pub struct ZmtpSocketEnd {
    core: Socket,
    config: SocketConfig,
    opening: Opening,
    endpoints: Vec<Endpoint>,
    links: Vec<Option<Link>>,
    streams: Streams,
    random: Random,
    alarm: Alarm,
    look_at: Nanos,
    turn_at: Nanos,
    /// It is closed; until then it sends what waits.
    linger_until: Option<Nanos>,
}

/// A place that it is bound or connected to.
#[derive(Debug)]
struct Endpoint {
    transport: Transport,
    config: Arc<ConnectionConfig>,
    is_inproc: bool,
}

#[derive(Debug)]
struct Link {
    id: LinkId,
    wire: Wire,
    endpoint: usize,
}

/// What reading a connection came to.
enum Drained {
    Nothing,
    Something,
    Over,
}

impl ZmtpSocketEnd {
    /// A socket that is nowhere yet.
    ///
    /// # Errors
    /// A type that publishes or subscribes, which is [`PublishingEnd`](crate::PublishingEnd)'s and
    /// [`SubscribingEnd`](crate::SubscribingEnd)'s; a mark of zero; a routing id that is none.
    pub fn new(config: SocketConfig, opening: &Opening) -> Result<Self, ChannelError> {
        settings::refuse_loss(opening)?;
        let mut random = Random::new(opening);
        let number = u32::from_le_bytes(random.bytes()?);
        let core = Socket::new(config.clone(), number).map_err(ChannelError::Zmtp)?;
        Ok(Self {
            core,
            config,
            opening: *opening,
            endpoints: Vec::new(),
            links: Vec::new(),
            streams: Streams::default(),
            random,
            alarm: Alarm::default(),
            look_at: opening.now,
            turn_at: opening.now,
            linger_until: None,
        })
    }

    /// Binds it to `tcp://HOST:PORT` (`*` for every address, port 0 for any), `ipc://PATH` or
    /// `inproc://NAME`, with `?curve=FILE`, `?plain=FILE`, `?heartbeat=SPAN`, `?so-sndbuf=SIZE` and
    /// `?so-rcvbuf=SIZE` as channels have them. Returns where that is.
    ///
    /// # Errors
    /// It is no such place, or cannot be had; the text names what to do.
    pub fn bind<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        now: Nanos,
        place: &str,
    ) -> Result<Option<Address>, ChannelError> {
        self.attach(io, now, place, ZmtpEnd::Bind)
    }

    /// Connects it to such a place, now and again whenever the connection is lost.
    ///
    /// # Errors
    /// As [`ZmtpSocketEnd::bind`]. That nobody is there yet is none.
    pub fn connect<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        now: Nanos,
        place: &str,
    ) -> Result<(), ChannelError> {
        self.attach(io, now, place, ZmtpEnd::Connect).map(drop)
    }

    fn attach<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        now: Nanos,
        place: &str,
        end: ZmtpEnd,
    ) -> Result<Option<Address>, ChannelError> {
        let (uri, is_inproc) = place_of(place)?;
        let config = settings::exchange(&uri, end, &self.config.connection)?;
        let opening = Opening { now, ..self.opening };
        let transport = Transport::open(&uri, end, settings::stream(&uri), &opening, io)?;
        let at = transport.local_address();
        self.endpoints.push(Endpoint { transport, config: Arc::new(config), is_inproc });
        self.look_at = Nanos::ZERO;
        self.alarm.set(io, now);
        Ok(at)
    }

    /// Notes what the loop completed. True when it was this socket's: then let it work.
    pub fn complete(&mut self, completion: &Completion<'_>) -> bool {
        if self.alarm.complete(completion) {
            self.look_at = Nanos::ZERO;
            return true;
        }
        let of = match *completion {
            Completion::Ready { source, .. } | Completion::Closed { source, .. } => Some(source),
            _ => None,
        };
        if let Some(source) = of
            && let Some(index) = self.streams.index(source)
            && let Some(Some(link)) = self.links.get_mut(index)
            && link.wire.stream == source
        {
            if let Completion::Ready { readable, writable, .. } = *completion {
                link.wire.is_readable |= readable;
                link.wire.is_blocked &= !writable;
            } else {
                // The next read says that it is gone.
                link.wire.is_readable = true;
                self.look_at = Nanos::ZERO;
            }
            return true;
        }
        let mut endpoints = self.endpoints.iter_mut();
        let is_own = endpoints.any(|endpoint| endpoint.transport.complete(completion));
        if is_own {
            self.look_at = Nanos::ZERO;
        }
        is_own
    }

    /// Sends a message in parts: a ROUTER's first part names whom to. It leaves at once as far as
    /// the kernel takes it.
    ///
    /// # Errors
    /// As [`Socket::send`].
    pub fn send<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        now: Nanos,
        parts: &[&[u8]],
    ) -> Result<(), ZmtpError> {
        if let Some(to) = self.core.send(parts)? {
            self.flush(io, now, to.index());
            self.follow(io);
        }
        Ok(())
    }

    /// The next message, whose parts are lent until the next call. What the connections have is
    /// read where none waits.
    ///
    /// # Errors
    /// As [`Socket::receive`].
    pub fn receive<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        now: Nanos,
    ) -> Result<Option<SocketMessage<'_>>, ZmtpError> {
        if !self.core.has_message() {
            self.work(io, now);
        }
        self.core.receive()
    }

    /// The duty: connects and accepts, reads and sends, keeps the timers. Returns how many
    /// connections had something; 0 means idle.
    pub fn work<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) -> usize {
        if now >= self.look_at {
            self.look(io, now);
        }
        let (mut busy, count) = (0, self.links.len());
        for index in 0..count {
            let Some(link) = self.links[index].as_ref() else { continue };
            if count > READ_ALL_MAX && !link.wire.is_readable {
                self.flush(io, now, index);
                continue;
            }
            match self.drain(io, now, index) {
                Drained::Nothing => {}
                Drained::Something => busy += 1,
                Drained::Over => {
                    self.end(io, now, index);
                    busy += 1;
                }
            }
            self.flush(io, now, index);
        }
        if self.linger_until.is_some() {
            self.wind_up(io, now);
        }
        self.follow(io);
        busy
    }

    fn look<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) {
        self.look_at = now + LOOK_EVERY;
        // One that is closed makes no more connections.
        let endpoints = if self.linger_until.is_none() { self.endpoints.len() } else { 0 };
        for at in 0..endpoints {
            self.endpoints[at].transport.work(io, now);
            while let Some(stream) = self.endpoints[at].transport.next_stream() {
                self.begin(io, now, at, stream);
            }
        }
        for link in self.links.iter().flatten().filter(|link| link.wire.is_readable) {
            self.core.heard(link.id, now);
        }
        while let Some((id, _)) = self.core.handle_timeout(now) {
            self.say_last(io, id.index());
            self.end(io, now, id.index());
        }
        if self.core.queued_bytes() > QUEUED_BYTES_MAX || self.wires_bytes() > WIRES_BYTES_MAX {
            self.make_room(io, now);
        }
    }

    fn wires_bytes(&self) -> usize {
        self.links.iter().flatten().map(|link| link.wire.memory_bytes()).sum()
    }

    /// Many that send without an end would have all the memory: who has most of it goes, whoever
    /// came last.
    #[cold]
    fn make_room<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) {
        while self.core.queued_bytes() > QUEUED_BYTES_MAX
            && let Some(id) = self.core.shed()
        {
            let link = self.links.get(id.index()).and_then(Option::as_ref);
            if link.is_some_and(|link| link.id == id) {
                self.end(io, now, id.index());
            }
        }
        self.links.iter_mut().flatten().for_each(|link| link.wire.give_back(BUFFER_BYTES));
        while self.wires_bytes() > WIRES_BYTES_MAX {
            let links = self.links.iter().flatten();
            let Some(largest) = links.max_by_key(|link| link.wire.memory_bytes()) else { return };
            self.end(io, now, largest.id.index());
        }
    }

    fn begin<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos, at: usize, stream: Handle) {
        let endpoint = &self.endpoints[at];
        // What is this process's alone is nobody else's, though the name can be seen.
        let is_stranger = endpoint.is_inproc
            && !io.socket(stream).is_ok_and(|socket| socket.is_of_this_process());
        let seed = self.random.bytes().ok().map(Seed::new).filter(|_| !is_stranger);
        let id = seed.and_then(|seed| self.core.add(now, seed, Some(&endpoint.config)).ok());
        let wire = id.and_then(|id| Wire::new(io, stream, self.core.buffer_bytes(id)));
        let (Some(id), Some(wire)) = (id, wire) else {
            if let Some(id) = id {
                self.core.remove(id);
            }
            close_source(io, stream);
            self.endpoints[at].transport.lost(now);
            return;
        };
        let index = id.index();
        if self.links.len() <= index {
            self.links.resize_with(index + 1, || None);
        }
        self.streams.note(stream, index);
        self.links[index] = Some(Link { id, wire, endpoint: at });
        self.flush(io, now, index);
    }

    /// Sends what waits for a peer, as far as the kernel takes it.
    fn flush<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos, index: usize) {
        let Some(Some(link)) = self.links.get_mut(index) else { return };
        while !link.wire.is_blocked {
            let bytes = self.core.poll_transmit(link.id);
            if bytes.is_empty() {
                return;
            }
            match link.wire.send(io, bytes) {
                Some(sent) => self.core.transmitted(link.id, sent),
                None => return self.end(io, now, index),
            }
        }
    }

    /// Takes what a peer has sent, as far as it may wait here.
    fn drain<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos, index: usize) -> Drained {
        let Self { core, links, endpoints, .. } = self;
        let Some(Some(link)) = links.get_mut(index) else { return Drained::Nothing };
        let Link { id, wire, endpoint } = link;
        let mut drained = Drained::Nothing;
        wire.was_short = false;
        loop {
            if !core.wants_bytes(*id) {
                // It is read on when there is room.
                wire.is_readable = true;
                return drained;
            }
            let handled = core.handle_bytes(*id, now, wire.unread());
            wire.consume(handled.consumed);
            match handled.event {
                None if handled.consumed == 0 && wire.was_short => return drained,
                None if handled.consumed == 0 => match wire.receive(io, core.buffer_bytes(*id)) {
                    Read::Bytes => drained = Drained::Something,
                    Read::Nothing => return drained,
                    Read::End | Read::Failed => return Drained::Over,
                },
                Some(SocketEvent::Established(_)) => {
                    let _ = io.prove(wire.stream);
                    wire.reserve(BUFFER_BYTES);
                    endpoints[*endpoint].transport.established();
                }
                Some(SocketEvent::Closed(CloseReason::PeerError(_))) => return Drained::Over,
                Some(SocketEvent::Closed(_)) => {
                    let _ = wire.send(io, core.poll_transmit(*id));
                    return Drained::Over;
                }
                _ => {}
            }
        }
    }

    /// What a connection that is over still says.
    fn say_last<K: Kernel>(&mut self, io: &mut Io<K>, index: usize) {
        if let Some(Some(link)) = self.links.get_mut(index) {
            let _ = link.wire.send(io, self.core.poll_transmit(link.id));
        }
    }

    #[cold]
    fn end<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos, index: usize) {
        let Some(link) = self.links.get_mut(index).and_then(Option::take) else { return };
        self.core.remove(link.id);
        close_source(io, link.wire.stream);
        self.endpoints[link.endpoint].transport.lost(now);
    }

    /// Takes no more messages, sends those that wait for at most this long, and ends its
    /// connections. Let it work until [`ZmtpSocketEnd::is_closed`].
    pub fn close<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos, linger: Nanos) {
        if self.linger_until.is_none() {
            self.linger_until = Some(now + linger);
            self.endpoints.iter().for_each(|endpoint| endpoint.transport.release(io));
            self.wind_up(io, now);
        }
    }

    /// A connection on which nothing waits ends; the peer ends it, too, when it has all of it.
    fn wind_up<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) {
        let is_late = self.linger_until.is_some_and(|until| now >= until);
        for index in 0..self.links.len() {
            let Some(Some(link)) = self.links.get_mut(index) else { continue };
            let is_done = self.core.poll_transmit(link.id).is_empty();
            if is_late || (is_done && !link.wire.is_shut && io.shut_down(link.wire.stream).is_err())
            {
                self.end(io, now, index);
            } else if is_done {
                link.wire.is_shut = true;
            }
        }
    }

    /// Whether it is closed, and everything of it gone.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.linger_until.is_some() && self.links.iter().all(Option::is_none)
    }

    /// Peers whose handshake is over.
    #[must_use]
    pub fn peer_count(&self) -> usize {
        self.core.established_count()
    }

    /// Messages that were taken and have not left.
    #[must_use]
    pub fn waiting_count(&self) -> usize {
        self.core.waiting_count()
    }

    /// Whether a REQ waits for an answer of somebody who has left ([`Socket::is_answer_lost`]).
    #[must_use]
    pub fn is_answer_lost(&self) -> bool {
        self.core.is_answer_lost()
    }

    /// A REQ does not wait for its answer any more ([`Socket::give_up`]).
    pub fn give_up(&mut self) {
        self.core.give_up();
    }

    /// What it counted.
    #[must_use]
    pub fn counters(&self) -> SocketCounters {
        let counters = self.core.counters();
        let refused: u64 = self.endpoints.iter().map(|it| it.transport.refused()).sum();
        SocketCounters { refused: counters.refused + refused, ..counters }
    }

    /// When [`ZmtpSocketEnd::work`] must be called at the latest.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Nanos> {
        let connects = self.endpoints.iter().filter_map(|it| it.transport.next_timeout());
        let connects = connects.filter(|_| self.linger_until.is_none());
        let core = self.core.poll_timeout();
        let next = connects.chain(core).chain(self.linger_until).min();
        next.map(|at| at.max(self.look_at))
    }

    fn follow<K: Kernel>(&mut self, io: &mut Io<K>) {
        let next = self.next_timeout().filter(|_| !self.is_closed());
        self.alarm.follow(io, next);
    }

    /// Takes it off the loop, closed or not. Dropped without it, its sources stay on the loop.
    pub fn abandon<K: Kernel>(mut self, io: &mut Io<K>) {
        self.endpoints.iter().for_each(|endpoint| endpoint.transport.release(io));
        self.links.iter().flatten().for_each(|link| close_source(io, link.wire.stream));
        self.alarm.cancel(io);
    }

    pub(crate) fn wants_turn(&mut self, now: Nanos) -> bool {
        let wants = now >= self.turn_at || self.links.len() > READ_ALL_MAX;
        if wants {
            self.turn_at = now + LOOK_EVERY;
        }
        wants
    }

    /// Whether the loop may sleep: nothing is left to be read or handed out.
    pub(crate) fn may_sleep(&mut self) -> bool {
        self.look_at = Nanos::ZERO;
        let Self { core, links, .. } = self;
        let mut links = links.iter().flatten();
        !core.has_message() && !links.any(|link| link.wire.is_readable && core.wants_bytes(link.id))
    }
}

/// A place as ZeroMQ writes it, and whether it is within the process.
fn place_of(text: &str) -> Result<(ZmtpUri, bool), ChannelError> {
    if let Some(name) = text.strip_prefix(INPROC) {
        let (name, query) = name.split_once('?').unwrap_or((name, ""));
        let name = format!("{INPROC_NAMES}{}.{name}", std::process::id());
        let uri = ZmtpUri::unix(&format!("{name}?{query}")).map_err(ChannelError::Place)?;
        return Ok((uri, true));
    }
    match text.parse::<ChannelUri>() {
        Ok(ChannelUri::Zmtp(uri)) => {
            // A place in memory is written with its own scheme.
            if let ZmtpAddress::Unix(path) = &uri.address
                && path.starts_with(INPROC_NAMES)
            {
                let remedy = "write inproc://NAME";
                return Err(ChannelError::Unsupported { what: "this name", remedy });
            }
            Ok((uri, false))
        }
        Ok(_) => Err(ChannelError::Unsupported {
            what: "a channel that is not ZeroMQ's",
            remedy: "a socket is at tcp://HOST:PORT, ipc://PATH or inproc://NAME",
        }),
        Err(error) => Err(ChannelError::Place(error)),
    }
}
