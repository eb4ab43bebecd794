//! What can be asked of a book of orders.

use taut_types::{HalfTicks, OrderId, Side};

use super::OrderBook;
use crate::ladder::rank;
use crate::order::Handle;
use crate::pool::NONE;
use crate::{Fnv1a, Level, Order, TopOfBook};

impl OrderBook {
    /// The order with this id.
    #[must_use]
    pub fn order(&self, id: OrderId) -> Option<Order> {
        self.find(id).map(|handle| self.order_at(handle))
    }

    /// Whether an order with this id stands in the book.
    #[must_use]
    pub fn contains(&self, id: OrderId) -> bool {
        self.find(id).is_some()
    }

    /// Where the order with this id stands.
    #[must_use]
    #[inline]
    pub fn find(&self, id: OrderId) -> Option<Handle> {
        self.index.get(id.0, |at| self.orders[at].id == id.0).map(Handle)
    }

    /// The order with this handle, which must stand in the book.
    #[must_use]
    pub fn order_at(&self, handle: Handle) -> Order {
        let node = &self.orders[handle.0];
        node.show(&self.levels[node.level()])
    }

    /// The byte that is carried with an order.
    #[must_use]
    pub fn tag(&self, handle: Handle) -> u8 {
        self.orders[handle.0].tag()
    }

    /// The best price of a side.
    #[must_use]
    #[inline]
    pub fn best_price(&self, side: Side) -> Option<HalfTicks> {
        let (best, _) = self.sides[side.index()].best()?;
        Some(HalfTicks(rank(side, best)))
    }

    /// Whether the other side's best price is at or better than this price for an order of this
    /// side: whether the two would trade.
    #[must_use]
    #[inline(always)]
    pub fn is_met(&self, side: Side, price: HalfTicks) -> bool {
        let best = self.sides[side.opposite().index()].best();
        // The same price has complementary ranks on the two sides.
        best.is_some_and(|(best, _)| rank(side, price.0) >= !best)
    }

    /// The best level of a side.
    #[must_use]
    pub fn best(&self, side: Side) -> Option<Level<HalfTicks>> {
        let (_, level) = self.sides[side.index()].best()?;
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
        self.level(side, price).map(|level| self.levels[level].show())
    }

    /// The order that is first in line on a side.
    #[must_use]
    pub fn best_order(&self, side: Side) -> Option<Order> {
        self.best_handle(side).map(|handle| self.order_at(handle))
    }

    /// Where the order that is first in line on a side stands.
    #[must_use]
    pub fn best_handle(&self, side: Side) -> Option<Handle> {
        let (_, level) = self.sides[side.index()].best()?;
        Some(Handle(self.levels[level].oldest))
    }

    /// The best level of a side that is worse than this price, whether or not there is one at it.
    #[must_use]
    pub fn level_behind(&self, side: Side, price: HalfTicks) -> Option<Level<HalfTicks>> {
        let level = self.sides[side.index()].behind(rank(side, price.0))?;
        Some(self.levels[level].show())
    }

    /// Where the order stands that is next in the queue behind the one with this handle, which must
    /// stand in the book.
    #[must_use]
    pub fn next_in_queue(&self, handle: Handle) -> Option<Handle> {
        let newer = self.orders[handle.0].newer;
        (newer != NONE).then_some(Handle(newer))
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
        self.sides[side.index()].iter().map(|level| self.levels[level].show())
    }

    /// A side's orders, best price first and oldest first within a price.
    pub fn orders(&self, side: Side) -> impl Iterator<Item = Order> + '_ {
        self.handles(side).map(|handle| self.order_at(handle))
    }

    /// The orders at a price, oldest first.
    pub fn orders_at(&self, side: Side, price: HalfTicks) -> impl Iterator<Item = Order> + '_ {
        self.handles_at(side, price).map(|handle| self.order_at(handle))
    }

    /// Where a side's orders stand, best price first and oldest first within a price.
    pub fn handles(&self, side: Side) -> impl Iterator<Item = Handle> + '_ {
        self.sides[side.index()].iter().flat_map(|level| self.queue(level))
    }

    /// Where the orders at a price stand, oldest first.
    pub fn handles_at(&self, side: Side, price: HalfTicks) -> impl Iterator<Item = Handle> + '_ {
        self.level(side, price).into_iter().flat_map(|level| self.queue(level))
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
        self.sides[side.index()].len()
    }

    /// How many levels a side has room for.
    #[must_use]
    pub const fn level_capacity(&self) -> usize {
        self.sides[0].capacity()
    }

    /// FNV-1a over both sides, bids first: level count; of each level, best first, price, lots and
    /// order count; of each of its orders, oldest first, id, owner and lots. Cost: linear.
    #[must_use]
    pub fn state_hash(&self) -> u64 {
        let mut hash = Fnv1a::new();
        for side in Side::BOTH {
            hash.write_u64(self.level_count(side) as u64);
            for level in self.levels(side) {
                hash.write_i64(level.price.0);
                hash.write_i64(level.lots.0);
                hash.write_u64(u64::from(level.order_count));
                for order in self.orders_at(side, level.price) {
                    hash.write_u64(order.id.0);
                    hash.write_u64(u64::from(order.owner));
                    hash.write_i64(order.lots.0);
                }
            }
        }
        hash.finish()
    }

    fn level(&self, side: Side, price: HalfTicks) -> Option<u32> {
        self.sides[side.index()].find(rank(side, price.0))
    }

    fn queue(&self, level: u32) -> impl Iterator<Item = Handle> + '_ {
        let mut next = self.levels[level].oldest;
        core::iter::from_fn(move || {
            let handle = (next != NONE).then_some(Handle(next))?;
            next = self.orders[next].newer;
            Some(handle)
        })
    }
}
