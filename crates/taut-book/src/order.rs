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

/// Where an order stands in the book's memory, from its arrival until it leaves; then the handle
/// belongs to another order. A caller keeps its own data about orders in arrays by
/// [`index`](Self::index), and looks an order up once instead of at every step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle(pub(crate) u32);

impl Handle {
    /// A number below the book's order capacity.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// An order that has entered the book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Where it stands.
    pub handle: Handle,
    /// Its price level as it is now.
    pub level: Level<HalfTicks>,
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

/// A removal for a caller that keeps its own data about orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// What was removed.
    pub removal: Removal,
    /// Where the order stands, or stood.
    pub handle: Handle,
    /// The byte that the caller had the book carry.
    pub tag: u8,
}
