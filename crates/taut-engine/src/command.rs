//! What an engine is asked to do.

use taut_types::{HalfTicks, Lots, OrderId, OrderType, Side, TimeInForce};

/// A command to an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Command {
    /// Enters an order.
    New(NewOrder),
    /// Takes a resting order out of the book.
    Cancel {
        /// Which.
        order_id: OrderId,
    },
    /// Takes quantity off a resting order, which keeps its place in the queue; all that it has or
    /// more cancels it.
    Reduce {
        /// Which.
        order_id: OrderId,
        /// How much.
        by: Lots,
    },
}

/// An order to enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewOrder {
    /// Its identity: unlike that of every resting order. It is free again when the order has been
    /// filled or cancelled.
    pub order_id: OrderId,
    /// Whose it is.
    pub owner: u32,
    /// Its side.
    pub side: Side,
    /// Limit or market.
    pub order_type: OrderType,
    /// What happens to a part that does not trade at once. `Day` is as good till cancel: ending
    /// the session is the caller's business. A market order never rests, whatever this says.
    pub time_in_force: TimeInForce,
    /// A limit order's price: positive and a whole number of ticks, which is an even number of half
    /// ticks. A market order's price is only echoed.
    pub price: HalfTicks,
    /// How much, more than zero.
    pub lots: Lots,
}

impl NewOrder {
    /// The worst price at which it may trade: for a market order the end of the number range.
    pub(crate) const fn limit(&self) -> HalfTicks {
        match (self.order_type, self.side) {
            (OrderType::Limit, _) => self.price,
            (OrderType::Market, Side::Buy) => HalfTicks(i64::MAX),
            (OrderType::Market, Side::Sell) => HalfTicks(i64::MIN),
        }
    }

    /// Whether it may trade with an order of the other side at this price.
    pub(crate) fn crosses(&self, price: HalfTicks) -> bool {
        match self.side {
            Side::Buy => price <= self.limit(),
            Side::Sell => price >= self.limit(),
        }
    }

    /// Whether a remainder of it stays in the book.
    pub(crate) const fn may_rest(&self) -> bool {
        matches!(self.order_type, OrderType::Limit)
            && matches!(self.time_in_force, TimeInForce::GoodTillCancel | TimeInForce::Day)
    }
}
