//! The subscribing end: SUB or PULL.

use taut_io::{Completion, Handle, Io, Kernel};
use taut_sys::Address;
use taut_types::Nanos;
use taut_zmtp::{CloseReason, LinkId, Seed, Subscriber, SubscriberEvent};

use super::settings;
use super::streams::Streams;
use super::transport::{STREAMS_MAX, Transport};
use super::wire::{Read, Wire};
use crate::counters::Counters;
use crate::driver::{Opening, SubscriptionDriver, close_source};
use crate::error::ChannelError;
use crate::event::{EndReason, Event, Events};
use crate::message::{Action, Message};
use crate::random::Random;
use crate::uri::{Pattern, ZmtpUri};

/// How often the listener, the timers and idle links are looked at while messages flow.
const LOOK_EVERY: Nanos = Nanos::from_micros(100);
/// What one read takes.
const BUFFER_BYTES: usize = 128 << 10;
/// So much of a link's buffers is kept from one large message to the next.
const KEPT_BYTES: usize = 1 << 20;
/// What the buffers of all links may take: beyond it the one with the largest is closed, whose
/// message is unfinished.
const MEMORY_BYTES_MAX: usize = 256 << 20;
/// How often what is beyond is given back.
const GIVE_BACK_EVERY: Nanos = Nanos::from_millis(100);
/// Up to so many links are simply read; of more, those that the loop told of.
const READ_ALL_MAX: usize = 2;
const EVENTS_MAX: usize = 1024;

/// A SUB or PULL socket with its streams.
#[derive(Debug)]
pub(crate) struct ZmtpSubscription {
    core: Subscriber,
    transport: Option<Transport>,
    links: Vec<Option<Link>>,
    streams: Streams,
    /// Of the buffers of all links.
    memory_bytes: usize,
    /// Whose turn it is to be read first.
    turn: usize,
    aborted: Option<Aborted>,
    events: Events,
    counters: Counters,
    sessions: u64,
    look_at: Nanos,
    give_back_at: Nanos,
    /// When a loop of its own takes a turn.
    turn_at: Nanos,
    random: Random,
}

#[derive(Debug)]
struct Link {
    id: LinkId,
    wire: Wire,
    assembly: Assembly,
    /// Of its buffers, when they were last looked at.
    memory_bytes: usize,
    session: u64,
    position: u64,
    is_established: bool,
}

/// The parts of a message so far.
#[derive(Debug, Default)]
struct Assembly {
    parts: usize,
    topic: Vec<u8>,
    rest: Vec<u8>,
    /// Where parts of the rest end, but for the last.
    ends: Vec<usize>,
}

/// Topic, payload, and where parts of the payload end.
type Whole<'a> = (&'a [u8], &'a [u8], &'a [usize]);

/// A message that the handler did not take.
#[derive(Debug)]
struct Aborted {
    topic: Vec<u8>,
    payload: Vec<u8>,
    part_ends: Vec<usize>,
    session: u64,
    position: u64,
}

/// What reading a link came to.
enum Drained {
    Empty,
    Stopped,
    Over(EndReason),
}

impl ZmtpSubscription {
    pub(crate) fn open<K: Kernel>(
        uri: &ZmtpUri,
        opening: &Opening,
        io: &mut Io<K>,
    ) -> Result<Self, ChannelError> {
        settings::refuse_loss(opening)?;
        let config = settings::subscriber(uri)?;
        let end = settings::subscriber_end(uri);
        let wrong =
            |_| ChannelError::Unsupported { what: "subscribe", remedy: "use a shorter prefix" };
        let mut core = Subscriber::new(config, STREAMS_MAX).map_err(wrong)?;
        if uri.pattern == Pattern::PubSub {
            for prefix in &uri.subscribe {
                core.subscribe(prefix).map_err(wrong)?;
            }
            if uri.subscribe.is_empty() {
                core.subscribe(b"").map_err(wrong)?;
            }
        }
        let transport = Transport::open(uri, end, settings::stream(uri), opening, io)?;
        Ok(Self {
            core,
            transport: Some(transport),
            links: Vec::new(),
            streams: Streams::default(),
            memory_bytes: 0,
            turn: 0,
            aborted: None,
            events: Events::at_most(EVENTS_MAX),
            counters: Counters::default(),
            sessions: 0,
            look_at: opening.now,
            give_back_at: opening.now,
            turn_at: opening.now,
            random: Random::new(opening),
        })
    }

    fn look<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) {
        self.look_at = now + LOOK_EVERY;
        if let Some(transport) = &mut self.transport {
            transport.work(io, now);
        }
        while let Some(stream) = self.transport.as_mut().and_then(Transport::next_stream) {
            self.begin(io, now, stream);
        }
        // Whoever was not read for long, because this process stood still, is not silent.
        for link in self.links.iter().flatten().filter(|link| link.wire.is_readable) {
            self.core.heard(link.id, now);
        }
        while let Some((id, reason)) = self.core.handle_timeout(now) {
            self.over(io, now, id.index(), reason);
        }
        if now >= self.give_back_at {
            self.give_back(now);
        }
        for index in 0..self.links.len() {
            self.send(io, now, index);
        }
    }

    /// Large messages leave large buffers.
    #[cold]
    fn give_back(&mut self, now: Nanos) {
        self.give_back_at = now + GIVE_BACK_EVERY;
        self.give_back_beyond(KEPT_BYTES, KEPT_BYTES);
    }

    fn give_back_beyond(&mut self, wire_bytes: usize, assembly_bytes: usize) {
        self.memory_bytes = 0;
        for link in self.links.iter_mut().flatten() {
            link.wire.give_back(wire_bytes);
            link.assembly.give_back(assembly_bytes);
            link.memory_bytes = link.wire.memory_bytes() + link.assembly.memory_bytes();
            self.memory_bytes += link.memory_bytes;
        }
    }

    /// Looks at the buffers of a link that was read.
    #[inline]
    fn count_memory<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos, index: usize) {
        let Some(Some(link)) = self.links.get_mut(index) else { return };
        let memory_bytes = link.wire.memory_bytes() + link.assembly.memory_bytes();
        if memory_bytes != link.memory_bytes {
            self.memory_bytes += memory_bytes;
            self.memory_bytes -= core::mem::replace(&mut link.memory_bytes, memory_bytes);
            if self.memory_bytes > MEMORY_BYTES_MAX {
                self.make_room(io, now);
            }
        }
    }

    /// Takes back what no message needs, then closes the links with the largest messages.
    #[cold]
    fn make_room<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) {
        self.give_back_beyond(BUFFER_BYTES, 0);
        while self.memory_bytes > MEMORY_BYTES_MAX {
            let links = self.links.iter().flatten();
            let Some(largest) = links.max_by_key(|link| link.memory_bytes) else { return };
            let index = largest.id.index();
            self.counters.refused += 1;
            self.end(io, now, index, EndReason::Lost);
        }
    }

    fn begin<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos, stream: Handle) {
        let random = self.random.bytes();
        let id = random.ok().and_then(|random| self.core.add(now, Seed::new(random)).ok());
        let Some(id) = id else {
            self.counters.refused += 1;
            self.events.tell(Event::Refused { peer: None });
            close_source(io, stream);
            return;
        };
        let index = id.index();
        // Before the handshake is over a peer is worth little memory.
        let Some(wire) = Wire::new(io, stream, self.core.buffer_bytes(id)) else {
            self.core.remove(id);
            close_source(io, stream);
            return;
        };
        if self.links.len() <= index {
            self.links.resize_with(index + 1, || None);
        }
        self.streams.note(stream, index);
        self.sessions += 1;
        self.links[index] = Some(Link {
            id,
            wire,
            assembly: Assembly::default(),
            memory_bytes: 0,
            session: self.sessions,
            position: 0,
            is_established: false,
        });
        self.send(io, now, index);
    }

    /// Sends subscriptions and heartbeats, as far as the socket takes them.
    #[inline]
    fn send<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos, index: usize) {
        let Some(link) = self.links.get_mut(index).and_then(Option::as_mut) else { return };
        while !link.wire.is_blocked {
            let bytes = self.core.poll_transmit(link.id);
            if bytes.is_empty() {
                return;
            }
            match link.wire.send(io, bytes) {
                Some(sent) => self.core.transmitted(link.id, sent),
                None => return self.end(io, now, index, EndReason::Lost),
            }
        }
    }

    /// Hands over what a link has, up to `limit` messages.
    #[inline]
    fn drain<K, H>(
        &mut self,
        io: &mut Io<K>,
        now: Nanos,
        index: usize,
        left: &mut usize,
        handler: &mut H,
    ) -> Drained
    where
        K: Kernel,
        H: FnMut(Message<'_>) -> Action,
    {
        let Self { core, links, aborted, events, counters, transport, .. } = self;
        let Some(link) = links.get_mut(index).and_then(Option::as_mut) else {
            return Drained::Empty;
        };
        let Link { id, wire, assembly, session, position, is_established, .. } = link;
        wire.was_short = false;
        loop {
            if *left == 0 {
                return Drained::Stopped;
            }
            let handled = core.handle_bytes(*id, now, wire.unread());
            let consumed = handled.consumed;
            let mut action = Action::Continue;
            match handled.event {
                Some(SubscriberEvent::Message { part, more }) => {
                    *position += part.len() as u64;
                    let (session, position) = (*session, *position);
                    if let Some((topic, payload, part_ends)) = assembly.take(part, more) {
                        let message = Message { topic, payload, part_ends, session, position };
                        action = handler(message);
                        if action == Action::Abort {
                            *aborted = Some(Aborted {
                                topic: topic.to_vec(),
                                payload: payload.to_vec(),
                                part_ends: part_ends.to_vec(),
                                session,
                                position,
                            });
                        } else {
                            *left -= 1;
                            counters.received += 1;
                            counters.received_bytes += (topic.len() + payload.len()) as u64;
                        }
                    }
                }
                // Messages were read and handed over: what comes later is the next poll's.
                None if consumed == 0 && wire.was_short => return Drained::Empty,
                None if consumed == 0 => match wire.receive(io, core.buffer_bytes(*id)) {
                    Read::Bytes => counters.transfers += 1,
                    Read::Nothing => return Drained::Empty,
                    Read::End => return Drained::Over(EndReason::Closed),
                    Read::Failed => return Drained::Over(EndReason::Lost),
                },
                Some(SubscriberEvent::Established(_)) => {
                    *is_established = true;
                    let _ = io.prove(wire.stream);
                    wire.reserve(BUFFER_BYTES);
                    wire.defer_acknowledgements(io);
                    let (session, position, peer) = (*session, *position, wire.peer);
                    events.tell(Event::ImageAvailable { session, position, peer });
                    if let Some(transport) = transport {
                        transport.established();
                    }
                }
                Some(SubscriberEvent::Closed(reason)) => {
                    counters.malformed += u64::from(is_violation(reason));
                    if !*is_established {
                        events.tell(Event::Refused { peer: wire.peer });
                    }
                    let _ = wire.send(io, core.poll_transmit(*id));
                    return Drained::Over(EndReason::Lost);
                }
                _ => {}
            }
            wire.consume(consumed);
            if action != Action::Continue {
                return Drained::Stopped;
            }
        }
    }

    fn over<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos, index: usize, reason: CloseReason) {
        self.counters.malformed += u64::from(is_violation(reason));
        self.end(io, now, index, EndReason::Lost);
    }

    #[cold]
    fn end<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos, index: usize, reason: EndReason) {
        let Some(link) = self.links.get_mut(index).and_then(Option::take) else { return };
        self.core.remove(link.id);
        self.memory_bytes -= link.memory_bytes;
        close_source(io, link.wire.stream);
        if link.is_established {
            let (session, position) = (link.session, link.position);
            self.events.tell(Event::ImageUnavailable { session, position, reason });
        }
        if let Some(transport) = &mut self.transport {
            transport.lost(now);
        }
    }

    /// The message that was not taken, once more; whether it was taken now.
    #[cold]
    fn offer_aborted<H>(&mut self, handler: &mut H) -> Option<Action>
    where
        H: FnMut(Message<'_>) -> Action,
    {
        let aborted = self.aborted.as_ref()?;
        let Aborted { topic, payload, part_ends, session, position } = aborted;
        let (session, position) = (*session, *position);
        let action = handler(Message { topic, payload, part_ends, session, position });
        if action != Action::Abort {
            self.counters.received += 1;
            self.counters.received_bytes += (topic.len() + payload.len()) as u64;
            self.aborted = None;
        }
        Some(action)
    }

    fn is_idle(&self) -> bool {
        // A part of a frame is nothing to do: its rest brings an edge.
        self.aborted.is_none() && self.links.iter().flatten().all(|link| !link.wire.is_readable)
    }
}

impl Assembly {
    #[inline]
    fn memory_bytes(&self) -> usize {
        self.topic.capacity() + self.rest.capacity()
    }

    /// Between two messages: gives memory beyond so much back.
    fn give_back(&mut self, kept_bytes: usize) {
        if self.parts == 0 && self.topic.capacity().max(self.rest.capacity()) > kept_bytes {
            *self = Self::default();
        }
    }

    /// Adds a part: the whole message, as topic, payload and where its parts end, when it is the
    /// last one. An empty first part is no topic but a part, or it would be lost: so a message to a
    /// REP socket begins.
    #[inline]
    fn take<'a>(&'a mut self, part: &'a [u8], more: bool) -> Option<Whole<'a>> {
        match (self.parts, more) {
            (0, false) => return Some((&[], part, &[])),
            (0, true) => {
                self.topic.clear();
                self.topic.extend_from_slice(part);
                self.rest.clear();
                self.ends.clear();
            }
            (1, false) if !self.topic.is_empty() => {
                self.parts = 0;
                return Some((&self.topic, part, &[]));
            }
            (before, _) => {
                if before > 1 || self.topic.is_empty() {
                    self.ends.push(self.rest.len());
                }
                self.rest.extend_from_slice(part);
                if !more {
                    self.parts = 0;
                    return Some((&self.topic, &self.rest, &self.ends));
                }
            }
        }
        self.parts += 1;
        None
    }
}

fn is_violation(reason: CloseReason) -> bool {
    matches!(reason, CloseReason::Violation(_))
}

impl SubscriptionDriver for ZmtpSubscription {
    #[inline]
    fn poll<K, H>(&mut self, io: &mut Io<K>, now: Nanos, limit: usize, handler: &mut H) -> usize
    where
        K: Kernel,
        H: FnMut(Message<'_>) -> Action,
    {
        let mut left = limit;
        if self.aborted.is_some() && left > 0 {
            match self.offer_aborted(handler) {
                Some(Action::Abort) => return 0,
                Some(Action::Break) => return 1,
                _ => left -= 1,
            }
        }
        if now >= self.look_at {
            self.look(io, now);
        }
        let count = self.links.len();
        for step in 0..count {
            let index = if count == 1 { 0 } else { (self.turn + step) % count };
            let Some(link) = self.links[index].as_ref() else { continue };
            if count > READ_ALL_MAX && !link.wire.is_readable {
                continue;
            }
            match self.drain(io, now, index, &mut left, handler) {
                Drained::Empty => {}
                Drained::Over(reason) => self.end(io, now, index, reason),
                Drained::Stopped => {
                    // What was read may hold further messages.
                    self.links[index].iter_mut().for_each(|link| link.wire.is_readable = true);
                    self.turn = index;
                    self.send(io, now, index);
                    self.count_memory(io, now, index);
                    break;
                }
            }
            self.send(io, now, index);
            self.count_memory(io, now, index);
        }
        if left == limit {
            self.turn = self.turn.wrapping_add(1) % count.max(1);
        }
        limit - left
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.next()
    }

    fn image_count(&self) -> usize {
        self.links.iter().flatten().filter(|link| link.is_established).count()
    }

    fn close<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) {
        if let Some(transport) = self.transport.take() {
            transport.release(io);
        }
        for index in 0..self.links.len() {
            self.end(io, now, index, EndReason::Closed);
        }
    }

    fn is_closed(&self) -> bool {
        self.transport.is_none()
    }

    fn counters(&self) -> Counters {
        let refused = self.transport.as_ref().map_or(0, Transport::refused);
        Counters { refused: self.counters.refused + refused, ..self.counters }
    }

    fn next_timeout(&self) -> Option<Nanos> {
        let connect = self.transport.as_ref().and_then(Transport::next_timeout);
        let next = [self.core.poll_timeout(), connect].into_iter().flatten().min();
        next.map(|at| at.max(self.look_at))
    }

    fn complete(&mut self, completion: &Completion<'_>) -> bool {
        if let Completion::Ready { source, readable, writable } = *completion {
            let Some(index) = self.streams.index(source) else { return false };
            let Some(Some(link)) = self.links.get_mut(index) else { return false };
            if link.wire.stream != source {
                return false;
            }
            link.wire.is_readable |= readable;
            link.wire.is_blocked &= !writable;
            return true;
        }
        if let Completion::Closed { source, .. } = *completion
            && let Some(index) = self.streams.index(source)
            && let Some(Some(link)) = self.links.get_mut(index)
            && link.wire.stream == source
        {
            // The next read says that it is gone.
            link.wire.is_readable = true;
            self.look_at = Nanos::ZERO;
            return true;
        }
        let transport = self.transport.as_mut();
        let is_own = transport.is_some_and(|transport| transport.complete(completion));
        if is_own {
            self.look_at = Nanos::ZERO;
        }
        is_own
    }

    fn wants_turn(&mut self, now: Nanos) -> bool {
        let wants = now >= self.turn_at || self.links.len() > READ_ALL_MAX;
        if wants {
            self.turn_at = now + LOOK_EVERY;
        }
        wants
    }

    fn before_sleep<K: Kernel>(&mut self, io: &mut Io<K>, span: Nanos) -> Nanos {
        self.look_at = Nanos::ZERO;
        if !self.is_idle() {
            return Nanos::ZERO;
        }
        self.links.iter_mut().flatten().for_each(|link| link.wire.acknowledge(io));
        span
    }

    fn release<K: Kernel>(&mut self, io: &mut Io<K>) {
        if let Some(transport) = self.transport.take() {
            transport.release(io);
        }
        self.links.iter().flatten().for_each(|link| close_source(io, link.wire.stream));
    }

    fn local_address(&self) -> Option<Address> {
        self.transport.as_ref()?.local_address()
    }
}
