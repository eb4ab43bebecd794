//! Self-trade prevention.

use taut_book::Handle;
use taut_types::Lots;

use super::resting_book::{BookKind, NOTED};
use super::state::{Engine, Taker};
use crate::event::{CancelReason, Event, EventSink};
use crate::terms::SelfTrade;

impl Engine {
    /// Deals with a maker that the taker must not trade with; afterwards one of them is smaller.
    #[cold]
    pub(super) fn prevent(
        &mut self,
        taker: &mut Taker,
        book_kind: BookKind,
        maker: Handle,
        sink: &mut impl EventSink,
    ) {
        match taker.self_trade {
            SelfTrade::Decrement | SelfTrade::Transfer => {
                self.decrement(taker, book_kind, maker, sink)
            }
            SelfTrade::CancelNewest => cancel_taker(taker, sink),
            mode => {
                let standing = self.describe(book_kind, maker);
                self.cancel_standing(&standing, CancelReason::SelfTrade, sink);
                if mode == SelfTrade::CancelBoth {
                    cancel_taker(taker, sink);
                }
            }
        }
    }

    fn decrement(
        &mut self,
        taker: &mut Taker,
        book_kind: BookKind,
        maker: Handle,
        sink: &mut impl EventSink,
    ) {
        let taken = self.resting_mut(book_kind).book.take_from(maker, Lots(taker.remaining));
        let (order, lots) = (taken.removal.order, taken.removal.lots);
        taker.remaining -= lots.0;
        if book_kind == BookKind::Lit {
            let leaves = i64::from(order.lots == Lots::ZERO);
            self.touch(order.side, taken.removal.level, lots.0, leaves);
        }
        let reserve = if taken.tag & NOTED == 0 { 0 } else { self.reserve(book_kind, maker) };
        sink.on_event(Event::Prevented {
            maker: order.id,
            taker: taker.id,
            price: order.price,
            lots,
            maker_remaining: Lots(order.lots.0 + reserve),
            taker_remaining: Lots(taker.remaining),
            transfer: taker.self_trade == SelfTrade::Transfer && order.owner != taker.owner,
            hidden: book_kind != BookKind::Lit,
        });
        self.after_take(book_kind, &taken, 0, sink);
    }
}

fn cancel_taker(taker: &mut Taker, sink: &mut impl EventSink) {
    let Taker { id: order_id, owner, side, price, remaining, .. } = *taker;
    taker.remaining = 0;
    sink.on_event(Event::Cancelled {
        order_id,
        owner,
        side,
        price,
        lots: Lots(remaining),
        reason: CancelReason::SelfTrade,
        was_resting: false,
    });
}
