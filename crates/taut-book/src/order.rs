//! An order as the book holds it.

use taut_types::{HalfTicks, Lots, OrderId, Side};

use crate::Level;

/// A resting order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// Its identity, unique among the orders in the book.
    pub id: OrderId,
    /// Whose it is; the book only carries it.
    pub owner: u32,
    /// Its side.
    pub side: Side,
    /// Its price.
    pub price: HalfTicks,
    /// What is left of it.
    pub lots: Lots,
}

/// Quantity that left the book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removal {
    /// The order as it is now; zero lots say that it has left the book.
    pub order: Order,
    /// How much left.
    pub lots: Lots,
    /// The order's price level as it is now; zero lots say that it has left the book.
    pub level: Level<HalfTicks>,
}
