//! The demo's strategy, and what it is told.

use serde::Deserialize;
use taut_gateway::{TouchConfig, TouchStrategy};
use taut_runner::Start;

/// What the demo's strategy is told.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Its orders a second, at the most.
    orders_per_second: u32,
}

/// The name of that in the settings.
pub const ORDERS_PER_SECOND: &str = "orders_per_second";

/// The demo's strategy.
pub fn strategy(start: Start<Parameters>) -> TouchStrategy {
    let Parameters { orders_per_second } = start.parameters;
    let config = TouchConfig { orders_per_second, ..TouchConfig::default() };
    TouchStrategy::new(config, start.now)
}
