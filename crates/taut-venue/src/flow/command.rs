//! What a flow asks of the engine.

use taut_types::{HalfTicks, Lots, OrderId, Side, TimeInForce};

/// A command to the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowCommand {
    /// A limit order.
    New {
        /// Unique in the flow; an id is used again only after its order has left the book.
        order_id: OrderId,
        /// Its side.
        side: Side,
        /// Its limit.
        price: HalfTicks,
        /// Its quantity.
        lots: Lots,
        /// How long it lives: good till cancelled, or immediate or cancel.
        time_in_force: TimeInForce,
    },
    /// All that is left of an order leaves the book.
    Cancel {
        /// The order.
        order_id: OrderId,
    },
    /// An order becomes smaller, stays above zero and keeps its place in the queue.
    Reduce {
        /// The order.
        order_id: OrderId,
        /// By how much.
        by: Lots,
    },
}

/// An order that rests in the book before the first command. Within a level the ones that come
/// first have priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitialOrder {
    /// Unique in the flow.
    pub order_id: OrderId,
    /// Its side.
    pub side: Side,
    /// Its price.
    pub price: HalfTicks,
    /// Its quantity.
    pub lots: Lots,
}
