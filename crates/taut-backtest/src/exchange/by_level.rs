//! An exchange over levels: own orders have a model of their queue.

use super::fill_model::FillModel;
use super::interface::Exchange;
use super::matching::Matching;
use super::modelled::Modelled;
use super::outbox::Outbox;
use crate::book::{Change, key};
use crate::order::{Answer, Order, Request, RequestKind};
use crate::row::{Row, RowKind};
use crate::{BacktestError, Compat, FlatBook, Latency, Market, QueueModel, Recording};
use taut_types::{Nanos, Side};

/// An exchange that knows levels and trades, and models where own orders stand in their queues.
///
/// Nothing that own orders do changes its book. A row costs an access to an array when no own order
/// is concerned.
#[derive(Debug)]
pub struct LevelExchange<Q: QueueModel, L> {
    book: FlatBook,
    queue: Q,
    matching: Matching<Q::Place, L>,
}

impl<Q: QueueModel, L: Latency> LevelExchange<Q, L> {
    /// An exchange for a recording.
    ///
    /// # Errors
    /// When prices span too many ticks.
    pub fn new(
        recording: &Recording,
        queue: Q,
        latency: L,
        fills: FillModel,
        compat: Compat,
    ) -> Result<Self, BacktestError> {
        let book = <FlatBook as Market>::new(recording)?;
        Ok(Self { book, queue, matching: Matching::new(latency, fills, compat, recording.lot()) })
    }

    fn level_changed(
        &mut self,
        side: Side,
        row: &Row,
        change: Change,
    ) -> Result<(), BacktestError> {
        let tick = row.tick();
        self.matching.forget_taken(side, tick);
        if self.matching.may_stand_at(side, key(side, tick)) {
            let own = self.matching.own(side).iter_mut().filter(|own| own.order.tick == tick);
            own.for_each(|own| self.queue.level(&mut own.place, change.before, change.after));
        }
        // A best that rises to a price fills what is for sale there and below.
        let other = side.opposite();
        let reached = -change.best_after;
        if change.best_after > change.best_before && self.matching.may_stand_from(other, reached) {
            self.note_ahead(other);
            let is_reached = |order: &Order| key(other, order.tick) >= reached;
            self.matching.fill_where(other, row.exchange_at(), |own| is_reached(&own.order))?;
        }
        Ok(())
    }

    /// A trade reaches own orders of the other side than its aggressor's.
    fn traded(&mut self, aggressor: Side, row: &Row) -> Result<(), BacktestError> {
        let (side, lots, at) = (aggressor.opposite(), row.lots(), row.exchange_at());
        let price = key(side, row.tick());
        if !self.matching.may_stand_from(side, price) {
            return Ok(());
        }
        self.note_ahead(side);
        self.matching.fill_where(side, at, |own| key(side, own.order.tick) > price)?;
        let Compat { own_orders_share_trades, keeps_exact_fills, .. } = self.matching.compat;
        let (mut others, mut index) = (lots, 0);
        while let Some(own) = self.matching.own(side).get_mut(index) {
            if own.order.tick != row.tick() {
                index += 1;
                continue;
            }
            self.queue.trade(&mut own.place, lots, others);
            let (past, leaves) = (self.queue.take_past(&mut own.place), own.order.leaves);
            own.order.ahead = self.queue.ahead(&own.place);
            if past == 0 {
                index += 1;
                continue;
            }
            if !own_orders_share_trades {
                others = (others - past.min(leaves)).max(0);
            }
            let is_whole = match self.matching.fills {
                FillModel::Whole => true,
                FillModel::Partial if keeps_exact_fills => self.is_more(past, side, index),
                FillModel::Partial => past >= leaves,
            };
            self.matching.fill_resting(side, index, if is_whole { leaves } else { past }, at)?;
            if is_whole {
                self.matching.remove(side, index);
            } else {
                index += 1;
            }
        }
        Ok(())
    }

    /// Says of each own order of a side how many lots are before it: some are about to be filled.
    fn note_ahead(&mut self, side: Side) {
        for own in self.matching.own(side) {
            own.order.ahead = self.queue.ahead(&own.place);
        }
    }

    /// Whether lots are more than an order has left, by hftbacktest's floats.
    fn is_more(&mut self, lots: i64, side: Side, index: usize) -> bool {
        let units = self.matching.units(lots);
        let own = self.matching.own(side).get(index);
        own.is_some_and(|own| units > own.order.float_leaves)
    }
}

impl<Q: QueueModel, L: Latency> Exchange for LevelExchange<Q, L> {
    type Market = FlatBook;
    type Latency = L;

    #[inline]
    fn take_row(&mut self, row: &Row) -> Result<(), BacktestError> {
        match (row.kind(), row.side()) {
            (RowKind::Level, Some(side)) => {
                let change = self.book.set(side, row.tick(), row.lots());
                match change {
                    Some(change) if !self.matching.is_idle() => {
                        self.level_changed(side, row, change)
                    }
                    _ => Ok(()),
                }
            }
            (RowKind::Trade, Some(side)) if !self.matching.is_idle() => self.traded(side, row),
            (RowKind::Clear, side) => {
                self.book.take(row, self.matching.compat.clear_skips_a_tick);
                let sides =
                    Side::BOTH.into_iter().filter(|one| side.is_none_or(|side| side == *one));
                sides.for_each(|side| self.matching.forget_all_taken(side));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn take_request(&mut self, request: Request, at: i64) -> Result<(), BacktestError> {
        self.serve(request, at)
    }

    #[inline]
    fn has_orders(&self) -> bool {
        self.matching.count() > 0
    }

    #[inline]
    fn outbox(&self) -> &Outbox<L> {
        &self.matching.outbox
    }

    #[inline]
    fn outbox_mut(&mut self) -> &mut Outbox<L> {
        &mut self.matching.outbox
    }

    #[inline]
    fn compat(&self) -> &Compat {
        &self.matching.compat
    }
}

impl<Q: QueueModel, L: Latency> Modelled for LevelExchange<Q, L> {
    type Place = Q::Place;
    type Latency = L;

    fn matching_mut(&mut self) -> &mut Matching<Q::Place, L> {
        &mut self.matching
    }

    fn enter(&mut self, order: Order, kind: RequestKind, at: i64) -> Result<(), BacktestError> {
        if let Some(mut order) = self.matching.enter(&self.book, order, kind, at)? {
            let level = self.book.lots(order.side, order.tick);
            order.ahead = Some(level);
            self.matching.tell_rest(&mut order, kind);
            self.matching.rest(order, self.queue.enter(level));
        }
        Ok(())
    }

    fn modify(
        &mut self,
        (side, index): (Side, usize),
        request: &Request,
        at: i64,
    ) -> Result<(), BacktestError> {
        let (tick, lots) = (request.order.tick, request.order.lots);
        let float_leaves = self.matching.units(lots);
        let own = &mut self.matching.own(side)[index].order;
        if tick != own.tick || lots > own.leaves {
            self.matching.remove(side, index);
            let order = self.matching.entered_anew(request);
            return self.enter(order, RequestKind::Modify, at);
        }
        (own.lots, own.leaves, own.float_leaves) = (lots, lots, float_leaves);
        own.exchange_at = Nanos(at);
        let own = *own;
        let order = match self.matching.compat.modify_keeps_leaves {
            true => Order { leaves: lots, exchange_at: Nanos(at), float_leaves, ..request.order },
            false => own,
        };
        self.matching.answer(Answer::Modified, Some(RequestKind::Modify), order);
        Ok(())
    }
}
