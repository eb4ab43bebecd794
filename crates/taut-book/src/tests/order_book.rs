use std::vec::Vec;

use proptest::prelude::*;
use taut_types::{HalfTicks, Lots, OrderId, Side};

use crate::oracle::NaiveOrderBook;
use crate::{BookError, BookLimit, Level, Order, OrderBook, Removal};

fn order(id: u64, side: Side, price: i64, lots: i64) -> Order {
    Order { id: OrderId(id), owner: 7, side, price: HalfTicks(price), lots: Lots(lots) }
}

fn book_of(orders: &[Order]) -> OrderBook {
    let mut book = OrderBook::with_capacity(16, 8);
    for &order in orders {
        book.add(order).expect("room");
    }
    book
}

fn ids(book: &OrderBook, side: Side) -> Vec<u64> {
    book.orders(side).map(|order| order.id.0).collect()
}

#[test]
fn keeps_orders_by_price_and_then_by_arrival() {
    let book = book_of(&[
        order(1, Side::Buy, 10, 1),
        order(2, Side::Buy, 12, 1),
        order(3, Side::Buy, 10, 1),
        order(4, Side::Sell, 20, 1),
        order(5, Side::Sell, 18, 1),
        order(6, Side::Sell, 18, 1),
    ]);
    assert_eq!(ids(&book, Side::Buy), [2, 1, 3]);
    assert_eq!(ids(&book, Side::Sell), [5, 6, 4]);
    assert_eq!(book.best_order(Side::Sell), Some(order(5, Side::Sell, 18, 1)));
    assert_eq!(book.first_order_at(Side::Buy, HalfTicks(10)), Some(order(1, Side::Buy, 10, 1)));
    assert_eq!(book.first_order_at(Side::Buy, HalfTicks(11)), None);
    let level = Level { price: HalfTicks(18), lots: Lots(2), order_count: 2 };
    assert_eq!(book.top().ask, Some(level));
    assert_eq!(book.level_at(Side::Sell, HalfTicks(18)), Some(level));
    assert_eq!(book.levels(Side::Sell).next_back().map(|level| level.price), Some(HalfTicks(20)));
}

#[test]
fn a_book_can_be_walked_from_any_order_and_any_price_on() {
    let book = book_of(&[
        order(1, Side::Buy, 10, 1),
        order(2, Side::Buy, 12, 1),
        order(3, Side::Buy, 10, 1),
        order(4, Side::Sell, 20, 1),
    ]);
    let next = |id| {
        let next = book.next_in_queue(book.find(OrderId(id)).expect("an order"));
        next.map(|handle| book.order_at(handle).id.0)
    };
    assert_eq!([1, 2, 3, 4].map(next), [Some(3), None, None, None]);
    let behind = |side, price| {
        let level = book.level_behind(side, HalfTicks(price));
        level.map(|level| (level.price.0, level.order_count))
    };
    assert_eq!([13, 12, 11, 10].map(|price| behind(Side::Buy, price)), {
        [Some((12, 1)), Some((10, 2)), Some((10, 2)), None]
    });
    assert_eq!([i64::MIN, 20].map(|price| behind(Side::Sell, price)), [Some((20, 1)), None]);
}

#[test]
fn removing_the_oldest_a_middle_one_and_the_newest_loses_nobody() {
    let orders: Vec<Order> = (1..=6).map(|id| order(id, Side::Sell, 10, 1)).collect();
    for (gone, left) in
        [(1, [2, 3, 4, 5, 6]), (3, [1, 2, 4, 5, 6]), (4, [1, 2, 3, 5, 6]), (6, [1, 2, 3, 4, 5])]
    {
        let mut book = book_of(&orders);
        let removal = book.remove(OrderId(gone)).expect("present");
        assert_eq!(removal.order, order(gone, Side::Sell, 10, 0));
        assert_eq!(removal.level, Level { price: HalfTicks(10), lots: Lots(5), order_count: 5 });
        assert_eq!(ids(&book, Side::Sell), left);
        book.add(order(9, Side::Sell, 10, 1)).expect("room");
        let filled: Vec<u64> = core::iter::from_fn(|| book.take_best(Side::Sell, Lots(1)))
            .map(|fill| fill.order.id.0)
            .collect();
        assert_eq!(filled[..5], left);
        assert_eq!(filled[5], 9);
    }
}

#[test]
fn the_last_order_takes_its_level_with_it() {
    let mut book = book_of(&[order(1, Side::Buy, 12, 3), order(2, Side::Buy, 10, 1)]);
    let removal = book.remove(OrderId(1)).expect("present");
    assert_eq!(removal.lots, Lots(3));
    assert_eq!(removal.level, Level { price: HalfTicks(12), lots: Lots(0), order_count: 0 });
    assert_eq!(book.best_price(Side::Buy), Some(HalfTicks(10)));
    assert_eq!(book.level_at(Side::Buy, HalfTicks(12)), None);
    book.remove(OrderId(2)).expect("present");
    assert_eq!((book.best(Side::Buy), book.best_order(Side::Buy)), (None, None));
    assert_eq!(book.take_best(Side::Buy, Lots(1)), None);
}

#[test]
fn a_reduced_order_keeps_its_place_and_one_reduced_to_nothing_is_gone() {
    let mut book = book_of(&[order(1, Side::Buy, 10, 5), order(2, Side::Buy, 10, 5)]);
    let level = |lots, order_count| Level { price: HalfTicks(10), lots: Lots(lots), order_count };
    assert_eq!(
        book.reduce(OrderId(1), Lots(2)),
        Ok(Removal { order: order(1, Side::Buy, 10, 3), lots: Lots(2), level: level(8, 2) })
    );
    assert_eq!(book.best_order(Side::Buy), Some(order(1, Side::Buy, 10, 3)));
    assert_eq!(
        book.reduce(OrderId(1), Lots(4)),
        Ok(Removal { order: order(1, Side::Buy, 10, 0), lots: Lots(3), level: level(5, 1) })
    );
    assert_eq!(book.reduce(OrderId(1), Lots(1)), Err(BookError::UnknownOrder));
    assert_eq!(book.reduce(OrderId(2), Lots(0)), Err(BookError::BadLots));
    assert_eq!(book.reduce(OrderId(2), Lots(-1)), Err(BookError::BadLots));
    assert_eq!(ids(&book, Side::Buy), [2]);
}

#[test]
fn a_fill_takes_from_the_first_in_line_who_keeps_its_place_until_it_is_empty() {
    let mut book = book_of(&[order(1, Side::Sell, 10, 5), order(2, Side::Sell, 10, 5)]);
    let fill = book.take_best(Side::Sell, Lots(2)).expect("a maker");
    assert_eq!((fill.order.id, fill.lots, fill.order.lots), (OrderId(1), Lots(2), Lots(3)));
    let fill = book.take_best(Side::Sell, Lots(9)).expect("a maker");
    assert_eq!((fill.order.id, fill.lots, fill.order.lots), (OrderId(1), Lots(3), Lots(0)));
    assert_eq!(book.take_best(Side::Sell, Lots(0)), None);
    assert_eq!(book.take_best(Side::Buy, Lots(1)), None);
    assert_eq!(ids(&book, Side::Sell), [2]);
}

#[test]
fn every_number_is_an_id_and_an_id_is_free_again_once_its_order_is_gone() {
    let mut book = OrderBook::with_capacity(4, 4);
    for id in [0, u64::MAX, 1 << 63] {
        book.add(order(id, Side::Buy, 10, 1)).expect("room");
        assert_eq!(book.add(order(id, Side::Sell, 11, 1)), Err(BookError::DuplicateOrder));
    }
    for id in [0, u64::MAX, 1 << 63] {
        assert_eq!(book.order(OrderId(id)), Some(order(id, Side::Buy, 10, 1)));
        book.remove(OrderId(id)).expect("present");
        assert_eq!(book.remove(OrderId(id)), Err(BookError::UnknownOrder));
        book.add(order(id, Side::Sell, 11, 1)).expect("free again");
    }
    assert_eq!(book.order_count(), 3);
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let mut book = OrderBook::with_capacity(3, 2);
    book.add(order(1, Side::Buy, 10, 1)).expect("room");
    book.add(order(2, Side::Buy, 12, i64::MAX)).expect("room");
    let hash = book.state_hash();
    let limit = |limit| Err(BookError::Limit(limit));
    assert_eq!(book.add(order(3, Side::Buy, 14, 1)), limit(BookLimit::Levels));
    assert_eq!(book.add(order(3, Side::Buy, 12, 1)), limit(BookLimit::Lots));
    assert_eq!(book.add(order(3, Side::Buy, 10, 0)), Err(BookError::BadLots));
    assert_eq!(book.state_hash(), hash);
    book.add(order(3, Side::Buy, 10, 1)).expect("room");
    assert_eq!(book.add(order(4, Side::Sell, 20, 1)), limit(BookLimit::Orders));
    assert_eq!((book.order_count(), book.level_count(Side::Sell)), (3, 0));
    book.remove(OrderId(2)).expect("present");
    book.add(order(4, Side::Buy, 14, 1)).expect("the order and its level have made room");
}

#[test]
fn every_place_can_be_used_again_and_again() {
    let mut book = OrderBook::with_capacity(2, 1);
    for id in 0..1_000u64 {
        let price = i64::try_from(id).expect("small");
        book.add(order(id, Side::Buy, price, 1)).expect("room");
        book.add(order(id + 5_000, Side::Sell, price, 2)).expect("room");
        book.remove(OrderId(id)).expect("present");
        book.take_best(Side::Sell, Lots(2)).expect("present");
    }
    assert_eq!(book.order_count(), 0);
}

#[test]
fn clear_makes_a_book_like_new() {
    let mut book = book_of(&[order(1, Side::Buy, 10, 1), order(2, Side::Sell, 12, 1)]);
    book.clear();
    assert_eq!(book.state_hash(), OrderBook::with_capacity(1, 1).state_hash());
    for id in 0..16 {
        book.add(order(id, Side::Buy, 10, 1)).expect("all the room is back");
    }
}

/// Something to do to both books.
#[derive(Clone, Copy, Debug)]
enum Step {
    Add(Order),
    Remove(u64),
    Reduce(u64, i64),
    TakeBest(Side, i64),
}

fn steps(count: usize) -> impl Strategy<Value = Vec<Step>> {
    // Ids in all corners of their range, prices dense enough to queue up.
    let id = || (0u64..60).prop_map(|n| if n % 3 == 0 { u64::MAX - n } else { n << (n % 40) });
    let side = || any::<bool>().prop_map(|buy| if buy { Side::Buy } else { Side::Sell });
    let add = (id(), side(), -12i64..12, -1i64..20)
        .prop_map(|(id, side, price, lots)| Step::Add(order(id, side, price, lots)));
    let step = prop_oneof![
        6 => add,
        2 => id().prop_map(Step::Remove),
        1 => (id(), -1i64..12).prop_map(|(id, by)| Step::Reduce(id, by)),
        2 => (side(), 0i64..25).prop_map(|(side, lots)| Step::TakeBest(side, lots)),
    ];
    proptest::collection::vec(step, count / 2..count)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn agrees_with_its_twin_over_a_hundred_thousand_commands(steps in steps(360)) {
        let mut book = OrderBook::with_capacity(40, 14);
        let mut twin = NaiveOrderBook::with_capacity(40, 14);
        for (n, step) in steps.into_iter().enumerate() {
            match step {
                Step::Add(order) => prop_assert_eq!(book.add(order), twin.add(order)),
                Step::Remove(id) => {
                    prop_assert_eq!(book.order(OrderId(id)), twin.order(OrderId(id)));
                    prop_assert_eq!(book.remove(OrderId(id)), twin.remove(OrderId(id)));
                }
                Step::Reduce(id, by) => prop_assert_eq!(
                    book.reduce(OrderId(id), Lots(by)),
                    twin.reduce(OrderId(id), Lots(by))
                ),
                Step::TakeBest(side, lots) => prop_assert_eq!(
                    book.take_best(side, Lots(lots)),
                    twin.take_best(side, Lots(lots))
                ),
            }
            if n % 8 == 0 {
                prop_assert_eq!(book.state_hash(), twin.state_hash());
            }
        }
        prop_assert_eq!(book.state_hash(), twin.state_hash());
        prop_assert_eq!(book.top(), twin.top());
        prop_assert_eq!(book.order_count(), twin.order_count());
        for side in Side::BOTH {
            prop_assert_eq!(book.orders(side).collect::<Vec<_>>(), twin.orders(side));
            prop_assert_eq!(book.levels(side).collect::<Vec<_>>(), twin.levels(side));
        }
    }
}
