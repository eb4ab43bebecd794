//! What must be equal when all has come to rest.

use std::collections::BTreeMap;

use taut_gateway::{OpenOrder, OrderUpdate};
use taut_oms::OrderState;
use taut_types::{ClientOrderId, Lots, Price, RequestId, Side};

use super::{ACCOUNT, IT, World};
use crate::okx_venue::{Order, State};

/// An order that is open: its side, its price, all of it, and what of it is open.
type Open = (Side, Price, Lots, Lots);

impl World<'_> {
    /// Whether nobody waits for anything, and both sides have the same.
    pub(super) fn is_at_rest(&self) -> bool {
        self.gateway.is_ready() && self.hands.borrow().have_asked() && self.differs().is_none()
    }

    /// What one of them has otherwise than the other.
    pub(super) fn differs(&self) -> Option<String> {
        let (ours, theirs) = (self.open_orders(), self.open_at_venue());
        if ours != theirs {
            return Some(format!("open orders: {ours:?}, at the venue {theirs:?}"));
        }
        if let Some(differs) = self.differs_in_the_end() {
            return Some(differs);
        }
        let held = (self.gateway.position(IT).0, self.okx().position(ACCOUNT));
        if held.0 != held.1 {
            return Some(format!("position: {}, at the venue {}", held.0, held.1));
        }
        for side in Side::BOTH {
            let (seen, rests) = (self.levels(side), self.engine_levels(side));
            if seen != rests {
                return Some(format!("{side:?} levels: {seen:?}, in the engine {rests:?}"));
            }
        }
        None
    }

    /// Open orders by their numbers; nothing in the place of one of which something is not known.
    fn open_orders(&self) -> BTreeMap<ClientOrderId, Option<Open>> {
        let mut open = BTreeMap::new();
        self.gateway.visit_orders(|order: &OpenOrder| {
            let terms = (order.terms.side, order.terms.price, order.terms.lots, order.lots_open);
            let is_known = order.state == OrderState::Working
                && (order.price_asked, order.lots_asked) == (terms.1, terms.2);
            open.insert(order.id, Some(terms).filter(|_| is_known));
        });
        open
    }

    fn open_at_venue(&self) -> BTreeMap<ClientOrderId, Option<Open>> {
        let open = self.okx().orders_of(ACCOUNT).filter(|order| order.state == State::Open);
        let terms = |order: &Order| {
            let entered = order.entered;
            let price = self.gateway.instruments()[0].price(entered.price).expect("a price");
            (entered.side, price, entered.lots, Lots(entered.lots.0 - order.filled))
        };
        open.map(|order| (number_of(order), Some(terms(order)))).collect()
    }

    /// What the strategy heard last of each order against what became of it.
    fn differs_in_the_end(&self) -> Option<String> {
        let mut last: BTreeMap<ClientOrderId, OrderUpdate> = BTreeMap::new();
        for update in &self.hands.borrow().heard {
            last.insert(update.id, *update);
        }
        let at_venue: BTreeMap<_, _> =
            self.okx().orders_of(ACCOUNT).map(|order| (number_of(order), order)).collect();
        if let Some(unheard) = at_venue.keys().find(|number| !last.contains_key(number)) {
            return Some(format!("nobody heard of {unheard:?}"));
        }
        last.values().find_map(|heard| {
            let order = at_venue.get(&heard.id);
            let (is_so, filled) = match order.map(|order| (order.state, order.filled)) {
                None => (heard.state == OrderState::Rejected, 0),
                Some((State::Open, filled)) => (!heard.state.is_done(), filled),
                Some((State::Filled, filled)) => (heard.state == OrderState::Filled, filled),
                Some((State::Cancelled, filled)) => {
                    (matches!(heard.state, OrderState::Cancelled | OrderState::Expired), filled)
                }
            };
            let is_equal = is_so && heard.lots_filled.0 == filled;
            (!is_equal).then(|| format!("{heard:?}, at the venue {order:?}"))
        })
    }

    fn levels(&self, side: Side) -> Vec<(Price, Lots)> {
        let book = self.gateway.book(IT).expect("a book");
        let levels = (0..).map_while(|depth| book.level(side, depth));
        levels.map(|level| (level.price, level.lots)).collect()
    }

    fn engine_levels(&self, side: Side) -> Vec<(Price, Lots)> {
        let instrument = self.gateway.instruments()[0];
        let price = |price| instrument.price(price).expect("a price");
        self.venue.book().levels(side).map(|it| (price(it.price), it.lots)).collect()
    }

    /// For whoever looks at a seed that failed.
    pub(super) fn told(&self) -> String {
        let (ready, differs) = (self.gateway.is_ready(), self.differs());
        let (counters, said) = (self.gateway.counters(), self.gateway.refusals());
        let stale: Vec<_> = self.gateway.stale_books().map(|(_, why)| why).collect();
        let faults = self.venue.observer().front().faults();
        format!(
            "ready {ready}, differs {differs:?}\n{said:?} stale {stale:?}\n{counters:?}\n{faults}"
        )
    }
}

fn number_of(order: &Order) -> ClientOrderId {
    RequestId::from_text(order.name.as_bytes()).expect("a gateway's name").order
}
