//! What a sending socket is told before it starts, and what it counts.

use taut_types::Nanos;

use crate::connection::config::ConnectionConfig;
use crate::socket_type::SocketType;

/// A sending socket's settings.
#[derive(Clone, Debug)]
pub struct PublisherConfig {
    /// Of each connection. The socket type is PUB, XPUB or PUSH.
    pub connection: ConnectionConfig,
    /// The high-water mark: messages that may wait for one peer.
    pub hwm: usize,
    /// What happens beyond it.
    pub on_full: OnFull,
    /// The memory that messages wait in, shared by all peers, a power of two. A message takes at
    /// most half of it; and so many bytes, at most, wait for one peer.
    pub log_bytes: usize,
    /// Connections at a time, established or not.
    pub peers_max: usize,
    /// Of one peer.
    pub subscriptions_max: usize,
    /// Of one subscription.
    pub prefix_bytes_max: usize,
    /// Keep the last message of each topic, and send it to who subscribes late.
    pub last_value: Option<LastValueConfig>,
}

/// What happens to a message when a peer's queue is at its high-water mark. Whatever is dropped is
/// counted, for that peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFull {
    /// The message is refused for all peers: the caller offers it again. Nothing is lost, and the
    /// slowest peer sets the pace.
    Block,
    /// This peer does not get it.
    DropNewest,
    /// This peer gets it, and loses the oldest message that waits.
    DropOldest,
    /// Only the newest message ever waits, whatever the mark.
    Conflate,
}

/// A last-value cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastValueConfig {
    /// What a topic is.
    pub key: LastValueKey,
    /// The most topics; the messages of further ones are not kept, which is counted.
    pub topics_max: usize,
}

/// What messages are told apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastValueKey {
    /// The whole first part.
    FirstPart,
    /// So many bytes at the start of the first part.
    FirstBytes(usize),
}

impl PublisherConfig {
    /// ZeroMQ's mark of 1,000 messages, the newest dropped beyond it, 1 MiB of memory, 1,024 peers.
    #[must_use]
    pub const fn new(socket_type: SocketType) -> Self {
        let mut connection = ConnectionConfig::new(socket_type);
        // What comes in are subscriptions.
        connection.frame_bytes_max = 8_192;
        connection.message_bytes_max = 64 << 10;
        Self {
            connection,
            hwm: 1_000,
            on_full: OnFull::DropNewest,
            log_bytes: 1 << 20,
            peers_max: 1_024,
            subscriptions_max: 10_000,
            prefix_bytes_max: 255,
            last_value: None,
        }
    }
}

/// What a sending socket counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PublisherCounters {
    /// Messages taken, whether anybody wanted them or not.
    pub offered: u64,
    /// Messages that nobody wanted.
    pub unmatched: u64,
    /// Messages refused because a peer's queue was full.
    pub back_pressured: u64,
    /// Messages dropped for a peer, the sum over all peers there ever were.
    pub dropped: u64,
    /// Messages that waited for peers whose connection ended: they were never sent whole.
    pub abandoned: u64,
    /// Connections that ended because the peer broke a rule.
    pub violations: u64,
    /// Connections that ended because the peer was silent, or its handshake late.
    pub timeouts: u64,
    /// Connections refused because there were too many.
    pub refused: u64,
    /// Messages whose topic found no place in the last-value cache.
    pub uncached: u64,
}

/// What was counted for one peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerCounters {
    /// Messages put into its queue.
    pub queued: u64,
    /// Messages sent whole.
    pub sent: u64,
    /// Messages dropped by the policy.
    pub dropped: u64,
    /// Messages of the last-value cache, part of `queued`.
    pub replayed: u64,
    /// Messages that wait now.
    pub waiting: usize,
    /// Bytes that wait now.
    pub waiting_bytes: usize,
    /// When the last bytes came from it.
    pub established: bool,
}

/// A span that is never.
pub(crate) const NEVER: Nanos = Nanos::MAX;
