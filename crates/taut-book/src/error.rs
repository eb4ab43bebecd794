//! Why a book refused a call.

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
