//! Features by example, and the defects that other engines have in them.

use std::vec::Vec;

use taut_types::{HalfTicks, Lots, Nanos, OrderId, Side, TimeInForce};

use super::{CheckedEngine, buy, cancelled, fok, market, refusal, sell, trades};
use crate::{
    CancelReason, Command, Event, HeldUntil, MassCancel, NewOrder, Peg, Phase, PostOnly,
    RejectReason, ReplaceMode, SelfTrade,
};

fn ticks(ticks: i64) -> HalfTicks {
    HalfTicks(2 * ticks)
}

fn triggered(events: &[Event]) -> Vec<u64> {
    let ids = events.iter().filter_map(|event| match event {
        Event::Triggered { order_id } => Some(order_id.0),
        _ => None,
    });
    ids.collect()
}

/// A trade of one lot at this price, between orders that leave nothing behind.
fn print(checked: &mut CheckedEngine, price: i64) -> Vec<Event> {
    let mut events = checked.enter(sell(900, price, 1));
    events.extend(checked.enter(buy(901, price, 1)));
    events
}

#[test]
fn a_buy_stop_fires_at_or_above_its_trigger_and_not_below() {
    let mut checked = CheckedEngine::new();
    checked.enter(sell(1, 100, 5));
    checked.enter(sell(2, 120, 5));
    checked.enter(market(Side::Buy, 3, 1).stop(ticks(110)));
    assert_eq!(triggered(&checked.enter(market(Side::Buy, 4, 1))), []);
    let events = checked.enter(market(Side::Buy, 5, 5));
    assert_eq!(triggered(&events), [3]);
    assert_eq!(trades(&events), [(1, 100, 4), (2, 120, 1), (2, 120, 1)]);
}

#[test]
fn a_sell_stop_fires_at_or_below_its_trigger_and_not_when_the_market_rises() {
    let mut checked = CheckedEngine::new();
    checked.enter(buy(1, 80, 5));
    print(&mut checked, 100);
    checked.enter(market(Side::Sell, 2, 1).stop(ticks(90)));
    assert_eq!(triggered(&print(&mut checked, 101)), []);
    assert_eq!(triggered(&print(&mut checked, 90)), [2]);
}

#[test]
fn a_stop_waits_for_a_first_trade() {
    let mut checked = CheckedEngine::new();
    checked.enter(buy(1, 100, 5));
    let events = checked.enter(market(Side::Sell, 2, 1).stop(ticks(90)));
    assert_eq!(events[1], Event::Held { order_id: OrderId(2), until: HeldUntil::Trigger });
    assert_eq!(trades(&events), []);
}

#[test]
fn take_profits_fire_in_the_other_direction() {
    let mut checked = CheckedEngine::new();
    print(&mut checked, 100);
    checked.enter(sell(1, 105, 1).take_profit(ticks(104)));
    checked.enter(buy(2, 95, 1).take_profit(ticks(96)));
    assert_eq!(triggered(&print(&mut checked, 103)), []);
    assert_eq!(triggered(&print(&mut checked, 104)), [1]);
    assert_eq!(triggered(&print(&mut checked, 96)), [2]);
}

#[test]
fn a_cascade_is_complete_and_in_the_order_of_the_triggers() {
    let mut checked = CheckedEngine::with_capacity(64, 32);
    for n in 0..20 {
        checked.enter(sell(u64::try_from(n).unwrap(), 100 + n, 1));
    }
    // Each stop takes one lot at the next price, which fires the next stop.
    for n in (1..19u64).rev() {
        let trigger = ticks(100 + i64::try_from(n).unwrap() - 1);
        checked.enter(market(Side::Buy, 100 + n, 1).stop(trigger));
    }
    let events = checked.enter(buy(50, 100, 1));
    assert_eq!(triggered(&events), (101..119).collect::<Vec<_>>());
    assert_eq!(trades(&events).len(), 19);
}

#[test]
fn a_trailing_stop_follows_again_and_again_and_never_back() {
    let mut checked = CheckedEngine::new();
    print(&mut checked, 100);
    checked.enter(market(Side::Sell, 1, 1).trailing(ticks(95), 10));
    for (price, trigger) in [(102, Some(97)), (99, None), (105, Some(100)), (103, None)] {
        let events = print(&mut checked, price);
        let moved = events.iter().find_map(|event| match event {
            Event::Repriced { price, .. } => Some(price.0 / 2),
            _ => None,
        });
        assert_eq!((moved, triggered(&events)), (trigger, Vec::new()), "at {price}");
    }
    assert_eq!(triggered(&print(&mut checked, 100)), [1]);
}

#[test]
fn a_waiting_stop_has_its_id_and_can_be_cancelled_until_it_fires() {
    let mut checked = CheckedEngine::new();
    checked.enter(market(Side::Buy, 1, 1).stop(ticks(110)));
    for again in [market(Side::Buy, 1, 1).stop(ticks(120)), buy(1, 90, 1), market(Side::Sell, 1, 1)]
    {
        assert_eq!(refusal(&checked.enter(again)), Some(RejectReason::DuplicateOrderId));
    }
    assert_eq!(cancelled(&checked.cancel(1)), Some((1, CancelReason::Requested)));
    checked.enter(market(Side::Buy, 1, 1).stop(ticks(110)));
    assert_eq!(triggered(&print(&mut checked, 110)), [1]);
    assert_eq!(refusal(&checked.cancel(1)), Some(RejectReason::UnknownOrderId));
}

#[test]
fn a_stop_that_is_immediate_or_cancel_waits_and_then_is() {
    let mut checked = CheckedEngine::new();
    let order = buy(1, 120, 3).stop(ticks(110)).force(TimeInForce::ImmediateOrCancel);
    assert!(matches!(checked.enter(order)[1], Event::Held { .. }));
    checked.enter(sell(2, 112, 1));
    let events = print(&mut checked, 111);
    assert_eq!(triggered(&events), [1]);
    assert_eq!(cancelled(&events), Some((2, CancelReason::Remainder)));
}

#[test]
fn an_all_or_none_order_never_trades_in_part_and_never_locks_the_displayed_book() {
    let mut checked = CheckedEngine::new();
    checked.enter(sell(1, 100, 2));
    checked.enter(buy(2, 100, 4).all_or_none());
    assert_eq!(checked.touch(), [None, Some((100, 2))]);
    assert_eq!(trades(&checked.enter(sell(3, 100, 1))), []);
    assert_eq!(trades(&checked.enter(sell(4, 99, 5))), [(2, 100, 4)]);
}

#[test]
fn an_iceberg_displays_its_part_and_each_refill_goes_to_the_end() {
    let mut checked = CheckedEngine::new();
    checked.enter(sell(1, 100, 5).iceberg(Lots(2)));
    checked.enter(sell(2, 100, 2));
    assert_eq!(checked.touch()[1], Some((100, 4)));
    assert_eq!(trades(&checked.enter(buy(3, 100, 3))), [(1, 100, 2), (2, 100, 1)]);
    assert_eq!(checked.queue(Side::Sell), [(2, 100, 1), (1, 100, 2)]);
    assert_eq!(
        trades(&checked.enter(fok(buy(4, 100, 4)))),
        [(2, 100, 1), (1, 100, 2), (1, 100, 1)]
    );
}

#[test]
fn what_is_hidden_trades_behind_what_is_displayed_at_its_price() {
    let mut checked = CheckedEngine::new();
    checked.enter(sell(1, 100, 2).hidden());
    checked.enter(sell(2, 100, 2));
    assert_eq!(checked.touch()[1], Some((100, 2)));
    assert_eq!(trades(&checked.enter(fok(buy(3, 100, 3)))), [(2, 100, 2), (1, 100, 1)]);
}

#[test]
fn a_post_only_order_is_refused_or_slides_to_where_it_does_not_trade() {
    let mut checked = CheckedEngine::new();
    checked.enter(sell(1, 100, 2));
    let order = buy(2, 101, 2);
    let refused = checked.enter(order.post_only(PostOnly::Reject));
    assert_eq!(refusal(&refused), Some(RejectReason::WouldTrade));
    checked.enter(order.post_only(PostOnly::Slide));
    assert_eq!(checked.touch(), [Some((99, 2)), Some((100, 2))]);
}

#[test]
fn a_minimum_that_can_not_trade_at_once_cancels_the_order() {
    let mut checked = CheckedEngine::new();
    checked.enter(sell(1, 100, 2));
    let events = checked.enter(buy(2, 100, 5).minimum(Lots(3)));
    assert_eq!(cancelled(&events), Some((5, CancelReason::Minimum)));
    assert_eq!(trades(&checked.enter(buy(2, 100, 5).minimum(Lots(2)))), [(1, 100, 2)]);
    assert_eq!(checked.queue(Side::Buy), [(2, 100, 3)]);
}

#[test]
fn a_minimum_counts_what_trades_behind_own_orders_that_make_the_order_smaller() {
    for mode in [SelfTrade::Decrement, SelfTrade::Transfer] {
        let with_minimum = |lots| buy(9, 101, 10).minimum(Lots(lots)).self_trade(mode);
        let other = |order: NewOrder| NewOrder { owner: 2, ..order };
        let book = || {
            let mut checked = CheckedEngine::new();
            checked.enter(other(sell(1, 100, 2)));
            checked.enter(sell(2, 100, 3));
            checked.enter(other(sell(3, 101, 6)));
            checked
        };
        // Two before the own order, and what is left of the rest behind it.
        assert_eq!(trades(&book().enter(with_minimum(7))), [(1, 100, 2), (3, 101, 5)]);
        let events = book().enter(with_minimum(8));
        assert_eq!(cancelled(&events), Some((10, CancelReason::Minimum)));
        // An iceberg of its own: each part takes its turn.
        let mut checked = CheckedEngine::new();
        checked.enter(sell(1, 100, 6).iceberg(Lots(2)));
        checked.enter(other(sell(2, 100, 20)));
        let events = checked.enter(with_minimum(8));
        assert_eq!(trades(&events), [(2, 100, 8)]);
        let mut checked = CheckedEngine::new();
        checked.enter(sell(1, 100, 6).iceberg(Lots(2)));
        checked.enter(other(sell(2, 100, 20)));
        let events = checked.enter(with_minimum(9));
        assert_eq!(cancelled(&events), Some((10, CancelReason::Minimum)));
    }
}

#[test]
fn a_post_only_order_rests_against_an_all_or_none_order_that_is_too_large_for_it() {
    let book = || {
        let mut checked = CheckedEngine::new();
        checked.enter(sell(1, 100, 5).all_or_none());
        checked
    };
    for post_only in [PostOnly::Reject, PostOnly::Slide] {
        let mut checked = book();
        let events = checked.enter(buy(2, 101, 4).post_only(post_only));
        assert_eq!((trades(&events), refusal(&events)), (Vec::new(), None));
        assert_eq!(checked.touch(), [Some((101, 4)), None]);
        // One that is as large would trade, and so would one with another maker behind.
        let mut checked = book();
        let events = checked.enter(buy(2, 101, 5).post_only(post_only));
        match post_only {
            PostOnly::Reject => assert_eq!(refusal(&events), Some(RejectReason::WouldTrade)),
            _ => assert_eq!(checked.touch(), [Some((99, 5)), None]),
        }
        let mut checked = book();
        checked.enter(sell(3, 101, 1));
        let events = checked.enter(buy(2, 101, 4).post_only(post_only));
        match post_only {
            PostOnly::Reject => assert_eq!(refusal(&events), Some(RejectReason::WouldTrade)),
            _ => assert_eq!(checked.touch(), [Some((100, 4)), Some((101, 1))]),
        }
    }
    // A replaced order counts what it has left.
    let mut checked = book();
    checked.enter(sell(3, 99, 2));
    checked.enter(buy(2, 99, 6));
    let order = buy(2, 101, 6).post_only(PostOnly::Reject);
    let events = checked.run(Command::Replace { order, mode: ReplaceMode::InFlight });
    assert!(matches!(events[0], Event::Replaced { .. }), "{events:?}");
    assert_eq!(checked.touch(), [Some((101, 4)), None]);
}

#[test]
fn an_order_that_meets_only_who_is_unwilling_needs_a_place_of_its_own() {
    let mut checked = CheckedEngine::with_capacity(1, 4);
    checked.enter(sell(1, 100, 5).all_or_none());
    checked.enter(buy(2, 90, 1));
    assert_eq!(refusal(&checked.enter(buy(3, 101, 4))), Some(RejectReason::BookFull));
}

#[test]
fn a_market_order_with_protection_rests_at_its_bound() {
    let mut checked = CheckedEngine::new();
    checked.enter(sell(1, 100, 1));
    checked.enter(sell(2, 101, 1));
    checked.enter(sell(3, 103, 1));
    let events = checked.enter(market(Side::Buy, 4, 5).protection(2));
    assert_eq!(trades(&events), [(1, 100, 1), (2, 101, 1)]);
    assert_eq!(checked.touch()[0], Some((102, 3)));
    checked.cancel(4);
    checked.enter(market(Side::Buy, 5, 3).market_to_limit());
    assert_eq!(checked.touch(), [Some((103, 2)), None]);
}

#[test]
fn pegs_follow_the_market_and_meet_in_its_middle() {
    let mut checked = CheckedEngine::new();
    checked.enter(buy(1, 100, 1));
    checked.enter(sell(2, 103, 1));
    checked.enter(buy(3, 200, 2).pegged(Peg::Midpoint, 0));
    let events = checked.enter(sell(4, 1, 1).pegged(Peg::Midpoint, 0));
    let Some(Event::Trade { price, hidden, .. }) = events.get(1) else { panic!("{events:?}") };
    assert_eq!((price.0, *hidden), (203, true), "the middle of 100 and 103 is exact");
    let events = checked.enter(buy(5, 101, 1));
    let repriced = Event::Repriced { order_id: OrderId(3), side: Side::Buy, price: ticks(102) };
    assert!(events.contains(&repriced), "{events:?}");
}

#[test]
fn each_mode_of_self_trade_prevention_does_what_it_says() {
    let outcome = |mode| {
        let mut checked = CheckedEngine::new();
        checked.enter(sell(1, 100, 3));
        checked.enter(NewOrder { owner: 2, ..sell(2, 100, 3) });
        let events = checked.enter(buy(3, 100, 4).self_trade(mode));
        (trades(&events), checked.queue(Side::Sell), checked.queue(Side::Buy))
    };
    let (one, two) = ((1, 100, 3), (2, 100, 3));
    assert_eq!(
        outcome(SelfTrade::Allow),
        ([one, (2, 100, 1)].into(), [(2, 100, 2)].into(), [].into())
    );
    assert_eq!(outcome(SelfTrade::CancelNewest), ([].into(), [one, two].into(), [].into()));
    assert_eq!(outcome(SelfTrade::CancelOldest), ([two].into(), [].into(), [(3, 100, 1)].into()));
    assert_eq!(outcome(SelfTrade::CancelBoth), ([].into(), [two].into(), [].into()));
    assert_eq!(
        outcome(SelfTrade::Decrement),
        ([(2, 100, 1)].into(), [(2, 100, 2)].into(), [].into())
    );
}

#[test]
fn a_fill_or_kill_does_not_count_on_its_own_orders() {
    let mut checked = CheckedEngine::new();
    checked.enter(sell(1, 100, 3));
    checked.enter(NewOrder { owner: 2, ..sell(2, 100, 3) });
    for mode in [SelfTrade::CancelNewest, SelfTrade::CancelBoth, SelfTrade::Decrement] {
        let events = checked.enter(fok(buy(3, 100, 4)).self_trade(mode));
        assert_eq!(cancelled(&events), Some((4, CancelReason::FillOrKill)));
    }
    let events = checked.enter(fok(buy(3, 100, 3)).self_trade(SelfTrade::CancelOldest));
    assert_eq!(trades(&events), [(2, 100, 3)]);
}

#[test]
fn a_replace_keeps_the_place_only_when_it_asks_for_less() {
    let replace = |order: NewOrder| {
        let mut checked = CheckedEngine::new();
        checked.enter(sell(1, 100, 5));
        checked.enter(sell(2, 100, 5));
        checked.run(Command::Replace { order, mode: ReplaceMode::InFlight });
        checked.queue(Side::Sell).first().map(|first| first.0)
    };
    assert_eq!(replace(sell(1, 100, 4)), Some(1));
    assert_eq!(replace(sell(1, 100, 4).good_till(Nanos(9))), Some(1));
    assert_eq!(replace(sell(1, 100, 4).force(TimeInForce::Day)), Some(1));
    assert_eq!(replace(sell(1, 100, 6)), Some(2), "more");
    assert_eq!(replace(sell(1, 101, 5)), Some(2), "another price");
    assert_eq!(replace(NewOrder { owner: 7, ..sell(1, 100, 5) }), Some(2), "another account");
    assert_eq!(replace(sell(1, 100, 5).minimum(Lots(1))), Some(2), "a minimum");
    assert_eq!(replace(sell(1, 100, 5).iceberg(Lots(1))), Some(2), "a display");
}

#[test]
fn a_fill_that_crosses_a_replace_does_not_make_the_order_larger() {
    let mut checked = CheckedEngine::new();
    checked.enter(sell(1, 100, 5));
    checked.enter(buy(2, 100, 3));
    checked.run(Command::Replace { order: sell(1, 100, 4), mode: ReplaceMode::InFlight });
    assert_eq!(checked.queue(Side::Sell), [(1, 100, 1)]);
    let events =
        checked.run(Command::Replace { order: sell(1, 100, 3), mode: ReplaceMode::InFlight });
    assert_eq!(cancelled(&events), Some((1, CancelReason::Requested)));
    let order = sell(1, 100, 3);
    let events = checked.run(Command::Replace { order, mode: ReplaceMode::Requeue });
    let reason = RejectReason::UnknownOrderId;
    assert_eq!(events, [Event::ReplaceRejected { order_id: OrderId(1), reason }]);
}

#[test]
fn a_requeued_order_trades_before_the_answer_and_at_the_makers_price() {
    let mut checked = CheckedEngine::new();
    checked.enter(buy(1, 99, 5));
    checked.enter(sell(2, 100, 2));
    let order = buy(1, 101, 6);
    let events = checked.run(Command::Replace { order, mode: ReplaceMode::Requeue });
    assert!(
        matches!(events[0], Event::Trade { .. }) && matches!(events[1], Event::Replaced { .. })
    );
    assert_eq!((trades(&events), checked.touch()), ([(2, 100, 2)].into(), [Some((101, 4)), None]));
}

#[test]
fn what_has_expired_and_what_is_for_the_day_goes() {
    let mut checked = CheckedEngine::new();
    checked.enter(buy(1, 99, 1).good_till(Nanos(10)));
    checked.enter(buy(2, 99, 1).force(TimeInForce::Day));
    checked.enter(buy(3, 99, 1));
    checked.run(Command::Clock { now: Nanos(9) });
    assert_eq!(checked.queue(Side::Buy).len(), 3);
    let events = checked.run(Command::Clock { now: Nanos(10) });
    assert_eq!(cancelled(&events), Some((1, CancelReason::Expired)));
    checked.run(Command::SetPhase(Phase::Closed));
    assert_eq!(checked.queue(Side::Buy), [(3, 99, 1)]);
    assert_eq!(refusal(&checked.enter(buy(4, 99, 1))), Some(RejectReason::Closed));
}

#[test]
fn an_auction_trades_most_at_one_price() {
    let mut checked = CheckedEngine::new();
    checked.run(Command::SetPhase(Phase::OpeningAuction));
    for order in [buy(1, 103, 5), buy(2, 101, 5), sell(3, 99, 4), sell(4, 101, 4)] {
        checked.enter(order);
    }
    let events = checked.enter(market(Side::Buy, 5, 1));
    let price = ticks(101);
    assert_eq!(events.last(), Some(&Event::Indicative { price, lots: Lots(8), surplus: 3 }));
    let events = checked.run(Command::SetPhase(Phase::Continuous));
    assert_eq!(trades(&events), [(3, 101, 1), (3, 101, 3), (4, 101, 2), (4, 101, 2)]);
    assert_eq!(checked.queue(Side::Buy), [(2, 101, 3)]);
}

#[test]
fn a_mass_cancel_takes_what_matches_wherever_it_waits() {
    let mut checked = CheckedEngine::new();
    checked.enter(buy(1, 99, 1).session(7));
    checked.enter(sell(2, 101, 1).hidden().session(7));
    checked.enter(market(Side::Buy, 3, 1).stop(ticks(110)).session(8));
    checked.enter(NewOrder { owner: 2, ..buy(4, 98, 1) });
    let events = checked.run(Command::Disconnect { session: 7 });
    assert_eq!(events[0], Event::MassCancelled { count: 2 });
    let of_two = MassCancel { owner: Some(2), ..MassCancel::default() };
    assert_eq!(checked.run(Command::MassCancel(of_two))[0], Event::MassCancelled { count: 1 });
    assert_eq!(checked.0.undisplayed_counts(), [0, 1, 0]);
}
