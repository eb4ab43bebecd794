//! Orders wherever they wait: finding them, taking them out, forgetting them.

use taut_book::{Handle, Order, OrderBook, Taken};
use taut_types::{HalfTicks, Lots, OrderId, Side};

use super::resting_book::{BookKind, DAY, NOTED, Note, RestingBook};
use super::state::Engine;
use crate::event::{CancelReason, Event, EventSink, RejectReason};
use crate::order::NewOrder;
use crate::terms::{Trigger, feature};

/// An order that waits somewhere.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    pub(super) book_kind: BookKind,
    pub(super) handle: Handle,
    pub(super) id: OrderId,
    pub(super) owner: u32,
    /// Its own side, which on the resting of triggers says something else.
    pub(super) side: Side,
    /// Its own price.
    pub(super) price: HalfTicks,
    /// What is open of it, displayed or not.
    pub(super) open: i64,
    /// What is open in its queue.
    pub(super) shown: i64,
    pub(super) filled: i64,
    /// Its terms and time in force; of an order without a note, those that matter.
    pub(super) note: Note,
    pub(super) noted: bool,
    pub(super) day: bool,
}

impl Engine {
    pub(super) const fn resting(&self, book_kind: BookKind) -> &RestingBook {
        match book_kind {
            BookKind::Lit => &self.lit,
            BookKind::Dark => &self.dark,
            BookKind::Pending => &self.pending,
            BookKind::Parked => &self.parked,
        }
    }

    #[inline(always)]
    pub(super) const fn resting_mut(&mut self, book_kind: BookKind) -> &mut RestingBook {
        match book_kind {
            BookKind::Lit => &mut self.lit,
            BookKind::Dark => &mut self.dark,
            BookKind::Pending => &mut self.pending,
            BookKind::Parked => &mut self.parked,
        }
    }

    /// Whether the id belongs to an order outside the displayed book.
    #[cold]
    pub(super) fn is_elsewhere(&self, id: OrderId) -> bool {
        [&self.dark, &self.pending, &self.parked].iter().any(|resting| resting.book.contains(id))
    }

    pub(super) fn locate(&self, id: OrderId) -> Option<Standing> {
        let mut book_kinds = BookKind::ALL.into_iter();
        book_kinds.find_map(|book_kind| {
            Some(self.describe(book_kind, self.resting(book_kind).book.find(id)?))
        })
    }

    pub(super) fn describe(&self, book_kind: BookKind, handle: Handle) -> Standing {
        let resting = self.resting(book_kind);
        let Order { id, owner, side, price, lots } = resting.book.order_at(handle);
        let tag = resting.book.tag(handle);
        let noted = tag & NOTED != 0;
        let note = if noted { *resting.note(handle) } else { plain_note(id, owner, side, price) };
        let is_priced = matches!(book_kind, BookKind::Lit | BookKind::Dark);
        Standing {
            book_kind,
            handle,
            id,
            owner,
            side: if is_priced { side } else { note.order.side },
            price: if is_priced { price } else { note.order.price },
            open: lots.0 + note.reserve,
            shown: lots.0,
            filled: resting.filled(handle, tag),
            note,
            noted,
            day: tag & DAY != 0,
        }
    }

    /// What an iceberg does not display; the order must have a note.
    #[cold]
    pub(super) fn reserve(&self, book_kind: BookKind, handle: Handle) -> i64 {
        self.resting(book_kind).note(handle).reserve
    }

    /// Takes an order off its resting; its entries elsewhere stay.
    pub(super) fn lift(&mut self, standing: &Standing) {
        let Some(taken) = self.resting_mut(standing.book_kind).book.withdraw(standing.id) else {
            return;
        };
        if standing.book_kind == BookKind::Lit {
            self.touch(standing.side, taken.removal.level, taken.removal.lots.0, 1);
        }
    }

    /// Takes an order out for good.
    pub(super) fn take_out(&mut self, standing: &Standing) {
        self.lift(standing);
        self.forget(standing.id, &standing.note.order);
        if standing.book_kind == BookKind::Pending
            && standing.note.order.terms.trigger == Trigger::Trailing
        {
            self.trailing_count -= 1;
        }
    }

    /// Drops what the engine has noted of an order besides its place.
    pub(super) fn forget(&mut self, id: OrderId, order: &NewOrder) {
        if order.terms.has(feature::EXPIRY) {
            let _ = self.expiries.remove(id);
        }
        if order.terms.has(feature::PEG) {
            let _ = self.pegs.remove(id);
        }
        let top = &mut self.top_orders[order.side.index()];
        *top = top.filter(|top| *top != id);
    }

    /// Notes an order's expiry, and that it is pegged, once it has a place.
    pub(super) fn remember(&mut self, order: &NewOrder) {
        let entry = |price| Order {
            id: order.order_id,
            owner: order.owner,
            side: Side::Sell,
            price: HalfTicks(price),
            lots: Lots(1),
        };
        let add = |book: &mut OrderBook, price| {
            let _ = book.add(entry(price));
        };
        if order.terms.has(feature::EXPIRY) {
            add(&mut self.expiries, order.terms.expires.0);
        }
        if order.terms.has(feature::PEG) {
            add(&mut self.pegs, 0);
        }
    }

    /// Cancels a waiting order and tells.
    pub(super) fn cancel_standing(
        &mut self,
        standing: &Standing,
        reason: CancelReason,
        sink: &mut impl EventSink,
    ) {
        self.take_out(standing);
        sink.on_event(Event::Cancelled {
            order_id: standing.id,
            owner: standing.owner,
            side: standing.side,
            price: standing.price,
            lots: Lots(standing.open),
            reason,
            was_resting: standing.book_kind == BookKind::Lit,
        });
    }

    /// A displayed order with terms, or under rules that watch it, has been withdrawn on request.
    #[cold]
    pub(super) fn cancel_noted(&mut self, taken: &Taken, sink: &mut impl EventSink) {
        let Order { id: order_id, owner, side, price, .. } = taken.removal.order;
        let note = if taken.tag & NOTED == 0 {
            plain_note(order_id, owner, side, price)
        } else {
            *self.lit.note(taken.handle)
        };
        let lots = Lots(taken.removal.lots.0 + note.reserve);
        self.touch(side, taken.removal.level, taken.removal.lots.0, 1);
        self.forget(order_id, &note.order);
        let (reason, was_resting) = (CancelReason::Requested, true);
        sink.on_event(Event::Cancelled { order_id, owner, side, price, lots, reason, was_resting });
        self.finish(side, sink);
    }

    #[cold]
    pub(super) fn cancel_elsewhere(&mut self, order_id: OrderId, sink: &mut impl EventSink) {
        match self.locate(order_id) {
            Some(standing) => {
                self.cancel_standing(&standing, CancelReason::Requested, sink);
                self.finish(standing.side, sink);
            }
            None => {
                let reason = RejectReason::UnknownOrderId;
                sink.on_event(Event::CancelRejected { order_id, reason });
            }
        }
    }
}

/// What would be noted of an order without terms.
fn plain_note(id: OrderId, owner: u32, side: Side, price: HalfTicks) -> Note {
    Note { order: NewOrder::limit(id, owner, side, price, Lots::ZERO), reserve: 0 }
}
