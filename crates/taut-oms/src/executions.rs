//! The executions that were told last.

use alloc::boxed::Box;

use taut_types::{ClientOrderId, Price};

use crate::exec_id::ExecId;
use crate::hash_index::HashIndex;
use crate::traded::Traded;

/// An execution that was counted.
#[derive(Clone, Copy, Debug)]
pub struct Execution {
    /// Its name.
    pub id: ExecId,
    /// The order that traded.
    pub order: ClientOrderId,
    /// How much counts; nothing once the trade is cancelled, and for what was no trade.
    pub traded: Traded,
    /// At which price.
    pub price: Price,
    /// The number of the execution that this one corrects, or its own.
    root: u64,
}

/// The newest executions by their names, so that one that is told again is known, and one that is
/// cancelled or corrected is found. Memory is fixed, and the oldest makes room; what is older is
/// known by what its order has traded.
#[derive(Clone, Debug)]
pub struct Executions {
    ring: Box<[Option<Execution>]>,
    index: HashIndex,
    /// How many were ever kept.
    count: u64,
}

impl Executions {
    /// Room for so many, at least one.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        let capacity = capacity.max(1);
        let ring = core::iter::repeat_n(None, capacity).collect();
        Self { ring, index: HashIndex::with_capacity(capacity), count: 0 }
    }

    /// Whether this name was told for this order.
    #[must_use]
    pub fn contains(&self, order: ClientOrderId, id: &ExecId) -> bool {
        self.place(order, id).is_some()
    }

    /// The trade that this name stands for, as it was corrected last.
    #[must_use]
    pub fn get(&self, order: ClientOrderId, id: &ExecId) -> Option<Execution> {
        let named = self.ring[self.place(order, id)?]?;
        // The root may have made room; then the correction speaks for itself.
        Some(self.numbered(named.root).unwrap_or(named))
    }

    /// Keeps an execution out of a journal; of one that was kept before, this is how it counts now.
    pub fn restore(&mut self, order: ClientOrderId, id: ExecId, traded: Traded, price: Price) {
        let place = self.place(order, &id);
        match place.and_then(|place| self.ring[place].as_mut()) {
            Some(held) => (held.traded, held.price) = (traded, price),
            None => self.insert(order, id, traded, price),
        }
    }

    /// Keeps an execution.
    pub fn insert(&mut self, order: ClientOrderId, id: ExecId, traded: Traded, price: Price) {
        let root = self.count;
        self.keep(Execution { id, order, traded, price, root });
    }

    /// From now on an earlier execution counts this much; `id` is the name of the correction.
    pub fn correct(&mut self, earlier: &Execution, id: ExecId, traded: Traded, price: Price) {
        let place = self.at(earlier.root);
        match self.ring[place].as_mut().filter(|held| held.id == earlier.id) {
            Some(held) => (held.traded, held.price) = (traded, price),
            None => return self.insert(earlier.order, id, traded, price),
        }
        self.keep(Execution { id, order: earlier.order, traded, price, root: earlier.root });
    }

    fn keep(&mut self, execution: Execution) {
        let Self { ring, index, count } = self;
        let place = (*count % ring.len() as u64) as usize;
        if let Some(old) = ring[place] {
            index.remove(old.id.mixed(), place, |at| ring[at].map_or(0, |it| it.id.mixed()));
        }
        ring[place] = Some(execution);
        index.insert(execution.id.mixed(), place);
        *count += 1;
    }

    fn place(&self, order: ClientOrderId, id: &ExecId) -> Option<usize> {
        let is_it = |at: usize| self.ring[at].is_some_and(|it| it.id == *id && it.order == order);
        self.index.find(id.mixed(), is_it)
    }

    const fn at(&self, number: u64) -> usize {
        (number % self.ring.len() as u64) as usize
    }

    fn numbered(&self, number: u64) -> Option<Execution> {
        let is_kept = number + self.ring.len() as u64 >= self.count;
        if is_kept { self.ring[self.at(number)] } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taut_types::Lots;

    #[test]
    fn the_newest_are_known_and_the_oldest_makes_room() {
        let mut executions = Executions::with_capacity(3);
        let order = ClientOrderId(1);
        let id = |n: u8| ExecId::new(&[b'E', n]);
        let lots = |n| Traded::lots(Lots(n));
        (1..=4).for_each(|n| executions.insert(order, id(n), lots(n.into()), Price(n.into())));
        let known = [1, 2, 3, 4].map(|n| executions.contains(order, &id(n)));
        assert_eq!(known, [false, true, true, true]);
        assert!(!executions.contains(ClientOrderId(2), &id(4)), "of another order");
        let mut executions = Executions::with_capacity(4);
        executions.insert(order, id(3), lots(3), Price(3));
        let third = executions.get(order, &id(3)).unwrap();
        executions.correct(&third, id(5), lots(9), Price(9));
        for name in [3, 5] {
            assert_eq!(executions.get(order, &id(name)).unwrap().traded, lots(9));
        }
        let corrected = executions.get(order, &id(5)).unwrap();
        executions.correct(&corrected, id(6), Traded::ZERO, Price(0));
        assert_eq!(executions.get(order, &id(6)).unwrap().traded, Traded::ZERO);
        assert_eq!(executions.get(order, &id(5)).unwrap().traded, Traded::ZERO);
    }
}
