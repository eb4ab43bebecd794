//! Why a book refused a call.

use core::fmt;

/// Why a book refused a call; the book is as it was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BookError {
    /// There is no level at this price to delete.
    UnknownLevel,
    /// No order with this id stands in the book.
    UnknownOrder,
    /// An order with this id stands in the book already.
    DuplicateOrder,
    /// The quantity is negative, or zero where an order needs one.
    BadLots,
    /// The memory reserved at construction, or the range of a number, is used up.
    Limit(BookLimit),
}

/// What is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BookLimit {
    /// The orders of the book.
    Orders,
    /// The price levels of one side.
    Levels,
    /// The total quantity of one level, 2^63 - 1 lots.
    Lots,
}

impl fmt::Display for BookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownLevel => "there is no level at this price",
            Self::UnknownOrder => "there is no order with this id in the book",
            Self::DuplicateOrder => "an order with this id is in the book already",
            Self::BadLots => "the quantity is negative, or zero where an order needs one",
            Self::Limit(BookLimit::Orders) => "no room for more orders: build the book for more",
            Self::Limit(BookLimit::Levels) => "no room for more levels: build the book for more",
            Self::Limit(BookLimit::Lots) => "a level's quantity would pass 2^63 - 1 lots",
        })
    }
}

impl core::error::Error for BookError {}
