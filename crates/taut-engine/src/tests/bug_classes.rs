//! Bug classes found in other engines, and where each of them would fail here.

use std::vec::Vec;

use taut_types::{Lots, Nanos, OrderId, Side};

use super::{CheckedEngine, buy, cancelled, fok, ioc, levels, market, refusal, sell, trades};
use crate::{Command, Event, NewOrder, RejectReason, ReplaceMode};

/// Twelve defects of geseq/orderbook (its head 88e8098), by number, and the tests that hold them.
const GESEQ: [(&str, &str); 12] = [
    ("a fill-or-kill check that changes the quantity", "a_fill_or_kill_that_two_levels_can_fill"),
    ("a killed order without notice", "a_fill_or_kill_that_can_not_be_filled_is_killed"),
    ("a buy stop below its trigger", "a_buy_stop_fires_at_or_above_its_trigger_and_not_below"),
    ("a sell stop when the market rises", "a_sell_stop_fires_at_or_below_its_trigger_and_not"),
    ("a stop before the first trade", "a_stop_waits_for_a_first_trade"),
    ("a silent remainder", "the_remainder_of_an_immediate_or_cancel_is_cancelled_with_a_notice"),
    ("a silent market order", "an_order_that_can_not_rest_in_an_empty_book_is_cancelled"),
    ("all-or-none in part", "an_all_or_none_order_never_trades_in_part_and_never_locks"),
    ("a lost stop that is immediate", "a_stop_that_is_immediate_or_cancel_waits_and_then_is"),
    ("two stops with one id", "an_id_in_use_is_refused_to_every_kind_of_order"),
    ("a fired stop's id", "a_waiting_stop_has_its_id_and_can_be_cancelled_until_it_fires"),
    ("a market order with a used id", "an_id_in_use_is_refused_to_every_kind_of_order"),
];

/// Classes of bugs over the field, and the tests that hold them.
const CLASSES: [(&str, &str); 43] = [
    ("taker-priced trades", "trades_are_at_the_makers_price_in_both_directions"),
    ("place lost by swap and pop", "cancels_at_the_head_in_the_middle_and_scattered_lose_nobody"),
    ("place lost by a partial fill", "a_partly_consumed_maker_keeps_the_front"),
    ("newest first, or any order", "five_thousand_makers_at_one_price_are_filled_in_one_sweep"),
    ("priority by the clock", "the_time_decides_nothing_about_priority"),
    ("the oldest instead of the best", "an_exact_sweep_takes_the_best_price_first"),
    ("a sweep renews the wrong best", "a_sweep_moves_the_best_price_of_the_side_that_it_takes"),
    ("through the own limit", "a_limit_never_trades_through_its_price"),
    ("an immediate remainder rests", "the_remainder_of_an_immediate_or_cancel_is_cancelled"),
    ("a market remainder rests", "a_market_order_takes_any_price_and_never_rests"),
    ("a crossing replace rests crossed", "a_replace_through_the_spread_trades_in_both_directions"),
    ("fills and orders of nothing", "no_order_without_lots_ever_stands_or_trades"),
    ("an empty book", "an_order_that_can_not_rest_in_an_empty_book_is_cancelled"),
    ("lots that are not conserved", "lots_are_conserved_through_partial_fills"),
    ("siblings lost in the middle", "cancels_at_the_head_in_the_middle_and_scattered_lose_nobody"),
    ("an empty level that stays", "the_last_order_of_a_level_takes_the_level_along"),
    ("a phantom best level", "cancelling_the_best_level_leaves_no_phantom_best"),
    ("a filled maker in the index", "an_order_that_is_no_longer_there_can_not_be_cancelled"),
    ("an id that is never free again", "an_id_is_free_again_once_its_order_is_cancelled_or_filled"),
    ("a duplicate live id", "an_id_in_use_is_refused_to_every_kind_of_order"),
    ("an unknown id is cancelled", "a_virgin_book_rejects_a_cancel_and_a_reduce"),
    ("a stale replace", "a_replace_of_an_order_that_is_gone_is_refused"),
    ("a replace drops the sibling", "replacing_one_of_two_orders_at_a_price_keeps_the_other"),
    ("a repriced remainder shrinks", "a_repriced_remainder_keeps_what_was_left"),
    ("a cancel on the other side", "a_cancel_finds_its_order_on_either_side"),
    ("a level used after it was freed", "a_sweep_through_every_level_needs_no_more_memory"),
    ("two levels in one place", "levels_far_apart_never_share_a_place"),
    ("prices out of an array", "prices_at_the_ceiling_work"),
    ("recursion in a deep sweep", "five_thousand_makers_at_one_price_are_filled_in_one_sweep"),
    ("places that do not come back", "any_number_of_orders_passes_through_a_book_of_two"),
    ("quantities near the ceiling", "quantities_at_the_ceiling_work"),
    ("work for the whole book", "a_deep_queue_costs_no_search"),
    ("stops the wrong way round", "a_buy_stop_fires_at_or_above_its_trigger_and_not_below"),
    ("a cascade in one pass", "a_cascade_is_complete_and_in_the_order_of_the_triggers"),
    ("a stop on an empty tape", "a_stop_waits_for_a_first_trade"),
    ("a trailing stop that trails once", "a_trailing_stop_follows_again_and_again_and_never_back"),
    ("stops outside the index", "a_waiting_stop_has_its_id_and_can_be_cancelled_until_it_fires"),
    ("a check that changes the book", "a_fill_or_kill_that_can_not_be_filled_is_killed_with_a"),
    ("a check that counts own orders", "a_fill_or_kill_does_not_count_on_its_own_orders"),
    ("a check that cannot see", "a_fill_or_kill_counts_hidden_makers_and_not_the_unwilling"),
    ("all-or-none in part", "an_all_or_none_order_never_trades_in_part_and_never_locks"),
    ("a report of a freed maker", "tells_the_whole_story_of_a_sweep_in_order"),
    ("events in another order", "the_same_commands_give_the_same_events"),
];

#[test]
fn every_defect_and_every_class_has_its_test() {
    let sources = [
        include_str!("bug_classes.rs"),
        include_str!("defects.rs"),
        include_str!("features.rs"),
        include_str!("matching.rs"),
    ];
    for (class, test) in GESEQ.iter().chain(&CLASSES) {
        let head = std::format!("#[test]\nfn {test}");
        assert!(sources.iter().any(|source| source.contains(&head)), "{class}: no test {test}");
    }
}

#[test]
fn the_time_decides_nothing_about_priority() {
    let mut checked = CheckedEngine::new();
    for (id, now) in [(1, 50), (2, 50), (3, 10), (4, i64::MAX), (5, i64::MIN)] {
        checked.run(Command::Clock { now: Nanos(now) });
        checked.enter(sell(id, 100, 1));
    }
    let makers: Vec<u64> = trades(&checked.enter(buy(9, 100, 5))).iter().map(|t| t.0).collect();
    assert_eq!(makers, [1, 2, 3, 4, 5]);
}

#[test]
fn a_sweep_moves_the_best_price_of_the_side_that_it_takes() {
    let mut checked = CheckedEngine::new();
    for (id, ticks) in [(1, 98), (2, 97)] {
        checked.enter(buy(id, ticks, 3));
    }
    for (id, ticks) in [(3, 101), (4, 102)] {
        checked.enter(sell(id, ticks, 3));
    }
    checked.enter(ioc(buy(5, 102, 4)));
    assert_eq!(checked.touch(), [Some((98, 3)), Some((102, 2))]);
    checked.enter(ioc(sell(6, 97, 4)));
    assert_eq!(checked.touch(), [Some((97, 2)), Some((102, 2))]);
}

#[test]
fn a_replace_through_the_spread_trades_in_both_directions() {
    for mode in [ReplaceMode::InFlight, ReplaceMode::Requeue] {
        let mut checked = CheckedEngine::new();
        checked.enter(buy(1, 98, 5));
        checked.enter(sell(2, 101, 2));
        let events = checked.run(Command::Replace { order: buy(1, 103, 5), mode });
        assert_eq!(trades(&events), [(2, 101, 2)], "{mode:?}");
        assert_eq!(checked.touch(), [Some((103, 3)), None]);
        checked.enter(sell(3, 110, 7));
        let events = checked.run(Command::Replace { order: sell(3, 100, 7), mode });
        assert_eq!(trades(&events), [(1, 103, 3)], "{mode:?}");
        assert_eq!(checked.touch(), [None, Some((100, 4))]);
    }
}

#[test]
fn no_order_without_lots_ever_stands_or_trades() {
    let mut checked = CheckedEngine::new();
    checked.enter(sell(1, 100, 3));
    checked.enter(sell(2, 100, 3));
    assert_eq!(refusal(&checked.enter(buy(3, 100, 0))), Some(RejectReason::NonPositiveLots));
    checked.reduce(1, 3);
    let events = checked.enter(buy(4, 100, 3));
    assert_eq!(trades(&events), [(2, 100, 3)]);
    assert!(checked.queue(Side::Sell).is_empty() && checked.queue(Side::Buy).is_empty());
    assert_eq!(trades(&checked.enter(ioc(buy(5, 100, 1)))), []);
}

#[test]
fn lots_are_conserved_through_partial_fills() {
    let mut checked = CheckedEngine::new();
    checked.enter(sell(1, 100, 10));
    checked.enter(sell(2, 101, 10));
    let (mut traded, mut dropped, mut bought) = (0, 0, 0);
    for (id, lots) in (10..).zip([3, 4, 1, 7, 9]) {
        let events = checked.enter(ioc(buy(id, 101, lots)));
        bought += lots;
        traded += trades(&events).iter().map(|trade| trade.2).sum::<i64>();
        dropped += cancelled(&events).map_or(0, |(lots, _)| lots);
        let left: i64 = checked.queue(Side::Sell).iter().map(|order| order.2).sum();
        assert_eq!((traded + left, traded + dropped), (20, bought));
    }
    assert_eq!((traded, dropped), (20, 4));
}

#[test]
fn the_last_order_of_a_level_takes_the_level_along() {
    let mut checked = CheckedEngine::new();
    for (id, ticks) in [(1, 98), (2, 97), (3, 96), (4, 97)] {
        checked.enter(buy(id, ticks, 1));
    }
    assert_eq!(levels(&checked.cancel(2)), [(Side::Buy, 97, 1, 1)]);
    assert_eq!(levels(&checked.cancel(4)), [(Side::Buy, 97, 0, 0)]);
    assert_eq!(checked.0.book().level_count(Side::Buy), 2);
    assert_eq!(trades(&checked.enter(ioc(sell(5, 96, 2)))), [(1, 98, 1), (3, 96, 1)]);
}

#[test]
fn a_replace_of_an_order_that_is_gone_is_refused() {
    let mut checked = CheckedEngine::new();
    checked.enter(sell(1, 100, 1));
    checked.enter(buy(2, 100, 1));
    checked.enter(sell(3, 100, 1));
    checked.cancel(3);
    for (id, mode) in [(1, ReplaceMode::InFlight), (3, ReplaceMode::Requeue)] {
        let events = checked.run(Command::Replace { order: sell(id, 99, 5), mode });
        let reason = RejectReason::UnknownOrderId;
        assert_eq!(events, [Event::ReplaceRejected { order_id: OrderId(id), reason }]);
    }
}

#[test]
fn replacing_one_of_two_orders_at_a_price_keeps_the_other() {
    for mode in [ReplaceMode::InFlight, ReplaceMode::Requeue] {
        for moved in [1, 2] {
            let mut checked = CheckedEngine::new();
            checked.enter(sell(1, 100, 5));
            checked.enter(sell(2, 100, 5));
            checked.run(Command::Replace { order: sell(moved, 101, 5), mode });
            assert_eq!(checked.queue(Side::Sell), [(3 - moved, 100, 5), (moved, 101, 5)]);
            checked.cancel(moved);
            assert_eq!(trades(&checked.enter(buy(3, 101, 9))), [(3 - moved, 100, 5)]);
        }
    }
}

#[test]
fn a_repriced_remainder_keeps_what_was_left() {
    let mut checked = CheckedEngine::new();
    checked.enter(sell(1, 100, 10));
    checked.enter(buy(2, 100, 4));
    let order = sell(1, 102, 10);
    checked.run(Command::Replace { order, mode: ReplaceMode::InFlight });
    assert_eq!(checked.queue(Side::Sell), [(1, 102, 6)]);
    let order = sell(1, 101, 6);
    checked.run(Command::Replace { order, mode: ReplaceMode::Requeue });
    assert_eq!(checked.queue(Side::Sell), [(1, 101, 6)]);
}

#[test]
fn a_cancel_finds_its_order_on_either_side() {
    let mut checked = CheckedEngine::new();
    checked.enter(buy(1, 99, 2));
    checked.enter(sell(2, 100, 3));
    assert_eq!(levels(&checked.cancel(2)), [(Side::Sell, 100, 0, 0)]);
    assert_eq!(levels(&checked.cancel(1)), [(Side::Buy, 99, 0, 0)]);
    assert_eq!(checked.touch(), [None, None]);
}

#[test]
fn levels_far_apart_never_share_a_place() {
    let mut checked = CheckedEngine::with_capacity(64, 64);
    // Prices that agree in their low bits, by all sizes that a window can have.
    let prices: Vec<i64> = (8..40).map(|bits| 1_000 + (1 << bits)).collect();
    for (id, ticks) in (1..).zip(&prices) {
        checked.enter(sell(id, *ticks, 1));
    }
    assert_eq!(checked.0.book().level_count(Side::Sell), prices.len());
    let traded = trades(&checked.enter(market(Side::Buy, 99, 64)));
    assert_eq!(traded.iter().map(|trade| trade.1).collect::<Vec<_>>(), prices);
}

#[test]
fn any_number_of_orders_passes_through_a_book_of_two() {
    let mut checked = CheckedEngine::with_capacity(2, 1);
    for id in 1..10_000 {
        let order = checked.enter(sell(id, 100, 1));
        assert_eq!(refusal(&order), None);
        match id % 3 {
            0 => drop(checked.cancel(id)),
            1 => drop(checked.enter(buy(id + 1_000_000, 100, 1))),
            _ => drop(checked.reduce(id, 1)),
        }
        assert_eq!(checked.0.book().order_count(), 0);
    }
}

#[test]
fn a_deep_queue_costs_no_search() {
    // With a search through the queue these would be four thousand million steps.
    let orders = 40_000;
    let mut checked = CheckedEngine::with_capacity(orders + 1, 1);
    for id in 0..orders as u64 {
        checked.enter(sell(id, 100, 1));
    }
    for id in 0..100_000 {
        checked.cancel(orders as u64 / 2 + id % 1_000);
        checked.enter(sell(orders as u64 / 2 + id % 1_000, 100, 1));
    }
    assert_eq!(checked.touch()[1], Some((100, orders as i64)));
}

#[test]
fn a_fill_or_kill_counts_hidden_makers_and_not_the_unwilling() {
    let mut checked = CheckedEngine::new();
    checked.enter(sell(1, 100, 2));
    checked.enter(sell(2, 100, 2).hidden());
    checked.enter(sell(3, 100, 9).all_or_none());
    let killed = checked.enter(fok(buy(4, 100, 5)));
    assert_eq!((trades(&killed), cancelled(&killed).map(|c| c.0)), (Vec::new(), Some(5)));
    assert_eq!(trades(&checked.enter(fok(buy(5, 100, 4)))), [(1, 100, 2), (2, 100, 2)]);
}

#[test]
fn the_same_commands_give_the_same_events() {
    let run = || {
        let mut checked = CheckedEngine::with_capacity(256, 64);
        let mut random = super::random::Commands::with_seed(7);
        let mut events = Vec::new();
        for id in 1..3_000 {
            let lots = Lots(1 + random.below(9) as i64);
            let ticks = 90 + random.below(20) as i64;
            let side = if random.one_in(2) { Side::Buy } else { Side::Sell };
            let order = NewOrder { lots, ..super::limit(side, id, ticks, 1) };
            events.extend(checked.enter(if random.one_in(4) {
                order.iceberg(Lots(1))
            } else {
                order
            }));
            if random.one_in(2) {
                events.extend(checked.cancel(1 + random.below(id)));
            }
        }
        (events, checked.0.state_hash())
    };
    assert_eq!(run(), run());
}
