//! Defects that other engines were seen to have.

use std::vec::Vec;

use taut_types::{HalfTicks, Side};

use super::{CheckedEngine, buy, cancelled, fok, ioc, levels, market, refusal, sell, trades};
use crate::{CancelReason, RejectReason};

#[test]
fn a_fill_or_kill_that_two_levels_can_fill_is_filled_by_both() {
    let mut checked = CheckedEngine::new();
    checked.enter(sell(1, 100, 2));
    checked.enter(sell(2, 110, 2));
    let events = checked.enter(fok(buy(3, 110, 4)));
    assert_eq!(trades(&events), [(1, 100, 2), (2, 110, 2)]);
    assert_eq!(cancelled(&events), None);
}

#[test]
fn a_fill_or_kill_that_can_not_be_filled_is_killed_with_a_notice_and_touches_nothing() {
    let mut checked = CheckedEngine::new();
    checked.enter(sell(1, 100, 2));
    checked.enter(sell(2, 111, 2));
    let hash = checked.0.book().state_hash();
    for order in [fok(buy(3, 110, 4)), fok(buy(3, 90, 1)), fok(market(Side::Buy, 3, 5))] {
        let events = checked.enter(order);
        assert_eq!(cancelled(&events), Some((order.lots.0, CancelReason::FillOrKill)));
        assert_eq!(events.len(), 2);
        assert_eq!(checked.0.book().state_hash(), hash);
    }
}

#[test]
fn the_remainder_of_an_immediate_or_cancel_is_cancelled_with_a_notice() {
    let mut checked = CheckedEngine::new();
    checked.enter(sell(1, 100, 2));
    let events = checked.enter(ioc(buy(2, 100, 5)));
    assert_eq!(trades(&events), [(1, 100, 2)]);
    assert_eq!(cancelled(&events), Some((3, CancelReason::Remainder)));
    assert_eq!(levels(&events), [(Side::Sell, 100, 0, 0)]);
    assert_eq!(checked.touch(), [None, None]);
}

#[test]
fn an_order_that_can_not_rest_in_an_empty_book_is_cancelled_with_a_notice() {
    let mut checked = CheckedEngine::new();
    for side in Side::BOTH {
        let events = checked.enter(market(side, 1, 5));
        assert_eq!(cancelled(&events), Some((5, CancelReason::Remainder)));
        assert_eq!(events.len(), 2);
    }
    assert_eq!(cancelled(&checked.enter(ioc(sell(1, 1, 5)))), Some((5, CancelReason::Remainder)));
}

#[test]
fn an_id_in_use_is_refused_to_every_kind_of_order() {
    let mut checked = CheckedEngine::new();
    checked.enter(sell(1, 100, 5));
    let hash = checked.0.book().state_hash();
    let orders = [
        market(Side::Buy, 1, 1),
        buy(1, 100, 1),
        sell(1, 100, 1),
        ioc(buy(1, 100, 1)),
        buy(1, 9, 1),
    ];
    for order in orders {
        assert_eq!(refusal(&checked.enter(order)), Some(RejectReason::DuplicateOrderId));
    }
    assert_eq!(checked.0.book().state_hash(), hash);
}

#[test]
fn no_quantity_or_a_negative_one_is_refused() {
    let mut checked = CheckedEngine::new();
    checked.enter(sell(1, 100, 5));
    for lots in [0, -1, i64::MIN] {
        for order in [buy(2, 100, lots), ioc(buy(2, 100, lots)), market(Side::Buy, 2, lots)] {
            assert_eq!(refusal(&checked.enter(order)), Some(RejectReason::NonPositiveLots));
        }
        assert_eq!(refusal(&checked.reduce(1, lots)), Some(RejectReason::NonPositiveLots));
    }
    assert_eq!(checked.queue(Side::Sell), [(1, 100, 5)]);
}

#[test]
fn a_limit_price_that_is_not_positive_or_not_on_a_tick_is_refused() {
    let mut checked = CheckedEngine::new();
    for price in [0, -2, 1, 201, i64::MIN, i64::MAX] {
        let mut order = buy(1, 1, 1);
        order.price = HalfTicks(price);
        assert_eq!(refusal(&checked.enter(order)), Some(RejectReason::BadPrice));
    }
}

#[test]
fn prices_at_the_ceiling_work() {
    let mut checked = CheckedEngine::new();
    let ceiling = i64::MAX / 2;
    checked.enter(sell(1, ceiling, 2));
    checked.enter(buy(2, ceiling - 1, 2));
    assert_eq!(checked.touch(), [Some((ceiling - 1, 2)), Some((ceiling, 2))]);
    assert_eq!(trades(&checked.enter(ioc(buy(3, ceiling, 1)))), [(1, ceiling, 1)]);
    assert_eq!(trades(&checked.enter(ioc(sell(3, 1, 1)))), [(2, ceiling - 1, 1)]);
}

#[test]
fn quantities_at_the_ceiling_work() {
    let mut checked = CheckedEngine::new();
    checked.enter(sell(1, 100, i64::MAX));
    checked.enter(sell(2, 101, i64::MAX));
    assert_eq!(refusal(&checked.enter(sell(3, 100, 1))), Some(RejectReason::BookFull));
    assert_eq!(
        trades(&checked.enter(fok(buy(4, 101, i64::MAX)))),
        [(1, 100, i64::MAX)],
        "the check of a fill or kill does not overflow"
    );
    checked.enter(market(Side::Buy, 5, 3));
    assert_eq!(checked.queue(Side::Sell), [(2, 101, i64::MAX - 3)]);
}

#[test]
fn five_thousand_makers_at_one_price_are_filled_in_one_sweep_and_in_order() {
    let mut checked = CheckedEngine::with_capacity(5_000, 1);
    for id in 0..5_000 {
        checked.enter(sell(id, 100, 1));
    }
    let events = checked.enter(buy(9_999, 100, 5_000));
    let expected: Vec<_> = (0..5_000).map(|id| (id, 100, 1)).collect();
    assert_eq!(trades(&events), expected);
    assert_eq!(levels(&events), [(Side::Sell, 100, 0, 0)]);
    assert_eq!(checked.0.book().order_count(), 0);
}

#[test]
fn a_sweep_through_every_level_needs_no_more_memory_than_was_reserved() {
    let mut checked = CheckedEngine::with_capacity(3_000, 3_000);
    for id in 1..=3_000 {
        checked.enter(sell(u64::try_from(id).expect("positive"), id, 1));
    }
    let events = checked.enter(market(Side::Buy, 9_999, 3_000));
    assert_eq!((trades(&events).len(), levels(&events).len()), (3_000, 3_000));
    assert_eq!(checked.touch(), [None, None]);
}
