//! Taking quantity off a waiting order.

use taut_types::{Lots, OrderId};

use super::resting_book::BookKind;
use super::standing::Standing;
use super::state::Engine;
use crate::event::{CancelReason, Event, EventSink, RejectReason};

impl Engine {
    pub(super) fn reduce(&mut self, order_id: OrderId, by: Lots, sink: &mut impl EventSink) {
        let found = if by > Lots::ZERO {
            self.locate(order_id).ok_or(RejectReason::UnknownOrderId)
        } else {
            Err(RejectReason::NonPositiveLots)
        };
        match found {
            Err(reason) => sink.on_event(Event::CancelRejected { order_id, reason }),
            Ok(standing) => {
                if by.0 >= standing.open {
                    self.cancel_standing(&standing, CancelReason::Requested, sink);
                } else {
                    let displayed = self.shrink(&standing, by.0);
                    let Standing { owner, side, price, open, .. } = standing;
                    let remaining = Lots(open - by.0);
                    sink.on_event(Event::Reduced {
                        order_id,
                        owner,
                        side,
                        price,
                        by,
                        remaining,
                        displayed,
                    });
                }
                self.finish(standing.side, sink);
            }
        }
    }

    /// Takes less than all off an order, first what is not displayed; tells what is displayed.
    pub(super) fn shrink(&mut self, standing: &Standing, by: i64) -> Lots {
        let of_reserve = by.min(standing.note.reserve);
        let of_shown = by - of_reserve;
        if of_reserve > 0 {
            self.resting_mut(standing.book_kind).note_mut(standing.handle).reserve -= of_reserve;
        }
        if of_shown > 0 {
            let book = &mut self.resting_mut(standing.book_kind).book;
            let taken = book.take_from(standing.handle, Lots(of_shown));
            if standing.book_kind == BookKind::Lit {
                self.touch(standing.side, taken.removal.level, of_shown, 0);
            }
        }
        Lots(if standing.book_kind == BookKind::Lit { standing.shown - of_shown } else { 0 })
    }
}
