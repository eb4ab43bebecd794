//! The publishing end: PUB or PUSH.

use std::collections::VecDeque;
use std::net::SocketAddr;

use taut_io::{Completion, Handle, Io, Kernel};
use taut_sys::Address;
use taut_types::Nanos;
use taut_zmtp::{CloseReason, PeerId, Publisher, PublisherEvent, Refusal, Seed, SocketType};

use super::settings;
use super::streams::Streams;
use super::transport::Transport;
use super::wire::{Read, Wire};
use crate::counters::{Counters, DEPARTED_MAX, SubscriberCounters};
use crate::driver::{Opening, PublicationDriver, close_source, joined};
use crate::error::ChannelError;
use crate::event::{EndReason, Event, Events};
use crate::message::parts;
use crate::offer::{MessageLimit, OfferError};
use crate::random::Random;
use crate::uri::ZmtpUri;

/// How often a loop of its own takes a turn while messages flow: it costs a system call.
const TURN_EVERY: Nanos = Nanos::from_micros(100);
/// What was offered is sent at once when so much waits, or when nothing was sent for the span.
const BATCH_BYTES: usize = 64 << 10;
const BATCH_SPAN: Nanos = Nanos::from_micros(5);
const EVENTS_MAX: usize = 1024;
/// Reads of one peer at a time: one that never stops talking does not stop the others.
const READS_MAX: usize = 16;
/// Of a frame that is longer than 255 bytes.
const FRAME_HEADER_BYTES: usize = 9;

/// A PUB or PUSH socket with its streams.
#[derive(Debug)]
pub(crate) struct ZmtpPublication {
    core: Publisher,
    transport: Option<Transport>,
    peers: Vec<Option<Peer>>,
    streams: Streams,
    /// Peers that have said more than was read.
    unread: Vec<usize>,
    /// Streams that wait for their sockets to take more.
    blocked: usize,
    subscribers: usize,
    events: Events,
    departed: VecDeque<SubscriberCounters>,
    counters: Counters,
    gathered: Vec<u8>,
    position: u64,
    hwm: usize,
    /// Offered since the last send.
    fresh: usize,
    fresh_bytes: usize,
    sent_at: Nanos,
    turn_at: Nanos,
    random: Random,
    publishes: bool,
    caches: bool,
    is_urgent: bool,
    is_closing: bool,
}

#[derive(Debug)]
struct Peer {
    id: PeerId,
    wire: Wire,
    session: u64,
    address: Option<SocketAddr>,
    subscriptions: usize,
    /// It had a subscription.
    was_connected: bool,
}

/// Room in the log of frames itself: given back when it is dropped without a commit.
#[derive(Debug)]
pub(crate) struct ZmtpClaim<'p> {
    publication: &'p mut ZmtpPublication,
    bytes: usize,
}

impl ZmtpClaim<'_> {
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        self.publication.core.claimed()
    }

    #[inline]
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        self.publication.core.claimed_mut()
    }

    #[inline]
    pub(crate) fn commit<K: Kernel>(self, io: &mut Io<K>, now: Nanos) -> Result<u64, OfferError> {
        let bytes = self.bytes;
        if let Err(refusal) = self.publication.core.commit() {
            return Err(self.publication.refused(refusal, bytes, 1));
        }
        Ok(self.publication.offered(io, now, bytes))
    }
}

impl Drop for ZmtpClaim<'_> {
    #[inline]
    fn drop(&mut self) {
        self.publication.core.abort();
    }
}

impl ZmtpPublication {
    /// Room in the log for a message of one part.
    #[inline]
    pub(crate) fn claim(&mut self, bytes: usize) -> Result<ZmtpClaim<'_>, OfferError> {
        self.check()?;
        match self.core.claim(bytes).map(drop) {
            Ok(()) => Ok(ZmtpClaim { publication: self, bytes }),
            Err(refusal) => Err(self.refused(refusal, bytes, 1)),
        }
    }

    pub(crate) fn open<K: Kernel>(
        uri: &ZmtpUri,
        opening: &Opening,
        io: &mut Io<K>,
    ) -> Result<Self, ChannelError> {
        settings::refuse_loss(opening)?;
        let config = settings::publisher(uri)?;
        let end = settings::publisher_end(uri);
        let (hwm, publishes) = (config.hwm, config.connection.socket_type == SocketType::Pub);
        let caches = config.last_value.is_some();
        let wrong = |_| ChannelError::Unsupported { what: "hwm", remedy: "give at least 1" };
        let core = Publisher::new(config).map_err(wrong)?;
        let transport = Transport::open(uri, end, settings::stream(uri), opening, io)?;
        Ok(Self {
            core,
            transport: Some(transport),
            peers: Vec::new(),
            streams: Streams::default(),
            unread: Vec::new(),
            blocked: 0,
            subscribers: 0,
            events: Events::at_most(EVENTS_MAX),
            departed: VecDeque::with_capacity(DEPARTED_MAX),
            counters: Counters::default(),
            gathered: Vec::new(),
            position: 0,
            hwm,
            fresh: 0,
            fresh_bytes: 0,
            sent_at: Nanos::ZERO,
            turn_at: opening.now,
            random: Random::new(opening),
            publishes,
            caches,
            is_urgent: false,
            is_closing: false,
        })
    }

    /// Sends what waits, as far as the sockets take it.
    fn flush<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) -> usize {
        // The span begins with bytes that left: a message that finds nothing before it never waits.
        if self.fresh > 0 {
            self.sent_at = now;
        }
        (self.fresh, self.fresh_bytes, self.is_urgent) = (0, 0, false);
        let mut sends = 0;
        for index in 0..self.peers.len() {
            let Some(peer) = self.peers[index].as_mut() else { continue };
            if peer.wire.is_blocked {
                continue;
            }
            loop {
                let bytes = self.core.poll_transmit(peer.id);
                if bytes.is_empty() {
                    break;
                }
                sends += 1;
                let Some(sent) = peer.wire.send(io, bytes) else {
                    self.end(io, now, index, EndReason::Lost);
                    break;
                };
                self.core.transmitted(peer.id, sent);
                if peer.wire.is_blocked {
                    self.blocked += 1;
                    break;
                }
            }
        }
        self.counters.transfers += sends as u64;
        sends
    }

    /// Whether there is something to send that must not wait for more of its kind.
    #[inline]
    fn is_due(&self, now: Nanos) -> bool {
        self.is_urgent || self.is_closing || (self.fresh > 0 && now >= self.sent_at + BATCH_SPAN)
    }

    /// Whether the core's timers are due.
    #[inline]
    fn is_timeout(&self, now: Nanos) -> bool {
        self.core.poll_timeout().is_some_and(|due| now >= due)
    }

    /// Whether there may be new streams.
    #[inline]
    fn has_arrivals(&self, now: Nanos) -> bool {
        self.transport.as_ref().is_some_and(|transport| transport.is_due(now))
    }

    /// The duty, where there is something to do.
    #[inline(never)]
    fn act<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) -> usize {
        // What was offered first: a read is a system call.
        let mut work = if self.is_due(now) { self.flush(io, now) } else { 0 };
        if self.has_arrivals(now) {
            work += self.meet(io, now);
        }
        work += self.hear(io, now);
        if self.is_timeout(now) {
            // A heartbeat may be written.
            self.is_urgent = true;
            while let Some((id, reason)) = self.core.handle_timeout(now) {
                self.over(io, now, id.index(), reason);
                work += 1;
            }
        }
        if self.is_urgent {
            work += self.flush(io, now);
        }
        if self.is_closing {
            self.drain(io, now);
        }
        work
    }

    /// New streams.
    fn meet<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) -> usize {
        let mut work = 0;
        if let Some(transport) = &mut self.transport {
            transport.work(io, now);
        }
        while let Some(stream) = self.transport.as_mut().and_then(Transport::next_stream) {
            self.begin(io, now, stream);
            work += 1;
        }
        work
    }

    /// What peers say.
    fn hear<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) -> usize {
        let mut work = 0;
        // What is left over when it is the others' turn is behind those.
        for _ in 0..self.unread.len() {
            let index = self.unread.remove(0);
            self.receive(io, now, index);
            work += 1;
        }
        work
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
        let Some(wire) = Wire::new(io, stream, self.core.buffer_bytes(id)) else {
            self.core.remove(id);
            close_source(io, stream);
            return;
        };
        if self.peers.len() <= index {
            self.peers.resize_with(index + 1, || None);
        }
        self.streams.note(stream, index);
        self.position += 1;
        let (session, address, subscriptions) = (self.position, wire.peer, 0);
        let was_connected = false;
        self.peers[index] = Some(Peer { id, wire, session, address, subscriptions, was_connected });
        self.is_urgent = true;
        self.receive(io, now, index);
    }

    /// Reads until there is nothing more, or it is the others' turn.
    fn receive<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos, index: usize) {
        for _ in 0..READS_MAX {
            let Some(peer) = self.peers.get_mut(index).and_then(Option::as_mut) else { return };
            let read = peer.wire.receive(io, self.core.buffer_bytes(peer.id));
            match read {
                Read::Nothing => return,
                Read::End => return self.end(io, now, index, EndReason::Closed),
                Read::Failed => return self.end(io, now, index, EndReason::Lost),
                Read::Bytes => self.handle(io, now, index),
            }
        }
        self.unread.push(index);
    }

    fn handle<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos, index: usize) {
        while let Some(peer) = self.peers[index].as_mut() {
            let handled = self.core.handle_bytes(peer.id, now, peer.wire.unread());
            let consumed = handled.consumed;
            let mut closed = None;
            let before = peer.subscriptions;
            match handled.event {
                None if consumed == 0 => return,
                Some(PublisherEvent::Subscribed(_)) => peer.subscriptions += 1,
                Some(PublisherEvent::Cancelled(_)) => peer.subscriptions -= 1,
                Some(PublisherEvent::Established(_)) => {
                    // A stale handle is told with the next read.
                    let _ = io.prove(peer.wire.stream);
                    // A puller wants everything.
                    peer.subscriptions += usize::from(!self.publishes);
                }
                Some(PublisherEvent::Closed(reason)) => closed = Some(reason),
                _ => {}
            }
            self.is_urgent = true;
            peer.wire.consume(consumed);
            let (session, after) = (peer.session, peer.subscriptions);
            if matches!((before, after), (0, 1)) {
                self.subscribers += 1;
                peer.was_connected = true;
                let peer = peer.address;
                self.events.tell(Event::Connected { session, peer });
                if let Some(transport) = &mut self.transport {
                    transport.established();
                }
            } else if matches!((before, after), (1, 0)) {
                self.subscribers -= 1;
                self.events.tell(Event::Disconnected { session, reason: EndReason::Closed });
            }
            if let Some(reason) = closed {
                self.over(io, now, index, reason);
            }
        }
    }

    /// The protocol ended the connection: its last words are sent, as far as the socket takes them.
    fn over<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos, index: usize, reason: CloseReason) {
        let Some(peer) = self.peers.get_mut(index).and_then(Option::as_mut) else { return };
        if matches!(reason, CloseReason::Violation(_)) {
            self.counters.malformed += 1;
            if peer.subscriptions == 0 {
                self.events.tell(Event::Refused { peer: peer.address });
            }
        }
        let was_blocked = peer.wire.is_blocked;
        let _ = peer.wire.send(io, self.core.poll_transmit(peer.id));
        // It is not one of those that wait, and does not become one.
        peer.wire.is_blocked = was_blocked;
        self.end(io, now, index, EndReason::Lost);
    }

    fn end<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos, index: usize, reason: EndReason) {
        let Some(peer) = self.peers.get_mut(index).and_then(Option::take) else { return };
        self.blocked -= usize::from(peer.wire.is_blocked);
        if peer.was_connected {
            if self.departed.len() == DEPARTED_MAX {
                self.departed.pop_front();
            }
            let counts = counts(&self.core, &peer);
            self.departed.push_back(SubscriberCounters { is_connected: false, ..counts });
        }
        self.core.remove(peer.id);
        close_source(io, peer.wire.stream);
        if peer.subscriptions > 0 {
            self.subscribers -= 1;
            self.events.tell(Event::Disconnected { session: peer.session, reason });
        }
        if let Some(transport) = &mut self.transport {
            transport.lost(now);
        }
    }

    /// Ends our half of each stream that has everything.
    fn drain<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) {
        if let Some(transport) = self.transport.take() {
            transport.release(io);
        }
        for index in 0..self.peers.len() {
            let Some(peer) = self.peers[index].as_mut() else { continue };
            if peer.wire.is_shut || self.core.has_output(peer.id) {
                continue;
            }
            peer.wire.is_shut = true;
            if peer.subscriptions == 0 || io.shut_down(peer.wire.stream).is_err() {
                self.end(io, now, index, EndReason::Closed);
            }
        }
    }

    #[inline]
    fn check(&self) -> Result<(), OfferError> {
        let is_refused = self.is_closing || (self.subscribers == 0 && !self.caches);
        if is_refused { Err(self.refusal()) } else { Ok(()) }
    }

    #[cold]
    const fn refusal(&self) -> OfferError {
        if self.is_closing { OfferError::Closed } else { OfferError::NotConnected }
    }

    /// A message of so many bytes was taken; the position behind it.
    #[inline]
    fn offered<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos, bytes: usize) -> u64 {
        self.counters.sent += 1;
        self.counters.sent_bytes += bytes as u64;
        self.position += bytes as u64;
        self.fresh += 1;
        self.fresh_bytes += bytes;
        // A queue that nears its mark is emptied before the policy sees it full.
        if self.fresh_bytes >= BATCH_BYTES || self.fresh * 8 >= self.hwm * 7 {
            self.flush(io, now);
        }
        self.position
    }

    #[cold]
    fn refused(&mut self, refusal: Refusal, bytes: usize, frames: usize) -> OfferError {
        match refusal {
            Refusal::BackPressured => {
                self.is_urgent = true;
                self.counters.back_pressured += 1;
                OfferError::BackPressured
            }
            Refusal::TooLong { bytes_max } => {
                let bytes_max = bytes_max.saturating_sub(frames * FRAME_HEADER_BYTES);
                OfferError::TooLong { bytes, bytes_max, limit: MessageLimit::Frame }
            }
            _ => OfferError::NotConnected,
        }
    }
}

fn counts(core: &Publisher, peer: &Peer) -> SubscriberCounters {
    let counts = core.peer_counters(peer.id).unwrap_or_default();
    SubscriberCounters {
        session: peer.session,
        peer: peer.address,
        is_connected: true,
        sent: counts.sent,
        dropped: counts.dropped,
        waiting: counts.waiting as u64,
        waiting_bytes: counts.waiting_bytes as u64,
    }
}

impl PublicationDriver for ZmtpPublication {
    #[inline]
    fn offer<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        now: Nanos,
        topic: &[u8],
        parts: &[&[u8]],
    ) -> Result<u64, OfferError> {
        self.check()?;
        let message = joined(parts, &mut self.gathered);
        let bytes = topic.len() + message.len();
        let offered = match topic {
            [] => self.core.offer(&[message]),
            topic => self.core.offer(&[topic, message]),
        };
        if let Err(refusal) = offered {
            return Err(self.refused(refusal, bytes, 1 + usize::from(!topic.is_empty())));
        }
        Ok(self.offered(io, now, bytes))
    }

    fn offer_multipart<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        now: Nanos,
        topic: &[u8],
        payload: &[u8],
        part_ends: &[usize],
    ) -> Result<u64, OfferError> {
        self.check()?;
        let topic_part = (!topic.is_empty()).then_some(topic);
        let frames: Vec<&[u8]> = topic_part.into_iter().chain(parts(payload, part_ends)).collect();
        let bytes = topic.len() + payload.len();
        if let Err(refusal) = self.core.offer(&frames) {
            return Err(self.refused(refusal, bytes, frames.len()));
        }
        Ok(self.offered(io, now, bytes))
    }

    fn room<K: Kernel>(
        &mut self,
        _io: &mut Io<K>,
        _now: Nanos,
        bytes: usize,
    ) -> Result<(), OfferError> {
        self.claim(bytes).map(drop)
    }

    #[inline]
    fn work<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) -> usize {
        // Mostly it comes with a message that waits for more of its kind.
        let is_idle = self.unread.is_empty()
            && !self.is_due(now)
            && !self.has_arrivals(now)
            && !self.is_timeout(now);
        if is_idle { 0 } else { self.act(io, now) }
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.next()
    }

    fn subscriber_count(&self) -> usize {
        self.subscribers
    }

    fn unacknowledged_bytes(&self) -> u64 {
        let peers = self.peers.iter().flatten();
        peers.map(|peer| self.core.waiting_bytes(peer.id) as u64).max().unwrap_or(0)
    }

    fn close<K: Kernel>(&mut self, _io: &mut Io<K>, now: Nanos) {
        self.is_closing = true;
        self.turn_at = now;
    }

    fn is_closed(&self) -> bool {
        self.is_closing && self.peers.iter().all(Option::is_none)
    }

    fn counters(&self) -> Counters {
        let refused = self.transport.as_ref().map_or(0, Transport::refused);
        let refused = self.counters.refused + refused;
        Counters { dropped: self.core.counters().dropped, refused, ..self.counters }
    }

    fn subscribers(&self) -> Vec<SubscriberCounters> {
        let connected = self.peers.iter().flatten().filter(|peer| peer.was_connected);
        let connected = connected.map(|peer| counts(&self.core, peer));
        self.departed.iter().copied().chain(connected).collect()
    }

    fn next_timeout(&self) -> Option<Nanos> {
        let flush = (self.fresh > 0).then(|| self.sent_at + BATCH_SPAN);
        let connect = self.transport.as_ref().and_then(Transport::next_timeout);
        let behind = (!self.unread.is_empty()).then_some(self.turn_at);
        [flush, behind, self.core.poll_timeout(), connect].into_iter().flatten().min()
    }

    fn complete(&mut self, completion: &Completion<'_>) -> bool {
        if let Completion::Ready { source, readable, writable } = *completion {
            let Some(index) = self.streams.index(source) else { return false };
            let Some(Some(peer)) = self.peers.get_mut(index) else { return false };
            if peer.wire.stream != source {
                return false;
            }
            if writable && std::mem::replace(&mut peer.wire.is_blocked, false) {
                self.blocked -= 1;
                self.is_urgent = true;
            }
            if readable && !self.unread.contains(&index) {
                self.unread.push(index);
            }
            return true;
        }
        if let Completion::Closed { source, .. } = *completion
            && let Some(index) = self.streams.index(source)
            && let Some(Some(peer)) = self.peers.get(index)
            && peer.wire.stream == source
        {
            // The next read says that it is gone.
            if !self.unread.contains(&index) {
                self.unread.push(index);
            }
            return true;
        }
        self.transport.as_mut().is_some_and(|transport| transport.complete(completion))
    }

    fn wants_turn(&mut self, now: Nanos) -> bool {
        let wants = now >= self.turn_at || self.blocked > 0;
        if wants {
            self.turn_at = now + TURN_EVERY;
        }
        wants
    }

    fn before_sleep<K: Kernel>(&mut self, io: &mut Io<K>, span: Nanos) -> Nanos {
        self.flush(io, self.sent_at);
        self.turn_at = Nanos::ZERO;
        if self.unread.is_empty() { span } else { Nanos::ZERO }
    }

    fn release<K: Kernel>(&mut self, io: &mut Io<K>) {
        if let Some(transport) = self.transport.take() {
            transport.release(io);
        }
        self.peers.iter().flatten().for_each(|peer| close_source(io, peer.wire.stream));
    }

    fn local_address(&self) -> Option<Address> {
        self.transport.as_ref()?.local_address()
    }
}
