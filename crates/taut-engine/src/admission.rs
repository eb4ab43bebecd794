//! What is checked before an order may touch the book.

use taut_book::OrderBook;
use taut_types::{Lots, OrderType};

use crate::{NewOrder, RejectReason};

/// Checks the order in itself and its id.
pub(crate) fn admit(book: &OrderBook, order: &NewOrder) -> Result<(), RejectReason> {
    if order.lots <= Lots::ZERO {
        return Err(RejectReason::NonPositiveLots);
    }
    // A limit stands on a whole tick; the half ticks between belong to midpoints.
    if order.order_type == OrderType::Limit && (order.price.0 <= 0 || order.price.0 % 2 != 0) {
        return Err(RejectReason::BadPrice);
    }
    if book.contains(order.order_id) {
        return Err(RejectReason::DuplicateOrderId);
    }
    Ok(())
}

/// Whether the order would trade against anything now.
pub(crate) fn is_marketable(book: &OrderBook, order: &NewOrder) -> bool {
    book.best_price(order.side.opposite()).is_some_and(|best| order.crosses(best))
}

/// Whether the book holds all that the order asks for. Cost: one step per level it would sweep.
pub(crate) fn is_fillable(book: &OrderBook, order: &NewOrder) -> bool {
    let mut missing = order.lots.0;
    for level in book.levels(order.side.opposite()) {
        if missing <= 0 || !order.crosses(level.price) {
            break;
        }
        // Both are positive, so the difference cannot overflow.
        missing -= level.lots.0;
    }
    missing <= 0
}

/// Whether the remainder of a marketable order will find a place.
///
/// A remainder is left only after at least one maker was filled, so an order's place is free by
/// then. A level's place on the own side is not, and the level is a new one: the order's price was
/// at or beyond the other side's best, where its own side cannot have had any.
pub(crate) fn remainder_fits(book: &OrderBook, order: &NewOrder) -> bool {
    book.level_count(order.side) < book.level_capacity() || is_fillable(book, order)
}
