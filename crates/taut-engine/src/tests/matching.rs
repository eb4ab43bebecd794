//! Price-time matching, cancels and reduces: the invariants on which engines are judged.

use std::vec::Vec;

use taut_types::{HalfTicks, Lots, OrderId, Side};

use super::{CheckedEngine, buy, cancelled, fok, ioc, levels, market, refusal, sell, trades};
use crate::{CancelReason, Event, RejectReason};

#[test]
fn tells_the_whole_story_of_a_sweep_in_order() {
    let mut checked = CheckedEngine::new();
    checked.enter(sell(1, 100, 3));
    checked.enter(sell(2, 100, 4));
    checked.enter(sell(3, 101, 5));
    let mut taker = buy(9, 101, 20);
    taker.owner = 2;
    let (side, price) = (Side::Buy, HalfTicks(202));
    let trade = |trade_id, maker, ticks: i64, lots, taker_remaining| Event::Trade {
        trade_id,
        maker: OrderId(maker),
        taker: OrderId(9),
        maker_owner: 1,
        taker_owner: 2,
        price: HalfTicks(2 * ticks),
        lots: Lots(lots),
        maker_remaining: Lots(0),
        taker_remaining: Lots(taker_remaining),
        aggressor: Side::Buy,
        hidden: false,
        taker_rested: false,
    };
    let level = |side, ticks: i64, lots, order_count| Event::Level {
        side,
        price: HalfTicks(2 * ticks),
        lots: Lots(lots),
        order_count,
    };
    assert_eq!(
        checked.enter(taker),
        [
            Event::Accepted { order_id: OrderId(9), owner: 2, side, price, lots: Lots(20) },
            trade(1, 1, 100, 3, 17),
            trade(2, 2, 100, 4, 13),
            trade(3, 3, 101, 5, 8),
            Event::Rested { order_id: OrderId(9), side, price, lots: Lots(8), hidden: false },
            level(Side::Sell, 100, 0, 0),
            level(Side::Sell, 101, 0, 0),
            level(Side::Buy, 101, 8, 1),
        ]
    );
}

#[test]
fn cancels_at_the_head_in_the_middle_and_scattered_lose_nobody_behind_them() {
    for gone in [&[1][..], &[3], &[6], &[2, 4], &[1, 3, 5], &[1, 2, 6], &[5, 6]] {
        let mut checked = CheckedEngine::new();
        for id in 1..=6 {
            checked.enter(buy(id, 100, 1));
        }
        for &id in gone {
            assert_eq!(cancelled(&checked.cancel(id)), Some((1, CancelReason::Requested)));
        }
        let left: Vec<_> = (1..=6).filter(|id| !gone.contains(id)).map(|id| (id, 100, 1)).collect();
        assert_eq!(trades(&checked.enter(ioc(sell(9, 100, 10)))), left);
        assert_eq!(checked.touch(), [None, None]);
    }
}

#[test]
fn an_exact_sweep_takes_the_best_price_first_and_leaves_nothing() {
    let mut checked = CheckedEngine::new();
    for (id, ticks) in [(1, 102), (2, 100), (3, 101), (4, 100)] {
        checked.enter(sell(id, ticks, 2));
    }
    let events = checked.enter(ioc(buy(9, 102, 8)));
    assert_eq!(trades(&events), [(2, 100, 2), (4, 100, 2), (3, 101, 2), (1, 102, 2)]);
    assert_eq!(cancelled(&events), None);
    let gone = |ticks| (Side::Sell, ticks, 0, 0);
    assert_eq!(levels(&events), [gone(100), gone(101), gone(102)]);
    assert_eq!(checked.touch(), [None, None]);
    assert_eq!(checked.0.book().order_count(), 0);
}

#[test]
fn a_resting_remainder_is_the_new_touch_at_its_own_limit_and_can_be_hit() {
    let mut checked = CheckedEngine::new();
    checked.enter(sell(1, 100, 2));
    checked.enter(sell(2, 101, 2));
    checked.enter(sell(3, 103, 2));
    let events = checked.enter(buy(9, 102, 7));
    assert_eq!(trades(&events), [(1, 100, 2), (2, 101, 2)]);
    assert_eq!(checked.touch(), [Some((102, 3)), Some((103, 2))]);
    assert_eq!(trades(&checked.enter(sell(10, 102, 3))), [(9, 102, 3)]);
    assert_eq!(checked.touch(), [None, Some((103, 2))]);
}

#[test]
fn trades_are_at_the_makers_price_in_both_directions() {
    let mut checked = CheckedEngine::new();
    checked.enter(sell(1, 100, 1));
    assert_eq!(trades(&checked.enter(buy(2, 110, 1))), [(1, 100, 1)]);
    checked.enter(buy(3, 100, 1));
    assert_eq!(trades(&checked.enter(sell(4, 90, 1))), [(3, 100, 1)]);
}

#[test]
fn a_partly_consumed_maker_keeps_the_front_for_the_next_takers() {
    let mut checked = CheckedEngine::new();
    checked.enter(sell(1, 100, 5));
    checked.enter(sell(2, 100, 5));
    for lots in [1, 3] {
        assert_eq!(trades(&checked.enter(ioc(buy(9, 100, lots)))), [(1, 100, lots)]);
    }
    assert_eq!(trades(&checked.enter(ioc(buy(9, 100, 3)))), [(1, 100, 1), (2, 100, 2)]);
    assert_eq!(checked.queue(Side::Sell), [(2, 100, 3)]);
}

#[test]
fn the_remainder_of_a_partial_fill_can_be_reduced_and_cancelled() {
    let mut checked = CheckedEngine::new();
    checked.enter(sell(1, 100, 5));
    checked.enter(buy(2, 100, 2));
    assert_eq!(levels(&checked.reduce(1, 1)), [(Side::Sell, 100, 2, 1)]);
    assert_eq!(cancelled(&checked.cancel(1)), Some((2, CancelReason::Requested)));
    assert_eq!(checked.touch(), [None, None]);
}

#[test]
fn an_order_that_is_no_longer_there_can_not_be_cancelled_or_reduced() {
    let mut checked = CheckedEngine::new();
    checked.enter(sell(1, 100, 5));
    checked.enter(buy(2, 100, 5));
    checked.enter(sell(3, 100, 5));
    checked.cancel(3);
    for id in [1, 2, 3] {
        assert_eq!(refusal(&checked.cancel(id)), Some(RejectReason::UnknownOrderId));
        assert_eq!(refusal(&checked.reduce(id, 1)), Some(RejectReason::UnknownOrderId));
    }
}

#[test]
fn a_virgin_book_rejects_a_cancel_and_a_reduce() {
    let mut checked = CheckedEngine::new();
    for id in [0, 1, u64::MAX] {
        assert_eq!(refusal(&checked.cancel(id)), Some(RejectReason::UnknownOrderId));
        assert_eq!(refusal(&checked.reduce(id, 1)), Some(RejectReason::UnknownOrderId));
    }
}

#[test]
fn an_id_is_free_again_once_its_order_is_cancelled_or_filled() {
    let mut checked = CheckedEngine::new();
    checked.enter(sell(1, 100, 5));
    checked.cancel(1);
    checked.enter(sell(1, 101, 5));
    assert_eq!(trades(&checked.enter(buy(2, 101, 5))), [(1, 101, 5)]);
    checked.enter(buy(1, 99, 5));
    checked.enter(buy(2, 98, 5));
    assert_eq!(checked.queue(Side::Buy), [(1, 99, 5), (2, 98, 5)]);
}

#[test]
fn cancelling_the_best_level_leaves_no_phantom_best() {
    let mut checked = CheckedEngine::new();
    checked.enter(buy(1, 99, 1));
    checked.enter(buy(2, 98, 1));
    assert_eq!(levels(&checked.cancel(1)), [(Side::Buy, 99, 0, 0)]);
    assert_eq!(checked.touch(), [Some((98, 1)), None]);
    checked.cancel(2);
    assert_eq!(checked.touch(), [None, None]);
    assert_eq!(trades(&checked.enter(sell(3, 90, 1))), []);
}

#[test]
fn a_reduce_keeps_the_place_and_one_to_zero_or_beyond_cancels() {
    let mut checked = CheckedEngine::new();
    checked.enter(buy(1, 100, 5));
    checked.enter(buy(2, 100, 5));
    let (order_id, price) = (OrderId(1), HalfTicks(200));
    assert_eq!(
        checked.reduce(1, 2)[0],
        Event::Reduced {
            order_id,
            owner: 1,
            side: Side::Buy,
            price,
            by: Lots(2),
            remaining: Lots(3),
            displayed: Lots(3)
        }
    );
    assert_eq!(checked.queue(Side::Buy), [(1, 100, 3), (2, 100, 5)]);
    assert_eq!(cancelled(&checked.reduce(1, 3)), Some((3, CancelReason::Requested)));
    assert_eq!(cancelled(&checked.reduce(2, i64::MAX)), Some((5, CancelReason::Requested)));
    assert_eq!(checked.touch(), [None, None]);
}

#[test]
fn a_market_order_takes_any_price_and_never_rests() {
    let mut checked = CheckedEngine::new();
    checked.enter(sell(1, 100, 1));
    checked.enter(sell(2, i64::MAX / 2, 1));
    let events = checked.enter(market(Side::Buy, 3, 5));
    assert_eq!(trades(&events), [(1, 100, 1), (2, i64::MAX / 2, 1)]);
    assert_eq!(cancelled(&events), Some((3, CancelReason::Remainder)));
    assert_eq!(checked.touch(), [None, None]);
    assert_eq!(
        cancelled(&checked.enter(fok(market(Side::Sell, 4, 1)))),
        Some((1, CancelReason::FillOrKill))
    );
}

#[test]
fn a_limit_never_trades_through_its_price() {
    let mut checked = CheckedEngine::new();
    checked.enter(sell(1, 100, 1));
    checked.enter(sell(2, 102, 1));
    for order in [ioc(buy(3, 101, 2)), fok(buy(4, 101, 1)), buy(5, 101, 2)] {
        assert!(trades(&checked.enter(order)).iter().all(|&(maker, ..)| maker == 1));
    }
    assert_eq!(checked.touch(), [Some((101, 2)), Some((102, 1))]);
}

#[test]
fn an_owner_trades_with_itself_while_nothing_prevents_it() {
    let mut checked = CheckedEngine::new();
    checked.enter(sell(1, 100, 1));
    assert_eq!(trades(&checked.enter(buy(2, 100, 1))), [(1, 100, 1)]);
}
