//! An exchange over orders: own orders stand in the market's own queues.

use super::fill_model::FillModel;
use super::interface::Exchange;
use super::matching::{Matching, Own};
use super::modelled::Modelled;
use super::outbox::Outbox;
use crate::book::{NONE, key};
use crate::market::{OrderLevels, Touched};
use crate::order::{Answer, Order, Request, RequestKind, Status};
use crate::row::{Row, RowKind};
use crate::{BacktestError, Compat, Latency, Market, Recording};
use taut_types::{Nanos, Side};

/// An exchange that knows the market's orders one by one. Own orders stand behind the orders that
/// were at their price before them; a trade of one behind them fills them first.
#[derive(Debug)]
pub struct OrderExchange<L> {
    market: OrderLevels,
    matching: Matching<u64, L>,
}

impl<L: Latency> OrderExchange<L> {
    /// An exchange for a recording.
    ///
    /// # Errors
    /// When prices span too many ticks.
    pub fn new(
        recording: &Recording,
        latency: L,
        fills: FillModel,
        compat: Compat,
    ) -> Result<Self, BacktestError> {
        let market = <OrderLevels as Market>::new(recording)?;
        Ok(Self { market, matching: Matching::new(latency, fills, compat, recording.lot()) })
    }

    /// A row says something new about the level at which its order stands.
    fn level_changes(&mut self, row: &Row) {
        if !self.matching.is_idle()
            && let Some(order) = self.market.order(row)
        {
            self.matching.forget_taken(order.side, order.tick);
        }
    }

    /// The best of a side moved towards the other, where it fills what it reaches.
    fn best_moved(&mut self, row: &Row, touched: Touched) -> Result<(), BacktestError> {
        let Touched { side, best_before } = touched;
        self.matching.forget_taken(side, row.tick());
        let best = self.market.book().best_key(side);
        let (other, reached) = (side.opposite(), -best);
        if best <= best_before || !self.matching.may_stand_from(other, reached) {
            return Ok(());
        }
        let from = if best_before == NONE { i64::MAX } else { -best_before - 1 };
        let all = from == i64::MAX || self.sees_far(best - best_before - 1);
        self.note_ahead(other, |_| false);
        self.matching.fill_where(other, row.exchange_at(), |own| {
            let key = key(other, own.order.tick);
            key >= reached && (all || key <= from)
        })
    }

    /// Says of each own order of a side that nothing is before it, or that nobody knows: some are
    /// about to be filled.
    fn note_ahead(&mut self, side: Side, is_first: impl Fn(&Own<u64>) -> bool) {
        for own in self.matching.own(side) {
            own.order.ahead = is_first(own).then_some(0);
        }
    }

    /// Whether own orders beyond so many ticks are looked at.
    fn sees_far(&self, ticks: i64) -> bool {
        !self.matching.compat.better_orders_wait || (self.matching.count() as i64) < ticks
    }

    /// A market's order is filled; own orders before it are filled first.
    fn traded(&mut self, row: &Row) -> Result<(), BacktestError> {
        let Some(&order) = self.market.order(row) else { return Ok(()) };
        let (side, at) = (order.side, row.exchange_at());
        let (price, best) = (key(side, row.tick()), self.market.book().best_key(side));
        let Compat { better_orders_wait, own_orders_share_trades, .. } = self.matching.compat;
        let all = self.sees_far(best.saturating_sub(price).saturating_sub(1));
        let is_better = |key: i64| {
            if better_orders_wait {
                price < best && key > price && (all || key <= best)
            } else {
                key > price
            }
        };
        let level = key(side, order.tick);
        let is_before = |own: &Own<u64>| own.order.tick == order.tick && own.place < order.place;
        self.note_ahead(side, is_before);
        if own_orders_share_trades {
            self.matching.fill_where(side, at, |own| is_better(key(side, own.order.tick)))?;
            return self.matching.fill_where(side, at, is_before);
        }
        let mut left = row.lots();
        while left > 0 {
            // The best price first, and there the oldest.
            let before = self.matching.own(side).iter().enumerate();
            let before = before.map(|(index, own)| (index, own, key(side, own.order.tick)));
            let first = before
                .filter(|(_, own, key)| is_better(*key) || *key == level && is_before(own))
                .max_by_key(|(_, own, key)| (*key, u64::MAX - own.place));
            let Some((index, own, _)) = first else { break };
            let leaves = own.order.leaves;
            let lots = match self.matching.fills {
                FillModel::Whole => leaves,
                FillModel::Partial => leaves.min(left),
            };
            self.matching.fill_resting(side, index, lots, at)?;
            if lots == leaves {
                self.matching.remove(side, index);
            }
            left -= lots;
        }
        Ok(())
    }

    /// The orders of a side are gone, own ones too.
    fn cleared(&mut self, row: &Row) {
        let sides = Side::BOTH.into_iter().filter(|one| row.side().is_none_or(|side| side == *one));
        for side in sides {
            self.market.clear(side);
            self.matching.forget_all_taken(side);
            while !self.matching.own(side).is_empty() {
                let mut order = self.matching.remove(side, 0).order;
                (order.status, order.leaves, order.last_lots) = (Status::Expired, 0, 0);
                order.exchange_at = Nanos(row.exchange_at());
                self.matching.answer(Answer::Expired, None, order);
            }
        }
    }
}

impl<L: Latency> Exchange for OrderExchange<L> {
    type Market = OrderLevels;
    type Latency = L;

    #[inline]
    fn take_row(&mut self, row: &Row) -> Result<(), BacktestError> {
        match row.kind() {
            RowKind::Add => match self.market.add(row) {
                Some(touched) if !self.matching.is_idle() => self.best_moved(row, touched),
                _ => Ok(()),
            },
            RowKind::Modify => {
                self.level_changes(row);
                match self.market.modify(row) {
                    Some(touched) if !self.matching.is_idle() => self.best_moved(row, touched),
                    _ => Ok(()),
                }
            }
            RowKind::Cancel => {
                self.level_changes(row);
                self.market.cancel(row);
                Ok(())
            }
            RowKind::Fill if !self.matching.is_idle() => self.traded(row),
            RowKind::Clear => {
                self.cleared(row);
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

impl<L: Latency> Modelled for OrderExchange<L> {
    type Place = u64;
    type Latency = L;

    fn matching_mut(&mut self) -> &mut Matching<u64, L> {
        &mut self.matching
    }

    fn enter(&mut self, order: Order, kind: RequestKind, at: i64) -> Result<(), BacktestError> {
        if let Some(mut order) = self.matching.enter(self.market.book(), order, kind, at)? {
            order.ahead = Some(self.market.book().lots(order.side, order.tick));
            self.matching.tell_rest(&mut order, kind);
            let place = self.market.next_place();
            self.matching.rest(order, place);
        }
        Ok(())
    }

    fn modify(
        &mut self,
        (side, index): (Side, usize),
        request: &Request,
        at: i64,
    ) -> Result<(), BacktestError> {
        let Order { tick, lots, .. } = request.order;
        let mut own = self.matching.own(side)[index];
        let moves = tick != own.order.tick || own.order.leaves < lots;
        if tick != own.order.tick
            && !self.matching.compat.modify_never_crosses
            && self.matching.crosses(self.market.book(), side, tick)
        {
            self.matching.remove(side, index);
            let order = Order { leaves: lots, ..request.order };
            return self.enter(order, RequestKind::Modify, at);
        }
        let status = Status::Resting;
        own.order = Order { tick, lots, leaves: lots, status, exchange_at: Nanos(at), ..own.order };
        if moves {
            own.order.ahead = Some(self.market.book().lots(side, tick));
            self.matching.remove(side, index);
            let place = self.market.next_place();
            self.matching.rest(own.order, place);
        } else {
            self.matching.own(side)[index] = own;
        }
        self.matching.answer(Answer::Modified, Some(RequestKind::Modify), own.order);
        Ok(())
    }
}
