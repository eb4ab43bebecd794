//! What a handler remembers of each order of ours that is not over.

use std::collections::HashMap;

use taut_types::ClientOrderId;

/// A place for each order, as many as there are at the most. All memory is there from the
/// beginning, and a new order has the place that was left last, which is still in the caches: no
/// order waits for a page fault. Cost: one look-up.
#[derive(Debug)]
pub(super) struct OrderPlaces<T> {
    index: HashMap<ClientOrderId, u32>,
    places: Box<[Option<T>]>,
    free: Vec<u32>,
}

impl<T: Copy> OrderPlaces<T> {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        // Never fuller than half, so that it is not made larger for the places of what is over.
        let mut index = HashMap::with_capacity(capacity * 2);
        // The kernel gives a page when it is written to.
        index.extend((0..capacity as u64).map(|number| (ClientOrderId(number), 0)));
        index.clear();
        let places = vec![None; capacity].into_boxed_slice();
        Self { index, places, free: (0..capacity as u32).rev().collect() }
    }

    #[inline]
    pub(super) fn get(&self, order: ClientOrderId) -> Option<&T> {
        self.places.get(*self.index.get(&order)? as usize)?.as_ref()
    }

    #[inline]
    pub(super) fn get_mut(&mut self, order: ClientOrderId) -> Option<&mut T> {
        self.places.get_mut(*self.index.get(&order)? as usize)?.as_mut()
    }

    /// The place of an order, which is taken if it has none; nothing when all are taken.
    #[inline]
    pub(super) fn get_or_insert(&mut self, order: ClientOrderId, new: T) -> Option<&mut T> {
        let at = match self.index.get(&order) {
            Some(at) => *at,
            None => {
                let at = self.free.pop()?;
                self.index.insert(order, at);
                *self.places.get_mut(at as usize)? = Some(new);
                at
            }
        };
        self.places.get_mut(at as usize)?.as_mut()
    }

    /// An order is over; what was remembered of it.
    pub(super) fn remove(&mut self, order: ClientOrderId) -> Option<T> {
        let at = self.index.remove(&order)?;
        self.free.push(at);
        self.places.get_mut(at as usize)?.take()
    }

    /// Changes all that are there.
    pub(super) fn for_each(&mut self, mut change: impl FnMut(&mut T)) {
        for at in self.index.values() {
            let place = self.places.get_mut(*at as usize).and_then(Option::as_mut);
            place.into_iter().for_each(&mut change);
        }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.index.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_taken_once_and_again_when_it_was_left() {
        let [one, two, three] = [1, 2, 3].map(ClientOrderId);
        let mut places = OrderPlaces::with_capacity(2);
        assert_eq!(places.get_or_insert(one, 10), Some(&mut 10));
        assert_eq!(places.get_or_insert(two, 20), Some(&mut 20));
        assert_eq!(places.get_or_insert(one, 30), Some(&mut 10));
        assert_eq!(places.get_or_insert(three, 30), None);
        assert_eq!(places.get(three), None);
        places.for_each(|it| *it += 1);
        assert_eq!((places.remove(one), places.remove(one)), (Some(11), None));
        assert_eq!(places.get_or_insert(three, 30), Some(&mut 30));
        assert_eq!(places.get(two), Some(&21));
        assert_eq!(places.get_mut(one), None);
        assert!(!places.is_empty());
    }
}
