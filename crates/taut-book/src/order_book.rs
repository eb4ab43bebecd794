//! The book of orders in queues (market by order, L3).

use taut_types::{HalfTicks, Lots, OrderId, Side};

use crate::id_index::IdIndex;
use crate::ladder::rank;
use crate::order::{Handle, Placement, Taken};
use crate::pool::{Link, NONE, Pool};
use crate::side_levels::SideLevels;
use crate::{BookError, BookLimit, Level, Order, Removal};

mod queries;

/// The most orders that a book holds: 2^30.
pub(crate) const ORDERS_MAX: usize = 1 << 30;
/// The most levels that a side holds: 2^22.
pub(crate) const LEVELS_MAX: usize = 1 << 22;

/// Both sides' orders, by price and then by arrival.
///
/// Cost: `add`, `remove` and `reduce` one hash probe and one look at the level; `take_best` no
/// search until the order leaves. Nothing allocates once it is built.
#[derive(Clone, Debug)]
pub struct OrderBook {
    orders: Pool<Node>,
    levels: Pool<Queue>,
    sides: [SideLevels; 2],
    index: IdIndex,
}

/// An order in the queue of its level: two to a cache line.
#[derive(Clone, Copy, Debug)]
struct Node {
    id: u64,
    lots: i64,
    owner: u32,
    /// The level's handle in the low 24 bits, the caller's byte in the high ones.
    level_and_tag: u32,
    older: u32,
    newer: u32,
}

/// A level: the ends of its queue and its totals; two to a cache line.
#[derive(Clone, Copy, Debug)]
struct Queue {
    price: HalfTicks,
    lots: i64,
    order_count: u32,
    oldest: u32,
    newest: u32,
    side: Side,
}

const LEVEL_BITS: u32 = 24;

impl OrderBook {
    /// An empty book with room for `order_capacity` orders (up to 2^30) and `level_capacity` price
    /// levels on each side (up to 2^22), which finds levels at once within a window of four prices
    /// for each of them.
    #[must_use]
    pub fn with_capacity(order_capacity: usize, level_capacity: usize) -> Self {
        Self::with_window(order_capacity, level_capacity, level_capacity.saturating_mul(4))
    }

    /// As [`with_capacity`](Self::with_capacity), with a window of about so many half ticks around
    /// the best price of each side (256 to 2^18). A level outside costs a search among those
    /// outside; a place in the window costs four bytes.
    #[must_use]
    pub fn with_window(order_capacity: usize, level_capacity: usize, window: usize) -> Self {
        let node = Node { id: 0, lots: 0, owner: 0, level_and_tag: 0, older: NONE, newer: NONE };
        let order_capacity = order_capacity.min(ORDERS_MAX);
        let level_capacity = level_capacity.min(LEVELS_MAX);
        let side = SideLevels::new(level_capacity, window);
        Self {
            orders: Pool::with_capacity(order_capacity, node),
            levels: Pool::with_capacity(level_capacity * 2, Queue::new(Side::Buy, HalfTicks(0))),
            sides: [side.clone(), side],
            index: IdIndex::with_capacity(order_capacity),
        }
    }

    /// Puts an order at the end of its level's queue and returns the level.
    ///
    /// # Errors
    /// [`BookError::BadLots`] unless its quantity is positive, [`BookError::DuplicateOrder`],
    /// [`BookError::Limit`] when orders, levels or the level's quantity are used up.
    #[inline(always)]
    pub fn add(&mut self, order: Order) -> Result<Level<HalfTicks>, BookError> {
        self.place(order, 0).map(|placement| placement.level)
    }

    /// As [`add`](Self::add), and carries a byte with the order.
    ///
    /// # Errors
    /// Those of [`add`](Self::add).
    #[inline(always)]
    pub fn place(&mut self, order: Order, tag: u8) -> Result<Placement, BookError> {
        if order.lots <= Lots::ZERO {
            return Err(BookError::BadLots);
        }
        let orders = &self.orders;
        let Some(vacancy) = self.index.vacancy(order.id.0, |at| orders[at].id == order.id.0) else {
            return Err(BookError::DuplicateOrder);
        };
        let level = self.level_for(order)?;
        let queue = &mut self.levels[level];
        let lots = queue.lots.checked_add(order.lots.0).ok_or(BookError::Limit(BookLimit::Lots))?;
        let older = queue.newest;
        let node = Node {
            id: order.id.0,
            lots: order.lots.0,
            owner: order.owner,
            level_and_tag: level | u32::from(tag) << LEVEL_BITS,
            older,
            newer: NONE,
        };
        let handle = self.orders.take(node).ok_or(BookError::Limit(BookLimit::Orders))?;
        let shown = queue.set(lots, queue.order_count + 1);
        queue.newest = handle;
        match older {
            NONE => queue.oldest = handle,
            _ => self.orders[older].newer = handle,
        }
        self.index.fill(vacancy, handle);
        Ok(Placement { handle: Handle(handle), level: shown })
    }

    /// Takes an order out of the book.
    ///
    /// # Errors
    /// [`BookError::UnknownOrder`].
    #[inline(always)]
    pub fn remove(&mut self, id: OrderId) -> Result<Removal, BookError> {
        self.withdraw(id).map(|taken| taken.removal).ok_or(BookError::UnknownOrder)
    }

    /// As [`remove`](Self::remove), and tells where the order stood; nothing when it is unknown.
    #[inline(always)]
    pub fn withdraw(&mut self, id: OrderId) -> Option<Taken> {
        let orders = &self.orders;
        let handle = self.index.remove(id.0, |at| orders[at].id == id.0)?;
        Some(self.unlink(handle))
    }

    /// Takes `by` lots off an order, which keeps its place; all that it has or more removes it.
    ///
    /// # Errors
    /// [`BookError::UnknownOrder`]; [`BookError::BadLots`] unless `by` is positive.
    pub fn reduce(&mut self, id: OrderId, by: Lots) -> Result<Removal, BookError> {
        if by <= Lots::ZERO {
            return Err(BookError::BadLots);
        }
        let handle = self.find(id).ok_or(BookError::UnknownOrder)?;
        Ok(self.take_from(handle, by).removal)
    }

    /// Takes up to `lots_max` off the order that is first in line on this side: one fill. Returns
    /// nothing when the side is empty or `lots_max` is not positive.
    #[inline(always)]
    pub fn take_best(&mut self, side: Side, lots_max: Lots) -> Option<Removal> {
        if lots_max <= Lots::ZERO {
            return None;
        }
        self.best_handle(side).map(|handle| self.take_from(handle, lots_max).removal)
    }

    /// Takes up to `lots_max`, which must not be negative, off the order with this handle, which
    /// must stand in the book.
    #[inline(always)]
    pub fn take_from(&mut self, handle: Handle, lots_max: Lots) -> Taken {
        let node = &mut self.orders[handle.0];
        if node.lots <= lots_max.0 {
            let (id, orders) = (node.id, &self.orders);
            self.index.remove(id, |at| orders[at].id == id);
            return self.unlink(handle.0);
        }
        node.lots -= lots_max.0;
        let node = *node;
        let queue = &mut self.levels[node.level()];
        let level = queue.set(queue.lots - lots_max.0, queue.order_count);
        node.taken(handle, queue.side, level, lots_max.0, node.lots)
    }

    /// Changes the byte that is carried with an order.
    pub fn set_tag(&mut self, handle: Handle, tag: u8) {
        let node = &mut self.orders[handle.0];
        node.level_and_tag = node.level() | u32::from(tag) << LEVEL_BITS;
    }

    /// Empties the book. Cost: linear in its capacity.
    pub fn clear(&mut self) {
        self.orders.clear();
        self.levels.clear();
        self.index.clear();
        for side in &mut self.sides {
            side.clear();
        }
    }

    /// Takes an order out that is not in the index any more.
    #[inline(always)]
    fn unlink(&mut self, handle: u32) -> Taken {
        let node = self.orders.release(handle);
        let queue = &mut self.levels[node.level()];
        let level = queue.set(queue.lots - node.lots, queue.order_count - 1);
        let side = queue.side;
        match node.older {
            NONE => queue.oldest = node.newer,
            older => self.orders[older].newer = node.newer,
        }
        match node.newer {
            NONE => queue.newest = node.older,
            newer => self.orders[newer].older = node.older,
        }
        if level.order_count == 0 {
            self.close_level(node.level());
        }
        node.taken(Handle(handle), side, level, node.lots, 0)
    }

    #[inline(never)]
    fn close_level(&mut self, level: u32) {
        let Queue { side, price, .. } = self.levels[level];
        self.sides[side.index()].remove(rank(side, price.0));
        self.levels.release(level);
    }

    /// The level that this order joins, made if it is not there.
    #[inline(always)]
    fn level_for(&mut self, order: Order) -> Result<u32, BookError> {
        let rank = rank(order.side, order.price.0);
        match self.sides[order.side.index()].find(rank) {
            Some(level) => Ok(level),
            None => self.open_level(order, rank),
        }
    }

    /// Makes a level for an order that will join it.
    #[inline(never)]
    fn open_level(&mut self, order: Order, rank: i64) -> Result<u32, BookError> {
        if self.orders.is_full() {
            return Err(BookError::Limit(BookLimit::Orders));
        }
        let side = &mut self.sides[order.side.index()];
        if side.is_full() {
            return Err(BookError::Limit(BookLimit::Levels));
        }
        let queue = Queue::new(order.side, order.price);
        let level = self.levels.take(queue).ok_or(BookError::Limit(BookLimit::Levels))?;
        side.insert(rank, level);
        Ok(level)
    }
}

impl Link for Node {
    #[inline(always)]
    fn next_free(&self) -> u32 {
        self.older
    }
    #[inline(always)]
    fn set_next_free(&mut self, handle: u32) {
        self.older = handle;
    }
}

impl Link for Queue {
    #[inline(always)]
    fn next_free(&self) -> u32 {
        self.oldest
    }
    #[inline(always)]
    fn set_next_free(&mut self, handle: u32) {
        self.oldest = handle;
    }
}

impl Node {
    const fn level(&self) -> u32 {
        self.level_and_tag & ((1 << LEVEL_BITS) - 1)
    }

    const fn tag(&self) -> u8 {
        (self.level_and_tag >> LEVEL_BITS) as u8
    }

    /// What is told when lots were taken off it and others are left.
    #[inline(always)]
    const fn taken(
        &self,
        handle: Handle,
        side: Side,
        level: Level<HalfTicks>,
        lots: i64,
        left: i64,
    ) -> Taken {
        let (id, owner, price) = (OrderId(self.id), self.owner, level.price);
        let order = Order { id, owner, side, price, lots: Lots(left) };
        Taken { removal: Removal { order, lots: Lots(lots), level }, handle, tag: self.tag() }
    }

    const fn show(&self, queue: &Queue) -> Order {
        let Queue { side, price, .. } = *queue;
        Order { id: OrderId(self.id), owner: self.owner, side, price, lots: Lots(self.lots) }
    }
}

impl Queue {
    const fn new(side: Side, price: HalfTicks) -> Self {
        Self { price, lots: 0, order_count: 0, oldest: NONE, newest: NONE, side }
    }

    /// Changes the totals and tells them. They are not read back: a load of what has just been
    /// stored in parts waits for the store.
    #[inline(always)]
    const fn set(&mut self, lots: i64, order_count: u32) -> Level<HalfTicks> {
        (self.lots, self.order_count) = (lots, order_count);
        Level { price: self.price, lots: Lots(lots), order_count }
    }

    const fn show(&self) -> Level<HalfTicks> {
        Level { price: self.price, lots: Lots(self.lots), order_count: self.order_count }
    }
}
