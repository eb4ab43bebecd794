//! taut's side.

use std::hint::black_box;

use taut_backtest::{
    Backtest, Compat, ConstantLatency, EngineExchange, Exchange, FillModel, FlatBook,
    LevelExchange, Order, OrderExchange, Recording, RiskAverse, RowKind, Stop, Stopped,
};
use taut_types::{Nanos, Side};

use crate::Row;
use crate::grid::{Backtester, ENTRY, LOTS, Open, RESPONSE, run, stepped};

/// What is measured over a recording: a floor, and each exchange that can have it.
pub fn measured(recording: &'static Recording) -> Vec<Row> {
    let (none, like) = (Compat::NONE, Compat::HFTBACKTEST);
    if recording.orders() == 0 {
        return vec![
            Row::new("flat book, a bare loop", move || bare(recording, 1)),
            Row::new("two flat books, a bare loop", move || bare(recording, 2)),
            Row::new("taut", move || stepped(by_level(recording, none))),
            Row::new("grid: taut", move || run(by_level(recording, none))),
            Row::new("grid: taut, as hftbacktest", move || run(by_level(recording, like))),
        ];
    }
    vec![
        Row::new("taut", move || stepped(by_order(recording, none))),
        Row::new("taut, engine", move || stepped(by_engine(recording))),
        Row::new("grid: taut", move || run(by_order(recording, none))),
        Row::new("grid: taut, engine", move || run(by_engine(recording))),
        Row::new("grid: taut, as hftbacktest", move || run(by_order(recording, like))),
    ]
}

/// The floor: levels into one flat book, or into one for each side that learns of a row.
fn bare(recording: &Recording, sides: usize) -> String {
    let new = || FlatBook::new(recording.ticks()).expect("a range that fits");
    let mut books = [new(), new()];
    for row in recording.rows() {
        let (RowKind::Level, Some(side)) = (row.kind(), row.side()) else { continue };
        for (book, is_seen) in books[..sides].iter_mut().zip([row.is_at_exchange(), row.is_local()])
        {
            if is_seen {
                book.set_level(side, row.tick(), row.lots());
            }
        }
    }
    black_box(&books);
    format!("{:?}", books[0].best(Side::Buy))
}

/// A run.
struct Ours<'r, X: Exchange>(Backtest<'r, X>);

const LATENCY: ConstantLatency = ConstantLatency { entry: ENTRY, response: RESPONSE };

/// Over levels.
fn by_level(
    recording: &Recording,
    compat: Compat,
) -> Ours<'_, LevelExchange<RiskAverse, ConstantLatency>> {
    let exchange = LevelExchange::new(recording, RiskAverse, LATENCY, FillModel::Whole, compat);
    Ours(Backtest::new(recording, exchange.expect("an exchange")).expect("a run"))
}

/// Over orders.
fn by_order(recording: &Recording, compat: Compat) -> Ours<'_, OrderExchange<ConstantLatency>> {
    let exchange = OrderExchange::new(recording, LATENCY, FillModel::Whole, compat);
    Ours(Backtest::new(recording, exchange.expect("an exchange")).expect("a run"))
}

/// Over orders, in the engine.
fn by_engine(recording: &Recording) -> Ours<'_, EngineExchange<ConstantLatency>> {
    let exchange = EngineExchange::new(recording, LATENCY).expect("an exchange");
    Ours(Backtest::new(recording, exchange).expect("a run"))
}

impl<X: Exchange> Backtester for Ours<'_, X> {
    fn wait(&mut self, nanoseconds: i64) -> bool {
        let time = self.0.now() + Nanos(nanoseconds);
        let stopped = self.0.run_until(time, Stop::Time).expect("no order is filled twice");
        while self.0.poll_response().is_some() {}
        stopped != Stopped::End
    }

    fn forget_done(&mut self) {
        self.0.trader().forget_done();
    }

    fn best(&self) -> Option<(i64, i64)> {
        let book = self.0.book();
        Some((book.best(Side::Buy)?, book.best(Side::Sell)?))
    }

    fn position(&self) -> i64 {
        self.0.account().position()
    }

    fn open(&self, orders: &mut Vec<Open>) {
        orders.extend(self.0.orders().map(|order| Open {
            id: order.id,
            sign: order.side.sign(),
            tick: order.tick,
            may_be_cancelled: order.is_cancellable(),
        }));
    }

    fn send(&mut self, id: u64, sign: i64, tick: i64) {
        let side = if sign > 0 { Side::Buy } else { Side::Sell };
        let order = Order::limit(id, side, tick, LOTS).post_only();
        self.0.trader().send(order).expect("a new id");
    }

    fn cancel(&mut self, id: u64) {
        self.0.trader().cancel(id).expect("an order that may be cancelled");
    }

    fn fills(&self) -> u64 {
        self.0.account().fills()
    }
}
