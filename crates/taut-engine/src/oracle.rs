//! The slow, obvious twin of the engine: one list of all orders, searched from end to end for
//! whatever is asked, and tried on a copy where the outcome must be known before. Tests compare its
//! events with the engine's. It has the engine's checks of an order by itself and its arithmetic
//! of allocation, which have tests of their own; everything else it does in its own way.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use taut_types::{HalfTicks, Lots, Nanos, OrderId, OrderType, Side, TimeInForce};

use crate::admission::check;
use crate::command::{Command, MassCancel, Phase, ReplaceMode};
use crate::engine::EngineConfig;
use crate::event::{CancelReason, Event, HeldUntil, RejectReason};
use crate::order::NewOrder;
use crate::rules::Rules;
use crate::terms::{AuctionOnly, PostOnly, SelfTrade, Trigger, feature as f};

mod auction;
mod follow;
mod replace;
mod trade;

/// Where an order waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Lit,
    Dark,
    Pending,
    Parked,
}

#[derive(Clone, Debug)]
struct Waiting {
    order: NewOrder,
    place: Place,
    /// Its price; of a pending order the trigger's; of a parked one nothing.
    price: i64,
    shown: i64,
    reserve: i64,
    filled: i64,
    /// Its turn in the queue.
    turn: u64,
    /// Its turn among pegged orders, and among those that expire at one time.
    peg_turn: u64,
    expiry_turn: u64,
}

/// The twin of [`Engine`](crate::Engine).
#[derive(Clone, Debug)]
pub struct NaiveEngine {
    config: EngineConfig,
    rules: Rules,
    orders: Vec<Waiting>,
    turns: u64,
    trade_count: u64,
    last: i64,
    /// The trade prices that triggers have not seen.
    prices: Vec<i64>,
    fired: VecDeque<(NewOrder, i64)>,
    peg_top: (i64, i64),
    top_orders: [Option<OrderId>; 2],
    phase: Phase,
    now: i64,
}

struct Taker {
    order: NewOrder,
    limit: i64,
    remaining: i64,
    filled: i64,
    self_trade: SelfTrade,
}

type LevelMap = BTreeMap<(bool, i64), (Side, i64, i64, u32)>;

impl NaiveEngine {
    /// An engine with an empty book.
    #[must_use]
    pub fn new(config: EngineConfig, rules: Rules) -> Self {
        Self {
            config,
            rules,
            orders: Vec::new(),
            turns: 0,
            trade_count: 0,
            last: 0,
            prices: Vec::new(),
            fired: VecDeque::new(),
            peg_top: (0, 0),
            top_orders: [None; 2],
            phase: Phase::Continuous,
            now: i64::MIN,
        }
    }

    /// The displayed orders of a side in priority order: id, price and lots.
    #[must_use]
    pub fn queue(&self, side: Side) -> Vec<(OrderId, HalfTicks, Lots)> {
        let mut queue: Vec<_> = self.at(Place::Lit, side).collect();
        queue.sort_by_key(|order| (worth(side, order.price), order.turn));
        queue
            .iter()
            .map(|order| (order.order.order_id, HalfTicks(order.price), Lots(order.shown)))
            .collect()
    }

    /// How many orders wait undisplayed: hidden, for a trigger, for anything else.
    #[must_use]
    pub fn undisplayed_counts(&self) -> [usize; 3] {
        [Place::Dark, Place::Pending, Place::Parked].map(|place| self.count(place))
    }

    /// Executes one command and returns its events.
    pub fn execute(&mut self, command: Command) -> Vec<Event> {
        let mut events = Vec::new();
        let before = self.clone();
        if let Some(side) = self.run(command, &mut events) {
            self.settle(&mut events);
            let (old, new) = (before.levels(side), self.levels(side));
            let mut keys: Vec<_> = old.keys().chain(new.keys()).copied().collect();
            keys.sort_unstable();
            keys.dedup();
            for key in keys.into_iter().filter(|key| old.get(key) != new.get(key)) {
                let gone = old.get(&key).map(|&(side, price, ..)| (side, price, 0, 0));
                let Some((side, price, lots, order_count)) = new.get(&key).copied().or(gone) else {
                    continue;
                };
                let (price, lots) = (HalfTicks(price), Lots(lots));
                events.push(Event::Level { side, price, lots, order_count });
            }
            if self.phase.is_auction() {
                let (price, lots, surplus) = self.indicative();
                let (price, lots) = (HalfTicks(price), Lots(lots));
                events.push(Event::Indicative { price, lots, surplus });
            }
        }
        events
    }

    /// Carries out the command itself; tells its side, or nothing when it was refused.
    fn run(&mut self, command: Command, out: &mut Vec<Event>) -> Option<Side> {
        match command {
            Command::New(order) => self.enter(order, out),
            Command::Cancel { order_id } => {
                let Some(at) = self.find(order_id) else {
                    let reason = RejectReason::UnknownOrderId;
                    out.push(Event::CancelRejected { order_id, reason });
                    return None;
                };
                Some(self.cancel(at, CancelReason::Requested, out))
            }
            Command::Reduce { order_id, by } => self.reduce(order_id, by.0, out),
            Command::Replace { order, mode } => self.replace(order, mode, out),
            Command::MassCancel(MassCancel { owner, side, session }) => {
                let matches = |w: &Waiting| {
                    owner.is_none_or(|owner| owner == w.order.owner)
                        && side.is_none_or(|side| side == w.order.side)
                        && session.is_none_or(|session| session == w.order.terms.session)
                };
                self.mass_cancel(CancelReason::MassCancel, out, matches);
                Some(Side::Buy)
            }
            Command::Disconnect { session } => {
                self.mass_cancel(CancelReason::Disconnect, out, |w| {
                    session != 0 && w.order.terms.session == session
                });
                Some(Side::Buy)
            }
            Command::Clock { now } => {
                self.now = self.now.max(now.0);
                out.push(Event::Clock { now: Nanos(self.now) });
                while let Some(at) = self.next_expired() {
                    self.cancel(at, CancelReason::Expired, out);
                }
                Some(Side::Buy)
            }
            Command::SetPhase(phase) => {
                self.set_phase(phase, out);
                Some(Side::Buy)
            }
        }
    }

    fn next_expired(&self) -> Option<usize> {
        let expired = (0..self.orders.len()).filter(|&at| {
            let terms = &self.orders[at].order.terms;
            terms.has(f::EXPIRY) && terms.expires.0 <= self.now
        });
        expired.min_by_key(|&at| (self.orders[at].order.terms.expires, self.orders[at].expiry_turn))
    }

    fn reduce(&mut self, order_id: OrderId, by: i64, out: &mut Vec<Event>) -> Option<Side> {
        let found = self.find(order_id);
        let (Some(at), true) = (found, by > 0) else {
            let reason = match by > 0 {
                true => RejectReason::UnknownOrderId,
                false => RejectReason::NonPositiveLots,
            };
            out.push(Event::CancelRejected { order_id, reason });
            return None;
        };
        let w = &mut self.orders[at];
        if by >= w.shown + w.reserve {
            return Some(self.cancel(at, CancelReason::Requested, out));
        }
        let hidden = by.min(w.reserve);
        w.reserve -= hidden;
        w.shown -= by - hidden;
        out.push(Event::Reduced {
            order_id,
            owner: w.order.owner,
            side: w.order.side,
            price: w.told_price(),
            by: Lots(by),
            remaining: Lots(w.shown + w.reserve),
            displayed: Lots(if w.place == Place::Lit { w.shown } else { 0 }),
        });
        Some(w.order.side)
    }

    fn cancel(&mut self, at: usize, reason: CancelReason, out: &mut Vec<Event>) -> Side {
        let w = self.orders.remove(at);
        let side = w.order.side;
        self.forget_top(&w);
        out.push(Event::Cancelled {
            order_id: w.order.order_id,
            owner: w.order.owner,
            side,
            price: w.told_price(),
            lots: Lots(w.shown + w.reserve),
            reason,
            was_resting: w.place == Place::Lit,
        });
        side
    }

    fn mass_cancel(
        &mut self,
        reason: CancelReason,
        out: &mut Vec<Event>,
        matches: impl Fn(&Waiting) -> bool,
    ) {
        let ids = self.select(matches);
        out.push(Event::MassCancelled { count: u32::try_from(ids.len()).unwrap_or(0) });
        self.cancel_ids(&ids, reason, out);
    }

    fn cancel_ids(&mut self, ids: &[OrderId], reason: CancelReason, out: &mut Vec<Event>) {
        for &id in ids {
            if let Some(at) = self.find(id) {
                self.cancel(at, reason, out);
            }
        }
    }

    /// The matching orders by place, side of the queue and priority.
    fn select(&self, matches: impl Fn(&Waiting) -> bool) -> Vec<OrderId> {
        let mut all: Vec<&Waiting> = self.orders.iter().filter(|w| matches(w)).collect();
        all.sort_by_key(|w| {
            (w.place, w.queue_side() as u8, worth(w.queue_side(), w.price), w.turn)
        });
        all.iter().map(|w| w.order.order_id).collect()
    }

    fn find(&self, id: OrderId) -> Option<usize> {
        self.orders.iter().position(|w| w.order.order_id == id)
    }

    fn at(&self, place: Place, side: Side) -> impl Iterator<Item = &Waiting> {
        self.orders.iter().filter(move |w| w.place == place && w.order.side == side)
    }

    fn count(&self, place: Place) -> usize {
        self.orders.iter().filter(|w| w.place == place).count()
    }

    fn best(&self, place: Place, side: Side) -> Option<i64> {
        self.at(place, side).map(|w| w.price).min_by_key(|&price| worth(side, price))
    }

    /// Displayed levels, the other side's first, best first.
    fn levels(&self, own_side: Side) -> LevelMap {
        let mut levels = LevelMap::new();
        for w in self.orders.iter().filter(|w| w.place == Place::Lit) {
            let side = w.order.side;
            let key = (side == own_side, worth(side, w.price));
            let level = levels.entry(key).or_insert((side, w.price, 0, 0));
            level.2 += w.shown;
            level.3 += 1;
        }
        levels
    }

    fn level_count(&self, side: Side) -> usize {
        let mut prices: Vec<i64> = self.at(Place::Lit, side).map(|w| w.price).collect();
        prices.sort_unstable();
        prices.dedup();
        prices.len()
    }

    /// Whether an order of these lots finds room in a queue.
    fn fits(&self, place: Place, side: Side, price: i64, lots: i64) -> bool {
        let capacity = match place {
            Place::Lit => self.config.order_capacity,
            _ => self.rules.special_capacity,
        };
        let level = self
            .orders
            .iter()
            .filter(|w| w.place == place && w.queue_side() == side && w.price == price);
        let total: i128 = level.clone().map(|w| i128::from(w.shown)).sum();
        let has_level = place != Place::Lit
            || level.count() > 0
            || self.level_count(side) < self.config.level_capacity;
        self.count(place) < capacity && has_level && total + i128::from(lots) <= i64::MAX.into()
    }

    fn forget_top(&mut self, w: &Waiting) {
        let top = &mut self.top_orders[w.order.side.index()];
        *top = top.filter(|id| *id != w.order.order_id);
    }

    fn next_turn(&mut self) -> u64 {
        self.turns += 1;
        self.turns
    }
}

impl Waiting {
    /// The side of the queue in which it stands.
    fn queue_side(&self) -> Side {
        match self.place {
            Place::Pending if rises(&self.order) => Side::Sell,
            Place::Pending => Side::Buy,
            _ => self.order.side,
        }
    }

    /// The price that events tell.
    fn told_price(&self) -> HalfTicks {
        match self.place {
            Place::Lit | Place::Dark => HalfTicks(self.price),
            _ => self.order.price,
        }
    }
}

/// Less is better.
fn worth(side: Side, price: i64) -> i64 {
    match side {
        Side::Buy => !price,
        Side::Sell => price,
    }
}

fn crosses(side: Side, limit: i64, price: i64) -> bool {
    worth(side.opposite(), price) <= worth(side.opposite(), limit)
}

/// Whether an order fires when the market rises to its trigger.
fn rises(order: &NewOrder) -> bool {
    match (order.side, order.terms.trigger) {
        (Side::Buy, Trigger::TakeProfit) => false,
        (Side::Buy, _) => true,
        (Side::Sell, Trigger::TakeProfit) => true,
        (Side::Sell, _) => false,
    }
}

fn own_limit(order: &NewOrder) -> i64 {
    match (order.order_type, order.side) {
        (OrderType::Limit, _) => order.price.0,
        (OrderType::Market, Side::Buy) => i64::MAX,
        (OrderType::Market, Side::Sell) => i64::MIN,
    }
}

fn is_day(order: &NewOrder) -> bool {
    order.time_in_force == TimeInForce::Day
}
