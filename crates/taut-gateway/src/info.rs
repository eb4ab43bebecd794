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
    /// When the gateway wrote it into the ring for its strategies (monotonic): of what a packet of
    /// the market changed, in a process of the strategy's own. 0 for anything else, where nothing
    /// is published (in the gateway's own thread), and where the ring has gone round since.
    pub publish_time: Nanos,
    /// The same, UTC.
    pub publish_time_utc: Nanos,
    /// When the strategy asked for this: it is told now (monotonic). The time that has passed since
    /// it was received is what gateway, ring and strategy took.
    pub deliver_time: Nanos,
    /// The same, UTC.
    pub deliver_time_utc: Nanos,
}
