//! The recorded book: orders in queues at their prices, as the rows name them. It does not match.

use taut_book::{Order, OrderBook};
use taut_types::{HalfTicks, OrderId, Side};

/// The orders that it would trade with on entry.
pub(super) fn opposing(book: &OrderBook, order: &Order) -> Vec<OrderId> {
    let price = order.price;
    match order.side {
        Side::Buy => ids(book, Side::Sell, |ask| ask <= price),
        Side::Sell => ids(book, Side::Buy, |bid| bid >= price),
    }
}

/// The orders on its own side with a better price.
pub(super) fn better(book: &OrderBook, order: &Order) -> Vec<OrderId> {
    let price = order.price;
    match order.side {
        Side::Buy => ids(book, Side::Buy, |bid| bid > price),
        Side::Sell => ids(book, Side::Sell, |ask| ask < price),
    }
}

/// The orders of the best levels that are meant, from the lowest price up.
fn ids(book: &OrderBook, side: Side, is_meant: impl Fn(HalfTicks) -> bool) -> Vec<OrderId> {
    let levels = book.levels(side).map(|level| level.price);
    let mut prices: Vec<_> = levels.take_while(|&price| is_meant(price)).collect();
    prices.sort_unstable();
    prices.iter().flat_map(|&price| book.orders_at(side, price)).map(|order| order.id).collect()
}

/// The orders that stand before this one at its price.
pub(super) fn ahead_of(book: &OrderBook, id: OrderId) -> Vec<Order> {
    let Some(order) = book.order(id) else { return Vec::new() };
    book.orders_at(order.side, order.price).take_while(|other| other.id != id).collect()
}
