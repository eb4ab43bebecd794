//! One socket that receives from many peers: SUB, XSUB, PULL.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use taut_types::Nanos;

use crate::connection::config::ConnectionConfig;
use crate::connection::event::{Event, Peer};
use crate::connection::machine::Connection;
use crate::curve::keys::Seed;
use crate::error::{CloseReason, Limit, Misuse, ZmtpError};
use crate::link_id::LinkId;
use crate::socket_type::SocketType;
use crate::subscriptions::Subscriptions;

/// A SUB, XSUB or PULL socket.
#[derive(Debug)]
pub struct Subscriber {
    config: Arc<ConnectionConfig>,
    subscriptions: Subscriptions,
    /// Messages are held against the subscriptions: off when everything is wanted.
    filters: bool,
    links: Vec<Slot>,
    links_max: usize,
    barriers: u64,
    counters: SubscriberCounters,
}

#[derive(Debug)]
struct Slot {
    generation: u32,
    link: Option<Box<Link>>,
}

#[derive(Debug)]
struct Link {
    connection: Connection,
    /// The barrier that was asked for last, and the last that was passed.
    asked: u64,
    passed: u64,
    /// In a message that nobody wants.
    skips: bool,
    /// The next part is the first of a message.
    is_first: bool,
}

/// What a peer's bytes meant. Bytes borrow from what was handled, or from the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SubscriberEvent<'a> {
    /// The handshake is over; our subscriptions are on their way.
    Established(Peer),
    /// The barrier: the peer has answered a PING that we sent behind our subscriptions, and so has
    /// read them. Whatever a publisher of taut offers from now on comes, if it matches. A libzmq
    /// publisher answers before its own thread has taken the subscription over: it may miss what is
    /// sent within that moment. Peers of ZMTP 3.0 never answer.
    Active,
    /// A part of a message.
    Message {
        /// Its content.
        part: &'a [u8],
        /// Whether further parts follow.
        more: bool,
    },
    /// The connection is over. Send what [`Subscriber::poll_transmit`] still gives, once, then
    /// close and [`Subscriber::remove`] the link.
    Closed(CloseReason),
}

/// What [`Subscriber::handle_bytes`] made of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubscriberHandled<'a> {
    /// How many bytes are done with; 0 when a whole frame is not there yet.
    pub consumed: usize,
    /// What happened, if it concerns the driver.
    pub event: Option<SubscriberEvent<'a>>,
}

/// What a receiving socket counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubscriberCounters {
    /// Messages that came and match no subscription: sent before a cancellation was read.
    pub unwanted: u64,
    /// Connections that ended because the peer broke a rule.
    pub violations: u64,
    /// Connections that ended because the peer was silent, or its handshake late.
    pub timeouts: u64,
    /// Connections refused because there were too many.
    pub refused: u64,
}

impl Subscriber {
    /// A socket without connections. A SUB socket wants nothing before it subscribes.
    ///
    /// # Errors
    /// `Misuse`: a socket type that does not receive.
    pub fn new(config: ConnectionConfig, links_max: usize) -> Result<Self, ZmtpError> {
        if !config.socket_type.only_receives() {
            return Err(ZmtpError::Misuse(Misuse::SocketType));
        }
        Ok(Self {
            filters: config.socket_type != SocketType::Pull,
            config: Arc::new(config),
            subscriptions: Subscriptions::new(),
            links: Vec::new(),
            links_max,
            barriers: 0,
            counters: SubscriberCounters::default(),
        })
    }

    /// Adds a connection whose transport stands.
    ///
    /// # Errors
    /// There are as many as may be: close the transport.
    pub fn add(&mut self, now: Nanos, seed: Seed) -> Result<LinkId, ZmtpError> {
        let free = self.links.iter().position(|slot| slot.link.is_none());
        let index = free.unwrap_or(self.links.len());
        if index >= self.links_max {
            self.counters.refused += 1;
            return Err(ZmtpError::Limit(Limit::PeerCount));
        }
        if free.is_none() {
            self.links.push(Slot { generation: 0, link: None });
        }
        let connection = Connection::new(Arc::clone(&self.config), seed, now);
        let link = Link { connection, asked: 0, passed: 0, skips: false, is_first: true };
        let Some(slot) = self.links.get_mut(index) else {
            return Err(ZmtpError::Limit(Limit::PeerCount));
        };
        slot.link = Some(Box::new(link));
        Ok(LinkId { index: index as u32, generation: slot.generation })
    }

    /// Forgets a connection whose transport is closed.
    pub fn remove(&mut self, id: LinkId) {
        if let Some(slot) = self.slot(id) {
            slot.link = None;
            slot.generation = slot.generation.wrapping_add(1);
        }
    }

    /// Wants messages whose first part starts so, from all publishers, now and after every
    /// connection. Subscriptions are counted.
    ///
    /// # Errors
    /// A prefix of more than 4,000 bytes, or more than a million prefixes; `Misuse` for PULL.
    pub fn subscribe(&mut self, prefix: &[u8]) -> Result<(), ZmtpError> {
        if self.config.socket_type == SocketType::Pull {
            return Err(ZmtpError::Misuse(Misuse::SocketType));
        }
        if self.subscriptions.subscribe(prefix).map_err(ZmtpError::Limit)? {
            self.tell(|connection| connection.subscribe(prefix));
        }
        Ok(())
    }

    /// Takes a subscription back. Messages that are on their way are dropped here, and counted.
    pub fn cancel(&mut self, prefix: &[u8]) {
        if self.subscriptions.cancel(prefix) {
            self.tell(|connection| connection.cancel(prefix));
        }
    }

    /// Takes the bytes of at most one frame. Call it again with the rest until nothing is consumed.
    #[inline]
    pub fn handle_bytes<'a>(
        &'a mut self,
        id: LinkId,
        now: Nanos,
        bytes: &'a [u8],
    ) -> SubscriberHandled<'a> {
        if !self.link(id).is_some_and(|link| link.connection.is_established()) {
            return self.handle_handshake(id, now, bytes);
        }
        let Some(link) = self.links.get_mut(id.index()).and_then(|slot| slot.link.as_mut()) else {
            return SubscriberHandled { consumed: 0, event: None };
        };
        let handled = link.connection.handle_bytes(now, bytes);
        let consumed = handled.consumed;
        let event = match handled.event {
            Some(Event::Message { part, more }) => {
                // A message's first part decides for all of it, whatever is subscribed meanwhile.
                if core::mem::replace(&mut link.is_first, !more) {
                    link.skips = self.filters && !self.subscriptions.matches(part);
                    self.counters.unwanted += u64::from(link.skips);
                }
                if link.skips {
                    return SubscriberHandled { consumed, event: None };
                }
                Some(SubscriberEvent::Message { part, more })
            }
            None | Some(Event::Subscribe(_) | Event::Cancel(_) | Event::Established(_)) => None,
            Some(Event::Pong(context)) => {
                // The answer to a heartbeat is no barrier's.
                let is_passed = link.asked > 0 && *context == link.asked.to_be_bytes();
                if is_passed {
                    link.passed = link.asked;
                }
                is_passed.then_some(SubscriberEvent::Active)
            }
            Some(Event::Closed(reason)) => {
                count_closed(&mut self.counters, reason);
                Some(SubscriberEvent::Closed(reason))
            }
        };
        SubscriberHandled { consumed, event }
    }

    /// Bytes of this connection wait to be read: its peer is not silent, whoever was too busy, or
    /// stopped, to read them. Say so before [`Subscriber::handle_timeout`].
    pub fn heard(&mut self, id: LinkId, now: Nanos) {
        if let Some(link) = self.slot(id).and_then(|slot| slot.link.as_mut()) {
            link.connection.heard(now);
        }
    }

    /// Does what is due: call it until it returns `None`. A connection that is returned is over.
    pub fn handle_timeout(&mut self, now: Nanos) -> Option<(LinkId, CloseReason)> {
        for (index, slot) in self.links.iter_mut().enumerate() {
            let Some(link) = slot.link.as_mut() else { continue };
            if let Some(Event::Closed(reason)) = link.connection.handle_timeout(now) {
                count_closed(&mut self.counters, reason);
                return Some((LinkId { index: index as u32, generation: slot.generation }, reason));
            }
        }
        None
    }

    /// When [`Subscriber::handle_timeout`] is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Nanos> {
        let links = self.links.iter().filter_map(|slot| slot.link.as_ref());
        links.filter_map(|link| link.connection.poll_timeout()).min()
    }

    /// What is to be sent. Say with [`Subscriber::transmitted`] how much of it was.
    #[must_use]
    pub fn poll_transmit(&self, id: LinkId) -> &[u8] {
        self.link(id).map_or(&[], |link| link.connection.poll_transmit())
    }

    /// The first `bytes` of what [`Subscriber::poll_transmit`] gave last were sent.
    pub fn transmitted(&mut self, id: LinkId, bytes: usize) {
        if let Some(link) = self.slot(id).and_then(|slot| slot.link.as_mut()) {
            link.connection.transmitted(bytes);
        }
    }

    /// XSUB: sends a message upstream, to all peers.
    ///
    /// # Errors
    /// `Misuse` for other sockets.
    pub fn send(&mut self, parts: &[&[u8]]) -> Result<(), ZmtpError> {
        if self.config.socket_type != SocketType::Xsub {
            return Err(ZmtpError::Misuse(Misuse::SocketType));
        }
        for link in self.links.iter_mut().filter_map(|slot| slot.link.as_mut()) {
            if link.connection.is_established() {
                for (at, part) in parts.iter().enumerate() {
                    link.connection.send_part(part, at + 1 < parts.len());
                }
            }
        }
        Ok(())
    }

    /// The room that the driver's receive buffer for this connection needs.
    #[must_use]
    pub fn buffer_bytes(&self, id: LinkId) -> usize {
        self.link(id).map_or(0, |link| link.connection.buffer_bytes())
    }

    /// Whether the peer has read all our subscriptions: see [`SubscriberEvent::Active`].
    #[must_use]
    pub fn is_active(&self, id: LinkId) -> bool {
        self.link(id).is_some_and(|link| link.asked > 0 && link.passed == link.asked)
    }

    /// How many connections have finished their handshake.
    #[must_use]
    pub fn established_count(&self) -> usize {
        let links = self.links.iter().filter_map(|slot| slot.link.as_ref());
        links.filter(|link| link.connection.is_established()).count()
    }

    /// What was counted.
    #[must_use]
    pub const fn counters(&self) -> SubscriberCounters {
        self.counters
    }

    fn handle_handshake(
        &mut self,
        id: LinkId,
        now: Nanos,
        bytes: &[u8],
    ) -> SubscriberHandled<'static> {
        let Some(link) = self.slot(id).and_then(|slot| slot.link.as_mut()) else {
            return SubscriberHandled { consumed: 0, event: None };
        };
        let handled = link.connection.handle_bytes(now, bytes);
        let consumed = handled.consumed;
        let event = match handled.event {
            Some(Event::Established(peer)) => {
                self.tell_all(id);
                Some(SubscriberEvent::Established(peer))
            }
            Some(Event::Closed(reason)) => {
                count_closed(&mut self.counters, reason);
                Some(SubscriberEvent::Closed(reason))
            }
            _ => None,
        };
        SubscriberHandled { consumed, event }
    }

    fn slot(&mut self, id: LinkId) -> Option<&mut Slot> {
        self.links.get_mut(id.index()).filter(|slot| slot.generation == id.generation)
    }

    #[inline]
    fn link(&self, id: LinkId) -> Option<&Link> {
        let slot = self.links.get(id.index())?;
        slot.link.as_deref().filter(|_| slot.generation == id.generation)
    }

    /// Tells every peer of one change, with a barrier behind it.
    fn tell(&mut self, change: impl Fn(&mut Connection)) {
        self.filters = !self.subscriptions.want_everything();
        self.barriers += 1;
        for link in self.links.iter_mut().filter_map(|slot| slot.link.as_mut()) {
            if link.connection.is_established() {
                change(&mut link.connection);
                link.ask(self.barriers);
            }
        }
    }

    /// Tells a new peer of everything, with a barrier behind it.
    fn tell_all(&mut self, id: LinkId) {
        let slot = self.links.get_mut(id.index());
        let Some(link) = slot.and_then(|slot| slot.link.as_mut()) else { return };
        if self.config.socket_type == SocketType::Pull {
            return;
        }
        for prefix in self.subscriptions.prefixes() {
            link.connection.subscribe(prefix);
        }
        self.barriers += 1;
        link.ask(self.barriers);
    }
}

impl Link {
    fn ask(&mut self, barrier: u64) {
        if self.connection.ping(&barrier.to_be_bytes()) {
            self.asked = barrier;
        }
    }
}

fn count_closed(counters: &mut SubscriberCounters, reason: CloseReason) {
    match reason {
        CloseReason::HandshakeTimeout | CloseReason::HeartbeatTimeout => counters.timeouts += 1,
        CloseReason::Violation(_) => counters.violations += 1,
        _ => {}
    }
}
