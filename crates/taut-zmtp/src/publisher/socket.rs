//! The sending socket: who wants a message, who has room for it, what goes out to whom.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use taut_types::Nanos;

use crate::connection::config::ConnectionConfig;
use crate::connection::event::{self, Event};
use crate::connection::machine::Connection;
use crate::curve::keys::Seed;
use crate::error::{CloseReason, Limit, Misuse, Violation, ZmtpError};
use crate::publisher::config::{NEVER, PeerCounters, PublisherConfig, PublisherCounters};
use crate::publisher::last_value::LastValues;
use crate::publisher::log::FrameLog;
use crate::publisher::peer::{Peer, PeerId};
use crate::publisher::queue::Queue;
use crate::trie::{Trie, TrieLimits};

/// Short runs are sent together up to this size.
const SCRATCH_BYTES: usize = 64 << 10;
/// The log's ranges that a new peer's queue has room for.
const RANGES_MAX: usize = 1_024;
/// Nodes of all subscriptions, 200 MB: one half has a share for every peer, so that none can use up
/// another's; of what is free of the other a peer may have a part beyond its share.
const TRIE_NODES_MAX: usize = 1 << 23;
/// That part is one of so many: few peers do not take it all.
const FREE_NODES_DIVISOR: usize = 16;
/// The shortest time that a peer's PING can promise.
const PROMISE_MIN: Nanos = Nanos::from_millis(100);

/// A PUB, XPUB or PUSH socket.
#[derive(Debug)]
pub struct Publisher {
    pub(crate) config: PublisherConfig,
    pub(crate) connection: Arc<ConnectionConfig>,
    pub(crate) peers: Vec<Slot>,
    pub(crate) trie: Trie,
    pub(crate) log: FrameLog,
    pub(crate) last_values: Option<LastValues>,
    pub(crate) scratch: Box<[u8]>,
    /// Who gets the message at hand.
    pub(crate) recipients: Vec<u32>,
    /// Counts messages, to find each recipient once.
    pub(crate) serial: u64,
    /// Peers for which something waits in the log.
    pub(crate) busy: usize,
    /// PUSH: whose turn it is.
    pub(crate) turn: usize,
    pub(crate) claimed: Option<Claimed>,
    pub(crate) next_timeout: Nanos,
    pub(crate) counters: PublisherCounters,
}

#[derive(Debug)]
pub(crate) struct Slot {
    pub generation: u32,
    pub peer: Option<Box<Peer>>,
}

/// A place in the log that is being written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claimed {
    pub start: u64,
    pub header: usize,
    pub bytes: usize,
}

/// Why a message was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// A peer's queue is full, and nothing may be dropped: offer it again after sending.
    BackPressured,
    /// A PUSH socket has no peer.
    NotConnected,
    /// It is longer than the log can hold: so many bytes, headers included, are the most.
    TooLong {
        /// Half of the log.
        bytes_max: usize,
    },
    /// A message without parts, or a commit without a claim.
    Misuse,
}

/// What a peer's bytes meant. Bytes borrow from what was handled, or from the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PublisherEvent<'a> {
    /// The handshake is over.
    Established(event::Peer),
    /// The peer has a new subscription: messages that match it go to it from now on.
    Subscribed(&'a [u8]),
    /// The peer has one subscription less.
    Cancelled(&'a [u8]),
    /// XPUB: a part of a message that went upstream.
    Message {
        /// Its content.
        part: &'a [u8],
        /// Whether further parts follow.
        more: bool,
    },
    /// The connection is over. Send what [`Publisher::poll_transmit`] still gives, once, then
    /// close and [`Publisher::remove`] the peer.
    Closed(CloseReason),
}

/// What [`Publisher::handle_bytes`] made of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublisherHandled<'a> {
    /// How many bytes are done with; 0 when a whole frame is not there yet.
    pub consumed: usize,
    /// What happened, if it concerns the driver.
    pub event: Option<PublisherEvent<'a>>,
}

impl Publisher {
    /// A socket without peers.
    ///
    /// # Errors
    /// `Misuse`: a socket type that does not send, or a size that is 0 or no power of two.
    pub fn new(config: PublisherConfig) -> Result<Self, ZmtpError> {
        use crate::socket_type::SocketType;
        let connection = Arc::new(config.connection.clone());
        if !matches!(connection.socket_type, SocketType::Pub | SocketType::Xpub | SocketType::Push)
        {
            return Err(ZmtpError::Misuse(Misuse::SocketType));
        }
        if !config.log_bytes.is_power_of_two() || config.hwm == 0 || config.peers_max == 0 {
            return Err(ZmtpError::Misuse(Misuse::Size));
        }
        let trie = Trie::new(TrieLimits {
            prefix_bytes_max: config.prefix_bytes_max,
            subscriptions_max: 1 << 22,
            nodes_max: TRIE_NODES_MAX,
        });
        Ok(Self {
            connection,
            peers: Vec::new(),
            trie,
            log: FrameLog::new(config.log_bytes),
            last_values: config.last_value.map(LastValues::new),
            scratch: alloc::vec![0; SCRATCH_BYTES].into_boxed_slice(),
            recipients: Vec::with_capacity(config.peers_max.min(RANGES_MAX)),
            serial: 0,
            busy: 0,
            turn: 0,
            claimed: None,
            next_timeout: NEVER,
            counters: PublisherCounters::default(),
            config,
        })
    }

    /// Adds a peer whose transport stands.
    ///
    /// # Errors
    /// There are as many peers as may be: close the transport.
    pub fn add(&mut self, now: Nanos, seed: Seed) -> Result<PeerId, ZmtpError> {
        let free = self.peers.iter().position(|slot| slot.peer.is_none());
        let index = free.unwrap_or(self.peers.len());
        if index >= self.config.peers_max {
            self.counters.refused += 1;
            return Err(ZmtpError::Limit(Limit::PeerCount));
        }
        if free.is_none() {
            self.peers.push(Slot { generation: 0, peer: None });
        }
        let connection = Connection::new(Arc::clone(&self.connection), seed, now);
        self.next_timeout = self.next_timeout.min(connection.poll_timeout().unwrap_or(NEVER));
        let Some(slot) = self.peers.get_mut(index) else {
            return Err(ZmtpError::Limit(Limit::PeerCount));
        };
        slot.peer = Some(Box::new(Peer::new(connection)));
        Ok(PeerId { index: index as u32, generation: slot.generation })
    }

    /// Forgets a peer whose transport is closed, and returns what was counted for it: what waits
    /// was not sent.
    pub fn remove(&mut self, id: PeerId) -> Option<PeerCounters> {
        let counters = self.peer_counters(id)?;
        let slot = self.peers.get_mut(id.index())?;
        let peer = slot.peer.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.counters.abandoned += peer.queue.messages() as u64;
        self.trie.remove_peer(id.index);
        if peer.queue.messages() > 0 {
            self.one_less_busy();
        }
        Some(counters)
    }

    /// Takes the bytes of at most one frame from a peer. Call it again with the rest until nothing
    /// is consumed.
    pub fn handle_bytes<'a>(
        &'a mut self,
        id: PeerId,
        now: Nanos,
        bytes: &'a [u8],
    ) -> PublisherHandled<'a> {
        let nothing = PublisherHandled { consumed: 0, event: None };
        let Self { peers, trie, log, last_values, config, counters, busy, next_timeout, .. } = self;
        let slot = peers.get_mut(id.index()).filter(|slot| slot.generation == id.generation);
        let Some(peer) = slot.and_then(|slot| slot.peer.as_deref_mut()) else { return nothing };
        if peer.is_refused {
            return nothing;
        }
        let Peer {
            connection,
            queue,
            counters: of_peer,
            subscriptions,
            prefix_bytes,
            is_refused,
            ..
        } = peer;
        let handled = connection.handle_bytes(now, bytes);
        let event = match handled.event {
            None => {
                // It may have been a PING: its promise is looked at before it can be broken.
                if handled.consumed > 0 {
                    *next_timeout = (*next_timeout).min(now + PROMISE_MIN);
                }
                None
            }
            Some(Event::Pong(_)) => None,
            Some(Event::Established(who)) => {
                of_peer.established = true;
                // A stranger was worth no memory.
                queue.reserve(config.hwm.min(RANGES_MAX));
                *next_timeout = now;
                Some(PublisherEvent::Established(who))
            }
            Some(Event::Message { part, more }) => Some(PublisherEvent::Message { part, more }),
            Some(Event::Closed(reason)) => Some(PublisherEvent::Closed(reason)),
            Some(Event::Subscribe(prefix)) => {
                let share = TRIE_NODES_MAX / 2 / config.peers_max;
                let free = (TRIE_NODES_MAX / 2).saturating_sub(trie.node_count());
                let room = *subscriptions < config.subscriptions_max
                    && *prefix_bytes + prefix.len() <= share + free / FREE_NODES_DIVISOR;
                match subscribe(trie, room, id.index, prefix) {
                    Ok(false) => None,
                    Ok(true) => {
                        *subscriptions += 1;
                        *prefix_bytes += prefix.len();
                        if let Some(values) = last_values {
                            let was_idle = queue.messages() == 0;
                            let bytes_max = config.log_bytes;
                            let lost = replay(values, prefix, queue, log, bytes_max, of_peer);
                            counters.dropped += lost;
                            *busy += usize::from(was_idle && queue.messages() > 0);
                        }
                        Some(PublisherEvent::Subscribed(prefix))
                    }
                    Err(violation) => {
                        *is_refused = true;
                        Some(PublisherEvent::Closed(CloseReason::Violation(violation)))
                    }
                }
            }
            Some(Event::Cancel(prefix)) => trie.cancel(id.index, prefix).then(|| {
                *subscriptions -= 1;
                *prefix_bytes -= prefix.len();
                PublisherEvent::Cancelled(prefix)
            }),
        };
        if let Some(PublisherEvent::Closed(reason)) = event {
            count_closed(counters, reason);
        }
        PublisherHandled { consumed: handled.consumed, event }
    }

    /// Does what is due: call it until it returns `None`. A peer that is returned is over.
    pub fn handle_timeout(&mut self, now: Nanos) -> Option<(PeerId, CloseReason)> {
        if now < self.next_timeout {
            return None;
        }
        self.next_timeout = NEVER;
        for (index, slot) in self.peers.iter_mut().enumerate() {
            let Some(peer) = slot.peer.as_mut() else { continue };
            if let Some(Event::Closed(reason)) = peer.connection.handle_timeout(now) {
                count_closed(&mut self.counters, reason);
                self.next_timeout = now;
                let generation = slot.generation;
                return Some((PeerId { index: index as u32, generation }, reason));
            }
            let due = peer.connection.poll_timeout().unwrap_or(NEVER);
            self.next_timeout = self.next_timeout.min(due);
        }
        None
    }

    /// When [`Publisher::handle_timeout`] is due, or earlier.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Nanos> {
        Some(self.next_timeout).filter(|due| *due < NEVER)
    }

    /// What is to be sent to a peer: any number of whole messages, or the rest of one. Say with
    /// [`Publisher::transmitted`] how much of it was.
    #[inline]
    pub fn poll_transmit(&mut self, id: PeerId) -> &[u8] {
        let slot = self.peers.get_mut(id.index()).filter(|slot| slot.generation == id.generation);
        let Some(peer) = slot.and_then(|slot| slot.peer.as_mut()) else { return &[] };
        if peer.connection.is_encrypted() && peer.queue.messages() > 0 {
            peer.seal(&self.log);
            if peer.queue.messages() == 0 {
                self.one_less_busy();
            }
        }
        match peer_at(&mut self.peers, id.index) {
            Some(peer) => peer.poll_transmit(&self.log, &mut self.scratch),
            None => &[],
        }
    }

    /// The first `bytes` of what [`Publisher::poll_transmit`] gave last for this peer were sent.
    #[inline]
    pub fn transmitted(&mut self, id: PeerId, bytes: usize) {
        let slot = self.peers.get_mut(id.index()).filter(|slot| slot.generation == id.generation);
        let Some(peer) = slot.and_then(|slot| slot.peer.as_mut()) else { return };
        let waited = peer.queue.messages() > 0;
        peer.transmitted(&self.log, bytes);
        if waited && peer.queue.messages() == 0 {
            self.one_less_busy();
        }
    }

    /// Whether anything is to be sent to this peer.
    #[inline]
    #[must_use]
    pub fn has_output(&self, id: PeerId) -> bool {
        self.peer(id).is_some_and(Peer::has_output)
    }

    /// Bytes that wait in the queue of a peer, commands not counted.
    #[inline]
    #[must_use]
    pub fn waiting_bytes(&self, id: PeerId) -> usize {
        self.peer(id).map_or(0, |peer| peer.queue.bytes())
    }

    /// Whether nothing waits for anybody: a socket that is drained may be closed without loss.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.peers.iter().filter_map(|slot| slot.peer.as_ref()).all(|peer| !peer.has_output())
    }

    /// The room that the driver's receive buffer for this peer needs.
    #[must_use]
    pub fn buffer_bytes(&self, id: PeerId) -> usize {
        self.peer(id).map_or(0, |peer| peer.connection.buffer_bytes())
    }

    /// How many pairs of a peer and a subscription there are: what a publisher waits for before its
    /// first message, so that no slow joiner misses it.
    #[must_use]
    pub fn subscription_count(&self) -> usize {
        self.trie.len()
    }

    /// How many peers have finished their handshake.
    #[must_use]
    pub fn established_count(&self) -> usize {
        let peers = self.peers.iter().filter_map(|slot| slot.peer.as_ref());
        peers.filter(|peer| peer.connection.is_established()).count()
    }

    /// What was counted for a peer.
    #[must_use]
    pub fn peer_counters(&self, id: PeerId) -> Option<PeerCounters> {
        let peer = self.peer(id)?;
        let (waiting, waiting_bytes) = (peer.queue.messages(), peer.queue.bytes());
        Some(PeerCounters { waiting, waiting_bytes, ..peer.counters })
    }

    /// What was counted for the socket.
    #[must_use]
    pub const fn counters(&self) -> PublisherCounters {
        self.counters
    }

    #[inline]
    fn peer(&self, id: PeerId) -> Option<&Peer> {
        let slot = self.peers.get(id.index())?;
        slot.peer.as_deref().filter(|_| slot.generation == id.generation)
    }

    #[inline]
    fn one_less_busy(&mut self) {
        self.busy -= 1;
        if self.busy == 0 && self.claimed.is_none() {
            self.log.rewind();
        }
    }
}

#[inline]
pub(crate) fn peer_at(peers: &mut [Slot], index: u32) -> Option<&mut Peer> {
    peers.get_mut(index as usize).and_then(|slot| slot.peer.as_deref_mut())
}

fn subscribe(trie: &mut Trie, room: bool, peer: u32, prefix: &[u8]) -> Result<bool, Violation> {
    let limit = if room { trie.subscribe(peer, prefix) } else { Err(Limit::SubscriptionCount) };
    limit.map_err(|limit| match limit {
        Limit::PrefixBytes => Violation::PrefixBytes,
        _ => Violation::SubscriptionCount,
    })
}

/// Queues the last values under a new subscription, whatever the high-water mark, as far as the
/// bytes that may wait allow; returns how many found no room.
fn replay(
    values: &LastValues,
    prefix: &[u8],
    queue: &mut Queue,
    log: &FrameLog,
    bytes_max: usize,
    counters: &mut PeerCounters,
) -> u64 {
    let mut lost = 0;
    for frames in values.matching(prefix) {
        if queue.bytes() + frames.len() > bytes_max {
            lost += 1;
            continue;
        }
        queue.push_copy(log, frames);
        counters.queued += 1;
        counters.replayed += 1;
    }
    counters.dropped += lost;
    lost
}

fn count_closed(counters: &mut PublisherCounters, reason: CloseReason) {
    match reason {
        CloseReason::HandshakeTimeout | CloseReason::HeartbeatTimeout => counters.timeouts += 1,
        CloseReason::Violation(_) => counters.violations += 1,
        _ => {}
    }
}
