//! The short way of a replaced order that goes to the end of its queue: without terms, in
//! continuous trading by price and time, as in [`ReplaceMode::Requeue`](crate::ReplaceMode).

use taut_types::Lots;

use super::resting_book::NOTED;
use super::state::{Engine, Taker};
use crate::admission::check_plain;
use crate::event::{Event, EventSink};
use crate::order::NewOrder;

impl Engine {
    /// Tells whether it has replaced the order; if not, nothing has happened, and the long way
    /// finds out what is special about it.
    #[inline]
    pub(super) fn requeue(&mut self, order: &NewOrder, sink: &mut impl EventSink) -> bool {
        let is_plain = self.busy == 0 && order.terms.is_none() && order.may_rest();
        if !is_plain || check_plain(order).is_err() {
            return false;
        }
        let book = &self.lit.book;
        let Some(handle) = book.find(order.order_id).filter(|at| book.tag(*at) & NOTED == 0) else {
            return false;
        };
        let filled = self.lit.filled(handle, book.tag(handle));
        let taken = self.lit.book.take_from(handle, Lots(i64::MAX));
        let side = taken.removal.order.side;
        self.touch(side, taken.removal.level, taken.removal.lots.0, 1);
        let order = NewOrder { side, ..*order };
        let mut taker = Taker::new(&order, order.price, filled, &self.rules);
        self.sweep_by_time(&mut taker, sink);
        sink.on_event(Event::Replaced {
            order_id: order.order_id,
            owner: order.owner,
            side,
            price: order.price,
            lots: order.lots,
            displayed: Lots::ZERO,
            kept_priority: false,
            was_resting: true,
        });
        if taker.remaining > 0
            && let Some(level) = self.rest_or_cancel(&order, &taker, sink)
        {
            self.touch(side, level, -taker.remaining, -1);
        }
        // Nothing waits for a trade.
        self.first = 0;
        self.merge_touched(side);
        self.tell_swept_levels(sink);
        true
    }
}
