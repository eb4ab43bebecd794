//! Each point of [`Compat`], as we have it and as hftbacktest has it.

use super::*;
use taut_types::{Qty, TimeInForce};

const OURS: Compat = Compat::NONE;

#[test]
fn partial_fills_are_booked_and_answered_each_or_the_last_one_alone() {
    let recording = market(&[trade(100, Side::Sell, 99, 14)]);
    let theirs = Compat { partial_fills_unbooked: true, ..OURS };
    for (compat, position, heard) in [
        (OURS, 4, &[(1, Answer::Entered, 0), (1, Answer::Filled, 4)][..]),
        (theirs, 0, &[(1, Answer::Entered, 0), (1, Answer::Filled, 4)]),
    ] {
        let mut backtest = by_level(&recording, FillModel::Partial, compat);
        run(&mut backtest, 10);
        backtest.trader().send(Order::limit(1, Side::Buy, 99, 10)).expect("an order");
        assert_eq!(short(&run(&mut backtest, 200)), heard);
        assert_eq!(backtest.trader().account().position(), position);
        assert_eq!(backtest.trader().order(1).map(|order| order.leaves), Some(6));
    }
    // Over two levels: 10 and 5.
    for (compat, position, heard) in [
        (OURS, 15, &[(1, Answer::Filled, 10), (1, Answer::Filled, 5)][..]),
        (theirs, 5, &[(1, Answer::Filled, 5)]),
    ] {
        let mut backtest = by_level(&recording, FillModel::Partial, compat);
        run(&mut backtest, 10);
        backtest.trader().send(Order::market(1, Side::Buy, 15)).expect("an order");
        assert_eq!(short(&run(&mut backtest, 50)), heard);
        assert_eq!(backtest.trader().account().position(), position);
        assert_eq!(backtest.trader().order(1).map(|order| order.status), Some(Status::Filled));
    }
}

#[test]
fn an_exact_fill_takes_the_order_out_or_leaves_it_to_be_filled_again() {
    let recording = market(&[trade(100, Side::Sell, 99, 14), trade(200, Side::Sell, 99, 1)]);
    for keeps_exact_fills in [false, true] {
        let compat = Compat { keeps_exact_fills, ..OURS };
        let mut backtest = by_level(&recording, FillModel::Partial, compat);
        run(&mut backtest, 10);
        backtest.trader().send(Order::limit(1, Side::Buy, 99, 4)).expect("an order");
        let heard = run(&mut backtest, 150);
        assert_eq!(short(&heard), [(1, Answer::Entered, 0), (1, Answer::Filled, 4)]);
        let stopped = backtest.run_until(Nanos(300), Stop::Time);
        let expected =
            if keeps_exact_fills { Err(BacktestError::FilledTwice(1)) } else { Ok(Stopped::Time) };
        assert_eq!(stopped, expected);
    }
}

#[test]
fn a_modification_asks_for_what_is_open_or_keeps_what_was_left() {
    let recording = market(&[trade(100, Side::Sell, 98, 1)]);
    for (modify_keeps_leaves, filled) in [(false, 7), (true, 2)] {
        let compat = Compat { modify_keeps_leaves, ..OURS };
        let mut backtest = by_level(&recording, FillModel::Whole, compat);
        run(&mut backtest, 10);
        backtest.trader().send(Order::limit(1, Side::Buy, 99, 2)).expect("an order");
        run(&mut backtest, 20);
        backtest.trader().modify(1, 99, 7).expect("a modification");
        let heard = run(&mut backtest, 200);
        assert_eq!(short(&heard), [(1, Answer::Modified, 0), (1, Answer::Filled, filled)]);
    }
}

#[test]
fn the_dust_of_floats_decides_whether_an_exact_fill_is_one() {
    // As floats, five tenths less two are less than three tenths, six less two more than four.
    for (lots, goes) in [(5, true), (4, false), (6, false)] {
        let rows = [
            trade(100, Side::Sell, 99, 12),
            trade(200, Side::Sell, 99, lots - 2),
            trade(300, Side::Sell, 99, 1),
        ];
        let recording = market(&rows).with_lot(Qty { mantissa: 1, decimals: 1 });
        let compat = Compat { keeps_exact_fills: true, ..OURS };
        let mut backtest = by_level(&recording, FillModel::Partial, compat);
        run(&mut backtest, 10);
        backtest.trader().send(Order::limit(1, Side::Buy, 99, lots)).expect("an order");
        run(&mut backtest, 250);
        assert_eq!(backtest.trader().order(1).map(|order| order.status), Some(Status::Filled));
        let stopped = backtest.run_until(Nanos(400), Stop::Time);
        assert_eq!(stopped.is_ok(), goes, "{lots}");
        assert_eq!(backtest.now(), Nanos(if goes { 400 } else { 300 }));
    }
}

#[test]
fn a_modification_in_place_tells_how_the_order_stands_or_how_its_sender_knew_it() {
    let recording = market(&[trade(100, Side::Sell, 99, 12)]);
    for (modify_keeps_leaves, status) in [(false, Status::PartlyFilled), (true, Status::Resting)] {
        let compat = Compat { modify_keeps_leaves, ..OURS };
        let mut backtest = by_level(&recording, FillModel::Partial, compat);
        run(&mut backtest, 10);
        backtest.trader().send(Order::limit(1, Side::Buy, 99, 9)).expect("an order");
        run(&mut backtest, 100);
        // Its fill is not known here.
        backtest.trader().modify(1, 99, 3).expect("a modification");
        let heard = run(&mut backtest, 200);
        assert_eq!(short(&heard), [(1, Answer::Filled, 2), (1, Answer::Modified, 0)]);
        let order = heard[1].order;
        assert_eq!((order.status, order.lots, order.leaves), (status, 3, 3));
    }
}

#[test]
fn a_clear_looks_at_the_next_tick_or_skips_it() {
    let clear = Event { kind: RowKind::Clear, ..level(100, Side::Buy, 99, 0) };
    let recording = market(&[level(50, Side::Buy, 97, 1), clear]);
    for (clear_skips_a_tick, best) in [(false, Some(98)), (true, Some(97))] {
        let compat = Compat { clear_skips_a_tick, ..OURS };
        let mut backtest = by_level(&recording, FillModel::Whole, compat);
        run(&mut backtest, 10);
        backtest.trader().send(Order::market(1, Side::Sell, 1)).expect("an order");
        assert_eq!(run(&mut backtest, 104)[0].order.last_tick, 99);
        backtest.trader().send(Order::market(2, Side::Sell, 1)).expect("an order");
        let heard = run(&mut backtest, 200);
        assert_eq!(backtest.trader().book().best(Side::Buy), best, "our side");
        assert_eq!(Some(heard[0].order.last_tick), best, "the exchange's side");
    }
}

#[test]
fn own_orders_compete_for_a_trade_or_each_has_all_of_it() {
    let recording = market(&[trade(100, Side::Sell, 99, 16), trade(200, Side::Sell, 99, 3)]);
    for (own_orders_share_trades, first, second) in [
        (false, &[(1, Answer::Filled, 5), (2, Answer::Filled, 1)][..], (2, Answer::Filled, 3)),
        (true, &[(1, Answer::Filled, 5), (2, Answer::Filled, 5)], (3, Answer::Filled, 3)),
    ] {
        let compat = Compat { own_orders_share_trades, ..OURS };
        let mut backtest = by_level(&recording, FillModel::Partial, compat);
        run(&mut backtest, 10);
        for id in [1, 2] {
            backtest.trader().send(Order::limit(id, Side::Buy, 99, 5)).expect("an order");
        }
        run(&mut backtest, 50);
        let at_once = short(&run(&mut backtest, 150));
        assert_eq!(at_once, first);
        if own_orders_share_trades {
            backtest.trader().send(Order::limit(3, Side::Buy, 99, 5)).expect("an order");
            // Nothing was said about the level: ten lots are before it still.
            assert_eq!(short(&run(&mut backtest, 300)), [(3, Answer::Entered, 0)]);
        } else {
            assert_eq!(short(&run(&mut backtest, 300)), [second]);
        }
    }
}

#[test]
fn own_orders_compete_in_a_market_queue_or_each_is_filled() {
    // Order 6 stands behind ours, and 12 of it are traded.
    let rows = [
        order(50, RowKind::Add, Side::Buy, 99, 20, 6),
        order(100, RowKind::Fill, Side::Buy, 99, 12, 6),
    ];
    let recording = orders(&rows);
    for (own_orders_share_trades, fills, heard) in [
        (false, FillModel::Partial, &[(1, Answer::Filled, 8), (2, Answer::Filled, 4)][..]),
        (false, FillModel::Whole, &[(1, Answer::Filled, 8), (2, Answer::Filled, 8)]),
        (
            true,
            FillModel::Whole,
            &[(1, Answer::Filled, 8), (2, Answer::Filled, 8), (3, Answer::Filled, 8)],
        ),
    ] {
        let compat = Compat { own_orders_share_trades, ..OURS };
        let mut backtest = by_order(&recording, fills, compat);
        run(&mut backtest, 10);
        for id in [1, 2, 3] {
            backtest.trader().send(Order::limit(id, Side::Buy, 99, 8)).expect("an order");
        }
        run(&mut backtest, 40);
        assert_eq!(short(&run(&mut backtest, 200)), heard);
    }
}

#[test]
fn what_own_orders_took_is_gone_until_the_level_is_told_again_or_never() {
    let recording = market(&[level(100, Side::Sell, 101, 10)]);
    let buy = |id| Order::limit(id, Side::Buy, 101, 8).lasting(TimeInForce::ImmediateOrCancel);
    for (taking_leaves_levels, second) in [(false, 2), (true, 8)] {
        let compat = Compat { taking_leaves_levels, ..OURS };
        let mut backtest = by_level(&recording, FillModel::Partial, compat);
        run(&mut backtest, 10);
        backtest.trader().send(buy(1)).expect("an order");
        backtest.trader().send(buy(2)).expect("an order");
        let heard = run(&mut backtest, 50);
        assert_eq!(short(&heard)[..2], [(1, Answer::Filled, 8), (2, Answer::Filled, second)]);
        // Nothing is left at 101, so that nothing crosses there.
        backtest.trader().send(Order::limit(3, Side::Buy, 101, 1).post_only()).expect("an order");
        let rests = if taking_leaves_levels { Answer::Expired } else { Answer::Entered };
        assert_eq!(short(&run(&mut backtest, 90)), [(3, rests, 0)]);
        backtest.trader().send(buy(4)).expect("an order");
        run(&mut backtest, 99);
        backtest.trader().send(buy(5)).expect("an order");
        let heard = run(&mut backtest, 200);
        assert_eq!(short(&heard).last(), Some(&(5, Answer::Filled, 8)), "it is there again");
    }
}

#[test]
fn what_finds_no_level_rests_or_is_filled_at_the_limit() {
    let recording = market(&[trade(100, Side::Sell, 101, 5)]);
    let theirs = Compat { remainder_fills_at_limit: true, ..OURS };
    let ten = &[(1, Answer::Filled, 10), (1, Answer::Entered, 0), (1, Answer::Filled, 5)][..];
    // A buy skips what stands at its limit.
    for (compat, heard) in [(OURS, ten), (theirs, &[(1, Answer::Filled, 15)])] {
        let mut backtest = by_level(&recording, FillModel::Partial, compat);
        run(&mut backtest, 10);
        backtest.trader().send(Order::limit(1, Side::Buy, 101, 15)).expect("an order");
        assert_eq!(short(&run(&mut backtest, 200)), heard);
        assert_eq!(backtest.trader().account().position(), 15);
    }
    let mut backtest = by_level(&recording, FillModel::Partial, theirs);
    run(&mut backtest, 10);
    backtest.trader().send(Order::limit(1, Side::Sell, 99, 15)).expect("an order");
    let heard = run(&mut backtest, 200);
    assert_eq!(short(&heard), [(1, Answer::Filled, 10), (1, Answer::Filled, 5)]);
}

#[test]
fn a_market_order_sees_the_whole_book_or_100_ticks() {
    let rows = [(Side::Sell, 200), (Side::Sell, 201), (Side::Buy, -1), (Side::Buy, -2)];
    let recording = market(&rows.map(|(side, tick)| level(1, side, tick, 1)));
    for (side, all, seen) in [(Side::Buy, 17, 16), (Side::Sell, 22, 21)] {
        for (market_sees_100_ticks, filled) in [(false, all), (true, seen)] {
            let compat = Compat { market_sees_100_ticks, ..OURS };
            let mut backtest = by_level(&recording, FillModel::Partial, compat);
            run(&mut backtest, 10);
            backtest.trader().send(Order::market(1, side, 50)).expect("an order");
            let heard = run(&mut backtest, 50);
            assert_eq!(heard.last().map(|said| said.answer), Some(Answer::Expired));
            assert_eq!(backtest.trader().account().position(), side.sign() * filled);
        }
    }
}

#[test]
fn orders_better_than_the_market_are_filled_first_or_wait() {
    let rows = [
        order(100, RowKind::Fill, Side::Buy, 99, 5, 1),
        order(200, RowKind::Add, Side::Sell, 98, 1, 7),
    ];
    let recording = orders(&rows);
    for (better_orders_wait, first, then) in
        [(false, &[(1, Answer::Filled, 3)][..], &[][..]), (true, &[], &[(1, Answer::Filled, 3)])]
    {
        let compat = Compat { better_orders_wait, ..OURS };
        let mut backtest = by_order(&recording, FillModel::Whole, compat);
        run(&mut backtest, 10);
        backtest.trader().send(Order::limit(1, Side::Buy, 100, 3)).expect("an order");
        run(&mut backtest, 50);
        assert_eq!(short(&run(&mut backtest, 150)), first);
        assert_eq!(short(&run(&mut backtest, 300)), then, "the best offer passes it");
    }
}

#[test]
fn a_modification_that_crosses_takes_or_rests() {
    let recording = orders(&[]);
    for (modify_never_crosses, heard) in
        [(false, (1, Answer::Filled, 3)), (true, (1, Answer::Modified, 0))]
    {
        let compat = Compat { modify_never_crosses, ..OURS };
        let mut backtest = by_order(&recording, FillModel::Whole, compat);
        run(&mut backtest, 10);
        backtest.trader().send(Order::limit(1, Side::Buy, 99, 2)).expect("an order");
        run(&mut backtest, 20);
        backtest.trader().modify(1, 101, 3).expect("a modification");
        assert_eq!(short(&run(&mut backtest, 50)), [heard]);
    }
}

#[test]
fn a_request_ends_with_its_answer_or_with_any_response() {
    let recording = market(&[trade(100, Side::Sell, 99, 12)]);
    for any_response_answers in [false, true] {
        let compat = Compat { any_response_answers, ..OURS };
        let mut backtest = by_level(&recording, FillModel::Partial, compat);
        run(&mut backtest, 10);
        backtest.trader().send(Order::limit(1, Side::Buy, 99, 5)).expect("an order");
        run(&mut backtest, 100);
        backtest.trader().cancel(1).expect("a cancel");
        assert_eq!(short(&run(&mut backtest, 102)), [(1, Answer::Filled, 2)]);
        let order = *backtest.trader().order(1).expect("the order");
        assert_eq!(order.status, Status::PartlyFilled);
        assert_eq!(order.is_cancellable(), any_response_answers);
        assert_eq!(short(&run(&mut backtest, 200)), [(1, Answer::Canceled, 0)]);
    }
}

#[test]
fn all_of_it_is_every_point() {
    let Compat {
        partial_fills_unbooked,
        keeps_exact_fills,
        modify_keeps_leaves,
        clear_skips_a_tick,
        own_orders_share_trades,
        taking_leaves_levels,
        remainder_fills_at_limit,
        market_sees_100_ticks,
        better_orders_wait,
        modify_never_crosses,
        any_response_answers,
    } = Compat::HFTBACKTEST;
    let all = [
        partial_fills_unbooked,
        keeps_exact_fills,
        modify_keeps_leaves,
        clear_skips_a_tick,
        own_orders_share_trades,
        taking_leaves_levels,
        remainder_fills_at_limit,
        market_sees_100_ticks,
        better_orders_wait,
        modify_never_crosses,
        any_response_answers,
    ];
    assert_eq!(all, [true; 11]);
    assert_eq!(Compat::NONE, Compat::default());
}
