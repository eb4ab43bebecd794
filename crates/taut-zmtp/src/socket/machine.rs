//! The socket: peers, bytes and time in; messages, events and bytes out.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use taut_types::Nanos;

use crate::connection::config::ConnectionConfig;
use crate::connection::event::{Event, Peer};
use crate::connection::machine::Connection;
use crate::curve::keys::Seed;
use crate::error::{CloseReason, Limit, Misuse, Violation, ZmtpError};
use crate::link_id::LinkId;
use crate::metadata::ROUTING_ID_BYTES_MAX;
use crate::socket::config::{SocketConfig, SocketCounters};
use crate::socket::envelope::{Envelope, measure};
use crate::socket::link::Link;
use crate::socket::message::SocketMessage;
use crate::socket::rules::{Act, Incoming, Outgoing, Rules, Turn, rules, step};
use crate::socket_type::SocketType;

/// The part of a REQ's message that is its number.
const NUMBER_BYTES: usize = 4;

/// A REQ, REP, DEALER, ROUTER, PUSH, PULL or PAIR socket. What each does: the table in RFC 28, 30
/// and 31, and in this crate's documentation.
#[derive(Debug)]
pub struct Socket {
    config: SocketConfig,
    connection: Arc<ConnectionConfig>,
    rules: Rules,
    turn: Turn,
    links: Vec<Slot>,
    /// A ROUTER's peers by their names: the places of their links.
    names: BTreeMap<Vec<u8>, usize>,
    /// Whose turn it is to be sent to, and to be received from.
    next_to: usize,
    next_from: usize,
    /// A REQ's: who was asked. A REP's: who is to be answered.
    other: Option<LinkId>,
    envelope: Envelope,
    /// A REQ's last question; the next name that a ROUTER gives.
    number: u32,
    /// The message of this link is handed out until the next call.
    lent: Option<usize>,
    counters: SocketCounters,
}

#[derive(Debug)]
struct Slot {
    generation: u32,
    link: Option<Box<Link>>,
}

/// What happened on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SocketEvent {
    /// The handshake is over: messages pass.
    Established(Peer),
    /// A message is whole: see [`Socket::receive`].
    Arrived,
    /// The connection is over. Send what [`Socket::poll_transmit`] still gives, once, then close
    /// and [`Socket::remove`] the link.
    Closed(CloseReason),
}

/// What [`Socket::handle_bytes`] made of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketHandled {
    /// How many bytes are done with; 0 when a whole frame is not there yet.
    pub consumed: usize,
    /// What happened, if it concerns the driver.
    pub event: Option<SocketEvent>,
}

impl Socket {
    /// A socket without peers. `random` is where a REQ's numbers and the names that a ROUTER gives
    /// begin.
    ///
    /// # Errors
    /// A type that publishes or subscribes; a mark or a size of zero; a routing id that is too long
    /// or begins with a zero.
    pub fn new(config: SocketConfig, random: u32) -> Result<Self, ZmtpError> {
        let rules = rules(config.connection.socket_type);
        let rules = rules.ok_or(ZmtpError::Misuse(Misuse::SocketType))?;
        let sizes = [config.send_hwm, config.receive_hwm, config.queue_bytes_max, config.peers_max];
        if sizes.contains(&0) {
            return Err(ZmtpError::Misuse(Misuse::Size));
        }
        let routing_id = &config.connection.routing_id;
        if routing_id.len() > ROUTING_ID_BYTES_MAX || routing_id.first() == Some(&0) {
            return Err(ZmtpError::Limit(Limit::RoutingId));
        }
        Ok(Self {
            connection: Arc::new(config.connection.clone()),
            turn: rules.first,
            rules,
            links: Vec::new(),
            names: BTreeMap::new(),
            next_to: 0,
            next_from: 0,
            other: None,
            envelope: Envelope::default(),
            number: random,
            lent: None,
            counters: SocketCounters::default(),
            config,
        })
    }

    /// What it is.
    #[must_use]
    pub const fn socket_type(&self) -> SocketType {
        self.config.connection.socket_type
    }

    /// Adds a connection whose transport stands, with settings of its own where given: security is
    /// a matter of the place that it was made at.
    ///
    /// # Errors
    /// There are as many as may be: close the transport. Settings of another type of socket.
    pub fn add(
        &mut self,
        now: Nanos,
        seed: Seed,
        config: Option<&Arc<ConnectionConfig>>,
    ) -> Result<LinkId, ZmtpError> {
        let config = config.unwrap_or(&self.connection);
        if config.socket_type != self.config.connection.socket_type {
            return Err(ZmtpError::Misuse(Misuse::SocketType));
        }
        let connection = Connection::new(Arc::clone(config), seed, now);
        let free = self.links.iter().position(|slot| slot.link.is_none());
        let index = free.unwrap_or(self.links.len());
        if index >= self.config.peers_max {
            self.counters.refused += 1;
            return Err(ZmtpError::Limit(Limit::PeerCount));
        }
        if free.is_none() {
            self.links.push(Slot { generation: 0, link: None });
        }
        let Some(slot) = self.links.get_mut(index) else {
            return Err(ZmtpError::Limit(Limit::PeerCount));
        };
        slot.link = Some(Box::new(Link::new(connection)));
        Ok(LinkId { index: index as u32, generation: slot.generation })
    }

    /// Forgets a connection whose transport is closed, with what waited to be sent. What came whole
    /// can be received still.
    pub fn remove(&mut self, id: LinkId) {
        self.give_back();
        let Some(slot) = self.links.get_mut(id.index()) else { return };
        if slot.generation != id.generation {
            return;
        }
        let Some(link) = slot.link.as_mut().filter(|link| !link.is_gone) else { return };
        self.counters.lost += link.waiting() as u64;
        link.is_gone = true;
        self.sweep(id.index());
    }

    /// A connection that is gone is forgotten once nothing of it can be received.
    fn sweep(&mut self, index: usize) {
        let Some(slot) = self.links.get_mut(index) else { return };
        let id = LinkId { index: index as u32, generation: slot.generation };
        let is_empty = slot.link.as_ref().is_some_and(|link| {
            link.is_gone && (link.doomed.is_some() || link.inbox.messages() == 0)
        });
        if is_empty {
            let name = slot.link.take().map(|link| link.routing_id).unwrap_or_default();
            if self.names.get(&name) == Some(&index) {
                self.names.remove(&name);
            }
            slot.generation = slot.generation.wrapping_add(1);
            if self.other == Some(id) && self.lent != Some(index) {
                self.other = None;
            }
        }
    }

    /// Queues a message for the peer that it goes to; which that is, or nobody where it is dropped.
    ///
    /// # Errors
    /// [`Limit::HighWaterMark`]: try again later, nothing was taken. [`Misuse::Turn`] of a REQ that
    /// was not answered and of a REP that was not asked. [`Misuse::Unroutable`] of a ROUTER that
    /// must say so. No parts, or a ROUTER's without one behind the routing id. A PULL sends
    /// nothing.
    pub fn send(&mut self, parts: &[&[u8]]) -> Result<Option<LinkId>, ZmtpError> {
        self.give_back();
        let next = step(self.turn, Act::Send, self.config.is_req_relaxed && self.is_req());
        match self.rules.outgoing {
            Outgoing::Nowhere => Err(ZmtpError::Misuse(Misuse::SocketType)),
            _ if parts.is_empty() => Err(ZmtpError::Misuse(Misuse::EmptyMessage)),
            Outgoing::InTurn => {
                let next = next.ok_or(ZmtpError::Misuse(Misuse::Turn))?;
                let full = ZmtpError::Limit(Limit::HighWaterMark);
                let index = self.next_with_room().ok_or(full)?;
                self.turn = next;
                Ok(self.send_to(index, parts))
            }
            Outgoing::ByRoutingId => {
                let Some((id, parts)) = parts.split_first().filter(|(_, rest)| !rest.is_empty())
                else {
                    return Err(ZmtpError::Misuse(Misuse::EmptyMessage));
                };
                let index = self.index_of(id);
                self.send_or_drop(index, parts, self.config.is_router_mandatory)
            }
            Outgoing::ToAsker => {
                self.turn = next.ok_or(ZmtpError::Misuse(Misuse::Turn))?;
                let asker = self.other.take().filter(|id| self.link(*id).is_some());
                self.send_or_drop(asker.map(LinkId::index), parts, false)
            }
        }
    }

    /// The next message, whose parts are lent until the next call; nothing when none has come.
    ///
    /// # Errors
    /// [`Misuse::Turn`] of a REQ that has not asked and of a REP that has not answered. A PUSH
    /// receives nothing.
    pub fn receive(&mut self) -> Result<Option<SocketMessage<'_>>, ZmtpError> {
        self.give_back();
        if self.rules.incoming == Incoming::Nobody {
            return Err(ZmtpError::Misuse(Misuse::SocketType));
        }
        let next = step(self.turn, Act::Receive, false);
        let next = next.ok_or(ZmtpError::Misuse(Misuse::Turn))?;
        let Some((index, (parts, skipped_bytes))) = self.next_message() else { return Ok(None) };
        let Some(slot) = self.links.get(index) else { return Ok(None) };
        let Some(link) = slot.link.as_ref() else { return Ok(None) };
        let Some((bytes, lengths)) = link.inbox.first() else { return Ok(None) };
        let from = LinkId { index: index as u32, generation: slot.generation };
        let is_router = self.rules.outgoing == Outgoing::ByRoutingId;
        if self.rules.outgoing == Outgoing::ToAsker {
            let kept = bytes.get(..skipped_bytes).unwrap_or(&[]);
            self.envelope.keep(kept, lengths.get(..parts).unwrap_or(&[]));
            self.other = Some(from);
        }
        self.turn = next;
        self.next_from = (index + 1) % self.links.len();
        self.lent = Some(index);
        self.counters.received += 1;
        Ok(Some(SocketMessage {
            from,
            routing_id: is_router.then_some(link.routing_id.as_slice()),
            bytes: bytes.get(skipped_bytes..).unwrap_or(&[]),
            lengths: lengths.get(parts..).unwrap_or(&[]),
        }))
    }

    /// Whether [`Socket::receive`] has a message now.
    pub fn has_message(&mut self) -> bool {
        self.give_back();
        self.rules.incoming != Incoming::Nobody
            && step(self.turn, Act::Receive, false).is_some()
            && self.next_message().is_some()
    }

    /// Whether a REQ waits for an answer of somebody who has left: none will come. With
    /// [`SocketConfig::is_req_relaxed`] it may ask anew; [`Socket::give_up`] lets any.
    #[must_use]
    pub fn is_answer_lost(&self) -> bool {
        self.is_req() && self.turn == Turn::Receive && self.other.is_none()
    }

    /// A REQ does not wait for its answer any more, and may ask anew: libzmq's is closed instead.
    pub fn give_up(&mut self) {
        if self.is_req() {
            self.give_back();
            (self.turn, self.other) = (Turn::Send, None);
        }
    }

    /// Takes the bytes of at most one frame. Call it again with the rest until nothing is consumed,
    /// while [`Socket::wants_bytes`] says so.
    pub fn handle_bytes(&mut self, id: LinkId, now: Nanos, bytes: &[u8]) -> SocketHandled {
        self.give_back();
        let nothing = SocketHandled { consumed: 0, event: None };
        let Some(slot) = self.links.get_mut(id.index()) else { return nothing };
        let Some(link) = slot.link.as_mut().filter(|_| slot.generation == id.generation) else {
            return nothing;
        };
        let handled = link.connection.handle_bytes(now, bytes);
        let consumed = handled.consumed;
        let event = match handled.event {
            Some(Event::Message { part, more }) => {
                link.inbox.push(part, more);
                (!more).then_some(SocketEvent::Arrived)
            }
            Some(Event::Established(peer)) => Some(self.established(id, peer)),
            Some(Event::Closed(reason)) => {
                self.count_closed(reason);
                Some(SocketEvent::Closed(reason))
            }
            _ => None,
        };
        SocketHandled { consumed, event }
    }

    /// Whether bytes of this connection may be handed over: not while as many of its messages wait
    /// as may.
    #[must_use]
    pub fn wants_bytes(&self, id: LinkId) -> bool {
        let config = &self.config;
        self.link(id).is_some_and(|link| {
            let lent = usize::from(self.lent == Some(id.index()));
            link.inbox.messages().saturating_sub(lent) < config.receive_hwm
                && link.inbox.bytes() < config.queue_bytes_max
        })
    }

    /// Bytes of messages that wait both ways, of all peers, those that have left included.
    #[must_use]
    pub fn queued_bytes(&self) -> usize {
        let links = self.links.iter().filter_map(|slot| slot.link.as_ref());
        links.map(|link| link.queued_bytes()).sum()
    }

    /// Drops what waits both ways of the peer that has most of it here, and its connection, which
    /// is returned: close its transport, if it has one still. Nothing when nothing waits.
    pub fn shed(&mut self) -> Option<LinkId> {
        self.give_back();
        let links = self.links.iter().enumerate();
        let queued = links.filter_map(|(at, slot)| Some((at, slot.link.as_ref()?.queued_bytes())));
        let (index, _) = queued.filter(|(_, bytes)| *bytes > 0).max_by_key(|(_, bytes)| *bytes)?;
        let slot = self.links.get_mut(index)?;
        let id = LinkId { index: index as u32, generation: slot.generation };
        let link = slot.link.as_mut()?;
        self.counters.lost += if link.is_gone { 0 } else { link.waiting() as u64 };
        self.counters.shed += 1;
        link.inbox.clear();
        link.is_gone = true;
        self.sweep(index);
        Some(id)
    }

    /// Bytes of this connection wait to be read: its peer is not silent. Say so before
    /// [`Socket::handle_timeout`].
    pub fn heard(&mut self, id: LinkId, now: Nanos) {
        if let Some(link) = self.link_mut(id) {
            link.connection.heard(now);
        }
    }

    /// Does what is due: call it until it returns `None`. A connection that is returned is over.
    pub fn handle_timeout(&mut self, now: Nanos) -> Option<(LinkId, CloseReason)> {
        let over = self.links.iter_mut().enumerate().find_map(|(index, slot)| {
            let link = slot.link.as_mut()?;
            let reason = match (link.doomed, link.is_gone || link.connection.is_closed()) {
                (Some(_), _) if link.is_gone => return None,
                (Some(reason), _) => reason,
                (None, true) => return None,
                (None, false) => match link.connection.handle_timeout(now)? {
                    Event::Closed(reason) => reason,
                    _ => return None,
                },
            };
            Some((LinkId { index: index as u32, generation: slot.generation }, reason))
        });
        if let Some((_, reason)) = over {
            self.count_closed(reason);
        }
        over
    }

    /// When [`Socket::handle_timeout`] is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Nanos> {
        let links = self.links.iter().filter_map(|slot| slot.link.as_ref());
        let due = links.filter(|link| !link.is_gone).filter_map(|link| match link.doomed {
            Some(_) => Some(Nanos::ZERO),
            None => link.connection.poll_timeout(),
        });
        due.min()
    }

    /// What is to be sent. Say with [`Socket::transmitted`] how much of it was.
    #[must_use]
    pub fn poll_transmit(&self, id: LinkId) -> &[u8] {
        let link = self.link(id).filter(|link| !link.is_gone);
        link.map_or(&[], |link| link.connection.poll_transmit())
    }

    /// The first `bytes` of what [`Socket::poll_transmit`] gave last were sent.
    pub fn transmitted(&mut self, id: LinkId, bytes: usize) {
        if let Some(link) = self.link_mut(id) {
            link.transmitted(bytes);
        }
    }

    /// The room that the driver's receive buffer for this connection needs.
    #[must_use]
    pub fn buffer_bytes(&self, id: LinkId) -> usize {
        self.link(id).map_or(0, |link| link.connection.buffer_bytes())
    }

    /// Whom messages reach now.
    #[must_use]
    pub fn established_count(&self) -> usize {
        let links = self.links.iter().filter_map(|slot| slot.link.as_ref());
        links.filter(|link| link.is_up()).count()
    }

    /// Messages that were taken and have not left.
    #[must_use]
    pub fn waiting_count(&self) -> usize {
        let links = self.links.iter().filter_map(|slot| slot.link.as_ref());
        links.filter(|link| !link.is_gone).map(|link| link.waiting()).sum()
    }

    /// What was counted.
    #[must_use]
    pub const fn counters(&self) -> SocketCounters {
        self.counters
    }

    fn is_req(&self) -> bool {
        self.rules.incoming == Incoming::FromAsked
    }

    /// The message that was lent is not needed any more.
    fn give_back(&mut self) {
        if let Some(index) = self.lent.take()
            && let Some(link) = self.links.get_mut(index).and_then(|slot| slot.link.as_mut())
        {
            link.inbox.pop();
            self.sweep(index);
        }
    }

    /// A new peer: it has a name, and its place, or none.
    fn established(&mut self, id: LinkId, peer: Peer) -> SocketEvent {
        let reason = if self.rules.has_one_peer && self.established_count() > 1 {
            Some(CloseReason::SecondPeer)
        } else if self.rules.outgoing == Outgoing::ByRoutingId {
            self.name(id).err()
        } else {
            None
        };
        let Some(reason) = reason else { return SocketEvent::Established(peer) };
        if let Some(link) = self.link_mut(id) {
            link.doomed = Some(reason);
        }
        self.count_closed(reason);
        SocketEvent::Closed(reason)
    }

    /// A ROUTER's peer is known by the name that it says, or one that it is given, which begins
    /// with a zero.
    fn name(&mut self, id: LinkId) -> Result<(), CloseReason> {
        let own = self.link(id).map_or(&[][..], |link| link.connection.peer_routing_id()).to_vec();
        let routing_id = match own.first() {
            Some(0) => return Err(CloseReason::Violation(Violation::RoutingId)),
            Some(_) => own,
            None => {
                self.number = self.number.wrapping_add(1);
                [&[0][..], &self.number.to_be_bytes()].concat()
            }
        };
        let before = self.index_of(&routing_id);
        if let Some(before) = before {
            if !self.config.has_router_handover {
                return Err(CloseReason::SameRoutingId);
            }
            let before = self.links.get_mut(before).and_then(|slot| slot.link.as_mut());
            if let Some(before) = before {
                before.doomed = Some(CloseReason::HandedOver);
            }
        }
        self.names.insert(routing_id.clone(), id.index());
        if let Some(link) = self.link_mut(id) {
            link.routing_id = routing_id;
        }
        Ok(())
    }

    fn count_closed(&mut self, reason: CloseReason) {
        match reason {
            CloseReason::HandshakeTimeout | CloseReason::HeartbeatTimeout => {
                self.counters.timeouts += 1;
            }
            CloseReason::Violation(_) => self.counters.violations += 1,
            CloseReason::SecondPeer | CloseReason::SameRoutingId => self.counters.refused += 1,
            CloseReason::PeerError(_) | CloseReason::HandedOver => {}
        }
    }

    /// The peer of this name that is there.
    fn index_of(&self, routing_id: &[u8]) -> Option<usize> {
        let index = *self.names.get(routing_id)?;
        let link = self.links.get(index)?.link.as_ref()?;
        (link.is_up() && link.routing_id == routing_id).then_some(index)
    }

    /// The next peer in turn that has room.
    fn next_with_room(&mut self) -> Option<usize> {
        let (hwm, bytes_max) = (self.config.send_hwm, self.config.queue_bytes_max);
        let count = self.links.len();
        let index = (0..count).map(|step| (self.next_to + step) % count).find(|index| {
            let link = self.links.get(*index).and_then(|slot| slot.link.as_ref());
            link.is_some_and(|link| link.is_up() && link.has_room(hwm, bytes_max))
        })?;
        self.next_to = (index + 1) % count;
        Some(index)
    }

    fn send_or_drop(
        &mut self,
        index: Option<usize>,
        parts: &[&[u8]],
        is_mandatory: bool,
    ) -> Result<Option<LinkId>, ZmtpError> {
        let link = index.and_then(|index| self.links.get(index)?.link.as_ref());
        let (hwm, bytes_max) = (self.config.send_hwm, self.config.queue_bytes_max);
        match (index, link) {
            (Some(index), Some(link)) if link.is_up() => {
                if link.has_room(hwm, bytes_max) {
                    return Ok(self.send_to(index, parts));
                }
                if is_mandatory {
                    return Err(ZmtpError::Limit(Limit::HighWaterMark));
                }
                self.counters.dropped += 1;
            }
            _ if is_mandatory => return Err(ZmtpError::Misuse(Misuse::Unroutable)),
            _ => self.counters.unroutable += 1,
        }
        Ok(None)
    }

    fn send_to(&mut self, index: usize, parts: &[&[u8]]) -> Option<LinkId> {
        self.counters.sent += 1;
        let slot = self.links.get_mut(index)?;
        let id = LinkId { index: index as u32, generation: slot.generation };
        let link = slot.link.as_mut()?;
        let parts = parts.iter().copied();
        match (self.rules.outgoing, self.rules.incoming) {
            (_, Incoming::FromAsked) => {
                self.other = Some(id);
                self.number = self.number.wrapping_add(1);
                let number = self.number.to_be_bytes();
                let number = self.config.correlates_req.then_some(&number[..]);
                link.send(number.into_iter().chain([&[][..]]).chain(parts));
                // What came before it was asked for is no answer.
                for link in self.links.iter_mut().filter_map(|slot| slot.link.as_mut()) {
                    self.counters.unwanted += link.inbox.clear() as u64;
                }
            }
            (Outgoing::ToAsker, _) => link.send(self.envelope.parts().chain(parts)),
            _ => link.send(parts),
        }
        Some(id)
    }

    /// The peer whose message is next, and what of it is an envelope: parts and bytes.
    fn next_message(&mut self) -> Option<(usize, (usize, usize))> {
        let count = self.links.len();
        for step in 0..count {
            let index = (self.next_from + step) % count;
            let Self { links, counters, config, .. } = self;
            let Some(slot) = links.get_mut(index) else { continue };
            let Some(link) = slot.link.as_mut() else { continue };
            let id = LinkId { index: index as u32, generation: slot.generation };
            if self.rules.incoming == Incoming::FromAsked && self.other != Some(id) {
                continue;
            }
            // One whose connection is over is heard to the end, unless it has lost its place.
            if link.doomed.is_some() {
                continue;
            }
            while let Some((bytes, lengths)) = link.inbox.first() {
                let skipped = match (self.rules.incoming, self.rules.outgoing) {
                    (Incoming::FromAsked, _) => {
                        let number = self.number.to_be_bytes();
                        answer(bytes, lengths, config.correlates_req.then_some(&number))
                    }
                    (_, Outgoing::ToAsker) => {
                        measure(lengths).filter(|(parts, _)| *parts < lengths.len())
                    }
                    _ => Some((0, 0)),
                };
                if let Some(skipped) = skipped {
                    return Some((index, skipped));
                }
                link.inbox.pop();
                counters.malformed += 1;
            }
            self.sweep(index);
        }
        None
    }

    fn link(&self, id: LinkId) -> Option<&Link> {
        let slot = self.links.get(id.index())?;
        slot.link.as_deref().filter(|_| slot.generation == id.generation)
    }

    fn link_mut(&mut self, id: LinkId) -> Option<&mut Link> {
        let slot = self.links.get_mut(id.index())?;
        slot.link.as_deref_mut().filter(|_| slot.generation == id.generation)
    }
}

/// What of a REQ's message is before the answer: the number of its question, where those are
/// numbered, and an empty part. `None` when it is not the answer.
fn answer(
    bytes: &[u8],
    lengths: &[usize],
    number: Option<&[u8; NUMBER_BYTES]>,
) -> Option<(usize, usize)> {
    match (number, lengths) {
        (None, [0, _, ..]) => Some((1, 0)),
        (Some(number), [NUMBER_BYTES, 0, _, ..]) if bytes.starts_with(number) => {
            Some((2, NUMBER_BYTES))
        }
        _ => None,
    }
}
