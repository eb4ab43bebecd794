//! What both exchanges have: own orders, fills, and orders that take.

use alloc::vec::Vec;

use taut_types::{Nanos, OrderType, Qty, Side, TimeInForce};

use super::fill_model::FillModel;
use super::outbox::Outbox;
use crate::book::{NONE, key, tick};
use crate::order::{Answer, Order, Request, RequestKind, Status};
use crate::queue::in_units;
use crate::{BacktestError, Compat, FlatBook, Latency};

/// An own order in the book.
#[derive(Clone, Copy, Debug)]
pub struct Own<P> {
    pub order: Order,
    /// Where it stands among the others at its price.
    pub place: P,
}

/// What a side's orders took from a level that the recording still has.
#[derive(Clone, Copy, Debug)]
struct Taken {
    side: Side,
    tick: i64,
    lots: i64,
}

/// The own orders, oldest first on each side, and the rules of fills.
#[derive(Debug)]
pub struct Matching<P, L> {
    own: [Vec<Own<P>>; 2],
    /// The keys of the worst and the best own order of each side.
    span: [(i64, i64); 2],
    taken: Vec<Taken>,
    pub outbox: Outbox<L>,
    pub fills: FillModel,
    pub compat: Compat,
    /// A lot in units, for floats of hftbacktest.
    pub lot: f64,
}

impl<P: Copy, L: Latency> Matching<P, L> {
    pub fn new(latency: L, fills: FillModel, compat: Compat, lot: Qty) -> Self {
        Self {
            own: [Vec::new(), Vec::new()],
            span: [(i64::MAX, NONE); 2],
            taken: Vec::new(),
            outbox: Outbox::new(latency),
            fills,
            compat,
            lot: in_units(lot),
        }
    }

    /// Whether no row concerns an own order.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.own[0].is_empty() && self.own[1].is_empty() && self.taken.is_empty()
    }

    /// Whether an own order of a side may stand at this key.
    #[inline]
    pub fn may_stand_at(&self, side: Side, key: i64) -> bool {
        let (worst, best) = self.span[side.index()];
        (worst..=best).contains(&key)
    }

    /// Whether an own order of a side is at this key or better.
    #[inline]
    pub fn may_stand_from(&self, side: Side, key: i64) -> bool {
        self.span[side.index()].1 >= key
    }

    /// How many own orders there are.
    pub fn count(&self) -> usize {
        self.own[0].len() + self.own[1].len()
    }

    /// A side's own orders, oldest first.
    pub fn own(&mut self, side: Side) -> &mut Vec<Own<P>> {
        &mut self.own[side.index()]
    }

    pub fn find(&self, id: u64) -> Option<(Side, usize)> {
        Side::BOTH.into_iter().find_map(|side| {
            let at = self.own[side.index()].iter().position(|own| own.order.id == id);
            at.map(|at| (side, at))
        })
    }

    /// An order rests from now on, the youngest of its side.
    pub fn rest(&mut self, order: Order, place: P) {
        self.own(order.side).push(Own { order, place });
        self.measure(order.side);
    }

    /// Takes an own order out.
    pub fn remove(&mut self, side: Side, at: usize) -> Own<P> {
        let own = self.own(side).remove(at);
        self.measure(side);
        own
    }

    fn measure(&mut self, side: Side) {
        let keys = self.own[side.index()].iter().map(|own| key(side, own.order.tick));
        let span = keys.fold((i64::MAX, NONE), |(worst, best), k| (worst.min(k), best.max(k)));
        self.span[side.index()] = span;
    }

    /// Fills all own orders of a side for which this holds, whole and at their own prices.
    pub fn fill_where(
        &mut self,
        side: Side,
        at: i64,
        mut reached: impl FnMut(&Own<P>) -> bool,
    ) -> Result<(), BacktestError> {
        let mut next = 0;
        while let Some(own) = self.own[side.index()].get(next) {
            if reached(own) {
                self.fill_resting(side, next, own.order.leaves, at)?;
                self.remove(side, next);
            } else {
                next += 1;
            }
        }
        Ok(())
    }

    /// Fills an own order that rests, and leaves it where it is.
    pub fn fill_resting(
        &mut self,
        side: Side,
        index: usize,
        lots: i64,
        at: i64,
    ) -> Result<(), BacktestError> {
        let Some(own) = self.own[side.index()].get_mut(index) else { return Ok(()) };
        let order = &mut own.order;
        let tick = order.tick;
        apply_fill(order, self.fills, true, tick, lots, at)?;
        order.float_leaves -= lots as f64 * self.lot;
        self.outbox.say(Answer::Filled, None, order);
        Ok(())
    }

    /// An own order is over or changed on request: tells it, without a fill.
    pub fn answer(&mut self, answer: Answer, request: Option<RequestKind>, mut order: Order) {
        if !self.compat.partial_fills_unbooked {
            order.last_lots = 0;
        }
        self.outbox.say(answer, request, &order);
    }

    /// What has traded of an own order that rests.
    pub fn filled(&self, (side, index): (Side, usize)) -> i64 {
        self.own[side.index()].get(index).map_or(0, |own| own.order.filled)
    }

    /// An own order is cancelled on request: of its end, or of less than has traded.
    pub fn cancel(&mut self, (side, index): (Side, usize), request: RequestKind, at: i64) {
        let order = self.remove(side, index).order;
        let order = Order { status: Status::Canceled, exchange_at: Nanos(at), ..order };
        self.answer(Answer::Canceled, Some(request), order);
    }

    /// Tells that there is no such order.
    pub fn refuse(&mut self, request: Request, at: i64) {
        let order = Order { exchange_at: Nanos(at), ..request.order };
        self.outbox.say(Answer::Refused, Some(request.kind), &order);
    }

    /// The recording says something new about a level.
    pub fn forget_taken(&mut self, side: Side, tick: i64) {
        self.taken.retain(|taken| taken.side != side || taken.tick != tick);
    }

    /// The recording says something new about all levels of a side.
    pub fn forget_all_taken(&mut self, side: Side) {
        self.taken.retain(|taken| taken.side != side);
    }

    /// What own orders left at a level.
    fn available(&self, book: &FlatBook, side: Side, tick: i64) -> i64 {
        let taken = self.taken.iter().filter(|taken| taken.side == side && taken.tick == tick);
        book.lots(side, tick) - taken.map(|taken| taken.lots).sum::<i64>()
    }

    /// The key of the best level of a side at which own orders left something.
    pub fn best_key(&self, book: &FlatBook, side: Side) -> i64 {
        let best = book.best_key(side);
        if self.taken.is_empty() || best == NONE {
            return best;
        }
        let mut keys = (book.worst_key(side)..=best).rev();
        keys.find(|&key| self.available(book, side, tick(side, key)) > 0).unwrap_or(NONE)
    }

    /// Whether an order at this price would take.
    pub fn crosses(&self, book: &FlatBook, side: Side, tick: i64) -> bool {
        let best = self.best_key(book, side.opposite());
        best != NONE && key(side.opposite(), tick) <= best
    }

    /// An order comes, new or by a modification: it takes what it can, is over, or is handed back
    /// to rest. Everything but that it rests is told.
    pub fn enter(
        &mut self,
        book: &FlatBook,
        mut order: Order,
        request: RequestKind,
        at: i64,
    ) -> Result<Option<Order>, BacktestError> {
        order.exchange_at = Nanos(at);
        if !self.compat.partial_fills_unbooked {
            order.last_lots = 0;
        }
        let (best, other) = (self.best_key(book, order.side.opposite()), order.side.opposite());
        let is_market = order.order_type == OrderType::Market;
        let takes = best != NONE && (is_market || key(other, order.tick) <= best);
        if takes && (is_market || !order.post_only) {
            match self.fills {
                FillModel::Whole => {
                    let lots = order.leaves;
                    self.take(&mut order, tick(other, best), lots, request, at)?;
                }
                FillModel::Partial => self.walk(book, &mut order, best, request, at)?,
            }
        }
        let rests = match order.time_in_force {
            TimeInForce::GoodTillCancel | TimeInForce::Day => !takes || !order.post_only,
            TimeInForce::ImmediateOrCancel | TimeInForce::FillOrKill => false,
        };
        if order.status == Status::Filled {
            if self.compat.partial_fills_unbooked {
                self.outbox.say(Answer::Filled, Some(request), &order);
            }
            return Ok(None);
        }
        if rests && !is_market {
            return Ok(Some(order));
        }
        order.status = Status::Expired;
        self.answer(Answer::Expired, Some(request), order);
        Ok(None)
    }

    /// An order takes level by level, from the best to its limit.
    fn walk(
        &mut self,
        book: &FlatBook,
        order: &mut Order,
        best: i64,
        request: RequestKind,
        at: i64,
    ) -> Result<(), BacktestError> {
        let (side, other) = (order.side, order.side.opposite());
        let is_market = order.order_type == OrderType::Market;
        let seen = if side == Side::Buy { 99 } else { 100 };
        let limit = match (is_market, self.compat.market_sees_100_ticks) {
            (false, _) => key(other, order.tick),
            (true, false) => NONE,
            (true, true) => best.saturating_sub(seen),
        };
        let is_lasting =
            matches!(order.time_in_force, TimeInForce::GoodTillCancel | TimeInForce::Day);
        let fills_rest = self.compat.remainder_fills_at_limit && is_lasting && !is_market;
        let keys = || (limit.max(book.worst_key(other))..=best).rev();
        if order.time_in_force == TimeInForce::FillOrKill && !is_market {
            let levels = keys().map(|key| self.available(book, other, tick(other, key)).max(0));
            if levels.scan(0, |sum, lots| Some(add(sum, lots))).all(|sum| sum < order.lots) {
                return Ok(());
            }
        }
        for key in keys() {
            if fills_rest && side == Side::Buy && key == limit {
                break;
            }
            let price = tick(other, key);
            let lots = self.available(book, other, price).min(order.leaves);
            if lots > 0 {
                self.take(order, price, lots, request, at)?;
            }
            if order.status == Status::Filled {
                return Ok(());
            }
        }
        if fills_rest {
            let (price, lots) = (order.tick, order.leaves);
            self.take(order, price, lots, request, at)?;
        }
        Ok(())
    }

    /// An order takes lots at a price.
    fn take(
        &mut self,
        order: &mut Order,
        price: i64,
        lots: i64,
        request: RequestKind,
        at: i64,
    ) -> Result<(), BacktestError> {
        apply_fill(order, self.fills, false, price, lots, at)?;
        if !self.compat.partial_fills_unbooked {
            self.outbox.say(Answer::Filled, Some(request), order);
        }
        if !self.compat.taking_leaves_levels && self.fills == FillModel::Partial {
            self.taken.push(Taken { side: order.side.opposite(), tick: price, lots });
        }
        Ok(())
    }

    /// What an order is entered with that a modification enters anew.
    pub fn entered_anew(&self, request: &Request) -> Order {
        let order = request.order;
        let leaves = if self.compat.modify_keeps_leaves { order.leaves } else { order.lots };
        let float_leaves = match self.compat.modify_keeps_leaves {
            true => order.float_leaves,
            false => self.units(order.lots),
        };
        Order { leaves, float_leaves, ..order }
    }

    /// Lots in units.
    pub fn units(&self, lots: i64) -> f64 {
        lots as f64 * self.lot
    }

    /// Tells that an order rests, unless it is known from what it took.
    pub fn tell_rest(&mut self, order: &mut Order, request: RequestKind) {
        if order.last_lots == 0 || self.compat.partial_fills_unbooked {
            order.status = Status::Resting;
        }
        let answer =
            if request == RequestKind::Modify { Answer::Modified } else { Answer::Entered };
        self.answer(answer, Some(request), *order);
    }
}

fn add(sum: &mut i64, lots: i64) -> i64 {
    *sum = sum.saturating_add(lots);
    *sum
}

fn apply_fill(
    order: &mut Order,
    fills: FillModel,
    maker: bool,
    tick: i64,
    lots: i64,
    at: i64,
) -> Result<(), BacktestError> {
    if order.status == Status::Filled {
        return Err(BacktestError::FilledTwice(order.id));
    }
    order.leaves = if fills == FillModel::Whole { 0 } else { order.leaves - lots };
    order.filled = order.filled.saturating_add(lots);
    order.status = if order.leaves > 0 { Status::PartlyFilled } else { Status::Filled };
    (order.maker, order.last_tick, order.last_lots) = (maker, tick, lots);
    order.exchange_at = Nanos(at);
    Ok(())
}
