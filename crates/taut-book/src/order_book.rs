//! The book of orders in queues (market by order, L3).

use taut_types::{HalfTicks, Lots, OrderId, Side};

use crate::id_index::IdIndex;
use crate::ladder::{Ladder, rank};
use crate::pool::{NONE, Pool};
use crate::{BookError, BookLimit, Fnv1a, Level, Order, Removal, TopOfBook};

/// Both sides' orders, by price and then by arrival.
///
/// Cost: `add` one hash probe and one level search; `remove`, `reduce` one hash probe, and a level
/// search only when the level empties; `take_best` no search. Nothing allocates once it is built.
#[derive(Clone, Debug)]
pub struct OrderBook {
    orders: Pool<Node>,
    levels: Pool<Queue>,
    ladders: [Ladder<u32>; 2],
    index: IdIndex,
}

/// An order in the queue of its level: 32 bytes.
#[derive(Clone, Copy, Debug)]
struct Node {
    id: u64,
    lots: i64,
    owner: u32,
    level: u32,
    older: u32,
    newer: u32,
}

/// A level: the ends of its queue and its totals.
#[derive(Clone, Copy, Debug)]
struct Queue {
    price: HalfTicks,
    lots: i64,
    order_count: u32,
    oldest: u32,
    newest: u32,
    side: Side,
}

impl OrderBook {
    /// An empty book with room for `order_capacity` orders (up to 2^32 - 2) and `level_capacity`
    /// price levels on each side.
    #[must_use]
    pub fn with_capacity(order_capacity: usize, level_capacity: usize) -> Self {
        let node = Node { id: 0, lots: 0, owner: 0, level: NONE, older: NONE, newer: NONE };
        let ladder = Ladder::with_capacity(level_capacity, NONE);
        Self {
            orders: Pool::with_capacity(order_capacity, node),
            levels: Pool::with_capacity(
                level_capacity.saturating_mul(2),
                Queue::new(Side::Buy, HalfTicks(0)),
            ),
            ladders: [ladder.clone(), ladder],
            index: IdIndex::with_capacity(order_capacity),
        }
    }

    /// Puts an order at the end of its level's queue and returns the level.
    ///
    /// # Errors
    /// [`BookError::BadLots`] unless its quantity is positive, [`BookError::DuplicateOrder`],
    /// [`BookError::Limit`] when orders, levels or the level's quantity are used up.
    pub fn add(&mut self, order: Order) -> Result<Level<HalfTicks>, BookError> {
        if order.lots <= Lots::ZERO {
            return Err(BookError::BadLots);
        }
        if self.contains(order.id) {
            return Err(BookError::DuplicateOrder);
        }
        if self.orders.len() == self.orders.capacity() {
            return Err(BookError::Limit(BookLimit::Orders));
        }
        let level = self.level_for(order)?;
        let older = self.levels[level].newest;
        let node = Node {
            id: order.id.0,
            lots: order.lots.0,
            owner: order.owner,
            level,
            older,
            newer: NONE,
        };
        let handle = self.orders.take(node).ok_or(BookError::Limit(BookLimit::Orders))?;
        self.index.insert(order.id.0, handle);
        if older != NONE {
            self.orders[older].newer = handle;
        }
        let queue = &mut self.levels[level];
        if older == NONE {
            queue.oldest = handle;
        }
        queue.newest = handle;
        queue.lots += order.lots.0;
        queue.order_count += 1;
        Ok(queue.show())
    }

    /// Takes an order out of the book.
    ///
    /// # Errors
    /// [`BookError::UnknownOrder`].
    pub fn remove(&mut self, id: OrderId) -> Result<Removal, BookError> {
        let handle = self.index.get(id.0).ok_or(BookError::UnknownOrder)?;
        Ok(self.take(handle, i64::MAX))
    }

    /// Takes `by` lots off an order, which keeps its place; all that it has or more removes it.
    ///
    /// # Errors
    /// [`BookError::UnknownOrder`]; [`BookError::BadLots`] unless `by` is positive.
    pub fn reduce(&mut self, id: OrderId, by: Lots) -> Result<Removal, BookError> {
        if by <= Lots::ZERO {
            return Err(BookError::BadLots);
        }
        let handle = self.index.get(id.0).ok_or(BookError::UnknownOrder)?;
        Ok(self.take(handle, by.0))
    }

    /// Takes up to `lots_max` off the order that is first in line on this side: one fill. Returns
    /// nothing when the side is empty or `lots_max` is not positive.
    pub fn take_best(&mut self, side: Side, lots_max: Lots) -> Option<Removal> {
        if lots_max <= Lots::ZERO {
            return None;
        }
        let (_, level) = self.ladders[side.index()].best()?;
        let oldest = self.levels[level].oldest;
        Some(self.take(oldest, lots_max.0))
    }

    /// Empties the book. Cost: linear in its capacity.
    pub fn clear(&mut self) {
        self.orders.clear();
        self.levels.clear();
        self.index.clear();
        for ladder in &mut self.ladders {
            ladder.clear();
        }
    }

    /// The order with this id.
    #[must_use]
    pub fn order(&self, id: OrderId) -> Option<Order> {
        self.index.get(id.0).map(|handle| self.show(handle))
    }

    /// Whether an order with this id stands in the book.
    #[must_use]
    pub fn contains(&self, id: OrderId) -> bool {
        self.index.get(id.0).is_some()
    }

    /// The best price of a side.
    #[must_use]
    pub fn best_price(&self, side: Side) -> Option<HalfTicks> {
        let (best, _) = self.ladders[side.index()].best()?;
        Some(HalfTicks(rank(side, best)))
    }

    /// The best level of a side.
    #[must_use]
    pub fn best(&self, side: Side) -> Option<Level<HalfTicks>> {
        let (_, level) = self.ladders[side.index()].best()?;
        Some(self.levels[level].show())
    }

    /// The best bid and the best offer.
    #[must_use]
    pub fn top(&self) -> TopOfBook<HalfTicks> {
        TopOfBook { bid: self.best(Side::Buy), ask: self.best(Side::Sell) }
    }

    /// The level at this price.
    #[must_use]
    pub fn level_at(&self, side: Side, price: HalfTicks) -> Option<Level<HalfTicks>> {
        self.find(side, price).map(|level| self.levels[level].show())
    }

    /// The order that is first in line on a side.
    #[must_use]
    pub fn best_order(&self, side: Side) -> Option<Order> {
        self.orders(side).next()
    }

    /// The order that is first in line at a price.
    #[must_use]
    pub fn first_order_at(&self, side: Side, price: HalfTicks) -> Option<Order> {
        self.orders_at(side, price).next()
    }

    /// A side's levels, best first.
    pub fn levels(
        &self,
        side: Side,
    ) -> impl DoubleEndedIterator<Item = Level<HalfTicks>> + ExactSizeIterator + '_ {
        self.ladders[side.index()].iter().map(|(_, level)| self.levels[level].show())
    }

    /// A side's orders, best price first and oldest first within a price.
    pub fn orders(&self, side: Side) -> impl Iterator<Item = Order> + '_ {
        self.ladders[side.index()].iter().flat_map(|(_, level)| self.queue(level))
    }

    /// The orders at a price, oldest first.
    pub fn orders_at(&self, side: Side, price: HalfTicks) -> impl Iterator<Item = Order> + '_ {
        self.find(side, price).into_iter().flat_map(|level| self.queue(level))
    }

    /// How many orders stand in the book.
    #[must_use]
    pub const fn order_count(&self) -> usize {
        self.orders.len()
    }

    /// How many orders it has room for.
    #[must_use]
    pub const fn order_capacity(&self) -> usize {
        self.orders.capacity()
    }

    /// How many levels a side has.
    #[must_use]
    pub const fn level_count(&self, side: Side) -> usize {
        self.ladders[side.index()].len()
    }

    /// How many levels a side has room for.
    #[must_use]
    pub const fn level_capacity(&self) -> usize {
        self.ladders[0].capacity()
    }

    /// FNV-1a over both sides, bids first: level count; of each level, best first, price, lots and
    /// order count; of each of its orders, oldest first, id, owner and lots. Cost: linear.
    #[must_use]
    pub fn state_hash(&self) -> u64 {
        let mut hash = Fnv1a::new();
        for side in Side::BOTH {
            hash.write_u64(self.level_count(side) as u64);
            for (_, level) in self.ladders[side.index()].iter() {
                let queue = &self.levels[level];
                hash.write_i64(queue.price.0);
                hash.write_i64(queue.lots);
                hash.write_u64(u64::from(queue.order_count));
                for order in self.queue(level) {
                    hash.write_u64(order.id.0);
                    hash.write_u64(u64::from(order.owner));
                    hash.write_i64(order.lots.0);
                }
            }
        }
        hash.finish()
    }

    /// Takes up to `lots_max` off an order, and the order and its level out if they are used up.
    fn take(&mut self, handle: u32, lots_max: i64) -> Removal {
        let mut order = self.show(handle);
        let lots = order.lots.0.min(lots_max);
        order.lots.0 -= lots;
        let node = &mut self.orders[handle];
        node.lots -= lots;
        let level = node.level;
        let queue = &mut self.levels[level];
        queue.lots -= lots;
        if order.lots == Lots::ZERO {
            queue.order_count -= 1;
        }
        let shown = queue.show();
        if order.lots == Lots::ZERO {
            self.unlink(handle);
            self.index.remove(order.id.0);
            self.orders.release(handle);
            if shown.order_count == 0 {
                self.drop_level(level);
            }
        }
        Removal { order, lots: Lots(lots), level: shown }
    }

    fn unlink(&mut self, handle: u32) {
        let Node { level, older, newer, .. } = self.orders[handle];
        match older {
            NONE => self.levels[level].oldest = newer,
            _ => self.orders[older].newer = newer,
        }
        match newer {
            NONE => self.levels[level].newest = older,
            _ => self.orders[newer].older = older,
        }
    }

    fn drop_level(&mut self, level: u32) {
        let Queue { side, price, .. } = self.levels[level];
        let ladder = &mut self.ladders[side.index()];
        if let Ok(at) = ladder.find(rank(side, price.0)) {
            ladder.remove(at);
        }
        self.levels.release(level);
    }

    /// The level that this order joins, made if it is not there.
    fn level_for(&mut self, order: Order) -> Result<u32, BookError> {
        let rank = rank(order.side, order.price.0);
        let ladder = &mut self.ladders[order.side.index()];
        match ladder.find(rank) {
            Ok(at) => {
                let level = ladder.value(at);
                match self.levels[level].lots.checked_add(order.lots.0) {
                    Some(_) => Ok(level),
                    None => Err(BookError::Limit(BookLimit::Lots)),
                }
            }
            Err(_) if ladder.is_full() => Err(BookError::Limit(BookLimit::Levels)),
            Err(at) => {
                let queue = Queue::new(order.side, order.price);
                let level = self.levels.take(queue).ok_or(BookError::Limit(BookLimit::Levels))?;
                ladder.insert(at, rank, level);
                Ok(level)
            }
        }
    }

    fn find(&self, side: Side, price: HalfTicks) -> Option<u32> {
        let ladder = &self.ladders[side.index()];
        ladder.find(rank(side, price.0)).ok().map(|at| ladder.value(at))
    }

    fn queue(&self, level: u32) -> impl Iterator<Item = Order> + '_ {
        let mut next = self.levels[level].oldest;
        core::iter::from_fn(move || {
            if next == NONE {
                return None;
            }
            let order = self.show(next);
            next = self.orders[next].newer;
            Some(order)
        })
    }

    fn show(&self, handle: u32) -> Order {
        let node = &self.orders[handle];
        let queue = &self.levels[node.level];
        Order {
            id: OrderId(node.id),
            owner: node.owner,
            side: queue.side,
            price: queue.price,
            lots: Lots(node.lots),
        }
    }
}

impl Queue {
    const fn new(side: Side, price: HalfTicks) -> Self {
        Self { price, lots: 0, order_count: 0, oldest: NONE, newest: NONE, side }
    }

    const fn show(&self) -> Level<HalfTicks> {
        Level { price: self.price, lots: Lots(self.lots), order_count: self.order_count }
    }
}
