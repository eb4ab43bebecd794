//! What is told of a gateway, out of its own words and what was read beside them.

use taut_runner::service::{PositionLine, Snapshot as Holdings, Status};

use super::amount::Sum;
use super::model::{Connection, Counter, GatewaySeen, Profit};
use super::warnings::of_status;

/// A gateway as it says that it is; what is read from its memory is added by who reads it.
pub fn gateway(
    name: &str,
    status: &Status,
    holdings: Option<&Holdings>,
    counters: Vec<Counter>,
) -> GatewaySeen {
    let positions = holdings.map(|it| it.positions.as_slice());
    GatewaySeen {
        name: name.to_owned(),
        process: status.process,
        up_seconds: status.up_seconds,
        venue: status.venue.clone(),
        paper: status.paper,
        connections: connections(status, &counters),
        venue_clock: status.venue_clock,
        strategies: status.strategies.clone(),
        knows_orders: holdings.is_some(),
        orders: holdings.map(|it| it.orders.clone()).unwrap_or_default(),
        open_orders: status.open_orders,
        profit: positions.map_or_else(Profit::unknown, profit),
        positions: positions.unwrap_or_default().to_vec(),
        latches: status.latches.clone(),
        warnings: of_status(status, &counters),
        counters,
        ..GatewaySeen::default()
    }
}

fn connections(status: &Status, counters: &[Counter]) -> Vec<Connection> {
    let count = |name: &str| {
        let found = counters.iter().find(|counter| counter.name == name);
        found.map_or(0, |counter| counter.value)
    };
    let orders = Connection {
        name: "orders".to_owned(),
        is_up: status.order_entry,
        address: status.order_address.clone(),
        ended: count("disconnects"),
        refusal: status.order_refusal.clone(),
    };
    let market_data = Connection {
        name: "market data".to_owned(),
        is_up: status.books_sound,
        address: String::new(),
        ended: count("stream_disconnects"),
        refusal: status.market_data_refusal.clone(),
    };
    vec![orders, market_data]
}

fn profit(positions: &[PositionLine]) -> Profit {
    let (mut realised, mut unrealised, mut fees) = (Sum::ZERO, Sum::ZERO, Sum::ZERO);
    let mut total = Sum::ZERO;
    for held in positions {
        realised = realised.plus(&held.realised);
        unrealised = unrealised.plus(&held.unrealised);
        fees = fees.plus(&held.fees);
        total = total.plus(&held.realised).plus(&held.unrealised).minus(&held.fees);
    }
    let [realised, unrealised, fees, total] = [realised, unrealised, fees, total].map(Sum::text);
    Profit { realised, unrealised, fees, total }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profit_is_that_of_all_positions_less_fees() {
        let held = |realised: &str, unrealised: &str, fees: &str| PositionLine {
            realised: realised.to_owned(),
            unrealised: unrealised.to_owned(),
            fees: fees.to_owned(),
            ..PositionLine::default()
        };
        let told = profit(&[held("1.5", "-0.25", "0.1"), held("-3", "2", "0.05")]);
        assert_eq!((&*told.realised, &*told.unrealised), ("-1.5", "1.75"));
        assert_eq!((&*told.fees, &*told.total), ("0.15", "0.1"));
        assert_eq!(profit(&[held("?", "0", "0")]).total, "?");
        assert_eq!(profit(&[]).total, "0");
    }
}
