//! A walk through the single orders of a book that moves meanwhile.

use taut_book::{Order, OrderBook};
use taut_types::Side;

/// How far the orders of a book were told: both sides, best price first, those of a price in the
/// order of their priority. Each order that stands in the book from the beginning to the end of the
/// walk is met once, and one that comes meanwhile where the walk has not been: at a price that it
/// has left behind, it is not.
#[derive(Clone, Copy, Debug)]
pub(super) struct OrderWalk {
    side: Side,
    /// The last one of the side.
    last: Option<Order>,
    /// The beginning was told.
    pub(super) has_begun: bool,
}

impl OrderWalk {
    pub(super) const START: Self = Self { side: Side::Buy, last: None, has_begun: false };

    /// The next order; nothing when all were met. Cost: a few look-ups, and where the last one has
    /// left meanwhile, a search of its queue.
    pub(super) fn next(&mut self, book: &OrderBook) -> Option<Order> {
        loop {
            let next = match &self.last {
                Some(last) => behind(book, last),
                None => book.best_order(self.side),
            };
            if next.is_some() || self.side == Side::Sell {
                self.last = next.or(self.last);
                return next;
            }
            (self.side, self.last) = (Side::Sell, None);
        }
    }
}

/// The first order behind this one, which may have left.
fn behind(book: &OrderBook, last: &Order) -> Option<Order> {
    let Order { id, side, price, owner: arrival, .. } = *last;
    let stands = book.find(id).filter(|handle| {
        let order = book.order_at(*handle);
        (order.side, order.price, order.owner) == (side, price, arrival)
    });
    let in_queue = match stands {
        Some(handle) => book.next_in_queue(handle).map(|next| book.order_at(next)),
        // Those that came after it are behind it.
        None => book.orders_at(side, price).find(|order| order.owner > arrival),
    };
    in_queue.or_else(|| {
        let level = book.level_behind(side, price)?;
        book.first_order_at(side, level.price)
    })
}

#[cfg(test)]
mod tests {
    use taut_types::{HalfTicks, Lots, OrderId};

    use super::*;

    fn order(id: u64, side: Side, price: i64) -> Order {
        let (price, owner) = (HalfTicks(price), u32::try_from(id).expect("small"));
        Order { id: OrderId(id), owner, side, price, lots: Lots(1) }
    }

    fn book() -> OrderBook {
        let mut book = OrderBook::with_capacity(16, 8);
        for (id, side, price) in [
            (1, Side::Buy, 20),
            (2, Side::Buy, 20),
            (3, Side::Buy, 20),
            (4, Side::Buy, 18),
            (5, Side::Sell, 22),
        ] {
            book.add(order(id, side, price)).expect("room");
        }
        book
    }

    fn rest(walk: &mut OrderWalk, book: &OrderBook) -> Vec<u64> {
        std::iter::from_fn(|| walk.next(book)).map(|order| order.id.0).collect()
    }

    #[test]
    fn it_meets_all_in_the_order_of_their_priority() {
        let (mut walk, book) = (OrderWalk::START, book());
        assert_eq!(rest(&mut walk, &book), [1, 2, 3, 4, 5]);
        assert_eq!(walk.next(&book), None);
    }

    #[test]
    fn it_goes_on_where_the_last_order_stood_when_that_is_gone() {
        for (gone, met) in [(vec![1], vec![2, 3]), (vec![1, 2], vec![3]), (vec![1, 2, 3], vec![])] {
            let (mut walk, mut book) = (OrderWalk::START, book());
            assert!(walk.next(&book).is_some_and(|order| order.id == OrderId(1)));
            for id in gone {
                book.remove(OrderId(id)).expect("an order");
            }
            // One of the same number joins the end, another one a better price.
            book.add(Order { owner: 6, ..order(1, Side::Buy, 20) }).expect("room");
            book.add(Order { owner: 7, ..order(7, Side::Buy, 21) }).expect("room");
            let expected: Vec<_> = met.into_iter().chain([1, 4, 5]).collect();
            assert_eq!(rest(&mut walk, &book), expected);
        }
    }
}
