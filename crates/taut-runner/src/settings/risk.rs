//! Pre-trade limits.

use serde::{Deserialize, Serialize};
use taut_gateway::GatewayConfig;
use taut_oms::{Rate, UniformLimits};
use taut_types::Lots;

/// What no order passes: [`UniformLimits`] in plain numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RiskSettings {
    /// How far a limit price may lie from the reference, in parts per million of it.
    pub collar_ppm: u32,
    /// The largest order.
    pub lots_max: i64,
    /// The largest position, long or short, with all open orders of that side filled.
    pub position_lots_max: i64,
    /// New orders a second.
    pub orders_per_second: u32,
    /// New orders at once.
    pub orders_burst: u32,
    /// Orders working or on their way at one time.
    pub open_orders_max: u32,
}

impl Default for RiskSettings {
    fn default() -> Self {
        let limits = GatewayConfig::default_risk();
        Self {
            collar_ppm: limits.collar_ppm,
            lots_max: limits.lots_max.0,
            position_lots_max: limits.position_lots_max.0,
            orders_per_second: limits.orders.per_second,
            orders_burst: limits.orders.burst,
            open_orders_max: limits.open_orders_max,
        }
    }
}

impl RiskSettings {
    pub(crate) const fn limits(&self) -> UniformLimits {
        UniformLimits {
            collar_ppm: self.collar_ppm,
            lots_max: Lots(self.lots_max),
            position_lots_max: Lots(self.position_lots_max),
            orders: Rate { per_second: self.orders_per_second, burst: self.orders_burst },
            open_orders_max: self.open_orders_max,
        }
    }
}
