//! What a strategy is told of the market is what its book shows, and what the exchange's book is.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use taut_backtest::{FlatBook, Market, OrderExchange, OrderLevels};
use taut_market_data::{Batch, BestPrices, EventKind};
use taut_testkit::{Draw, for_each_seed};

use super::*;

/// The best bid and the best offer in ticks, after each instant.
type Bests = Rc<RefCell<BTreeMap<i64, [Option<i64>; 2]>>>;

/// Keeps levels by what it is told alone.
#[derive(Default)]
struct Mirror {
    levels: BTreeMap<(usize, i64), i64>,
    top: BestPrices,
    is_sound: bool,
    bests: Bests,
}

impl Strategy for Mirror {
    fn on_market(&mut self, _: Nanos, event: &MarketEvent, _: &mut impl Trading) {
        match event.kind {
            EventKind::Level(level) => {
                let key = (level.side.index(), level.price.0);
                match level.lots.0 {
                    0 => _ = self.levels.remove(&key).expect("a level that was there"),
                    lots => _ = self.levels.insert(key, lots),
                }
            }
            EventKind::Top(top) => self.top = top,
            EventKind::Book(_) => self.is_sound = true,
            _ => {}
        }
    }

    fn on_batch_end(&mut self, now: Nanos, trading: &mut impl Trading) {
        let book = trading.book(InstrumentId(0)).expect("a book");
        let shown: BTreeMap<_, _> = Side::BOTH
            .into_iter()
            .flat_map(|side| book.iter(side).map(move |it| ((side.index(), it.price.0), it.lots.0)))
            .collect();
        assert_eq!(self.levels, shown);
        assert_eq!((self.top, self.is_sound), (BestPrices::of(book), true));
        let best = Side::BOTH.map(|side| book.best(side).map(|it| it.price.0 / TICK.0));
        self.bests.borrow_mut().insert(now.0, best);
    }
}

/// Runs it over a recording, and the exchange's book beside it.
fn compare<M: Market>(recording: &Recording, exchange: Box<dyn SimulatedExchange + '_>) {
    let mirror = Mirror::default();
    let bests = Rc::clone(&mirror.bests);
    let (instrument, fees) = (instrument("A"), Fees::default());
    run_all(vec![BacktestMarket { instrument, fees, recording, exchange }], mirror);
    let bests = bests.borrow();
    let mut market = M::new(recording).expect("a book");
    let mut rows = recording.rows().iter().peekable();
    while let Some(row) = rows.next() {
        market.take(row, false);
        let is_last = rows.peek().is_none_or(|next| next.local_at() != row.local_at());
        if is_last && let Some(told) = bests.get(&row.local_at()) {
            let best = Side::BOTH.map(|side| market.book().best(side));
            assert_eq!(*told, best, "at {}", row.local_at());
        }
    }
    assert!(bests.len() > 100, "{} instants are no test", bests.len());
}

/// Levels on both sides that cross now and then, and clears.
fn levels(random: &mut impl Draw) -> Recording {
    let mut rows = vec![level(0, Side::Buy, 9_995, 1), level(0, Side::Sell, 10_005, 1)];
    for at in 1..400 {
        for _ in 0..=random.below(3) {
            let side = if random.below(2) == 0 { Side::Buy } else { Side::Sell };
            let tick = 9_990 + random.below(21) as i64;
            let row = level(at * 1_000, side, tick, random.below(5) as i64);
            let clear = Event { kind: RowKind::Clear, lots: 0, ..row };
            rows.push(match random.below(40) {
                0 => Event { side: None, tick: 0, ..clear },
                1 => clear,
                _ => row,
            });
        }
    }
    Recording::new(rows).expect("a recording")
}

#[test]
fn levels_are_told_one_by_one_whatever_crosses_or_is_cleared() {
    for_each_seed(0..20, |_, mut random| {
        let recording = levels(&mut random);
        let market = market("A", &recording, FillModel::Whole);
        compare::<FlatBook>(&recording, market.exchange);
    });
}

/// Orders that come, change and go; some rows are about orders that are not there.
fn orders(random: &mut impl Draw) -> Recording {
    let mut rows = vec![level(0, Side::Buy, 9_995, 1)];
    for at in 1..400 {
        let side = if random.below(2) == 0 { Side::Buy } else { Side::Sell };
        let tick = 9_990 + random.below(21) as i64;
        let kinds = [RowKind::Add, RowKind::Add, RowKind::Modify, RowKind::Cancel, RowKind::Fill];
        let clears = random.below(60) == 0;
        let kind = if clears { RowKind::Clear } else { random.pick(&kinds) };
        let (order_id, lots) = (random.below(40), random.below(5) as i64);
        let lots = if kind == RowKind::Add { lots + 1 } else { lots };
        rows.push(Event { kind, order_id, ..level(at * 1_000, side, tick, lots) });
    }
    rows.remove(0);
    Recording::new(rows).expect("a recording")
}

#[test]
fn levels_of_single_orders_are_what_these_add_up_to() {
    for_each_seed(0..20, |_, mut random| {
        let recording = orders(&mut random);
        let (fills, compat) = (FillModel::Partial, Compat::NONE);
        let exchange = OrderExchange::new(&recording, LATENCY, fills, compat);
        let exchange = ExchangeSide::new(&recording, exchange.expect("an exchange"));
        compare::<OrderLevels>(&recording, Box::new(exchange));
    });
}

/// Keeps the orders that it is told of: side, price, lots.
#[derive(Default)]
struct Orders(std::collections::BTreeMap<u64, (Side, i64, i64)>, usize);

impl Strategy for &mut Orders {
    fn on_market(&mut self, _: Nanos, event: &MarketEvent, _: &mut impl Trading) {
        self.1 += 1;
        match event.kind {
            EventKind::Begin(Batch::Orders) => self.0.clear(),
            EventKind::OrderAdd(it) | EventKind::OrderChange(it) => {
                let told = (it.side, it.price.0 / TICK.0, it.lots.0);
                let was = self.0.insert(it.order_id.0, told).is_some();
                assert_eq!(was, matches!(event.kind, EventKind::OrderChange(_)), "{it:?}");
            }
            EventKind::OrderReduce { order_id, by, remaining, .. } => {
                let order = self.0.get_mut(&order_id.0).expect("it stands");
                order.2 -= by.0;
                assert_eq!(order.2, remaining.0);
            }
            EventKind::OrderDelete { order_id, side } => {
                assert_eq!(self.0.remove(&order_id.0).map(|order| order.0), Some(side));
            }
            _ => {}
        }
    }
}

#[test]
fn orders_are_told_one_by_one_where_that_is_asked_for() {
    for_each_seed(0..10, |_, mut random| {
        let recording = orders(&mut random);
        let exchange = OrderExchange::new(&recording, LATENCY, FillModel::Partial, Compat::NONE);
        let exchange = Box::new(ExchangeSide::new(&recording, exchange.expect("an exchange")));
        let (instrument, fees) = (instrument("A"), Fees::default());
        let market = BacktestMarket { instrument, fees, recording: &recording, exchange };
        let settings = BacktestSettings { market_orders: true, ..BacktestSettings::default() };
        let mut told = Orders::default();
        run(vec![market], &settings, |_| &mut told, &mut |_| true).expect("a run");
        let mut levels = <OrderLevels as taut_backtest::Market>::new(&recording).expect("a book");
        recording.rows().iter().for_each(|row| levels.take(row, false));
        let numbers = Side::BOTH.into_iter().flat_map(|side| levels.numbers(side));
        let expected: Vec<_> = numbers.map(|number| number as u64 + 1).collect();
        let mut found: Vec<_> = told.0.iter().map(|(id, order)| (order.0.index(), *id)).collect();
        found.sort_unstable();
        assert_eq!(found.iter().map(|it| it.1).collect::<Vec<_>>(), expected);
        for (side, tick, lots) in told.0.values() {
            assert!(levels.book().lots(*side, *tick) >= *lots);
        }
        assert!(told.1 > 400, "{} events are no test", told.1);
    });
}
