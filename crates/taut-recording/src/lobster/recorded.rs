//! The recorded book: orders in queues at their prices, as the rows name them. It does not match.

use std::collections::{BTreeMap, HashMap, VecDeque};

use taut_types::{HalfTicks, Lots, OrderId, Side};

use super::messages::Order;

/// Orders by id, and per side the queues by price.
#[derive(Debug, Default)]
pub(super) struct RecordedBook {
    orders: HashMap<OrderId, Order>,
    queues: [BTreeMap<HalfTicks, VecDeque<OrderId>>; 2],
}

impl RecordedBook {
    pub(super) fn get(&self, id: OrderId) -> Option<&Order> {
        self.orders.get(&id)
    }

    pub(super) fn contains(&self, id: OrderId) -> bool {
        self.orders.contains_key(&id)
    }

    /// Puts an order at the end of its queue.
    pub(super) fn add(&mut self, order: Order) {
        self.orders.insert(order.id, order);
        self.queues[order.side.index()].entry(order.price).or_default().push_back(order.id);
    }

    /// Takes a quantity off an order, which leaves when nothing is left of it.
    pub(super) fn reduce(&mut self, id: OrderId, by: Lots) {
        let Some(order) = self.orders.get_mut(&id) else { return };
        order.lots = Lots(order.lots.0 - by.0);
        if order.lots <= Lots::ZERO {
            self.delete(id);
        }
    }

    /// Takes an order out, if it is there.
    pub(super) fn delete(&mut self, id: OrderId) {
        let Some(order) = self.orders.remove(&id) else { return };
        let queues = &mut self.queues[order.side.index()];
        if let Some(queue) = queues.get_mut(&order.price) {
            queue.retain(|&other| other != id);
            if queue.is_empty() {
                queues.remove(&order.price);
            }
        }
    }

    /// Whether an order would trade on entry.
    pub(super) fn would_trade(&self, order: &Order) -> bool {
        let opposite = &self.queues[order.side.opposite().index()];
        match order.side {
            Side::Buy => opposite.first_key_value().is_some_and(|(&ask, _)| ask <= order.price),
            Side::Sell => opposite.last_key_value().is_some_and(|(&bid, _)| bid >= order.price),
        }
    }

    /// The orders that it would trade with on entry.
    pub(super) fn opposing(&self, order: &Order) -> Vec<OrderId> {
        if !self.would_trade(order) {
            return Vec::new();
        }
        let opposite = &self.queues[order.side.opposite().index()];
        match order.side {
            Side::Buy => opposite.range(..=order.price).flat_map(|(_, q)| q).copied().collect(),
            Side::Sell => opposite.range(order.price..).flat_map(|(_, q)| q).copied().collect(),
        }
    }

    /// The orders on its own side with a better price.
    pub(super) fn better(&self, order: &Order) -> Vec<OrderId> {
        let own = &self.queues[order.side.index()];
        let price = order.price;
        match order.side {
            Side::Buy => {
                let above = own.range(price..).filter(|&(&at, _)| at > price);
                above.flat_map(|(_, q)| q).copied().collect()
            }
            Side::Sell => own.range(..price).flat_map(|(_, q)| q).copied().collect(),
        }
    }

    /// The orders that stand before this one at its price.
    pub(super) fn ahead_of(&self, id: OrderId) -> Vec<Order> {
        let Some(order) = self.orders.get(&id) else { return Vec::new() };
        let queue = self.queues[order.side.index()].get(&order.price);
        let ahead = queue.into_iter().flatten().take_while(|&&other| other != id);
        ahead.filter_map(|other| self.orders.get(other)).copied().collect()
    }
}
