//! Trading when more than price and time decides: undisplayed makers, self-trade prevention,
//! allocation by size.

use taut_book::{Handle, Order, Taken};
use taut_types::{HalfTicks, Lots, Side};

use super::resting_book::{BookKind, NOTED, Note};
use super::state::{Engine, Taker};
use crate::allocation::{Share, allocate};
use crate::event::{Event, EventSink};

impl Engine {
    /// Trades as far as the limit allows.
    pub(super) fn sweep(&mut self, taker: &mut Taker, sink: &mut impl EventSink) {
        while taker.remaining > 0 {
            let Some((book_kind, maker)) = self.next_maker(taker) else { break };
            if book_kind == BookKind::Lit && !self.rules.allocation.is_fifo() {
                let price = self.lit.book.order_at(maker).price;
                self.divide_among_level(taker, price, sink);
            } else if self.is_own(taker, book_kind, maker) {
                self.prevent(taker, book_kind, maker, sink);
            } else {
                self.fill(taker, book_kind, maker, taker.remaining, sink);
            }
        }
    }

    /// Divides the taker among the displayed makers of a price. Orders of its own account or group
    /// are dealt with before, one at a time.
    fn divide_among_level(
        &mut self,
        taker: &mut Taker,
        price: HalfTicks,
        sink: &mut impl EventSink,
    ) {
        let makers = taker.side.opposite();
        let is_own = |&maker: &Handle| self.is_own(taker, BookKind::Lit, maker);
        let own = self.lit.book.handles_at(makers, price).find(is_own);
        if let Some(own) = own {
            return self.prevent(taker, BookKind::Lit, own, sink);
        }
        let mut handles = core::mem::take(&mut self.handles);
        let mut shares = core::mem::take(&mut self.shares);
        handles.clear();
        shares.clear();
        handles.extend(self.lit.book.handles_at(makers, price));
        for (place, &handle) in (0..).zip(&handles) {
            let Order { owner, lots, .. } = self.lit.book.order_at(handle);
            shares.push(Share::new(place, owner, lots.0));
        }
        let top = self.top_orders[makers.index()];
        let oldest = handles.first().map(|&handle| self.lit.book.order_at(handle).id);
        let head_is_top = top.is_some() && top == oldest;
        allocate(&self.rules.allocation, &mut shares, taker.remaining, head_is_top);
        for share in shares.iter().filter(|share| share.given > 0) {
            self.fill(taker, BookKind::Lit, handles[share.place as usize], share.given, sink);
        }
        self.handles = handles;
        self.shares = shares;
    }

    /// The last lot in its queue was taken from a maker: an iceberg displays its next part at the
    /// end of the queue, any other order is over.
    #[cold]
    pub(super) fn after_last_lot(
        &mut self,
        book_kind: BookKind,
        taken: &Taken,
        traded: i64,
        sink: &mut impl EventSink,
    ) {
        let Order { id, side, price, .. } = taken.removal.order;
        let resting = self.resting_mut(book_kind);
        let note = match taken.tag & NOTED {
            0 => return self.forget_top_order(side, id),
            _ => *resting.note(taken.handle),
        };
        if note.reserve == 0 {
            return self.forget(id, &note.order);
        }
        let filled = resting.filled(taken.handle, taken.tag).saturating_add(traded);
        let lots = note.order.terms.display.min(Lots(note.reserve));
        let rest = Note { reserve: note.reserve - lots.0, ..note };
        // It has just made room for itself.
        let Ok(placement) = resting.place(Order { lots, ..taken.removal.order }, &rest, filled)
        else {
            return;
        };
        if book_kind == BookKind::Lit {
            self.touch(side, placement.level, -lots.0, -1);
        }
        sink.on_event(Event::Refreshed { order_id: id, side, price, lots });
    }

    /// Remembers the order that has bettered the market, if the rules favour it.
    pub(super) fn note_top_order(&mut self, order: &Order, level_order_count: u32) {
        let rules = &self.rules.allocation;
        let betters =
            level_order_count == 1 && self.lit.book.best_price(order.side) == Some(order.price);
        if rules.top_lots_max > 0 && betters {
            let is_large = order.lots.0 >= rules.top_lots_min;
            self.top_orders[order.side.index()] = is_large.then_some(order.id);
        }
    }

    fn forget_top_order(&mut self, side: Side, id: taut_types::OrderId) {
        let top = &mut self.top_orders[side.index()];
        *top = top.filter(|top| *top != id);
    }
}
