//! What a venue has done.

use taut_io::AdmissionCounters;

/// Counts since the venue was built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VenueCounters {
    /// Updates of a recorded venue that its own stream has brought to who follows it from before
    /// the start, and the number of the last one.
    pub stream_updates: u64,
    /// See [`VenueCounters::stream_updates`].
    pub stream_last: u64,
    /// Packets on the incremental channel: the last sequence number.
    pub published: u64,
    /// Datagrams not sent on line A, on purpose: see [`FeedLoss`](crate::FeedLoss).
    pub lost_on_a: u64,
    /// Those of line B.
    pub lost_on_b: u64,
    /// Requests for packets.
    pub retransmit_requests: u64,
    /// Packets sent again.
    pub retransmitted: u64,
    /// Requests and packets refused: over the requester's budget, of another stream, or no longer
    /// remembered.
    pub retransmit_refused: u64,
    /// Heartbeats on the incremental channel.
    pub heartbeats: u64,
    /// Datagrams that the kernel took only at a second attempt.
    pub send_retries: u64,
    /// Datagrams that were given up. Stays 0 while the venue runs: the first one ends it.
    pub send_failures: u64,
    /// Snapshot cycles that were sent whole.
    pub snapshots: u64,
    /// Packets on the snapshot channel.
    pub snapshot_packets: u64,
    /// Commands that the flow gave the engine.
    pub flow_commands: u64,
    /// Those that the engine refused: a foreign order was there first, or the book is full.
    pub flow_rejects: u64,
    /// Trades that the flow reported without an order of the book (hidden executions).
    pub prints: u64,
    /// Connections that logged on.
    pub sessions: u64,
    /// Connections that were closed without a session: too many, or a CompID that is logged on.
    pub session_refusals: u64,
    /// New orders that clients sent.
    pub orders: u64,
    /// Those that were refused.
    pub order_rejects: u64,
    /// Replace requests that clients sent.
    pub replace_requests: u64,
    /// Those that changed an order.
    pub replaces: u64,
    /// Those that were refused.
    pub replace_rejects: u64,
    /// Cancel requests that clients sent.
    pub cancel_requests: u64,
    /// Orders that were cancelled on request, one by one or together.
    pub cancels: u64,
    /// Those that were refused.
    pub cancel_rejects: u64,
    /// Orders that were cancelled because their client left.
    pub cancels_on_disconnect: u64,
    /// Orders that were cancelled because the operator stopped their member.
    pub cancels_by_operator: u64,
    /// Orders that were cancelled because too much of their member's had traded.
    pub cancels_by_protection: u64,
    /// Trades that the operator took back.
    pub busts: u64,
    /// Fills of clients' orders.
    pub fills: u64,
    /// Trades of the engine.
    pub trades: u64,
    /// Execution reports and cancel rejects that were sent.
    pub reports: u64,
    /// Connections to where orders are taken.
    pub order_connections: AdmissionCounters,
    /// Connections to a recorded venue's own stream.
    pub stream_connections: AdmissionCounters,
}
