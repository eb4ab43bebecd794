//! Runs over a few rows each, and over the public cases where they are.

mod agreement;
mod books;
mod by_hand;
mod cases;
mod defects;
mod grid;
mod venues;

use taut_backtest::{
    Compat, ConstantLatency, Event, ExchangeSide, Fees, FillModel, LevelExchange, Recording,
    RiskAverse, RowKind, Seen,
};
use taut_gateway::{GatewayConfig, OrderUpdate, Strategy, Trading};
use taut_market_data::Event as MarketEvent;
use taut_oms::UniformLimits;
use taut_types::{
    ClientOrderId, FeeRates, Instrument, InstrumentId, Lots, Nanos, OrderTerms, Price, Qty, Side,
    Symbol,
};

use super::*;

/// A tick of 0.01.
const TICK: Price = Price(Price::SCALE / 100);
const LATENCY: ConstantLatency = ConstantLatency { entry: 137, response: 211 };
/// How much later we see what happened.
const FEED: i64 = 300;

fn instrument(symbol: &str) -> Instrument {
    let symbol = Symbol::new(symbol.as_bytes()).expect("a symbol");
    Instrument::new(InstrumentId(0), symbol, TICK, Qty::whole(1)).expect("an instrument")
}

/// A level at a time.
fn level(at: i64, side: Side, tick: i64, lots: i64) -> Event {
    Event {
        exchange_at: Nanos(at),
        local_at: Nanos(at + FEED),
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

/// 9,999 against 10,001, ten lots each, and the rows after them.
fn recording(rows: &[Event]) -> Recording {
    let mut all = Vec::from([level(0, Side::Buy, 9_999, 10), level(0, Side::Sell, 10_001, 10)]);
    all.extend_from_slice(rows);
    Recording::new(all).expect("a recording")
}

fn market<'r>(symbol: &str, recording: &'r Recording, fills: FillModel) -> BacktestMarket<'r> {
    let exchange = LevelExchange::new(recording, RiskAverse, LATENCY, fills, Compat::NONE);
    let exchange = exchange.expect("an exchange");
    let rates = FeeRates { maker: -100_000, taker: 500_000 };
    BacktestMarket {
        instrument: instrument(symbol),
        fees: Fees { rates, ..Fees::default() },
        recording,
        exchange: Box::new(ExchangeSide::new(recording, exchange)),
    }
}

/// Nobody wants it to end early.
fn run_all<S: Strategy>(markets: Vec<BacktestMarket<'_>>, strategy: S) -> BacktestOutcome {
    let limits = UniformLimits { collar_ppm: 900_000, ..GatewayConfig::default_risk() };
    let settings = BacktestSettings { risk: limits.into(), ..BacktestSettings::default() };
    run(markets, &settings, |_| strategy, &mut |_| true).expect("a run")
}

/// What is asked for at a time.
#[derive(Clone, Copy, Debug)]
enum Ask {
    New(OrderTerms),
    /// Of the order that was sent so many before the last one.
    Cancel(usize),
    /// The same; to this price and this size.
    Modify(usize, Price, Lots),
}

/// Asks for these things when the market moves at these times, and keeps what it is told.
struct Script {
    asks: Vec<(i64, Ask)>,
    next: usize,
    sent: Vec<ClientOrderId>,
    told: Told,
}

/// What a [`Script`] was told, and when.
type Told = std::rc::Rc<std::cell::RefCell<Vec<(i64, OrderUpdate)>>>;

impl Script {
    fn new(asks: Vec<(i64, Ask)>) -> (Self, Told) {
        let told = Told::default();
        (Self { asks, next: 0, sent: Vec::new(), told: std::rc::Rc::clone(&told) }, told)
    }
}

impl Strategy for Script {
    fn on_market(&mut self, _: Nanos, _: &MarketEvent, _: &mut impl Trading) {}

    fn on_batch_end(&mut self, now: Nanos, trading: &mut impl Trading) {
        while let Some((_, ask)) = self.asks.get(self.next).filter(|(at, _)| *at <= now.0) {
            self.next += 1;
            let of = |back: usize| self.sent.iter().rev().nth(back).copied();
            match *ask {
                Ask::New(terms) => {
                    self.sent.extend(trading.create(&terms));
                }
                Ask::Cancel(back) => {
                    of(back).map(|id| trading.cancel(id));
                }
                Ask::Modify(back, price, lots) => {
                    of(back).map(|id| trading.modify(id, price, lots));
                }
            }
        }
    }

    fn on_order(&mut self, now: Nanos, update: &OrderUpdate, _: &mut impl Trading) {
        self.told.borrow_mut().push((now.0, *update));
    }
}

fn limit(side: Side, tick: i64, lots: i64) -> OrderTerms {
    OrderTerms::limit(InstrumentId(0), side, Price(tick * TICK.0), Lots(lots))
}
