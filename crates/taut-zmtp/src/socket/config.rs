//! What a socket is told before it starts, and what it counts.

use crate::connection::config::ConnectionConfig;
use crate::socket_type::SocketType;

/// A socket's settings.
#[derive(Clone, Debug)]
pub struct SocketConfig {
    /// Of each connection: the type, the routing id, limits, heartbeats, and the security of those
    /// that bring none of their own.
    pub connection: ConnectionConfig,
    /// Messages that wait for one peer at most, until they are sent (`ZMQ_SNDHWM`).
    pub send_hwm: usize,
    /// Messages of one peer that wait to be received at most (`ZMQ_RCVHWM`): beyond, it is not
    /// read.
    pub receive_hwm: usize,
    /// Bytes that wait for one peer at most, and of one; a message more may make it.
    pub queue_bytes_max: usize,
    /// Connections at the same time.
    pub peers_max: usize,
    /// A ROUTER says of a message that it cannot deliver it, instead of dropping it
    /// (`ZMQ_ROUTER_MANDATORY`).
    pub is_router_mandatory: bool,
    /// A new peer of a routing id takes the place of the old one, instead of being refused
    /// (`ZMQ_ROUTER_HANDOVER`).
    pub has_router_handover: bool,
    /// A REQ may ask anew before it was answered (`ZMQ_REQ_RELAXED`).
    pub is_req_relaxed: bool,
    /// A REQ numbers its questions, and takes the answer to the last one alone
    /// (`ZMQ_REQ_CORRELATE`).
    pub correlates_req: bool,
}

impl SocketConfig {
    /// libzmq's defaults: 1,000 messages each way, strict, silent. 16 MiB and 1,024 peers besides.
    #[must_use]
    pub const fn new(socket_type: SocketType) -> Self {
        Self {
            connection: ConnectionConfig::new(socket_type),
            send_hwm: 1_000,
            receive_hwm: 1_000,
            queue_bytes_max: 16 << 20,
            peers_max: 1_024,
            is_router_mandatory: false,
            has_router_handover: false,
            is_req_relaxed: false,
            correlates_req: false,
        }
    }
}

/// What a socket counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketCounters {
    /// Messages that were taken to be sent.
    pub sent: u64,
    /// Messages that were handed out.
    pub received: u64,
    /// Messages to a peer at its high-water mark, which were dropped: of a ROUTER or a REP.
    pub dropped: u64,
    /// Messages to a peer that is not there, which were dropped: of a ROUTER or a REP.
    pub unroutable: u64,
    /// Messages that waited for a peer whose connection ended.
    pub lost: u64,
    /// Messages that came to a REQ which had not asked, or asked somebody else, or something else
    /// by now.
    pub unwanted: u64,
    /// Messages without the empty part that a REQ or a REP needs, which were skipped.
    pub malformed: u64,
    /// Connections that were refused: too many, a second one of a PAIR, a routing id twice.
    pub refused: u64,
    /// Connections that ended because their messages had most of the memory.
    pub shed: u64,
    /// Connections that ended because the peer broke a rule.
    pub violations: u64,
    /// Connections that ended because the peer was silent, or its handshake late.
    pub timeouts: u64,
}
