//! Runs over a few rows each.

mod differences;
mod engine;
mod engine_seeded;
mod orders;
mod seeded;
mod times;

use std::vec::Vec;

use taut_types::{Nanos, Side};

use crate::*;

/// A level at a time.
fn level(at: i64, side: Side, tick: i64, lots: i64) -> Event {
    Event {
        exchange_at: Nanos(at),
        local_at: Nanos(at + 5),
        seen: Seen::Both,
        kind: RowKind::Level,
        side: Some(side),
        tick,
        lots,
        order_id: 0,
    }
}

/// A trade at a time; the side is the aggressor's.
fn trade(at: i64, side: Side, tick: i64, lots: i64) -> Event {
    Event { kind: RowKind::Trade, ..level(at, side, tick, lots) }
}

/// A row about a market's order.
fn order(at: i64, kind: RowKind, side: Side, tick: i64, lots: i64, order_id: u64) -> Event {
    Event { kind, order_id, ..level(at, side, tick, lots) }
}

/// Two levels a side, 99 and 98 against 101 and 102, and the rows after them. The last row is far
/// off in time, so that a run does not end before.
fn market(rows: &[Event]) -> Recording {
    let mut all = Vec::from([
        level(0, Side::Buy, 99, 10),
        level(0, Side::Buy, 98, 10),
        level(0, Side::Sell, 101, 10),
        level(0, Side::Sell, 102, 5),
    ]);
    all.extend_from_slice(rows);
    all.push(level(1_000_000, Side::Buy, 1, 1));
    Recording::new(all).expect("a recording")
}

/// The same of orders: 1 and 2 buy, 3 and 4 sell.
fn orders(rows: &[Event]) -> Recording {
    let mut all = Vec::from([
        order(0, RowKind::Add, Side::Buy, 99, 10, 1),
        order(0, RowKind::Add, Side::Buy, 98, 10, 2),
        order(0, RowKind::Add, Side::Sell, 101, 10, 3),
        order(0, RowKind::Add, Side::Sell, 102, 5, 4),
    ]);
    all.extend_from_slice(rows);
    all.push(order(1_000_000, RowKind::Add, Side::Buy, 1, 1, 5));
    Recording::new(all).expect("a recording")
}

const LATENCY: ConstantLatency = ConstantLatency { entry: 1, response: 2 };

type Levels<'r> = Backtest<'r, LevelExchange<RiskAverse, ConstantLatency>>;

fn by_level(recording: &Recording, fills: FillModel, compat: Compat) -> Levels<'_> {
    let exchange = LevelExchange::new(recording, RiskAverse, LATENCY, fills, compat);
    Backtest::new(recording, exchange.expect("an exchange")).expect("a run")
}

fn by_order(
    recording: &Recording,
    fills: FillModel,
    compat: Compat,
) -> Backtest<'_, OrderExchange<ConstantLatency>> {
    let exchange = OrderExchange::new(recording, LATENCY, fills, compat);
    Backtest::new(recording, exchange.expect("an exchange")).expect("a run")
}

fn by_engine(recording: &Recording) -> Backtest<'_, EngineExchange<ConstantLatency>> {
    let exchange = EngineExchange::new(recording, LATENCY).expect("an exchange");
    Backtest::new(recording, exchange).expect("a run")
}

/// Runs to a time and tells what was heard.
fn run<X: Exchange>(backtest: &mut Backtest<'_, X>, to: i64) -> Vec<Response> {
    backtest.run_until(Nanos(to), Stop::Time).expect("no error");
    std::iter::from_fn(|| backtest.poll_response()).collect()
}

/// What was heard, in short: the order, the answer, the lots of the last fill.
fn short(heard: &[Response]) -> Vec<(u64, Answer, i64)> {
    heard.iter().map(|said| (said.order.id, said.answer, said.order.last_lots)).collect()
}
