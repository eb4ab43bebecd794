//! What happens when the memory reserved at construction is used up.

use taut_types::Side;

use super::{CheckedEngine, buy, cancelled, ioc, refusal, sell, trades};
use crate::{Command, Phase, RejectReason};

#[test]
fn an_order_that_would_rest_in_a_full_book_is_refused() {
    let mut checked = CheckedEngine::with_capacity(2, 4);
    checked.enter(buy(1, 98, 1));
    checked.enter(sell(2, 100, 1));
    let hash = checked.0.book().state_hash();
    for order in [buy(3, 99, 1), sell(3, 101, 1), buy(3, 98, 1)] {
        assert_eq!(refusal(&checked.enter(order)), Some(RejectReason::BookFull));
    }
    assert_eq!(checked.0.book().state_hash(), hash);
    assert!(cancelled(&checked.enter(ioc(buy(3, 99, 1)))).is_some(), "it needs no room");
    checked.cancel(1);
    assert_eq!(refusal(&checked.enter(buy(3, 99, 1))), None);
}

#[test]
fn an_order_that_fills_a_maker_finds_room_in_a_full_book() {
    let mut checked = CheckedEngine::with_capacity(2, 4);
    checked.enter(buy(1, 98, 1));
    checked.enter(sell(2, 100, 1));
    assert_eq!(trades(&checked.enter(buy(3, 100, 5))), [(2, 100, 1)]);
    assert_eq!(checked.queue(Side::Buy), [(3, 100, 4), (1, 98, 1)]);
}

#[test]
fn an_order_whose_remainder_would_need_a_level_too_many_is_refused_before_it_trades() {
    let mut checked = CheckedEngine::with_capacity(16, 2);
    checked.enter(buy(1, 97, 1));
    checked.enter(buy(2, 98, 1));
    checked.enter(sell(3, 100, 2));
    checked.enter(sell(4, 101, 2));
    let hash = checked.0.book().state_hash();
    assert_eq!(refusal(&checked.enter(buy(9, 101, 5))), Some(RejectReason::BookFull));
    assert_eq!(refusal(&checked.enter(buy(9, 99, 1))), Some(RejectReason::BookFull));
    assert_eq!(checked.0.book().state_hash(), hash);
    assert_eq!(trades(&checked.enter(buy(9, 101, 4))), [(3, 100, 2), (4, 101, 2)]);
    assert_eq!(refusal(&checked.enter(buy(9, 98, 5))), None, "its level is there");
}

#[test]
fn an_engine_without_room_refuses_everything_that_would_rest() {
    let mut checked = CheckedEngine::with_capacity(0, 0);
    assert_eq!(refusal(&checked.enter(buy(1, 1, 1))), Some(RejectReason::BookFull));
    assert!(cancelled(&checked.enter(ioc(buy(1, 1, 1)))).is_some());
}

/// Each command of an auction tells what it would come to. With a step for each order at each price
/// these orders would take minutes.
#[test]
fn an_auction_of_hundreds_of_prices_is_told_with_every_order() {
    const PRICES: u64 = 400;
    let mut checked = CheckedEngine::with_capacity(1 << 10, 1 << 10);
    super::execute(&mut checked.0, Command::SetPhase(Phase::OpeningAuction), |_| {});
    for at in 1..=PRICES {
        let price = i64::try_from(at).expect("small");
        checked.enter(buy(2 * at, price, 1));
        checked.enter(sell(2 * at + 1, price, 1));
    }
    // Half of the buyers bid more than half of the sellers ask.
    let (price, lots, _) = checked.0.indicative();
    assert_eq!((price.0 / 2, lots.0), (200, 200));
}
