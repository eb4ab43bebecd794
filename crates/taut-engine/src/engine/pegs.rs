//! Pegged orders: their price follows the displayed market.
//!
//! They stand undisplayed, so they never move the market that they follow. After a command that
//! has changed the displayed best prices each is priced anew, the oldest first; whose price stays
//! keeps its place, and whose price moves joins the new queue's end and may trade on its way with
//! what is not displayed. A price stays strictly inside the displayed market.

use taut_book::OrderBook;
use taut_types::{HalfTicks, Lots, Side};

use super::resting_book::BookKind;
use super::state::Engine;
use crate::command::Phase;
use crate::event::{Event, EventSink, HeldUntil};
use crate::order::NewOrder;
use crate::terms::Peg;

impl Engine {
    /// The price of a pegged order, if the market has one for it.
    fn peg_price(&self, order: &NewOrder) -> Option<HalfTicks> {
        let best = |side| self.lit.book.best_price(side).map(|price: HalfTicks| price.0);
        let (own, other) = (best(order.side), best(order.side.opposite()));
        let toward = order.side.sign();
        let offset = toward * i64::from(order.terms.offset);
        let price = match order.terms.peg {
            Peg::None => order.price.0,
            Peg::Primary => own?.saturating_add(offset),
            Peg::Market => other?.saturating_add(offset),
            // Both are even, so the middle is exact.
            Peg::Midpoint => (own? / 2 + other? / 2).saturating_add(offset),
        };
        let price = match order.side {
            Side::Buy => price.min(order.price.0).min(other.map_or(i64::MAX, |ask| ask - 1)),
            Side::Sell => price.max(order.price.0).max(other.map_or(0, |bid| bid + 1)),
        };
        (price > 0).then_some(HalfTicks(price))
    }

    pub(super) fn enter_peg(&mut self, order: &NewOrder, filled: i64, sink: &mut impl EventSink) {
        match self.peg_price(order) {
            None => self.hold(order, filled, BookKind::Parked, HeldUntil::Market, sink),
            Some(price) => {
                self.trade_peg(order, price, filled, sink);
                self.remember_if_waiting(order);
            }
        }
    }

    /// Trades a pegged order at its price, then rests what is left.
    fn trade_peg(
        &mut self,
        order: &NewOrder,
        price: HalfTicks,
        filled: i64,
        sink: &mut impl EventSink,
    ) {
        let mut taker = self.taker(&NewOrder { price, ..*order }, filled);
        self.sweep(&mut taker, sink);
        if taker.remaining > 0 {
            let (lots, filled) = (Lots(taker.remaining), taker.filled);
            self.stand(BookKind::Dark, order, price, lots, filled, sink);
        }
    }

    /// Prices all pegged orders if the displayed market has moved; tells whether it had.
    pub(super) fn reprice_pegs(&mut self, sink: &mut impl EventSink) -> bool {
        if self.phase != Phase::Continuous || self.pegs.order_count() == 0 {
            return false;
        }
        let best = |side| self.lit.book.best_price(side).map_or(0, |price| price.0);
        let top = (best(Side::Buy), best(Side::Sell));
        if top == self.peg_top {
            return false;
        }
        self.peg_top = top;
        let mut ids = core::mem::take(&mut self.ids);
        ids.clear();
        ids.extend(OrderBook::orders(&self.pegs, Side::Sell).map(|entry| entry.id));
        for &id in &ids {
            self.reprice(id, sink);
        }
        self.ids = ids;
        true
    }

    fn reprice(&mut self, id: taut_types::OrderId, sink: &mut impl EventSink) {
        // It may have traded with a peg before it.
        let Some(standing) = self.locate(id) else { return };
        let order = NewOrder { lots: Lots(standing.shown), ..standing.note.order };
        match self.peg_price(&order) {
            None if standing.book_kind == BookKind::Parked => {}
            Some(price) if standing.book_kind == BookKind::Dark && price == standing.price => {}
            None => {
                self.lift(&standing);
                self.hold(&order, standing.filled, BookKind::Parked, HeldUntil::Market, sink);
            }
            Some(price) => {
                self.lift(&standing);
                sink.on_event(Event::Repriced { order_id: id, side: order.side, price });
                self.trade_peg(&order, price, standing.filled, sink);
                self.fire_reached(sink);
            }
        }
        if self.locate(id).is_none() {
            self.forget(id, &order);
        }
    }
}
