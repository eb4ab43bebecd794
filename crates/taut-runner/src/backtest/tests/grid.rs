//! hftbacktest's public grid as a strategy of a gateway: it has the trades and the money that it
//! has there.

use std::collections::BTreeMap;

use serde_json::Value;
use taut_gateway::OpenOrder;
use taut_types::{AccountId, OrderFlags};

use super::cases::{read, workload};
use super::*;

/// The case `btc-grid`, but for what its file of settings says.
const CASE: &str = "timer_ms = 100\n[[instruments]]\nsymbol = \"BTCUSDT\"\ntick = \"0.1\"\n\
    lot = \"0.001\"\nmaker_fee = \"-0.00005\"\ntaker_fee = \"0.0007\"\n\
    [exchange]\nqueue = \"risk-averse\"\nfills = \"whole\"\ncompat = \"hftbacktest\"\n\
    [latency]\nentry_ns = 2000000\nresponse_ns = 1000000\n";
const LEVELS: i64 = 5;
const HALF2: i64 = 20;
const STEP: i64 = 10;
const LOTS: i64 = 10;
const LOTS_MAX: i64 = 100;

/// A ladder on each side of the middle, which leans away from what is held; it acts with the timer.
struct Grid {
    instrument: InstrumentId,
    tick: i64,
    orders: BTreeMap<ClientOrderId, (Side, i64)>,
}

impl Grid {
    /// Where the ladders begin.
    fn tops(bid: i64, ask: i64, position: i64) -> [i64; 2] {
        let middle2 = bid + ask - position;
        let buy = (middle2 - HALF2).div_euclid(2).min(bid);
        let sell = (-(-(middle2 + HALF2)).div_euclid(2)).max(ask);
        [buy.div_euclid(STEP) * STEP, -(-sell).div_euclid(STEP) * STEP]
    }

    fn quote(&mut self, side: Side, top: i64, position: i64, trading: &mut impl Trading) {
        let sign = side.sign();
        let wanted = if sign * position >= LOTS_MAX { 0 } else { LEVELS };
        let mut has = [false; LEVELS as usize];
        for (id, (_, tick)) in self.orders.iter().filter(|(_, order)| order.0 == side) {
            let behind = (top - tick) * sign;
            let is_on = behind >= 0 && behind % STEP == 0 && behind / STEP < wanted;
            let is_free = |order: OpenOrder| !order.is_being_cancelled();
            if is_on {
                has[(behind / STEP) as usize] = true;
            } else if trading.order(*id).is_some_and(is_free) {
                trading.cancel(*id);
            }
        }
        for level in (0..wanted).filter(|&level| !has[level as usize]) {
            let tick = top - sign * STEP * level;
            let price = Price(tick * self.tick);
            let terms = OrderTerms::limit(self.instrument, side, price, Lots(LOTS));
            let terms = OrderTerms { flags: OrderFlags::POST_ONLY, ..terms };
            let id = trading.create(&terms).expect("room for a request");
            self.orders.insert(id, (side, tick));
        }
    }
}

impl Strategy for Grid {
    fn on_market(&mut self, _: Nanos, _: &MarketEvent, _: &mut impl Trading) {}

    fn on_order(&mut self, _: Nanos, update: &OrderUpdate, _: &mut impl Trading) {
        if update.state.is_done() {
            self.orders.remove(&update.id);
        }
    }

    fn on_timer(&mut self, _: Nanos, trading: &mut impl Trading) {
        let best = |side| trading.book(self.instrument)?.best(side);
        let Some((bid, ask)) = best(Side::Buy).zip(best(Side::Sell)) else { return };
        let (bid, ask) = (bid.price.0 / self.tick, ask.price.0 / self.tick);
        let position = trading.position(self.instrument, AccountId(0)).lots.0;
        let tops = Self::tops(bid, ask, position);
        for side in Side::BOTH {
            self.quote(side, tops[side.index()], position, trading);
        }
    }
}

#[test]
fn the_public_grid_has_its_trades_and_its_money() {
    let paths = ["events/btc120s.npz", "expected/btc-grid/summary.json"].map(workload);
    let [Some(events), Some(summary)] = paths else { return };
    let summary = std::fs::read_to_string(summary).expect("a summary");
    let summary: Value = serde_json::from_str(&summary).expect("JSON");
    let number = |key: &str| summary[key].as_f64().expect(key);
    let mut file = read(CASE).expect("right");
    file.set_data([events.to_str().expect("a path")]).expect("right");
    let grid =
        |_| Grid { instrument: InstrumentId(0), tick: Price::SCALE / 10, orders: BTreeMap::new() };
    let outcome = file.run(grid).expect("a run");
    let (counts, money) = (outcome.counts(), &outcome.instruments[0].money);
    let near = |ours: f64, key: &str| {
        let is_near = (ours - number(key)).abs() <= 1e-9 * number("trading_value");
        assert!(is_near, "{key}: {ours} is not {}", number(key));
    };
    assert_eq!(counts.orders as f64, number("new"));
    assert_eq!(counts.cancelled as f64, number("canceled"));
    assert_eq!(counts.rejected as f64, number("expired"), "post-only orders that would trade");
    assert_eq!(outcome.fills.len() as f64, number("num_trades"));
    assert!(outcome.fills.iter().all(|fill| fill.is_maker));
    near(money.position, "position");
    near(money.balance, "balance");
    near(money.fee, "fee");
    near(money.value, "trading_value");
    near(outcome.profit(), "equity");
    assert_eq!((outcome.gateway.troubles, outcome.gateway.risk_rejects), (0, 0));
}
