//! The engine beside a matcher that was written for this test from exchanges' published rules:
//! trades and books after every command, for replaced orders, trailing stops, pegs, auctions and
//! pro rata.
//!
//! Each ground has its own random flow; the engine's twin, which shares some of the engine's
//! arithmetic, covers how all of them combine. `TAUT_SEED=n` replays a flow.
#![forbid(unsafe_code)]

#[path = "independent/market.rs"]
mod market;

use market::{BY_TIME, Division, Kind, Market, Order, Trade};
use taut_engine::{
    Allocation, Command, Engine, EngineConfig, Event, NewOrder, Peg, Phase, ReplaceMode, Rules,
};
use taut_testkit::{Draw, Random, for_each_seed};
use taut_types::{HalfTicks, Lots, OrderId, Side, TimeInForce};

const FLOWS: u64 = if cfg!(debug_assertions) { 150 } else { 5_000 };
const COMMANDS: usize = 250;

/// Both matchers.
struct Pair {
    engine: Engine,
    market: Market,
    random: Random,
    trades: usize,
}

impl Pair {
    fn new(random: Random, allocation: Allocation, division: Division) -> Self {
        let config = EngineConfig { order_capacity: 512, level_capacity: 128 };
        let rules = Rules { allocation, ..Rules::default() };
        let engine = Engine::with_rules(config, rules);
        Self { engine, market: Market::new(division), random, trades: 0 }
    }

    fn below(&mut self, end: u64) -> i64 {
        self.random.below(end).cast_signed()
    }

    fn id(&mut self) -> u64 {
        self.random.below(60)
    }

    fn price(&mut self) -> i64 {
        200 + 2 * self.below(12)
    }

    /// Has the engine carry out a command, and compares what both say.
    fn check(&mut self, command: Command, is_accepted: bool) {
        let mut events = Vec::new();
        self.engine.execute(command, &mut |event| events.push(event));
        let refused = events.iter().any(|event| {
            matches!(
                event,
                Event::Rejected { .. }
                    | Event::CancelRejected { .. }
                    | Event::ReplaceRejected { .. }
            )
        });
        assert_eq!(refused, !is_accepted, "{command:?}: {events:?}");
        let told: Vec<Trade> = events
            .iter()
            .filter_map(|event| match *event {
                Event::Trade { maker, taker, price, lots, .. } => {
                    let (maker, taker) = (maker.0, taker.0);
                    Some(Trade { maker, taker, price: price.0, lots: lots.0 })
                }
                _ => None,
            })
            .collect();
        self.trades += told.len();
        assert_eq!(told, self.market.trades, "{command:?}");
        self.market.trades.clear();
        for (side, is_buy) in [(Side::Buy, true), (Side::Sell, false)] {
            let orders = self.engine.book().orders(side);
            let queue: Vec<_> = orders.map(|o| (o.id.0, o.price.0, o.lots.0)).collect();
            assert_eq!(queue, self.market.queue(is_buy), "{command:?}");
        }
        let counts = self.engine.undisplayed_counts();
        assert_eq!(counts, self.market.undisplayed(), "{command:?}");
    }

    fn limit(&mut self) {
        let is_immediate = self.below(6) == 0;
        self.limit_that(is_immediate);
    }

    /// One that waits if it must.
    fn patient_limit(&mut self) {
        self.limit_that(false);
    }

    fn limit_that(&mut self, is_immediate: bool) {
        let (id, is_buy, price) = (self.id(), self.below(2) == 0, self.price());
        let lots = 1 + self.below(20);
        let mut order = new(id, is_buy, price, lots);
        if is_immediate {
            order = order.force(TimeInForce::ImmediateOrCancel);
        }
        let own = Order::new(id, is_buy, Kind::Limit, Some(price), lots);
        let is_accepted = self.market.enter(own, is_immediate);
        self.check(Command::New(order), is_accepted);
    }

    fn market_order(&mut self) {
        let (id, is_buy, lots) = (self.id(), self.below(2) == 0, 1 + self.below(20));
        let order = NewOrder::market(OrderId(id), 1, side(is_buy), Lots(lots));
        let own = Order::new(id, is_buy, Kind::Market, None, lots);
        let is_accepted = self.market.enter(own, false);
        self.check(Command::New(order), is_accepted);
    }

    fn cancel(&mut self) {
        let id = self.id();
        let is_known = self.market.cancel(id);
        self.check(Command::Cancel { order_id: OrderId(id) }, is_known);
    }

    fn replace(&mut self) {
        let (id, is_buy, price) = (self.id(), self.below(2) == 0, self.price());
        let lots = 1 + self.below(25);
        let order = new(id, is_buy, price, lots);
        let (mode, is_accepted) = match self.below(2) {
            0 => (ReplaceMode::InFlight, self.market.modify(id, is_buy, price, lots)),
            _ => (ReplaceMode::Requeue, self.market.requeue(id, price, lots)),
        };
        self.check(Command::Replace { order, mode }, is_accepted);
    }

    fn stop(&mut self) {
        let (id, is_buy, lots) = (self.id(), self.below(2) == 0, 1 + self.below(10));
        let (trigger, distance) = (self.price(), 1 + self.below(9));
        let is_trailing = self.below(4) > 0;
        let order = NewOrder::market(OrderId(id), 1, side(is_buy), Lots(lots));
        let order = match is_trailing {
            true => order.trailing(HalfTicks(trigger), i32::try_from(distance).unwrap_or(1)),
            false => order.stop(HalfTicks(trigger)),
        };
        let kind = Kind::Stop { distance: is_trailing.then_some(distance) };
        let own = Order::new(id, is_buy, kind, Some(trigger), lots);
        let is_accepted = self.market.enter(own, false);
        self.check(Command::New(order), is_accepted);
    }

    fn pegged(&mut self) {
        let (id, is_buy, limit) = (self.id(), self.below(2) == 0, self.price());
        let (lots, offset) = (1 + self.below(10), self.below(7) - 3);
        let (theirs, peg) = self.random.pick(&[
            (Peg::Primary, market::Peg::Primary),
            (Peg::Market, market::Peg::Market),
            (Peg::Midpoint, market::Peg::Midpoint),
        ]);
        let order = new(id, is_buy, limit, lots);
        let order = order.pegged(theirs, i32::try_from(offset).unwrap_or(0));
        let own = Order::new(id, is_buy, Kind::Pegged { peg, offset, limit }, None, lots);
        let is_accepted = self.market.enter(own, false);
        self.check(Command::New(order), is_accepted);
    }

    fn phase(&mut self) {
        let phase = match self.market.is_call {
            true => Phase::Continuous,
            false => Phase::OpeningAuction,
        };
        if self.market.is_call {
            self.market.uncross();
        } else {
            self.market.is_call = true;
        }
        self.check(Command::SetPhase(phase), true);
    }
}

const fn side(is_buy: bool) -> Side {
    if is_buy { Side::Buy } else { Side::Sell }
}

fn new(id: u64, is_buy: bool, price: i64, lots: i64) -> NewOrder {
    NewOrder::limit(OrderId(id), 1, side(is_buy), HalfTicks(price), Lots(lots))
}

/// Random flows of a ground; how much traded in them.
fn flows(rules: &[(Allocation, Division)], step: impl Fn(&mut Pair)) -> usize {
    let mut trades = 0;
    for_each_seed(0..FLOWS, |_, mut random| {
        let (allocation, division) = random.pick(rules);
        let mut pair = Pair::new(random, allocation, division);
        (0..COMMANDS).for_each(|_| step(&mut pair));
        trades += pair.trades;
    });
    println!("{FLOWS} flows of {COMMANDS} commands, {trades} trades");
    trades
}

const PLAIN: [(Allocation, Division); 1] = [(Allocation::FIFO, BY_TIME)];

#[test]
fn replaced_orders_trade_and_queue_as_published() {
    let trades = flows(&PLAIN, |pair| match pair.below(10) {
        0..=4 => pair.limit(),
        5 => pair.cancel(),
        _ => pair.replace(),
    });
    assert!(trades > 1_000);
}

#[test]
fn trailing_stops_follow_and_fire_as_published() {
    let trades = flows(&PLAIN, |pair| match pair.below(10) {
        0..=5 => pair.limit(),
        6 => pair.cancel(),
        7 => pair.market_order(),
        _ => pair.stop(),
    });
    assert!(trades > 1_000);
}

#[test]
fn pegs_follow_the_market_as_published() {
    let trades = flows(&PLAIN, |pair| match pair.below(10) {
        0..=5 => pair.limit(),
        6 => pair.cancel(),
        _ => pair.pegged(),
    });
    assert!(trades > 1_000);
}

#[test]
fn auctions_find_the_published_price() {
    let trades = flows(&PLAIN, |pair| match (pair.below(20), pair.market.is_call) {
        (0, _) => pair.phase(),
        (1, _) => pair.cancel(),
        (2, true) => pair.market_order(),
        (_, true) => pair.patient_limit(),
        (_, false) => pair.limit(),
    });
    assert!(trades > 1_000);
}

#[test]
fn takers_are_divided_by_size_as_published() {
    let pro_rata = Division { by_time: 0, ..BY_TIME };
    let rules = [
        (Allocation::PRO_RATA, pro_rata),
        (Allocation::split(40, true), Division { by_time: 40, levelling: true, ..BY_TIME }),
        (Allocation::split(0, true), Division { levelling: true, ..pro_rata }),
        (
            Allocation::ALLOCATION,
            Division { top_min: 1, top_max: i64::MAX, pro_rata_min: 2, ..pro_rata },
        ),
        (
            Allocation::threshold(5, 7, 3),
            Division { top_min: 5, top_max: 7, pro_rata_min: 3, ..pro_rata },
        ),
        (
            Allocation::split(30, true).with_top(2, 8),
            Division { by_time: 30, levelling: true, top_min: 2, top_max: 8, ..BY_TIME },
        ),
    ];
    let trades = flows(&rules, |pair| match pair.below(10) {
        0..=7 => pair.limit(),
        8 => pair.market_order(),
        _ => pair.cancel(),
    });
    assert!(trades > 1_000);
}
