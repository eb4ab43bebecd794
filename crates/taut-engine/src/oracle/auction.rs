//! Phases and auctions.

use super::*;

impl NaiveEngine {
    pub(super) fn collect(&mut self, order: NewOrder, filled: i64, out: &mut Vec<Event>) {
        let for_close = order.terms.auction == AuctionOnly::Close;
        let waits = matches!(order.time_in_force, TimeInForce::GoodTillCancel | TimeInForce::Day);
        let (place, until) = if order.terms.has(f::STOP) {
            (Place::Pending, HeldUntil::Trigger)
        } else if order.terms.has(f::PEG) {
            (Place::Parked, HeldUntil::Market)
        } else if waits && order.order_type == OrderType::Market
            || for_close && self.phase != Phase::ClosingAuction
        {
            (Place::Parked, HeldUntil::Auction)
        } else {
            return self.rest(order, order.lots.0, filled, out);
        };
        self.hold(order, filled, place, until, out);
    }

    pub(super) fn set_phase(&mut self, phase: Phase, out: &mut Vec<Event>) {
        let before = self.phase;
        self.phase = phase;
        out.push(Event::Phase { phase });
        if phase == Phase::ClosingAuction {
            let ids = self.select(|w| {
                w.place == Place::Parked
                    && w.order.terms.auction == AuctionOnly::Close
                    && w.order.order_type == OrderType::Limit
            });
            for id in ids {
                let Some(at) = self.find(id) else { continue };
                let w = self.orders.remove(at);
                self.forget_top(&w);
                self.collect(NewOrder { lots: Lots(w.shown), ..w.order }, w.filled, out);
            }
        }
        let ends = phase == Phase::Continuous || phase == Phase::Closed;
        if ends && before != Phase::Continuous {
            self.uncross(out);
        }
        let is_waiting_market =
            |w: &Waiting| w.place == Place::Parked && w.order.order_type == OrderType::Market;
        if phase == Phase::Continuous {
            let ids = self.select(|w| match w.order.terms.auction {
                AuctionOnly::Open => true,
                AuctionOnly::Close => w.place != Place::Parked,
                AuctionOnly::No => is_waiting_market(w),
            });
            self.cancel_ids(&ids, CancelReason::AuctionOver, out);
        }
        if phase == Phase::Closed {
            self.prices.clear();
            let ids =
                self.select(|w| w.order.terms.auction != AuctionOnly::No || is_waiting_market(w));
            self.cancel_ids(&ids, CancelReason::AuctionOver, out);
            let ids = self.select(|w| is_day(&w.order));
            self.cancel_ids(&ids, CancelReason::Expired, out);
        }
        self.peg_top = (-1, -1);
    }

    /// The orders of a side that take part, in priority order; market orders have no price.
    fn participants(&self, side: Side) -> Vec<(Option<i64>, usize)> {
        let mut all: Vec<(Option<i64>, usize)> = Vec::new();
        for (at, w) in self.orders.iter().enumerate().filter(|(_, w)| w.order.side == side) {
            match w.place {
                Place::Parked if w.order.order_type == OrderType::Market => all.push((None, at)),
                Place::Lit => all.push((Some(w.price), at)),
                Place::Dark if !w.order.terms.has(f::ALL_OR_NONE | f::PEG) => {
                    all.push((Some(w.price), at));
                }
                _ => {}
            }
        }
        all.sort_by_key(|&(price, at)| {
            let w = &self.orders[at];
            (price.map(|price| worth(side, price)), w.place, w.turn)
        });
        all
    }

    fn willing(&self, side: Side, price: i64) -> i64 {
        let accepts =
            |limit: Option<i64>| limit.is_none_or(|limit| worth(side, limit) <= worth(side, price));
        self.participants(side)
            .into_iter()
            .filter(|&(limit, _)| accepts(limit))
            .map(|(_, at)| self.orders[at].shown + self.orders[at].reserve)
            .fold(0, i64::saturating_add)
    }

    pub(super) fn indicative(&self) -> (i64, i64, i64) {
        let mut prices: Vec<i64> = Side::BOTH
            .into_iter()
            .flat_map(|side| self.participants(side))
            .filter_map(|(price, _)| price)
            .collect();
        prices.sort_unstable();
        prices.dedup();
        if prices.is_empty() && self.last != 0 {
            prices.push(self.last);
        }
        let outcomes: Vec<(i64, i64, i64)> = prices
            .into_iter()
            .map(|price| {
                let (demand, supply) =
                    (self.willing(Side::Buy, price), self.willing(Side::Sell, price));
                (price, demand.min(supply), demand.saturating_sub(supply))
            })
            .collect();
        let volume = outcomes.iter().map(|o| o.1).max().unwrap_or(0);
        if volume == 0 {
            return (0, 0, 0);
        }
        let mut best: Vec<_> = outcomes.into_iter().filter(|o| o.1 == volume).collect();
        let least = best.iter().map(|o| o.2.unsigned_abs()).min();
        best.retain(|o| Some(o.2.unsigned_abs()) == least);
        let chosen = if best.iter().all(|o| o.2 > 0) {
            best.last()
        } else if best.iter().all(|o| o.2 < 0) || self.last == 0 {
            best.first()
        } else {
            best.iter().min_by_key(|o| (o.0.abs_diff(self.last), o.0))
        };
        chosen.copied().unwrap_or_default()
    }

    fn uncross(&mut self, out: &mut Vec<Event>) {
        let (price, mut left, _) = self.indicative();
        while left > 0 {
            let first = |side| {
                let (limit, at) = self.participants(side).first().copied()?;
                let accepts = limit.is_none_or(|limit| worth(side, limit) <= worth(side, price));
                accepts.then_some(at)
            };
            let (Some(buy), Some(sell)) = (first(Side::Buy), first(Side::Sell)) else { break };
            let lots = self.orders[buy].shown.min(self.orders[sell].shown).min(left);
            left -= lots;
            for at in [buy, sell] {
                self.orders[at].shown -= lots;
                self.orders[at].filled = self.orders[at].filled.saturating_add(lots);
            }
            self.trade_count += 1;
            self.last = price;
            self.prices.push(price);
            let (b, s) = (&self.orders[buy], &self.orders[sell]);
            let seller = s.order.order_id;
            out.push(Event::Trade {
                trade_id: self.trade_count,
                maker: s.order.order_id,
                taker: b.order.order_id,
                maker_owner: s.order.owner,
                taker_owner: b.order.owner,
                price: HalfTicks(price),
                lots: Lots(lots),
                maker_remaining: Lots(s.shown + s.reserve),
                taker_remaining: Lots(b.shown + b.reserve),
                aggressor: Side::Buy,
                hidden: s.place != Place::Lit,
                taker_rested: b.place == Place::Lit,
            });
            self.after_take(buy, out);
            if let Some(sell) = self.find(seller) {
                self.after_take(sell, out);
            }
        }
    }
}
