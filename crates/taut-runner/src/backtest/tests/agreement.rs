//! Gateway and driver here, and the driver of `taut-backtest`: the same orders have the same fate.

use taut_backtest::{
    Answer, Backtest, Chance, EngineExchange, Exchange, Order, OrderExchange, Probability, Stop,
    Trader,
};
use taut_testkit::{Draw, for_each_seed};
use taut_types::{OrderFlags, OrderType, TimeInForce};

use super::*;

/// How far instants are apart.
const APART: i64 = 1_000;
const INSTANTS: i64 = 300;

/// A market around 10,000 that always has two sides. Each instant has a trade, so that it is told.
fn wild(random: &mut impl Draw) -> Recording {
    let mut rows = vec![level(0, Side::Buy, 9_900, 99), level(0, Side::Sell, 10_100, 99)];
    for at in (1..=INSTANTS).map(|at| at * APART) {
        for _ in 0..random.below(4) {
            let off = 1 + random.below(6) as i64;
            let (side, tick) = match random.below(2) {
                0 => (Side::Buy, 10_000 - off),
                _ => (Side::Sell, 10_000 + off),
            };
            rows.push(level(at, side, tick, random.below(9) as i64));
        }
        let side = if random.below(2) == 0 { Side::Buy } else { Side::Sell };
        let tick = 10_000 + side.sign() * (random.below(6) as i64 - 1);
        // A seller takes bids, which are below.
        rows.push(trade(at, side, tick, 1 + random.below(6) as i64));
    }
    rows.push(level((INSTANTS + 50) * APART, Side::Buy, 9_901, 1));
    Recording::new(rows).expect("a recording")
}

/// Orders of all kinds, at instants at which we see rows.
fn asks(random: &mut impl Draw) -> Vec<(i64, Ask)> {
    let mut asks = Vec::new();
    for at in (2..=INSTANTS).map(|at| at * APART + FEED) {
        match random.below(4) {
            0 => {
                let side = if random.below(2) == 0 { Side::Buy } else { Side::Sell };
                let tick = 10_000 + random.below(9) as i64 - 4;
                let mut terms = limit(side, tick, 1 + random.below(5) as i64);
                match random.below(6) {
                    0 => terms.time_in_force = TimeInForce::ImmediateOrCancel,
                    1 => terms.time_in_force = TimeInForce::FillOrKill,
                    2 => terms.flags = OrderFlags::POST_ONLY,
                    3 => terms = OrderTerms::market(InstrumentId(0), side, terms.lots),
                    _ => {}
                }
                asks.push((at, Ask::New(terms)));
            }
            1 => asks.push((at, Ask::Cancel(random.below(4) as usize))),
            _ => {}
        }
    }
    asks
}

/// A fill: of the order that was sent as this one, when it was heard of, its price, how much,
/// whether it rested.
type Fate = (usize, i64, i64, i64, bool);

/// The fills by the driver of `taut-backtest`.
fn by_hand<X: Exchange>(
    recording: &Recording,
    exchange: X,
    asks: &[(i64, Ask)],
) -> (Vec<Fate>, i64) {
    let mut backtest = Backtest::new(recording, exchange).expect("a run");
    let (mut fates, mut sent) = (Vec::new(), 0_u64);
    let ask = |trader: &mut Trader<'_>, sent: &mut u64, ask: Ask| match ask {
        Ask::New(terms) => {
            *sent += 1;
            let mut order = Order::limit(*sent, terms.side, terms.price.0 / TICK.0, terms.lots.0);
            order.order_type = terms.order_type;
            if terms.order_type == OrderType::Market {
                order.tick = 0;
            }
            order.time_in_force = terms.time_in_force;
            order.post_only = terms.flags.contains(OrderFlags::POST_ONLY);
            trader.send(order).expect("an order");
        }
        // One that is over, or about which a request is on its way, is left alone.
        Ask::Cancel(back) => _ = trader.cancel(sent.saturating_sub(back as u64)),
        Ask::Modify(..) => {}
    };
    let mut hear = |backtest: &mut Backtest<'_, X>| {
        while let Some(response) = backtest.poll_response() {
            if response.answer == Answer::Filled {
                let order = response.order;
                let id = order.id as usize - 1;
                fates.push((id, response.at.0, order.last_tick, order.last_lots, order.maker));
            }
        }
    };
    for (at, what) in asks {
        backtest.run_until(Nanos(*at), Stop::Time).expect("no error");
        hear(&mut backtest);
        ask(&mut backtest.trader(), &mut sent, *what);
    }
    backtest.run_until(Nanos::MAX, Stop::Time).expect("no error");
    hear(&mut backtest);
    let position = backtest.trader().account().position();
    (fates, position)
}

/// The fills by gateway and driver.
fn by_gateway<X: Exchange + 'static>(
    recording: &Recording,
    exchange: X,
    asks: &[(i64, Ask)],
) -> (Vec<Fate>, i64) {
    let market = BacktestMarket {
        instrument: instrument("A"),
        fees: Fees::default(),
        recording,
        exchange: Box::new(ExchangeSide::new(recording, exchange)),
    };
    let (script, _) = Script::new(asks.to_vec());
    let outcome = run_all(vec![market], script);
    let fills = outcome.fills.iter();
    let fates = fills.map(|it| (it.order, it.at.0, it.tick, it.lots, it.is_maker)).collect();
    let position = outcome.instruments[0].position;
    assert_eq!((outcome.gateway.troubles, outcome.gateway.risk_rejects), (0, 0));
    (fates, position)
}

#[test]
fn orders_have_the_fate_that_they_have_without_a_gateway() {
    let mut all = 0;
    for_each_seed(0..12, |seed, mut random| {
        let recording = wild(&mut random);
        let asks = asks(&mut random);
        for fills in [FillModel::Whole, FillModel::Partial] {
            let compare = |(one, other): ((Vec<Fate>, i64), (Vec<Fate>, i64))| {
                assert_eq!(one, other, "seed {seed}, {fills:?}");
                one.0.len()
            };
            all += if seed % 2 == 0 {
                let exchange = || {
                    LevelExchange::new(&recording, RiskAverse, LATENCY, fills, Compat::NONE)
                        .expect("an exchange")
                };
                compare((
                    by_hand(&recording, exchange(), &asks),
                    by_gateway(&recording, exchange(), &asks),
                ))
            } else {
                let queue = Probability::new(Chance::Power(2.0), Qty::whole(1));
                let exchange = || {
                    LevelExchange::new(&recording, queue, LATENCY, fills, Compat::NONE)
                        .expect("an exchange")
                };
                compare((
                    by_hand(&recording, exchange(), &asks),
                    by_gateway(&recording, exchange(), &asks),
                ))
            };
        }
    });
    assert!(all > 500, "{all} fills are no test");
}

/// Orders of the market one by one, which come and go.
fn wild_orders(random: &mut impl Draw) -> Recording {
    let mut rows = Vec::new();
    let add = |at, id, side, tick, lots| Event {
        kind: RowKind::Add,
        order_id: id,
        ..level(at, side, tick, lots)
    };
    rows.push(add(0, 1_000_001, Side::Buy, 9_900, 99));
    rows.push(add(0, 1_000_002, Side::Sell, 10_100, 99));
    let mut open: Vec<(u64, Side, i64, i64)> = Vec::new();
    for (id, at) in (1_u64..).zip((1..=INSTANTS).map(|at| at * APART)) {
        let side = if random.below(2) == 0 { Side::Buy } else { Side::Sell };
        let tick = 10_000 - side.sign() * (1 + random.below(5) as i64);
        let lots = 1 + random.below(7) as i64;
        rows.push(add(at, id, side, tick, lots));
        open.push((id, side, tick, lots));
        if random.below(3) == 0 && !open.is_empty() {
            let (id, side, tick, lots) = open.remove(random.below(open.len() as u64) as usize);
            let gone = |kind| Event { kind, order_id: id, ..level(at, side, tick, lots) };
            if random.below(2) == 0 {
                rows.push(gone(RowKind::Fill));
            }
            rows.push(gone(RowKind::Cancel));
        }
    }
    rows.push(add((INSTANTS + 50) * APART, 1_000_003, Side::Buy, 9_901, 1));
    Recording::new(rows).expect("a recording")
}

#[test]
fn the_same_holds_where_own_orders_stand_in_the_market_s_queues() {
    let mut all = 0;
    for_each_seed(0..6, |seed, mut random| {
        let recording = wild_orders(&mut random);
        let asks = asks(&mut random);
        let exchange = || {
            OrderExchange::new(&recording, LATENCY, FillModel::Partial, Compat::NONE)
                .expect("an exchange")
        };
        let one = by_hand(&recording, exchange(), &asks);
        assert_eq!(one, by_gateway(&recording, exchange(), &asks), "seed {seed}");
        all += one.0.len();
    });
    assert!(all > 100, "{all} fills are no test");
}

#[test]
fn the_same_holds_in_the_engine() {
    let mut all = 0;
    for_each_seed(0..6, |seed, mut random| {
        let recording = wild_orders(&mut random);
        let asks = asks(&mut random);
        let exchange = || EngineExchange::new(&recording, LATENCY).expect("an exchange");
        let one = by_hand(&recording, exchange(), &asks);
        assert_eq!(one, by_gateway(&recording, exchange(), &asks), "seed {seed}");
        all += one.0.len();
    });
    assert!(all > 100, "{all} fills are no test");
}

#[test]
fn two_instruments_of_one_run_do_not_disturb_each_other() {
    for_each_seed(0..4, |seed, mut random| {
        let recordings = [wild(&mut random), wild(&mut random)];
        let scripts = [asks(&mut random), asks(&mut random)];
        let fates = |outcome: &BacktestOutcome, instrument: u32| -> Vec<_> {
            let fills = outcome.fills.iter().filter(|it| it.instrument.0 == instrument);
            fills.map(|it| (it.at.0, it.tick, it.lots, it.is_maker)).collect()
        };
        let both: Vec<_> =
            (0..2).map(|at| market(["A", "B"][at], &recordings[at], FillModel::Partial)).collect();
        let both = run_all(both, Pair::new(&scripts));
        for at in 0..2 {
            let (script, _) = Script::new(scripts[at].clone());
            let alone = market("A", &recordings[at], FillModel::Partial);
            let alone = run_all(vec![alone], script);
            assert_eq!(fates(&both, at as u32), fates(&alone, 0), "seed {seed}, {at}");
        }
    });
}

/// Two scripts, each of its instrument.
struct Pair {
    asks: [Vec<(i64, Ask)>; 2],
    next: [usize; 2],
    sent: [Vec<ClientOrderId>; 2],
}

impl Pair {
    fn new(asks: &[Vec<(i64, Ask)>; 2]) -> Self {
        Self { asks: asks.clone(), next: [0; 2], sent: Default::default() }
    }
}

impl Strategy for Pair {
    fn on_market(&mut self, now: Nanos, event: &MarketEvent, trading: &mut impl Trading) {
        let at = event.instrument.0 as usize;
        while let Some((_, ask)) = self.asks[at].get(self.next[at]).filter(|it| it.0 <= now.0) {
            self.next[at] += 1;
            match *ask {
                Ask::New(terms) => {
                    let terms = OrderTerms { instrument: event.instrument, ..terms };
                    self.sent[at].extend(trading.create(&terms));
                }
                Ask::Cancel(back) => {
                    let id = self.sent[at].iter().rev().nth(back).copied();
                    id.map(|id| trading.cancel(id));
                }
                Ask::Modify(..) => {}
            }
        }
    }
}

#[test]
fn the_same_run_gives_the_same_outcome() {
    for_each_seed(3..5, |_, mut random| {
        let (recording, asks) = (wild(&mut random), asks(&mut random));
        let run = || {
            let (script, told) = Script::new(asks.clone());
            let outcome = run_all(vec![market("A", &recording, FillModel::Partial)], script);
            format!("{outcome:?} {told:?}")
        };
        assert_eq!(run(), run());
    });
}
