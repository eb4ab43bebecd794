//! A deterministic market out of a seed.
//!
//! The flow keeps a book of its own orders and decides one command per step from three things: its
//! random numbers, the venue's best prices, and that book. The venue hands in the best prices
//! (other people's orders may make them) and reports the fills; nothing else flows back.
//!
//! What keeps the market stationary: the rarer orders have become, the more likely an addition is;
//! additions and cancellations pick their distance from the touch by the same law; deep levels keep
//! their last order, and missing levels are refilled at the far edge, so that a side never has
//! fewer than 5/6 of [`SyntheticConfig::level_count`] while the grid of prices has room for them;
//! the wider the spread, the more likely an order improves it; and the further the price has
//! drifted, the more aggressive orders push back.

mod orders;

use taut_engine::{Command, NewOrder};
use taut_types::{HalfTicks, Lots, OrderId, Side, TimeInForce};

use crate::flow::random::SplitMix64;
use orders::Orders;

/// What the market looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntheticConfig {
    /// The same seed, prices and fills give the same commands.
    pub seed: u64,
    /// Levels a side before the first step, 1 to 2^20, and about what there will be later: 600.
    pub level_count: usize,
    /// Orders in a level before the first step: 1 to twice this number less 1.
    pub orders_per_level: u64,
    /// Sizes are 1 to this number of lots.
    pub lots_max: u64,
    /// Where the best bid starts, rounded down to a whole tick; the best ask is two ticks above. It
    /// is raised to where no price can become zero, 4 times `level_count` ticks.
    pub start_price: HalfTicks,
    /// The first order's id; later ones follow.
    pub first_order_id: OrderId,
}

impl Default for SyntheticConfig {
    fn default() -> Self {
        Self {
            seed: 1,
            level_count: 600,
            orders_per_level: 3,
            lots_max: 100,
            start_price: HalfTicks(2 * 58_533),
            first_order_id: OrderId(1),
        }
    }
}

/// The venue's best prices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Top {
    /// The best bid.
    pub best_bid: Option<HalfTicks>,
    /// The best ask.
    pub best_ask: Option<HalfTicks>,
}

/// Steps of the flow, in parts of a thousand; additions and cancellations share the rest.
const TAKE_PER_MILLE: u64 = 100;
const REDUCE_PER_MILLE: u64 = 70;
/// Whose the orders are.
const FLOW: u32 = 0;
/// More levels than any market has.
const LEVEL_COUNT_MAX: usize = 1 << 20;
/// Prices far beyond any market still have room to move.
const START_TICK_MAX: i64 = 1 << 50;
/// Up to this distance from the touch a level can lose its last order to a cancellation.
const NEAR_TICKS: i64 = 12;

/// A synthetic flow.
#[derive(Clone, Debug)]
pub struct SyntheticFlow {
    config: SyntheticConfig,
    random: SplitMix64,
    orders: Orders,
    initial_orders: Vec<NewOrder>,
    next_order_id: u64,
    start_tick: i64,
}

impl SyntheticFlow {
    /// A flow with its initial book.
    #[must_use]
    pub fn new(config: SyntheticConfig) -> Self {
        let level_count = config.level_count.clamp(1, LEVEL_COUNT_MAX);
        let span = 4 * level_count as i64;
        let start_tick = config.start_price.0.div_euclid(2).clamp(span + 1, START_TICK_MAX);
        let mut flow = Self {
            config: SyntheticConfig { level_count, ..config },
            random: SplitMix64::new(config.seed),
            orders: Orders::new(start_tick - span, start_tick + span),
            initial_orders: Vec::new(),
            next_order_id: config.first_order_id.0,
            start_tick,
        };
        for depth in 0..span / 4 {
            for (side, tick) in
                [(Side::Buy, start_tick - depth), (Side::Sell, start_tick + 2 + depth)]
            {
                for _ in 0..=flow.random.below(config.orders_per_level.max(1) * 2 - 1) {
                    let order = flow.rest(side, tick);
                    flow.initial_orders.push(order);
                }
            }
        }
        flow.orders.set_target();
        flow
    }

    /// The orders that rest before the first step.
    #[must_use]
    pub fn initial_orders(&self) -> &[NewOrder] {
        &self.initial_orders
    }

    /// The next step, in a market with these best prices.
    pub fn next_command(&mut self, top: Top) -> Command {
        let (bid, ask) = self.touch(top);
        for side in Side::BOTH {
            // The guard below 5/6 of the levels: nothing else may happen first.
            if self.orders.level_count(side) * 10 < self.config.level_count * 9
                && let Some(tick) = self.beyond_edge(side)
            {
                return self.new_order(side, tick);
            }
        }
        let dice = self.random.below(1_000);
        if dice < TAKE_PER_MILLE {
            return self.take(bid, ask);
        }
        let side = if self.random.chance(500) { Side::Buy } else { Side::Sell };
        let touch = if side == Side::Buy { bid } else { ask };
        let done = if dice < TAKE_PER_MILLE + REDUCE_PER_MILLE {
            self.reduce(side, touch)
        } else if self.random.chance(self.orders.add_per_mille()) {
            None
        } else {
            self.cancel(side, touch)
        };
        done.unwrap_or_else(|| self.add(side, bid, ask))
    }

    /// A fill of any order, and what is left of it: 0 when it is gone. Orders of others are not
    /// known here and change nothing.
    pub fn on_fill(&mut self, order_id: OrderId, remaining: Lots) {
        self.orders.set_lots(order_id, remaining);
    }

    /// How many orders it believes to rest.
    #[must_use]
    pub fn order_count(&self) -> usize {
        self.orders.order_count()
    }
}

impl SyntheticFlow {
    /// The best prices in ticks, made up when a side is empty or the prices cross.
    fn touch(&self, top: Top) -> (i64, i64) {
        let bid = top.best_bid.map(|price| price.0.div_euclid(2));
        let ask = top.best_ask.map(|price| (price.0 + 1).div_euclid(2));
        match (bid, ask) {
            (Some(bid), Some(ask)) => (bid, ask.max(bid + 1)),
            (Some(bid), None) => (bid, bid + 2),
            (None, Some(ask)) => (ask - 2, ask),
            (None, None) => (self.start_tick, self.start_tick + 2),
        }
    }

    /// A passive order: inside a wide spread, near the touch, or anywhere in the book.
    fn add(&mut self, side: Side, bid: i64, ask: i64) -> Command {
        let room = u64::try_from(ask - bid - 1).unwrap_or(0);
        let (touch, inwards) = if side == Side::Buy { (bid, 1) } else { (ask, -1) };
        let tick = if room > 0 && self.random.chance((room * 150).min(750)) {
            let step = 1 + self.random.run_length(300, room - 1);
            touch + inwards * i64::try_from(step).unwrap_or(1)
        } else {
            touch - inwards * self.distance()
        };
        self.new_order(side, self.orders.clamp(tick))
    }

    /// One tick behind the last level; nothing at the end of the grid.
    fn beyond_edge(&mut self, side: Side) -> Option<i64> {
        let fallback = if side == Side::Buy { self.start_tick } else { self.start_tick + 2 };
        let outwards = -side.sign();
        let tick = self.orders.edge(side).map_or(fallback, |edge| edge + outwards);
        (self.orders.clamp(tick) == tick).then_some(tick)
    }

    /// An order that trades at once: mostly against a part of the best level, at times through it.
    fn take(&mut self, bid: i64, ask: i64) -> Command {
        let drift =
            (bid - self.start_tick) * 400 / i64::try_from(self.config.level_count).unwrap_or(1);
        let buy_per_mille = u64::try_from((500 - drift).clamp(100, 900)).unwrap_or(500);
        let side = if self.random.chance(buy_per_mille) { Side::Buy } else { Side::Sell };
        let best = if side == Side::Buy { ask } else { bid };
        let shown = self.orders.lots_at(side.opposite(), best).max(1).unsigned_abs();
        let (lots, reach) = if self.random.chance(120) {
            (shown + self.random.below(self.config.lots_max), self.random.run_length(500, 3))
        } else {
            (1 + self.random.below(shown.min(self.config.lots_max)), 0)
        };
        let tick = (best + side.sign() * i64::try_from(reach).unwrap_or(0)).max(1);
        self.next_order_id += 1;
        let (order_id, price) = (OrderId(self.next_order_id - 1), HalfTicks(tick * 2));
        let lots = Lots(i64::try_from(lots).unwrap_or(1));
        let order = NewOrder::limit(order_id, FLOW, side, price, lots);
        Command::New(order.force(TimeInForce::ImmediateOrCancel))
    }

    /// Cancels a random order of a random level, or nothing when the level must keep it.
    fn cancel(&mut self, side: Side, touch: i64) -> Option<Command> {
        let too_many = self.orders.level_count(side) * 20 > self.config.level_count * 21;
        let (tick, keep) = match self.orders.edge(side) {
            Some(edge) if too_many => (edge, false),
            _ => {
                let distance = self.distance();
                (touch - side.sign() * distance, distance > NEAR_TICKS)
            }
        };
        let count = self.orders.orders_at(side, tick);
        if count == 0 || (keep && count == 1) {
            return None;
        }
        let pick = self.random.below(count as u64);
        let order_id = self.orders.pick(side, tick, pick)?;
        self.orders.set_lots(order_id, Lots::ZERO);
        Some(Command::Cancel { order_id })
    }

    /// Makes a random order of a random level smaller, or nothing when it cannot be.
    fn reduce(&mut self, side: Side, touch: i64) -> Option<Command> {
        let tick = touch - side.sign() * self.distance();
        let count = self.orders.orders_at(side, tick);
        let pick = self.random.below(count as u64);
        let order_id = self.orders.pick(side, tick, pick)?;
        let lots = self.orders.lots(order_id)?.0;
        let by = 1 + i64::try_from(self.random.below(lots.unsigned_abs() - 1)).unwrap_or(0);
        if by >= lots {
            return None;
        }
        self.orders.set_lots(order_id, Lots(lots - by));
        Some(Command::Reduce { order_id, by: Lots(by) })
    }

    /// A distance from the touch in ticks: mostly near, else anywhere in the book.
    fn distance(&mut self) -> i64 {
        let ticks = if self.random.chance(750) {
            self.random.run_length(800, 40)
        } else {
            self.random.below(self.config.level_count as u64)
        };
        i64::try_from(ticks).unwrap_or(0)
    }

    fn new_order(&mut self, side: Side, tick: i64) -> Command {
        Command::New(self.rest(side, tick))
    }

    /// Makes an order and takes it into the own book.
    fn rest(&mut self, side: Side, tick: i64) -> NewOrder {
        let order_id = OrderId(self.next_order_id);
        let lots = 1 + i64::try_from(self.random.below(self.config.lots_max.max(1))).unwrap_or(0);
        self.next_order_id += 1;
        self.orders.insert(order_id, side, tick, Lots(lots));
        NewOrder::limit(order_id, FLOW, side, HalfTicks(tick * 2), Lots(lots))
    }
}
