//! What a book shows of a price level.

use taut_types::{Lots, Price};

/// One price level: its price, its total quantity and how many orders make it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level<P = Price> {
    /// The price.
    pub price: P,
    /// The total quantity; zero says that the level is gone.
    pub lots: Lots,
    /// The number of orders.
    pub order_count: u32,
}

/// The best bid and the best offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopOfBook<P = Price> {
    /// The highest bid.
    pub bid: Option<Level<P>>,
    /// The lowest offer.
    pub ask: Option<Level<P>>,
}

/// What an update did to a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelAction {
    /// The price was not in the book.
    Inserted,
    /// The price was in the book.
    Updated,
    /// The price has left the book.
    Deleted,
}

/// What an update did to a side of a [`LevelBook`](crate::LevelBook).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelChange {
    /// What happened.
    pub action: LevelAction,
    /// How many levels of the side are better: 0 is the best. For a deleted level, where it was.
    pub depth: usize,
    /// Whether the side's best level is another one now, or shows other values.
    pub top_changed: bool,
}
