//! What a gateway is told when it is built.

use std::net::SocketAddrV4;

use taut_fix::CompId;
use taut_oms::{Rate, UniformLimits};
use taut_types::{Instrument, Lots, Nanos};

/// A gateway's settings.
#[derive(Clone, Debug)]
pub struct GatewayConfig {
    /// What is traded: each instrument at the place that its number says, from 0.
    pub instruments: Vec<Instrument>,
    /// Where the venue takes orders.
    pub order_address: SocketAddrV4,
    /// SenderCompID (49).
    pub sender_comp_id: CompId,
    /// TargetCompID (56).
    pub target_comp_id: CompId,
    /// HeartBtInt (108).
    pub heartbeat_interval: Nanos,
    /// Orders that are remembered; a place is taken again when its order is done.
    pub order_capacity: usize,
    /// Pre-trade limits.
    pub risk: UniformLimits,
    /// Sockets are polled by receiving, without asking what is ready: for a gateway that does not
    /// sleep.
    pub hot: bool,
}

impl GatewayConfig {
    /// Limits that a small strategy does not meet and a runaway one does.
    #[must_use]
    pub const fn default_risk() -> UniformLimits {
        UniformLimits {
            collar_ppm: 50_000,
            lots_max: Lots(1_000),
            position_lots_max: Lots(1_000),
            orders: Rate { per_second: 100_000, burst: 1_000 },
            open_orders_max: 1_000,
        }
    }
}
