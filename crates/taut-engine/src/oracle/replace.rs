//! Replacing orders.

use super::*;

impl NaiveEngine {
    pub(super) fn replace(
        &mut self,
        mut order: NewOrder,
        mode: ReplaceMode,
        out: &mut Vec<Event>,
    ) -> Option<Side> {
        let order_id = order.order_id;
        let found = self.find(order_id);
        if let (Some(at), ReplaceMode::Requeue) = (found, mode) {
            order.side = self.orders[at].order.side;
        }
        let reason = match found {
            None => Some(RejectReason::UnknownOrderId),
            Some(at) => check(&order).err().or_else(|| {
                if self.orders[at].order.side == order.side {
                    let filled = match mode {
                        ReplaceMode::InFlight => self.orders[at].filled,
                        ReplaceMode::Requeue => 0,
                    };
                    let lots = Lots((order.lots.0 - filled).max(1));
                    self.vet(&NewOrder { lots, ..order })
                } else {
                    Some(RejectReason::WrongSide)
                }
            }),
        };
        if let Some(reason) = reason {
            out.push(Event::ReplaceRejected { order_id, reason });
            return None;
        }
        let at = found?;
        let w = self.orders[at].clone();
        if mode == ReplaceMode::InFlight {
            order.lots = Lots(order.lots.0 - w.filled);
            if order.lots.0 <= 0 {
                return Some(self.cancel(at, CancelReason::Requested, out));
            }
            if self.amend(at, &order, out) {
                return Some(order.side);
            }
        }
        self.orders.remove(at);
        self.forget_top(&w);
        let answer = Event::Replaced {
            order_id,
            owner: order.owner,
            side: order.side,
            price: order.price,
            lots: order.lots,
            displayed: Lots(0),
            kept_priority: false,
            was_resting: w.place == Place::Lit,
        };
        match mode {
            ReplaceMode::Requeue => self.proceed(order, w.filled, Some(answer), out),
            ReplaceMode::InFlight => {
                out.push(answer);
                self.proceed(order, w.filled, None, out);
            }
        }
        Some(order.side)
    }

    /// Changes an order in place if that keeps its priority.
    fn amend(&mut self, at: usize, order: &NewOrder, out: &mut Vec<Event>) -> bool {
        let turn = self.next_turn();
        let w = &mut self.orders[at];
        let (old, new) = (&w.order, order);
        let (a, b) = (&old.terms, &new.terms);
        let kinds = f::STOP
            | f::TRAILING
            | f::PEG
            | f::POST
            | f::ICEBERG
            | f::HIDDEN
            | f::MINIMUM
            | f::ALL_OR_NONE
            | f::PROTECTION
            | f::AUCTION;
        let same = old.owner == new.owner
            && old.price == new.price
            && old.order_type == new.order_type
            && (a.features & kinds) == (b.features & kinds)
            && (a.trigger, a.trigger_price, a.offset) == (b.trigger, b.trigger_price, b.offset)
            && (a.peg, a.post_only, a.auction) == (b.peg, b.post_only, b.auction)
            && (a.display, a.minimum, a.protection) == (b.display, b.minimum, b.protection)
            && matches!(new.time_in_force, TimeInForce::GoodTillCancel | TimeInForce::Day);
        let less = w.shown + w.reserve - order.lots.0;
        if !same || less < 0 {
            return false;
        }
        let hidden = less.min(w.reserve);
        w.reserve -= hidden;
        w.shown -= less - hidden;
        w.order = *order;
        w.expiry_turn = turn;
        out.push(Event::Replaced {
            order_id: order.order_id,
            owner: order.owner,
            side: order.side,
            price: w.told_price(),
            lots: order.lots,
            displayed: Lots(if w.place == Place::Lit { w.shown } else { 0 }),
            kept_priority: true,
            was_resting: w.place == Place::Lit,
        });
        true
    }
}
