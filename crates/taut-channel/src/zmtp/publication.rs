//! The publishing end: PUB or PUSH.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use taut_sys::{Address, Epoll, Interest, Readiness, Socket, random_bytes};
use taut_types::Nanos;
use taut_zmtp::{
    CloseReason, PeerId, Publisher, PublisherEvent, Refusal, SEED_BYTES, Seed, SocketType,
};

use super::settings;
use super::transport::{LISTENER, Transport};
use super::wire::{Read, Wire};
use crate::counters::{Counters, DEPARTED_MAX, SubscriberCounters};
use crate::driver::{Descriptors, Opening, PublicationDriver};
use crate::error::ChannelError;
use crate::event::{EndReason, Event, Events};
use crate::offer::{MessageLimit, OfferError};
use crate::uri::ZmtpUri;

/// How often peers and the listener are looked at while messages flow: it costs a system call.
const LOOK_EVERY: Nanos = Nanos::from_micros(100);
/// What was offered is sent at once when so much waits, or when nothing was sent for the span.
const BATCH_BYTES: usize = 64 << 10;
const BATCH_SPAN: Nanos = Nanos::from_micros(5);
const EVENTS_MAX: usize = 1024;
/// Edges that one system call brings, and calls of one look.
const EDGES_MAX: usize = 64;
const WAITS_MAX: usize = 16;
/// Reads of one peer at a time: one that never stops talking does not stop the others.
const READS_MAX: usize = 16;
/// Of a frame that is longer than 255 bytes.
const FRAME_HEADER_BYTES: usize = 9;

/// A PUB or PUSH socket with its streams.
#[derive(Debug)]
pub(crate) struct ZmtpPublication {
    core: Publisher,
    transport: Option<Transport>,
    epoll: Epoll,
    peers: Vec<Option<Peer>>,
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
    look_at: Nanos,
    publishes: bool,
    caches: bool,
    is_urgent: bool,
    is_closing: bool,
    /// Some peer has said more than was read.
    is_behind: bool,
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

impl ZmtpPublication {
    pub(crate) fn open(uri: &ZmtpUri, opening: &Opening) -> Result<Self, ChannelError> {
        settings::refuse_loss(opening)?;
        let config = settings::publisher(uri)?;
        let epoll = Epoll::new(EDGES_MAX)?;
        let end = settings::publisher_end(uri);
        let transport = Transport::open(uri, end, settings::stream(uri), &epoll, opening.now)?;
        let (hwm, publishes) = (config.hwm, config.connection.socket_type == SocketType::Pub);
        let caches = config.last_value.is_some();
        let wrong = |_| ChannelError::Unsupported { what: "hwm", remedy: "give at least 1" };
        Ok(Self {
            core: Publisher::new(config).map_err(wrong)?,
            transport: Some(transport),
            epoll,
            peers: Vec::new(),
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
            look_at: opening.now,
            publishes,
            caches,
            is_urgent: false,
            is_closing: false,
            is_behind: false,
        })
    }

    /// Sends what waits, as far as the sockets take it.
    fn flush(&mut self, now: Nanos) -> usize {
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
                let Some(sent) = peer.wire.send(bytes) else {
                    self.end(now, index, EndReason::Lost);
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
        self.is_urgent || self.is_closing || (self.fresh > 0 && now - self.sent_at >= BATCH_SPAN)
    }

    /// New streams, what peers say, sockets that take bytes again.
    fn look(&mut self, now: Nanos) -> usize {
        self.look_at = now + LOOK_EVERY;
        let mut work = self.read_on(now);
        for _ in 0..WAITS_MAX {
            let edges = self.take_edges(now, Nanos::ZERO);
            work += edges;
            if edges < EDGES_MAX {
                break;
            }
        }
        while let Some(socket) = self.transport.as_mut().and_then(|all| all.poll(now)) {
            self.begin(now, socket);
            work += 1;
        }
        work
    }

    /// Goes on where a peer had more to say than one turn allows.
    fn read_on(&mut self, now: Nanos) -> usize {
        if !std::mem::take(&mut self.is_behind) {
            return 0;
        }
        for index in 0..self.peers.len() {
            if self.peers[index].as_ref().is_some_and(|peer| peer.wire.is_readable) {
                self.receive(now, index);
            }
        }
        1
    }

    fn take_edges(&mut self, now: Nanos, span: Nanos) -> usize {
        let count = self.epoll.wait(Some(span)).unwrap_or(0);
        for at in 0..count {
            let Some((token, ready)) = self.epoll.event(at) else { continue };
            match &mut self.transport {
                Some(transport) if token == LISTENER => transport.called(),
                _ => self.ready(now, token, ready),
            }
        }
        count
    }

    fn ready(&mut self, now: Nanos, token: u64, ready: Readiness) {
        let index = usize::try_from(token).unwrap_or(usize::MAX);
        let Some(peer) = self.peers.get_mut(index).and_then(Option::as_mut) else { return };
        if ready.writable && std::mem::replace(&mut peer.wire.is_blocked, false) {
            self.blocked -= 1;
            self.is_urgent = true;
        }
        if ready.readable || ready.ended {
            peer.wire.is_readable = true;
            self.receive(now, index);
        }
    }

    fn begin(&mut self, now: Nanos, socket: Socket) {
        let mut random = [0; SEED_BYTES];
        if random_bytes(&mut random).is_err() {
            return;
        }
        let Ok(id) = self.core.add(now, Seed::new(random)) else {
            self.counters.refused += 1;
            self.events.tell(Event::Refused { peer: None });
            return;
        };
        let index = id.index();
        if self.epoll.add(&socket, index as u64, Interest::Both).is_err() {
            self.core.remove(id);
            return;
        }
        if self.peers.len() <= index {
            self.peers.resize_with(index + 1, || None);
        }
        self.position += 1;
        let wire = Wire::new(socket, self.core.buffer_bytes(id));
        let (session, address, subscriptions) = (self.position, wire.peer(), 0);
        let was_connected = false;
        self.peers[index] = Some(Peer { id, wire, session, address, subscriptions, was_connected });
        self.is_urgent = true;
        self.receive(now, index);
    }

    /// Reads until there is nothing more, or it is the others' turn.
    fn receive(&mut self, now: Nanos, index: usize) {
        for _ in 0..READS_MAX {
            let Some(peer) = self.peers[index].as_mut() else { return };
            let read = peer.wire.receive(self.core.buffer_bytes(peer.id));
            match read {
                Read::Nothing => return,
                Read::End => return self.end(now, index, EndReason::Closed),
                Read::Failed => return self.end(now, index, EndReason::Lost),
                Read::Bytes => self.handle(now, index),
            }
        }
        self.is_behind = true;
    }

    fn handle(&mut self, now: Nanos, index: usize) {
        while let Some(peer) = self.peers[index].as_mut() {
            let handled = self.core.handle_bytes(peer.id, now, peer.wire.unread());
            let consumed = handled.consumed;
            let mut closed = None;
            let before = peer.subscriptions;
            match handled.event {
                None if consumed == 0 => return,
                Some(PublisherEvent::Subscribed(_)) => peer.subscriptions += 1,
                Some(PublisherEvent::Cancelled(_)) => peer.subscriptions -= 1,
                // A puller wants everything.
                Some(PublisherEvent::Established(_)) if !self.publishes => peer.subscriptions = 1,
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
                self.over(now, index, reason);
            }
        }
    }

    /// The protocol ended the connection: its last words are sent, as far as the socket takes them.
    fn over(&mut self, now: Nanos, index: usize, reason: CloseReason) {
        let Some(peer) = self.peers.get_mut(index).and_then(Option::as_mut) else { return };
        if matches!(reason, CloseReason::Violation(_)) {
            self.counters.malformed += 1;
            if peer.subscriptions == 0 {
                self.events.tell(Event::Refused { peer: peer.address });
            }
        }
        let was_blocked = peer.wire.is_blocked;
        let _ = peer.wire.send(self.core.poll_transmit(peer.id));
        // It is not one of those that wait, and does not become one.
        peer.wire.is_blocked = was_blocked;
        self.end(now, index, EndReason::Lost);
    }

    fn end(&mut self, now: Nanos, index: usize, reason: EndReason) {
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
        if peer.subscriptions > 0 {
            self.subscribers -= 1;
            self.events.tell(Event::Disconnected { session: peer.session, reason });
        }
        if let Some(transport) = &mut self.transport {
            transport.lost(now);
        }
    }

    /// Ends our half of each stream that has everything.
    fn drain(&mut self, now: Nanos) {
        self.transport = None;
        for index in 0..self.peers.len() {
            let Some(peer) = self.peers[index].as_mut() else { continue };
            if peer.wire.is_shut || self.core.has_output(peer.id) {
                continue;
            }
            peer.wire.is_shut = true;
            if peer.subscriptions == 0 || peer.wire.socket.shut_down_send().is_err() {
                self.end(now, index, EndReason::Closed);
            }
        }
    }

    #[inline]
    fn check(&self) -> Result<(), OfferError> {
        match (self.is_closing, self.subscribers) {
            (true, _) => Err(OfferError::Closed),
            (false, 0) if !self.caches => Err(OfferError::NotConnected),
            _ => Ok(()),
        }
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
    fn offer(&mut self, now: Nanos, topic: &[u8], parts: &[&[u8]]) -> Result<u64, OfferError> {
        self.check()?;
        let message = match parts {
            [message] => message,
            parts => {
                self.gathered.clear();
                parts.iter().for_each(|part| self.gathered.extend_from_slice(part));
                self.gathered.as_slice()
            }
        };
        let bytes = topic.len() + message.len();
        let offered = match topic {
            [] => self.core.offer(&[message]),
            topic => self.core.offer(&[topic, message]),
        };
        if let Err(refusal) = offered {
            return Err(self.refused(refusal, bytes, 1 + usize::from(!topic.is_empty())));
        }
        self.counters.sent += 1;
        self.counters.sent_bytes += bytes as u64;
        self.position += bytes as u64;
        self.fresh += 1;
        self.fresh_bytes += bytes;
        // A queue that nears its mark is emptied before the policy sees it full.
        if self.fresh_bytes >= BATCH_BYTES || self.fresh * 8 >= self.hwm * 7 {
            self.flush(now);
        }
        Ok(self.position)
    }

    fn room(&mut self, _now: Nanos, bytes: usize) -> Result<(), OfferError> {
        self.check()?;
        let claimed = self.core.claim(bytes).map(drop);
        self.core.abort();
        claimed.map_err(|refusal| self.refused(refusal, bytes, 1))
    }

    fn work(&mut self, now: Nanos) -> usize {
        // What was offered first: a look is a system call.
        let mut work = if self.is_due(now) { self.flush(now) } else { 0 };
        if now >= self.look_at || self.blocked > 0 {
            work += self.look(now);
        }
        if self.core.poll_timeout().is_some_and(|due| now >= due) {
            // A heartbeat may be written.
            self.is_urgent = true;
            while let Some((id, reason)) = self.core.handle_timeout(now) {
                self.over(now, id.index(), reason);
                work += 1;
            }
        }
        if self.is_urgent {
            work += self.flush(now);
        }
        if self.is_closing {
            self.drain(now);
        }
        work
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

    fn close(&mut self, now: Nanos) {
        self.is_closing = true;
        self.look_at = now;
    }

    fn is_closed(&self) -> bool {
        self.is_closing && self.peers.iter().all(Option::is_none)
    }

    fn counters(&self) -> Counters {
        Counters { dropped: self.core.counters().dropped, ..self.counters }
    }

    fn subscribers(&self) -> Vec<SubscriberCounters> {
        let connected = self.peers.iter().flatten().filter(|peer| peer.was_connected);
        let connected = connected.map(|peer| counts(&self.core, peer));
        self.departed.iter().copied().chain(connected).collect()
    }

    fn next_timeout(&self) -> Option<Nanos> {
        let flush = (self.fresh > 0).then(|| self.sent_at + BATCH_SPAN);
        let now = self.look_at;
        let connect = self.transport.as_ref().and_then(|transport| transport.next_timeout(now));
        let behind = self.is_behind.then_some(now);
        [flush, behind, self.core.poll_timeout(), connect].into_iter().flatten().min()
    }

    fn descriptors(&self) -> Descriptors<'_> {
        Descriptors::default().and(self.epoll.as_fd(), false)
    }

    fn block(&mut self, span: Nanos) {
        let now = self.sent_at;
        self.flush(now);
        if !self.is_behind {
            self.descriptors().wait(span);
        }
        self.look_at = Nanos::ZERO;
    }

    fn local_address(&self) -> Option<Address> {
        self.transport.as_ref()?.local_address()
    }
}
