//! When something happened, was received and was told.

use taut_types::Nanos;

/// What is known of what a strategy is told of just now: when it was where. Monotonic times are of
/// the host's clock, which gateway and strategy share; UTC is for comparing with other hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventInfo {
    /// The gateway that tells it: its place among those that the strategy attached to, from 0.
    pub gateway: usize,
    /// When the exchange says that it happened (UTC); 0 when it does not say.
    pub exchange_time: Nanos,
    /// When the gateway received or noticed it (monotonic): what the strategy is told as `now`.
    pub receive_time: Nanos,
    /// The same, UTC.
    pub receive_time_utc: Nanos,
    /// When the gateway wrote it into the ring for its strategies (monotonic): what a packet of the
    /// market changed, an order update, or what the gateway says. 0 where nothing is written (in
    /// the gateway's own thread), for a book that is told anew, for a timer, for what the
    /// strategy's own process noticed, where the market ring has gone round since, and for a reply
    /// written more than 16 ms after it was received.
    pub publish_time: Nanos,
    /// The same, UTC.
    pub publish_time_utc: Nanos,
    /// When the strategy asked for this: it is told now (monotonic). The time that has passed since
    /// it was received is what gateway, ring and strategy took.
    pub deliver_time: Nanos,
    /// The same, UTC.
    pub deliver_time_utc: Nanos,
}
