//! A strategy's orders that are not over, as its gateway told them.

use std::collections::BTreeMap;

use taut_types::ClientOrderId;

use crate::message::{OpenOrder, Request};

/// Places of the table: an order's is its number modulo this.
const PLACES: usize = 1 << 13;

/// An open order, and the number of the last request about it.
#[derive(Clone, Copy, Debug)]
pub struct OrderCopy {
    pub order: OpenOrder,
    pub asked: u16,
}

impl OrderCopy {
    /// The same once this request is under way; one that is not about it leaves it as it is.
    pub fn with_request(self, request: &Request, number: u16) -> Self {
        let order = self.order.with_request(request);
        if order == self.order { self } else { Self { order, asked: number } }
    }
}

/// Orders by their ids. An order is found at its place with one look; one that is open for longer
/// than it takes to send as many others as there are places makes room, and is found in a tree.
#[derive(Debug)]
pub struct OrderCopies {
    places: Box<[Option<OrderCopy>]>,
    older: BTreeMap<ClientOrderId, OrderCopy>,
}

impl OrderCopies {
    pub fn new() -> Self {
        Self { places: vec![None; PLACES].into_boxed_slice(), older: BTreeMap::new() }
    }

    pub fn clear(&mut self) {
        self.places.fill(None);
        self.older.clear();
    }

    pub fn insert(&mut self, copy: OrderCopy) {
        let id = copy.order.id;
        let before = self.places[place_of(id)].replace(copy);
        if let Some(before) = before.filter(|before| before.order.id != id) {
            self.older.insert(before.order.id, before);
        }
    }

    pub fn get(&self, id: ClientOrderId) -> Option<&OrderCopy> {
        match &self.places[place_of(id)] {
            Some(copy) if copy.order.id == id => Some(copy),
            _ => self.older.get(&id),
        }
    }

    pub fn get_mut(&mut self, id: ClientOrderId) -> Option<&mut OrderCopy> {
        match &mut self.places[place_of(id)] {
            Some(copy) if copy.order.id == id => Some(copy),
            _ => self.older.get_mut(&id),
        }
    }

    pub fn remove(&mut self, id: ClientOrderId) {
        let place = &mut self.places[place_of(id)];
        if place.take_if(|copy| copy.order.id == id).is_none() {
            self.older.remove(&id);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &OrderCopy> {
        self.older.values().chain(self.places.iter().flatten())
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut OrderCopy> {
        self.older.values_mut().chain(self.places.iter_mut().flatten())
    }
}

const fn place_of(id: ClientOrderId) -> usize {
    // The remainder is below their number.
    (id.number() % PLACES as u64) as usize
}

#[cfg(test)]
mod tests {
    use taut_lat::StageOffsets;
    use taut_types::{InstrumentId, Lots, Nanos, OrderTerms, Price, Side};

    use super::*;
    use crate::message::RequestKind;

    fn created(number: u64) -> OrderCopy {
        let terms = OrderTerms::limit(InstrumentId(0), Side::Buy, Price(1), Lots(1));
        let request = Request {
            id: ClientOrderId(number),
            owner: crate::owner::Owner::default(),
            kind: RequestKind::Create(terms),
            only_if: None,
            tag: 0,
            origin: Nanos::ZERO,
            offsets: StageOffsets::ZERO,
        };
        OrderCopy { order: OpenOrder::created(&request).expect("an order"), asked: 1 }
    }

    /// Against a map of all: some orders stay open for long, most are soon over.
    #[test]
    fn no_open_order_is_forgotten_however_many_others_come_and_go() {
        let (mut copies, mut all) = (OrderCopies::new(), BTreeMap::new());
        for number in 1..=4 * PLACES as u64 {
            copies.insert(created(number));
            all.insert(ClientOrderId(number), 1);
            if number % 1_000 != 1 {
                copies.remove(ClientOrderId(number));
                all.remove(&ClientOrderId(number));
            }
            if number % 5_000 == 0 {
                let over = *all.keys().next().expect("an open order");
                copies.remove(over);
                all.remove(&over);
            }
        }
        assert!(copies.older.len() > 5, "{}", copies.older.len());
        copies.iter_mut().for_each(|copy| copy.asked = 2);
        for id in all.keys() {
            assert_eq!(copies.get(*id).map(|copy| (copy.order.id, copy.asked)), Some((*id, 2)));
            assert!(copies.get_mut(*id).is_some());
        }
        assert_eq!(copies.iter().count(), all.len());
        copies.clear();
        assert_eq!(copies.iter().count(), 0);
    }
}
