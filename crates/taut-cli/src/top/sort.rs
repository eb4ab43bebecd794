//! In which order gateways are shown.

use std::cmp::Ordering;

use crate::observed::model::{GatewaySeen, OrderTimes, Snapshot, Times};

/// What gateways can be sorted by.
pub const SORTS: [&str; 8] =
    ["name", "venue", "ticks/s", "orders/s", "open", "p99", "profit", "warnings"];

/// The gateways in the order in which they are shown.
pub fn sorted(snapshot: &Snapshot, by: usize, is_reversed: bool) -> Vec<&GatewaySeen> {
    let mut gateways: Vec<_> = snapshot.gateways.iter().collect();
    let by = SORTS.get(by).copied().unwrap_or_default();
    gateways.sort_by(|one, other| {
        // Numbers fall, names rise.
        let order = match by {
            "venue" => one.venue.cmp(&other.venue),
            "ticks/s" => falling(one.counter("ticks").1, other.counter("ticks").1),
            "orders/s" => falling(one.counter("orders").1, other.counter("orders").1),
            "open" => other.open_orders.cmp(&one.open_orders),
            "p99" => second(other).p99_ns.cmp(&second(one).p99_ns),
            "profit" => falling(profit(one), profit(other)),
            "warnings" => other.warnings.len().cmp(&one.warnings.len()),
            _ => Ordering::Equal,
        };
        let order = order.then_with(|| one.name.cmp(&other.name));
        if is_reversed { order.reverse() } else { order }
    });
    gateways
}

fn falling(one: f64, other: f64) -> Ordering {
    other.total_cmp(&one)
}

/// To sort by: what is shown are the gateway's own digits.
fn profit(gateway: &GatewaySeen) -> f64 {
    gateway.profit.total.parse().unwrap_or(f64::NEG_INFINITY)
}

fn second(gateway: &GatewaySeen) -> Times {
    gateway.stage("tick to trade").map(|it| it.second).unwrap_or_default()
}

/// The orders that were sent last and are not open any more, the latest first.
pub fn over(gateway: &GatewaySeen) -> impl Iterator<Item = &OrderTimes> {
    let is_open = |id: &str| gateway.orders.iter().any(|open| open.id == id);
    gateway.recent.iter().filter(move |sent| !is_open(&sent.id))
}
