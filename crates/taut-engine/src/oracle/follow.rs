//! What follows from trades and from a new top: triggers and pegs.

use super::*;
use crate::terms::Peg;

impl NaiveEngine {
    pub(super) fn settle(&mut self, out: &mut Vec<Event>) {
        loop {
            self.fire_reached(out);
            if let Some((order, filled)) = self.fired.pop_front() {
                out.push(Event::Triggered { order_id: order.order_id });
                self.proceed(order, filled, None, out);
                continue;
            }
            let top = [Side::Buy, Side::Sell].map(|side| self.best(Place::Lit, side).unwrap_or(0));
            let top = (top[0], top[1]);
            let has_pegs = self.orders.iter().any(|w| w.order.terms.has(f::PEG));
            if self.phase != Phase::Continuous || !has_pegs || top == self.peg_top {
                return;
            }
            self.peg_top = top;
            self.reprice(out);
        }
    }

    fn fire_reached(&mut self, out: &mut Vec<Event>) {
        let prices = core::mem::take(&mut self.prices);
        let (Some(&first), Some(&last)) = (prices.first(), prices.last()) else { return };
        if self.phase == Phase::Closed {
            return;
        }
        for price in [first, last] {
            for rising in [true, false] {
                self.trail(price, rising, out);
            }
            for rising in [true, false] {
                while let Some(at) = self.next_fired(price, rising) {
                    let w = self.orders.remove(at);
                    let order = NewOrder { lots: Lots(w.shown), ..w.order };
                    self.fired.push_back((order.triggered(), w.filled));
                }
            }
        }
    }

    fn pending(&self, rising: bool) -> Vec<usize> {
        let mut pending: Vec<usize> = (0..self.orders.len()).collect();
        pending.retain(|&at| {
            self.orders[at].place == Place::Pending && rises(&self.orders[at].order) == rising
        });
        let nearest_first = if rising { Side::Sell } else { Side::Buy };
        pending
            .sort_by_key(|&at| (worth(nearest_first, self.orders[at].price), self.orders[at].turn));
        pending
    }

    fn next_fired(&self, price: i64, rising: bool) -> Option<usize> {
        let first = self.pending(rising).first().copied()?;
        let trigger = self.orders[first].price;
        (if rising { trigger <= price } else { trigger >= price }).then_some(first)
    }

    fn trail(&mut self, price: i64, rising: bool, out: &mut Vec<Event>) {
        for at in self.pending(rising) {
            let w = &self.orders[at];
            let distance = i64::from(w.order.terms.offset);
            let trigger = price.saturating_add(if rising { distance } else { -distance });
            let nearer = if rising { trigger < w.price } else { trigger > w.price };
            let queue = w.queue_side();
            let total: i128 = self
                .orders
                .iter()
                .filter(|o| {
                    o.place == Place::Pending && o.queue_side() == queue && o.price == trigger
                })
                .map(|o| i128::from(o.shown))
                .sum();
            let fits = total + i128::from(w.shown) <= i64::MAX.into();
            if w.order.terms.trigger == Trigger::Trailing && nearer && fits {
                let turn = self.next_turn();
                let w = &mut self.orders[at];
                (w.price, w.turn) = (trigger, turn);
                let (order_id, side) = (w.order.order_id, w.order.side);
                out.push(Event::Repriced { order_id, side, price: HalfTicks(trigger) });
            }
        }
    }

    fn peg_price(&self, order: &NewOrder) -> Option<i64> {
        let bid = self.best(Place::Lit, Side::Buy);
        let ask = self.best(Place::Lit, Side::Sell);
        let reference = match (order.terms.peg, order.side) {
            (Peg::Primary, Side::Buy) | (Peg::Market, Side::Sell) => bid?,
            (Peg::Primary, Side::Sell) | (Peg::Market, Side::Buy) => ask?,
            _ => bid? / 2 + ask? / 2,
        };
        let offset = order.side.sign() * i64::from(order.terms.offset);
        let price = reference.saturating_add(offset);
        let price = match order.side {
            Side::Buy => price.min(order.price.0).min(ask.unwrap_or(i64::MAX).saturating_sub(1)),
            Side::Sell => price.max(order.price.0).max(bid.unwrap_or(-1).saturating_add(1)),
        };
        // Without an offer a bid may go to the top of the range.
        let unbound = order.side == Side::Buy && ask.is_none();
        let price =
            if unbound { reference.saturating_add(offset).min(order.price.0) } else { price };
        (price > 0).then_some(price)
    }

    pub(super) fn enter_peg(&mut self, order: NewOrder, filled: i64, out: &mut Vec<Event>) {
        match self.peg_price(&order) {
            None => self.hold(order, filled, Place::Parked, HeldUntil::Market, out),
            Some(price) => self.trade_peg(order, price, filled, out),
        }
    }

    fn trade_peg(&mut self, order: NewOrder, price: i64, filled: i64, out: &mut Vec<Event>) {
        let mut taker = self.taker(NewOrder { price: HalfTicks(price), ..order }, filled);
        self.sweep(&mut taker, out);
        if taker.remaining > 0 {
            self.stand(Place::Dark, order, price, taker.remaining, taker.filled, out);
        }
    }

    fn reprice(&mut self, out: &mut Vec<Event>) {
        let mut pegs: Vec<&Waiting> =
            self.orders.iter().filter(|w| w.order.terms.has(f::PEG)).collect();
        pegs.sort_by_key(|w| w.peg_turn);
        let ids: Vec<OrderId> = pegs.iter().map(|w| w.order.order_id).collect();
        for id in ids {
            let Some(at) = self.find(id) else { continue };
            let w = self.orders[at].clone();
            let price = self.peg_price(&w.order);
            let stays = match w.place {
                Place::Parked => price.is_none(),
                _ => price == Some(w.price),
            };
            if stays {
                continue;
            }
            self.orders.remove(at);
            let order = NewOrder { lots: Lots(w.shown), ..w.order };
            match price {
                None => self.hold(order, w.filled, Place::Parked, HeldUntil::Market, out),
                Some(price) => {
                    let (order_id, side) = (id, order.side);
                    out.push(Event::Repriced { order_id, side, price: HalfTicks(price) });
                    self.trade_peg(order, price, w.filled, out);
                    self.fire_reached(out);
                }
            }
            if let Some(at) = self.find(id) {
                self.orders[at].peg_turn = w.peg_turn;
                self.orders[at].expiry_turn = w.expiry_turn;
            }
        }
    }
}
