//! What the venue calls our orders, and which answers of it are waited for.

use std::collections::HashMap;

use taut_fix::LongText;
use taut_oms::REQUESTS_MAX;
use taut_types::ClientOrderId;

use crate::order_entry::places::OrderPlaces;

/// A request whose answer does not name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Create,
    Modify,
}

/// One order.
#[derive(Clone, Copy, Debug, Default)]
struct KnownOrder {
    /// What the venue calls it.
    venue_id: Option<LongText>,
    /// Requests without an answer, the oldest first.
    asked: [Option<Asked>; REQUESTS_MAX],
}

/// So many orders that are over are remembered by the venue's names of them: a cancel that crossed
/// the end of its order is refused by that name alone.
const OVER_MAX: usize = 128;

/// Orders of ours that are not over, as many as there are places. One without a place is found by
/// our own name and its answers are taken for notifications, so that the next question settles it.
#[derive(Debug)]
pub(super) struct KnownOrders {
    orders: OrderPlaces<KnownOrder>,
    /// Those that the venue has a name of, by it.
    by_venue_id: HashMap<LongText, ClientOrderId>,
    /// Those that were over last: a ring, and its next place.
    over: Box<[Option<(LongText, ClientOrderId)>]>,
    next_over: usize,
}

impl KnownOrders {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        // Never fuller than half, so that it is not made larger for the places of what is over.
        let by_venue_id = HashMap::with_capacity(capacity * 2);
        let over = vec![None; OVER_MAX].into_boxed_slice();
        Self { orders: OrderPlaces::with_capacity(capacity), by_venue_id, over, next_over: 0 }
    }

    /// What the venue calls an order.
    pub(super) fn venue_id(&self, order: ClientOrderId) -> Option<LongText> {
        self.orders.get(order)?.venue_id
    }

    /// The order that the venue calls so.
    pub(super) fn order_of(&self, venue_id: &[u8]) -> Option<ClientOrderId> {
        self.by_venue_id.get(&LongText::new(venue_id)?).copied()
    }

    /// The same of one that was over not long ago.
    pub(super) fn late_order_of(&self, venue_id: &[u8]) -> Option<ClientOrderId> {
        let venue_id = LongText::new(venue_id)?;
        let found = self.over.iter().flatten().find(|(name, _)| *name == venue_id);
        found.map(|(_, order)| *order)
    }

    /// An order of an earlier process, which the venue calls so.
    pub(super) fn adopt(&mut self, order: ClientOrderId, venue_id: &[u8]) {
        if self.orders.get_or_insert(order, KnownOrder::default()).is_some() {
            self.name(order, venue_id);
        }
    }

    /// The venue calls an order so, if it is one that is known.
    pub(super) fn name(&mut self, order: ClientOrderId, venue_id: &[u8]) {
        let (Some(known), Some(venue_id)) = (self.orders.get_mut(order), LongText::new(venue_id))
        else {
            return;
        };
        if known.venue_id == Some(venue_id) {
            return;
        }
        if let Some(earlier) = known.venue_id.replace(venue_id) {
            self.by_venue_id.remove(&earlier);
        }
        self.by_venue_id.insert(venue_id, order);
    }

    /// A place for an order that is on its way; none when all are taken.
    pub(super) fn expect(&mut self, order: ClientOrderId) {
        let _ = self.orders.get_or_insert(order, KnownOrder::default());
    }

    /// Whether an order is on its way that the venue has not named yet.
    pub(super) fn expects(&self, order: ClientOrderId) -> bool {
        self.orders.get(order).is_some_and(|known| known.venue_id.is_none())
    }

    /// A request is on its way.
    pub(super) fn ask(&mut self, order: ClientOrderId, asked: Asked) {
        let places =
            self.orders.get_or_insert(order, KnownOrder::default()).map(|order| &mut order.asked);
        if let Some(free) = places.and_then(|places| places.iter_mut().find(|it| it.is_none())) {
            *free = Some(asked);
        }
    }

    /// The venue answered the oldest request of an order.
    pub(super) fn answered(&mut self, order: ClientOrderId) -> Option<Asked> {
        let order = self.orders.get_mut(order)?;
        order.asked.rotate_left(1);
        order.asked[REQUESTS_MAX - 1].take()
    }

    /// The venue refused to change an order.
    pub(super) fn refused_to_modify(&mut self, order: ClientOrderId) {
        let Some(order) = self.orders.get_mut(order) else { return };
        if let Some(at) = order.asked.iter().position(|it| *it == Some(Asked::Modify)) {
            order.asked[at] = None;
            order.asked[at..].rotate_left(1);
        }
    }

    /// An order is over.
    pub(super) fn forget(&mut self, order: ClientOrderId) {
        if let Some(venue_id) = self.orders.remove(order).and_then(|known| known.venue_id) {
            self.by_venue_id.remove(&venue_id);
            self.over[self.next_over % OVER_MAX] = Some((venue_id, order));
            self.next_over += 1;
        }
    }

    /// The connection is gone: nothing that was asked is answered any more.
    pub(super) fn forget_requests(&mut self) {
        self.orders.for_each(|order| order.asked = [None; REQUESTS_MAX]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl KnownOrders {
        /// Whether nothing is remembered of any order.
        pub(in super::super) fn is_empty(&self) -> bool {
            self.orders.is_empty() && self.by_venue_id.is_empty()
        }
    }

    #[test]
    fn an_order_is_found_by_the_last_name_that_the_venue_gave_it_until_it_is_over() {
        let (order, other) = (ClientOrderId(1), ClientOrderId(2));
        let mut known = KnownOrders::with_capacity(1);
        known.name(order, b"A");
        assert!(known.is_empty(), "nobody asked for it");
        known.ask(order, Asked::Create);
        known.name(order, b"A");
        known.name(order, b"B");
        assert_eq!((known.order_of(b"A"), known.order_of(b"B")), (None, Some(order)));
        assert_eq!(known.venue_id(order), LongText::new(b"B"));
        // There is one place.
        known.adopt(other, b"C");
        assert_eq!(known.order_of(b"C"), None);
        known.forget(order);
        assert!(known.is_empty());
        assert_eq!((known.order_of(b"B"), known.late_order_of(b"B")), (None, Some(order)));
        assert_eq!((known.late_order_of(b"A"), known.late_order_of(b"")), (None, None));
        known.adopt(other, b"C");
        assert_eq!(known.order_of(b"C"), Some(other));
    }
}
