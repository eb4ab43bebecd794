use std::vec::Vec;

use proptest::prelude::*;
use taut_types::{Lots, Price, Side};

use crate::oracle::NaiveLevelBook;
use crate::{BookError, BookLimit, Level, LevelAction, LevelBook, LevelChange};

fn set(book: &mut LevelBook, side: Side, price: i64, lots: i64) -> Result<LevelChange, BookError> {
    book.apply(side, Price(price), Lots(lots), 1)
}

fn prices(book: &LevelBook, side: Side) -> Vec<i64> {
    book.iter(side).map(|level| level.price.0).collect()
}

#[test]
fn orders_bids_downwards_and_offers_upwards() {
    let mut book = LevelBook::with_capacity(4);
    for price in [10, 12, 11] {
        set(&mut book, Side::Buy, price, 1).expect("room");
        set(&mut book, Side::Sell, price + 5, 1).expect("room");
    }
    assert_eq!(prices(&book, Side::Buy), [12, 11, 10]);
    assert_eq!(prices(&book, Side::Sell), [15, 16, 17]);
    let top = book.top();
    assert_eq!(top.bid.map(|level| level.price), Some(Price(12)));
    assert_eq!(top.ask, book.level(Side::Sell, 0));
    assert_eq!(book.level(Side::Sell, 3), None);
    assert_eq!(book.level(Side::Sell, usize::MAX), None);
}

#[test]
fn tells_where_an_update_happened_and_whether_the_top_changed() {
    use LevelAction::{Deleted, Inserted, Updated};
    let mut book = LevelBook::with_capacity(8);
    let change = |action, depth, top_changed| Ok(LevelChange { action, depth, top_changed });
    assert_eq!(set(&mut book, Side::Buy, 10, 1), change(Inserted, 0, true));
    assert_eq!(set(&mut book, Side::Buy, 9, 1), change(Inserted, 1, false));
    assert_eq!(set(&mut book, Side::Buy, 11, 1), change(Inserted, 0, true));
    assert_eq!(set(&mut book, Side::Buy, 10, 7), change(Updated, 1, false));
    assert_eq!(set(&mut book, Side::Buy, 11, 7), change(Updated, 0, true));
    assert_eq!(set(&mut book, Side::Buy, 11, 7), change(Updated, 0, false));
    assert_eq!(set(&mut book, Side::Buy, 9, 0), change(Deleted, 2, false));
    assert_eq!(set(&mut book, Side::Buy, 11, 0), change(Deleted, 0, true));
    assert_eq!(book.best(Side::Buy).map(|level| level.price), Some(Price(10)));
}

#[test]
fn deleting_an_absent_level_is_an_error_and_changes_nothing() {
    let mut book = LevelBook::with_capacity(2);
    set(&mut book, Side::Sell, 5, 1).expect("room");
    let hash = book.state_hash();
    assert_eq!(set(&mut book, Side::Sell, 6, 0), Err(BookError::UnknownLevel));
    assert_eq!(set(&mut book, Side::Buy, 5, 0), Err(BookError::UnknownLevel));
    assert_eq!(set(&mut book, Side::Sell, 5, -1), Err(BookError::BadLots));
    assert_eq!(book.state_hash(), hash);
}

#[test]
fn a_full_side_refuses_a_new_level_and_still_updates_its_own() {
    let mut book = LevelBook::with_capacity(2);
    for price in [1, 2] {
        set(&mut book, Side::Sell, price, 1).expect("room");
    }
    assert_eq!(set(&mut book, Side::Sell, 3, 1), Err(BookError::Limit(BookLimit::Levels)));
    assert!(set(&mut book, Side::Sell, 2, 9).is_ok());
    assert!(set(&mut book, Side::Buy, 1, 1).is_ok(), "the other side has its own room");
    assert_eq!(
        LevelBook::with_capacity(0).apply(Side::Buy, Price(1), Lots(1), 1),
        Err(BookError::Limit(BookLimit::Levels))
    );
}

#[test]
fn works_at_both_ends_of_the_price_range() {
    let mut book = LevelBook::with_capacity(4);
    for side in Side::BOTH {
        for price in [i64::MIN, i64::MAX, 0] {
            set(&mut book, side, price, 1).expect("room");
        }
    }
    assert_eq!(prices(&book, Side::Buy), [i64::MAX, 0, i64::MIN]);
    assert_eq!(prices(&book, Side::Sell), [i64::MIN, 0, i64::MAX]);
}

#[test]
fn clear_empties_both_sides() {
    let mut book = LevelBook::with_capacity(4);
    let empty = book.state_hash();
    for side in Side::BOTH {
        set(&mut book, side, 1, 1).expect("room");
    }
    book.clear();
    assert_eq!((book.level_count(Side::Buy), book.level_count(Side::Sell)), (0, 0));
    assert_eq!(book.state_hash(), empty);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn agrees_with_its_twin_over_a_hundred_thousand_updates(
        updates in proptest::collection::vec((any::<bool>(), 0i64..40, 0i64..4, 0u32..3), 200..300)
    ) {
        let mut book = LevelBook::with_capacity(30);
        let mut twin = NaiveLevelBook::with_capacity(30);
        for (buy, price, lots, count) in updates {
            let side = if buy { Side::Buy } else { Side::Sell };
            // A few deletions, so that levels build up beyond the linear part of the search.
            let lots = Lots(if price % 5 == 0 { lots - 1 } else { lots });
            let did = book.apply(side, Price(price), lots, count);
            prop_assert_eq!(did, twin.apply(side, Price(price), lots, count));
            prop_assert_eq!(book.best(side), twin.levels(side).first().copied());
        }
        prop_assert_eq!(book.state_hash(), twin.state_hash());
        for side in Side::BOTH {
            let levels: Vec<Level> = book.iter(side).collect();
            for (depth, level) in levels.iter().enumerate() {
                prop_assert_eq!(book.level(side, depth), Some(*level));
                prop_assert_eq!(book.level_at(side, level.price), Some(*level));
            }
            prop_assert_eq!(levels, twin.levels(side));
        }
    }
}
