//! How a recording's orders and prices are called in the engine.

use taut_types::{HalfTicks, OrderId};

/// The owner of the market's orders.
pub const MARKET: u32 = 0;
/// The owner of ours.
pub const OWN: u32 = 1;
/// A recorded aggressor, which never rests.
pub const AGGRESSOR: OrderId = OrderId(1 << 62);
/// The first of our orders. Those of the market are their numbers in the recording.
pub const FIRST_OWN: u64 = 1 << 63;

/// The engine's price of tick 0: ticks may be below zero, its prices may not. No order of ours has
/// a price beyond 2^55 ticks, and no row one beyond 2^31.
const ZERO: i64 = 1 << 58;

/// The engine's price of a tick.
pub const fn price(tick: i64) -> HalfTicks {
    HalfTicks(ZERO + 2 * tick)
}

/// The tick of an engine's price.
pub const fn tick(price: HalfTicks) -> i64 {
    (price.0 - ZERO) / 2
}

/// The engine's id of the market's order with a number.
pub const fn market_id(number: usize) -> OrderId {
    OrderId(number as u64)
}
