//! After construction nothing allocates.

use taut_types::{HalfTicks, Lots, OrderId, Price, Side};

use crate::{LevelBook, Order, OrderBook};

#[test]
fn a_level_book_allocates_only_when_it_is_built() {
    let mut book = LevelBook::with_capacity(100);
    let info = allocation_counter::measure(|| {
        for n in 0..10_000i64 {
            let side = if n % 2 == 0 { Side::Buy } else { Side::Sell };
            let _ = book.apply(side, Price(n * 7 % 150), Lots(n % 3), 1);
        }
        assert!(book.level_count(Side::Buy) > 0);
        std::hint::black_box(book.state_hash());
        book.clear();
    });
    assert_eq!(info.count_total, 0);
}

#[test]
fn an_order_book_allocates_only_when_it_is_built() {
    let mut book = OrderBook::with_capacity(500, 50);
    let info = allocation_counter::measure(|| {
        for n in 0..20_000u64 {
            let side = if n % 2 == 0 { Side::Buy } else { Side::Sell };
            let price = HalfTicks(i64::try_from(n * 7 % 60).unwrap_or(0));
            let order = Order { id: OrderId(n), owner: 1, side, price, lots: Lots(5) };
            let _ = book.add(order);
            let _ = book.reduce(OrderId(n / 2), Lots(3));
            if n % 5 == 0 {
                let _ = book.take_best(side, Lots(8));
            }
            if n % 3 == 0 {
                let _ = book.remove(OrderId(n / 3));
            }
        }
        std::hint::black_box((book.state_hash(), book.orders(Side::Buy).count()));
        book.clear();
    });
    assert_eq!(info.count_total, 0);
}
