//! Giving a waiting order new terms.
//!
//! Sources: CME Globex, "Modify Order" and "In-Flight Mitigation" for [`ReplaceMode::InFlight`];
//! the public matching-engine benchmark (arXiv 2606.01183) for [`ReplaceMode::Requeue`].

use taut_types::{Lots, TimeInForce};

use super::resting_book::{BookKind, Note};
use super::standing::Standing;
use super::state::Engine;
use crate::admission::check;
use crate::command::ReplaceMode;
use crate::event::{CancelReason, Event, EventSink, RejectReason};
use crate::order::NewOrder;
use crate::terms::{SelfTrade, Terms, feature as f};

impl Engine {
    pub(super) fn replace(
        &mut self,
        order: &NewOrder,
        mode: ReplaceMode,
        sink: &mut impl EventSink,
    ) {
        let NewOrder { order_id, .. } = *order;
        let mut order = *order;
        let found = self.locate(order_id).ok_or(RejectReason::UnknownOrderId);
        let vetted = found.and_then(|standing| {
            if mode == ReplaceMode::Requeue {
                order.side = standing.side;
            }
            check(&order)?;
            if order.side != standing.side {
                return Err(RejectReason::WrongSide);
            }
            self.vet(&still_open(order, mode, standing.filled)).map(|()| standing)
        });
        match vetted {
            Err(reason) => sink.on_event(Event::ReplaceRejected { order_id, reason }),
            Ok(standing) => {
                self.replace_standing(&standing, order, mode, sink);
                self.finish(standing.side, sink);
            }
        }
    }

    fn replace_standing(
        &mut self,
        standing: &Standing,
        mut order: NewOrder,
        mode: ReplaceMode,
        sink: &mut impl EventSink,
    ) {
        let asked = order.lots;
        if mode == ReplaceMode::InFlight {
            order.lots = Lots(asked.0 - standing.filled);
            if order.lots <= Lots::ZERO {
                return self.cancel_standing(standing, CancelReason::Requested, sink);
            }
            if order.lots.0 <= standing.open && keeps_priority(standing, &order) {
                return self.amend(standing, &order, sink);
            }
        }
        self.take_out(standing);
        let NewOrder { order_id, owner, side, price, lots, .. } = order;
        let answer = Event::Replaced {
            order_id,
            owner,
            side,
            price,
            lots,
            displayed: Lots::ZERO,
            kept_priority: false,
            was_resting: standing.book_kind == BookKind::Lit,
        };
        if mode == ReplaceMode::Requeue {
            self.proceed(&order, standing.filled, Some(answer), sink);
        } else {
            sink.on_event(answer);
            self.proceed(&order, standing.filled, None, sink);
        }
    }

    /// Changes an order where it stands.
    fn amend(&mut self, standing: &Standing, order: &NewOrder, sink: &mut impl EventSink) {
        let displayed = match standing.open - order.lots.0 {
            0 if standing.book_kind == BookKind::Lit => Lots(standing.shown),
            0 => Lots::ZERO,
            by => self.shrink(standing, by),
        };
        let resting = self.resting_mut(standing.book_kind);
        let reserve = if standing.noted { resting.note(standing.handle).reserve } else { 0 };
        resting.amend(standing.handle, &Note { order: *order, reserve });
        if standing.note.order.terms.has(f::EXPIRY) {
            let _ = self.expiries.remove(standing.id);
        }
        let expiry_only = Terms { features: order.terms.features & f::EXPIRY, ..order.terms };
        self.remember(&NewOrder { terms: expiry_only, ..*order });
        sink.on_event(Event::Replaced {
            order_id: standing.id,
            owner: standing.owner,
            side: standing.side,
            price: standing.price,
            lots: order.lots,
            displayed,
            kept_priority: true,
            was_resting: standing.book_kind == BookKind::Lit,
        });
    }
}

/// The order with what it would have left: in flight, what it has filled is part of its quantity.
fn still_open(order: NewOrder, mode: ReplaceMode, filled: i64) -> NewOrder {
    let filled = if mode == ReplaceMode::InFlight { filled } else { 0 };
    NewOrder { lots: Lots((order.lots.0 - filled).max(1)), ..order }
}

/// Whether only what does not matter for priority is different: time in force, expiry, self-trade
/// prevention, group and session.
fn keeps_priority(standing: &Standing, order: &NewOrder) -> bool {
    let old = &standing.note.order;
    let waits = matches!(order.time_in_force, TimeInForce::GoodTillCancel | TimeInForce::Day);
    waits
        && standing.owner == order.owner
        && old.price == order.price
        && old.order_type == order.order_type
        && what_matters(&old.terms) == what_matters(&order.terms)
}

fn what_matters(terms: &Terms) -> Terms {
    let free = f::EXPIRY | f::SELF_TRADE | f::GROUP | f::SESSION;
    Terms {
        features: terms.features & !free,
        expires: taut_types::Nanos::ZERO,
        self_trade: SelfTrade::Default,
        group: 0,
        session: 0,
        ..*terms
    }
}
