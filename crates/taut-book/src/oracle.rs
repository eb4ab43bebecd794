//! The slow, obvious twins of the books: maps and queues from the standard library, every lookup a
//! scan. Tests compare the fast books with them, answer by answer and by state hash.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use taut_types::{HalfTicks, Lots, OrderId, Price, Side};

use crate::{
    BookError, BookLimit, Fnv1a, Level, LevelAction, LevelChange, Order, Removal, TopOfBook,
};

/// The twin of [`LevelBook`](crate::LevelBook).
#[derive(Clone, Debug)]
pub struct NaiveLevelBook {
    level_capacity: usize,
    sides: [BTreeMap<Price, (Lots, u32)>; 2],
}

impl NaiveLevelBook {
    /// An empty book.
    #[must_use]
    pub fn with_capacity(levels_per_side: usize) -> Self {
        Self { level_capacity: levels_per_side, sides: [BTreeMap::new(), BTreeMap::new()] }
    }

    /// Sets a level.
    ///
    /// # Errors
    /// As the fast book.
    pub fn apply(
        &mut self,
        side: Side,
        price: Price,
        lots: Lots,
        order_count: u32,
    ) -> Result<LevelChange, BookError> {
        if lots < Lots::ZERO {
            return Err(BookError::BadLots);
        }
        let before = self.levels(side);
        let levels = &mut self.sides[side.index()];
        let known = levels.contains_key(&price);
        let action = match (known, lots) {
            (false, Lots::ZERO) => return Err(BookError::UnknownLevel),
            (true, Lots::ZERO) => LevelAction::Deleted,
            (true, _) => LevelAction::Updated,
            (false, _) if levels.len() == self.level_capacity => {
                return Err(BookError::Limit(BookLimit::Levels));
            }
            (false, _) => LevelAction::Inserted,
        };
        levels.remove(&price);
        if lots > Lots::ZERO {
            levels.insert(price, (lots, order_count));
        }
        let better = |level: &&Level| match side {
            Side::Buy => level.price > price,
            Side::Sell => level.price < price,
        };
        let depth = before.iter().filter(better).count();
        let top_changed = before.first() != self.levels(side).first();
        Ok(LevelChange { action, depth, top_changed })
    }

    /// Empties both sides.
    pub fn clear(&mut self) {
        self.sides = [BTreeMap::new(), BTreeMap::new()];
    }

    /// A side's levels, best first.
    #[must_use]
    pub fn levels(&self, side: Side) -> Vec<Level> {
        let levels = self.sides[side.index()].iter();
        let mut levels: Vec<Level> = levels
            .map(|(&price, &(lots, order_count))| Level { price, lots, order_count })
            .collect();
        if side == Side::Buy {
            levels.reverse();
        }
        levels
    }

    /// The same number as the fast book's.
    #[must_use]
    pub fn state_hash(&self) -> u64 {
        let mut hash = Fnv1a::new();
        for side in Side::BOTH {
            let levels = self.levels(side);
            hash.write_u64(levels.len() as u64);
            for level in levels {
                hash.write_i64(level.price.0);
                hash.write_i64(level.lots.0);
                hash.write_u64(u64::from(level.order_count));
            }
        }
        hash.finish()
    }
}

/// The twin of [`OrderBook`](crate::OrderBook).
#[derive(Clone, Debug)]
pub struct NaiveOrderBook {
    order_capacity: usize,
    level_capacity: usize,
    sides: [BTreeMap<HalfTicks, VecDeque<Order>>; 2],
}

impl NaiveOrderBook {
    /// An empty book.
    #[must_use]
    pub fn with_capacity(order_capacity: usize, level_capacity: usize) -> Self {
        Self { order_capacity, level_capacity, sides: [BTreeMap::new(), BTreeMap::new()] }
    }

    /// Puts an order at the end of its queue.
    ///
    /// # Errors
    /// As the fast book.
    pub fn add(&mut self, order: Order) -> Result<Level<HalfTicks>, BookError> {
        if order.lots <= Lots::ZERO {
            return Err(BookError::BadLots);
        }
        if self.order(order.id).is_some() {
            return Err(BookError::DuplicateOrder);
        }
        if self.order_count() == self.order_capacity {
            return Err(BookError::Limit(BookLimit::Orders));
        }
        let level = self.level_at(order.side, order.price);
        if level.lots.0.checked_add(order.lots.0).is_none() {
            return Err(BookError::Limit(BookLimit::Lots));
        }
        let side = &mut self.sides[order.side.index()];
        if !side.contains_key(&order.price) && side.len() == self.level_capacity {
            return Err(BookError::Limit(BookLimit::Levels));
        }
        side.entry(order.price).or_default().push_back(order);
        Ok(self.level_at(order.side, order.price))
    }

    /// Takes an order out.
    ///
    /// # Errors
    /// As the fast book.
    pub fn remove(&mut self, id: OrderId) -> Result<Removal, BookError> {
        self.reduce(id, Lots(i64::MAX))
    }

    /// Takes lots off an order.
    ///
    /// # Errors
    /// As the fast book.
    pub fn reduce(&mut self, id: OrderId, by: Lots) -> Result<Removal, BookError> {
        if by <= Lots::ZERO {
            return Err(BookError::BadLots);
        }
        let mut order = self.order(id).ok_or(BookError::UnknownOrder)?;
        let lots = by.min(order.lots);
        order.lots = Lots(order.lots.0 - lots.0);
        let levels = &mut self.sides[order.side.index()];
        if let Some(queue) = levels.get_mut(&order.price) {
            for entry in queue.iter_mut().filter(|entry| entry.id == id) {
                entry.lots = order.lots;
            }
            queue.retain(|entry| entry.lots > Lots::ZERO);
        }
        levels.retain(|_, queue| !queue.is_empty());
        Ok(Removal { order, lots, level: self.level_at(order.side, order.price) })
    }

    /// One fill of the order that is first in line.
    pub fn take_best(&mut self, side: Side, lots_max: Lots) -> Option<Removal> {
        let first = *self.orders(side).first()?;
        self.reduce(first.id, lots_max).ok()
    }

    /// Empties the book.
    pub fn clear(&mut self) {
        self.sides = [BTreeMap::new(), BTreeMap::new()];
    }

    /// The order with this id.
    #[must_use]
    pub fn order(&self, id: OrderId) -> Option<Order> {
        self.sides.iter().flat_map(BTreeMap::values).flatten().find(|o| o.id == id).copied()
    }

    /// The level at a price; zero lots if there is none.
    #[must_use]
    pub fn level_at(&self, side: Side, price: HalfTicks) -> Level<HalfTicks> {
        let queue = self.sides[side.index()].get(&price);
        let lots = queue.into_iter().flatten().map(|order| order.lots.0).sum();
        let order_count = queue.map_or(0, |queue| u32::try_from(queue.len()).unwrap_or(u32::MAX));
        Level { price, lots: Lots(lots), order_count }
    }

    /// A side's levels, best first.
    #[must_use]
    pub fn levels(&self, side: Side) -> Vec<Level<HalfTicks>> {
        let prices = self.sides[side.index()].keys();
        let mut levels: Vec<_> = prices.map(|&price| self.level_at(side, price)).collect();
        if side == Side::Buy {
            levels.reverse();
        }
        levels
    }

    /// A side's orders, best price first and oldest first within a price.
    #[must_use]
    pub fn orders(&self, side: Side) -> Vec<Order> {
        let levels = self.levels(side).into_iter();
        levels.flat_map(|level| self.sides[side.index()][&level.price].iter().copied()).collect()
    }

    /// The best bid and the best offer.
    #[must_use]
    pub fn top(&self) -> TopOfBook<HalfTicks> {
        TopOfBook {
            bid: self.levels(Side::Buy).first().copied(),
            ask: self.levels(Side::Sell).first().copied(),
        }
    }

    /// How many orders stand in the book.
    #[must_use]
    pub fn order_count(&self) -> usize {
        self.sides.iter().flat_map(BTreeMap::values).map(VecDeque::len).sum()
    }

    /// How many levels a side has.
    #[must_use]
    pub fn level_count(&self, side: Side) -> usize {
        self.sides[side.index()].len()
    }

    /// The same number as the fast book's.
    #[must_use]
    pub fn state_hash(&self) -> u64 {
        let mut hash = Fnv1a::new();
        for side in Side::BOTH {
            let levels = self.levels(side);
            hash.write_u64(levels.len() as u64);
            for level in levels {
                hash.write_i64(level.price.0);
                hash.write_i64(level.lots.0);
                hash.write_u64(u64::from(level.order_count));
                for order in &self.sides[side.index()][&level.price] {
                    hash.write_u64(order.id.0);
                    hash.write_u64(u64::from(order.owner));
                    hash.write_i64(order.lots.0);
                }
            }
        }
        hash.finish()
    }
}
