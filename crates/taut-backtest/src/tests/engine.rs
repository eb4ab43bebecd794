//! The rules of [`EngineExchange`], a few orders each.

use super::*;
use RowKind::{Add, Cancel, Clear, Fill, Modify};
use taut_types::TimeInForce;

/// The lots at a price in the exchange's book.
fn lots(backtest: &Backtest<'_, EngineExchange<ConstantLatency>>, side: Side, tick: i64) -> i64 {
    backtest.exchange().lots(side, tick)
}

#[test]
fn own_orders_queue_and_keep_those_behind_from_being_filled() {
    let rows = [
        order(20, Add, Side::Buy, 99, 5, 6),
        // All of the one before ours.
        order(100, Fill, Side::Buy, 99, 10, 1),
        order(100, Cancel, Side::Buy, 99, 0, 1),
        // Five for the one behind ours, of which ours takes four.
        order(200, Fill, Side::Buy, 99, 5, 6),
        order(200, Cancel, Side::Buy, 99, 0, 6),
        // Three for a third one, which the second one takes now.
        order(300, Add, Side::Buy, 99, 3, 7),
        order(310, Fill, Side::Buy, 99, 3, 7),
        order(310, Cancel, Side::Buy, 99, 0, 7),
    ];
    let recording = orders(&rows);
    let mut backtest = by_engine(&recording);
    run(&mut backtest, 10);
    backtest.trader().send(Order::limit(1, Side::Buy, 99, 4)).expect("an order");
    assert_eq!(short(&run(&mut backtest, 150)), [(1, Answer::Entered, 0)]);
    assert_eq!(lots(&backtest, Side::Buy, 99), 9, "ours, and the one behind it");
    let heard = run(&mut backtest, 250);
    assert_eq!(short(&heard), [(1, Answer::Filled, 4)]);
    let filled = heard[0].order;
    assert_eq!((heard[0].at, filled.exchange_at), (Nanos(202), Nanos(200)));
    assert_eq!((filled.last_tick, filled.maker, filled.leaves), (99, true, 0));
    assert_eq!(lots(&backtest, Side::Buy, 99), 4, "what nobody has sold to");
    run(&mut backtest, 400);
    assert_eq!(lots(&backtest, Side::Buy, 99), 1 + 3);
    let expected = Impact { aggressed: 18, made: 4, ..Impact::default() };
    assert_eq!(*backtest.exchange().impact(), expected);
    assert_eq!(backtest.trader().account().position(), 4);
}

#[test]
fn what_we_take_is_gone_for_the_market() {
    let rows = [
        order(100, Fill, Side::Sell, 101, 10, 3),
        order(100, Cancel, Side::Sell, 101, 0, 3),
        order(200, Cancel, Side::Sell, 102, 0, 4),
    ];
    let recording = orders(&rows);
    let mut backtest = by_engine(&recording);
    run(&mut backtest, 10);
    backtest.trader().send(Order::market(1, Side::Buy, 12)).expect("an order");
    let heard = run(&mut backtest, 50);
    assert_eq!(short(&heard), [(1, Answer::Filled, 10), (1, Answer::Filled, 2)]);
    assert_eq!((heard[0].order.last_tick, heard[1].order.last_tick), (101, 102));
    assert_eq!(backtest.exchange().best(Side::Sell), Some(102));
    assert_eq!(backtest.trader().best(), Some((99, 101)), "what is recorded is what we see");
    // Who bought ten finds none, and who cancels five has three left.
    run(&mut backtest, 300);
    assert_eq!(backtest.exchange().best(Side::Sell), None);
    let expected = Impact { aggressed: 10, displaced: 10, taken: 12, gone: 2, ..Impact::default() };
    assert_eq!(*backtest.exchange().impact(), expected);
    assert_eq!(expected.traded_with_us(), 12);
}

#[test]
fn an_aggressor_takes_what_is_next_where_we_took_its_order() {
    let rows = [
        order(5, Add, Side::Sell, 101, 7, 6),
        order(100, Fill, Side::Sell, 101, 10, 3),
        order(100, Cancel, Side::Sell, 101, 0, 3),
        order(200, Cancel, Side::Sell, 101, 0, 6),
    ];
    let recording = orders(&rows);
    let mut backtest = by_engine(&recording);
    run(&mut backtest, 10);
    let buy = Order::limit(1, Side::Buy, 101, 10).lasting(TimeInForce::ImmediateOrCancel);
    backtest.trader().send(buy).expect("an order");
    assert_eq!(short(&run(&mut backtest, 50)), [(1, Answer::Filled, 10)]);
    run(&mut backtest, 150);
    assert_eq!(lots(&backtest, Side::Sell, 101), 0);
    run(&mut backtest, 300);
    let expected = Impact { aggressed: 10, displaced: 3, taken: 10, gone: 7, ..Impact::default() };
    assert_eq!(*backtest.exchange().impact(), expected);
}

#[test]
fn cancels_and_modifications_take_off_what_is_left() {
    let rows = [
        order(100, Modify, Side::Sell, 101, 7, 3),
        order(200, Modify, Side::Sell, 101, 2, 3),
        order(300, Modify, Side::Sell, 103, 9, 3),
        order(400, Cancel, Side::Sell, 103, 0, 3),
    ];
    let recording = orders(&rows);
    let mut backtest = by_engine(&recording);
    run(&mut backtest, 10);
    backtest.trader().send(Order::limit(1, Side::Buy, 101, 4)).expect("an order");
    run(&mut backtest, 50);
    // Of ten, four are ours; three less are three, then five less are more than there are.
    for (at, left, gone) in [(50, 6, 0), (150, 3, 0), (250, 0, 2), (350, 0, 2), (450, 0, 11)] {
        run(&mut backtest, at);
        assert_eq!(lots(&backtest, Side::Sell, 101), left, "{at}");
        assert_eq!(lots(&backtest, Side::Sell, 103), 0, "it is gone and not modified");
        assert_eq!(backtest.exchange().impact().gone, gone, "{at}");
    }
}

#[test]
fn a_modification_that_moves_an_order_moves_what_is_left() {
    let rows = [
        order(5, Cancel, Side::Sell, 102, 0, 4),
        order(100, Modify, Side::Sell, 103, 12, 3),
        order(110, Add, Side::Sell, 103, 1, 6),
        // It grows, and stands behind the other one.
        order(120, Modify, Side::Sell, 103, 13, 3),
        order(130, Fill, Side::Sell, 103, 1, 6),
        order(130, Cancel, Side::Sell, 103, 0, 6),
        order(140, Modify, Side::Sell, 104, 3, 3),
    ];
    let recording = orders(&rows);
    let mut backtest = by_engine(&recording);
    run(&mut backtest, 10);
    backtest.trader().send(Order::limit(1, Side::Buy, 101, 4)).expect("an order");
    // Six are left and get two more, then one; ten less are more than there are.
    for (at, at_103, at_104) in [(105, 8, 0), (125, 10, 0), (135, 9, 0), (200, 0, 0)] {
        run(&mut backtest, at);
        let found = [103, 104].map(|tick| lots(&backtest, Side::Sell, tick));
        assert_eq!(found, [at_103, at_104], "{at}");
    }
    let impact = *backtest.exchange().impact();
    assert_eq!((impact.out_of_turn, impact.gone), (0, 1));
}

#[test]
fn a_market_order_across_ours_trades_with_it() {
    let rows = [
        order(100, Add, Side::Sell, 100, 8, 6),
        order(200, Fill, Side::Sell, 100, 8, 6),
        order(200, Cancel, Side::Sell, 100, 0, 6),
        order(300, Modify, Side::Sell, 100, 10, 3),
    ];
    let recording = orders(&rows);
    let mut backtest = by_engine(&recording);
    run(&mut backtest, 10);
    for (id, lots) in [(1, 5), (2, 2)] {
        backtest.trader().send(Order::limit(id, Side::Buy, 100, lots)).expect("an order");
    }
    run(&mut backtest, 50);
    let heard = run(&mut backtest, 150);
    assert_eq!(short(&heard), [(1, Answer::Filled, 5), (2, Answer::Filled, 2)]);
    assert!(heard.iter().all(|said| said.order.maker && said.order.last_tick == 100));
    assert_eq!(lots(&backtest, Side::Sell, 100), 1);
    run(&mut backtest, 250);
    let expected = Impact { aggressed: 8, displaced: 7, crossed: 7, ..Impact::default() };
    assert_eq!(*backtest.exchange().impact(), expected);
    // Modified to a price that meets ours.
    backtest.trader().send(Order::limit(3, Side::Buy, 100, 4)).expect("an order");
    let heard = run(&mut backtest, 350);
    assert_eq!(short(&heard), [(3, Answer::Entered, 0), (3, Answer::Filled, 4)]);
    assert_eq!(lots(&backtest, Side::Sell, 100), 6);
    assert_eq!(backtest.exchange().impact().crossed, 11);
}

#[test]
fn a_trade_is_applied_once_however_it_is_told() {
    let sold = trade(100, Side::Sell, 99, 6);
    let fill = order(100, Fill, Side::Buy, 99, 6, 1);
    let left = order(100, Modify, Side::Buy, 99, 4, 1);
    for rows in [&[fill, left][..], &[sold, fill, left], &[fill, sold, left], &[sold, left]] {
        let recording = orders(rows);
        // Ours behind the order has nothing of it.
        let mut backtest = by_engine(&recording);
        run(&mut backtest, 10);
        backtest.trader().send(Order::limit(1, Side::Buy, 99, 3)).expect("an order");
        run(&mut backtest, 200);
        assert_eq!(lots(&backtest, Side::Buy, 99), 4 + 3, "{rows:?}");
        let expected = Impact { aggressed: 6, ..Impact::default() };
        assert_eq!(*backtest.exchange().impact(), expected, "{rows:?}");
        // Ours at a better price has all of it, and the order keeps what it had.
        let mut backtest = by_engine(&recording);
        run(&mut backtest, 10);
        backtest.trader().send(Order::limit(1, Side::Buy, 100, 7)).expect("an order");
        run(&mut backtest, 50);
        assert_eq!(short(&run(&mut backtest, 200)), [(1, Answer::Filled, 6)], "{rows:?}");
        assert_eq!(lots(&backtest, Side::Buy, 99), 10, "{rows:?}");
        let expected = Impact { aggressed: 6, made: 6, ..Impact::default() };
        assert_eq!(*backtest.exchange().impact(), expected, "{rows:?}");
    }
}

#[test]
fn a_trade_without_fills_is_of_the_orders_within_its_price_that_have_less_after_it() {
    let rows = [
        trade(100, Side::Sell, 99, 3),
        trade(100, Side::Sell, 98, 2),
        order(100, Modify, Side::Buy, 99, 7, 1),
        order(100, Modify, Side::Buy, 98, 8, 2),
        // Nobody is named for this one: who leaves at 98 was not reached.
        trade(200, Side::Sell, 99, 3),
        order(200, Cancel, Side::Buy, 98, 0, 2),
    ];
    let recording = orders(&rows);
    let mut backtest = by_engine(&recording);
    run(&mut backtest, 150);
    let expected = Impact { aggressed: 5, out_of_turn: 2, ..Impact::default() };
    assert_eq!(*backtest.exchange().impact(), expected);
    run(&mut backtest, 250);
    let expected = Impact { aggressed: 8, hidden: 3, ..expected };
    assert_eq!(*backtest.exchange().impact(), expected);
    assert_eq!(lots(&backtest, Side::Buy, 99), 7);
}

#[test]
fn a_trade_in_the_last_row_is_told() {
    let rows = [
        order(0, Add, Side::Buy, 99, 10, 1),
        order(0, Add, Side::Sell, 101, 10, 2),
        trade(100, Side::Buy, 100, 4),
    ];
    let recording = Recording::new(rows).expect("a recording");
    let mut backtest = by_engine(&recording);
    run(&mut backtest, 10);
    backtest.trader().send(Order::limit(1, Side::Sell, 100, 5)).expect("an order");
    let heard = run(&mut backtest, 200);
    assert_eq!(short(&heard), [(1, Answer::Entered, 0), (1, Answer::Filled, 4)]);
}

#[test]
fn an_aggressor_takes_of_a_kept_order_what_the_recording_does_not_have() {
    let rows = [
        order(100, Fill, Side::Buy, 99, 4, 1),
        order(100, Modify, Side::Buy, 99, 6, 1),
        order(200, Add, Side::Buy, 99, 5, 6),
        order(300, Fill, Side::Buy, 99, 5, 6),
        order(300, Cancel, Side::Buy, 99, 0, 6),
        order(400, Cancel, Side::Buy, 99, 0, 1),
    ];
    let recording = orders(&rows);
    let mut backtest = by_engine(&recording);
    run(&mut backtest, 10);
    backtest.trader().send(Order::limit(1, Side::Buy, 100, 3)).expect("an order");
    // Of four ours has three: order 1 has nine and should have six, which it has left after 300.
    for (at, left) in [(150, 9), (250, 14), (350, 9), (450, 3)] {
        run(&mut backtest, at);
        assert_eq!(lots(&backtest, Side::Buy, 99), left, "{at}");
    }
    let expected = Impact { aggressed: 9, made: 3, out_of_turn: 2, ..Impact::default() };
    assert_eq!(*backtest.exchange().impact(), expected);
}

#[test]
fn ours_keeps_its_place_for_fewer_lots_alone() {
    let rows = [
        order(50, Add, Side::Buy, 99, 5, 6),
        order(60, Cancel, Side::Buy, 99, 0, 1),
        order(100, Fill, Side::Buy, 99, 1, 6),
        order(100, Modify, Side::Buy, 99, 4, 6),
    ];
    let recording = orders(&rows);
    for (to, heard) in [
        (2, &[(1, Answer::Modified, 0), (1, Answer::Filled, 1)][..]),
        (5, &[(1, Answer::Modified, 0)]),
    ] {
        let mut backtest = by_engine(&recording);
        run(&mut backtest, 10);
        backtest.trader().send(Order::limit(1, Side::Buy, 99, 4)).expect("an order");
        run(&mut backtest, 70);
        backtest.trader().modify(1, 99, to).expect("a modification");
        assert_eq!(short(&run(&mut backtest, 200)), heard, "to {to}");
    }
}

#[test]
fn a_trade_for_which_no_order_is_named_meets_ours_alone() {
    let rows = [trade(100, Side::Buy, 100, 8), trade(200, Side::Buy, 101, 4)];
    let recording = orders(&rows);
    let mut backtest = by_engine(&recording);
    run(&mut backtest, 10);
    backtest.trader().send(Order::limit(1, Side::Sell, 100, 5)).expect("an order");
    backtest.trader().send(Order::limit(2, Side::Sell, 101, 5)).expect("an order");
    run(&mut backtest, 50);
    // It is told at its time, though the next row is later.
    let heard = run(&mut backtest, 102);
    assert_eq!(short(&heard), [(1, Answer::Filled, 5)]);
    // Order 3 is before ours at 101.
    assert_eq!(short(&run(&mut backtest, 300)), []);
    assert_eq!(lots(&backtest, Side::Sell, 101), 15);
    let expected = Impact { aggressed: 12, made: 5, hidden: 7, ..Impact::default() };
    assert_eq!(*backtest.exchange().impact(), expected);
}

#[test]
fn an_order_that_is_filled_out_of_turn_is_filled_alone() {
    let rows = [
        order(20, Add, Side::Buy, 99, 5, 6),
        order(100, Fill, Side::Buy, 99, 4, 6),
        order(100, Modify, Side::Buy, 99, 1, 6),
        order(200, Fill, Side::Buy, 99, 10, 1),
        order(200, Cancel, Side::Buy, 99, 0, 1),
    ];
    let recording = orders(&rows);
    let mut backtest = by_engine(&recording);
    run(&mut backtest, 150);
    assert_eq!(lots(&backtest, Side::Buy, 99), 11);
    run(&mut backtest, 250);
    assert_eq!(lots(&backtest, Side::Buy, 99), 1);
    let expected = Impact { aggressed: 14, out_of_turn: 4, ..Impact::default() };
    assert_eq!(*backtest.exchange().impact(), expected);
}

#[test]
fn an_order_that_we_kept_leaves_when_its_id_is_used_again() {
    let rows = [
        order(100, Fill, Side::Buy, 99, 10, 1),
        order(100, Cancel, Side::Buy, 99, 0, 1),
        order(200, Add, Side::Buy, 97, 3, 1),
        order(300, Add, Side::Buy, 97, 9, 1),
    ];
    let recording = orders(&rows);
    let mut backtest = by_engine(&recording);
    run(&mut backtest, 10);
    backtest.trader().send(Order::limit(1, Side::Buy, 100, 7)).expect("an order");
    for (at, at_99, at_97) in [(150, 7, 0), (250, 0, 3), (350, 0, 3)] {
        run(&mut backtest, at);
        let found = [99, 97].map(|tick| lots(&backtest, Side::Buy, tick));
        assert_eq!(found, [at_99, at_97], "{at}");
    }
}

/// Requests of every kind, ten nanoseconds apart, and what comes back.
fn answers<X: Exchange>(mut backtest: Backtest<'_, X>) -> Vec<Response> {
    use TimeInForce::{Day, FillOrKill, ImmediateOrCancel};
    let mut heard = run(&mut backtest, 10);
    let mut wait = |backtest: &mut Backtest<'_, X>| {
        let to = backtest.now().0 + 10;
        heard.extend(run(backtest, to));
    };
    let limit = |id, side, tick, lots| Order::limit(id, side, tick, lots);
    for order in [
        limit(1, Side::Buy, 101, 1).post_only(),
        limit(2, Side::Buy, 102, 16).lasting(FillOrKill),
        limit(3, Side::Buy, 100, 4).lasting(ImmediateOrCancel),
        limit(4, Side::Buy, 101, 3).lasting(ImmediateOrCancel),
        limit(5, Side::Buy, 102, 9).lasting(FillOrKill),
        limit(6, Side::Buy, 102, 7),
        limit(7, Side::Sell, 103, 5).post_only().lasting(Day),
        limit(8, Side::Buy, 99, 2),
    ] {
        backtest.trader().send(order).expect("an order");
        wait(&mut backtest);
    }
    for (tick, lots) in [(103, 2), (103, 6), (104, 6), (99, 1)] {
        backtest.trader().modify(7, tick, lots).expect("a modification");
        wait(&mut backtest);
    }
    backtest.trader().cancel(6).expect("a cancel");
    wait(&mut backtest);
    heard
}

#[test]
fn own_orders_are_answered_as_they_are_elsewhere() {
    let recording = orders(&[]);
    let fields = |said: Response| {
        let Order { id, tick, lots, leaves, last_lots, last_tick, maker, status, .. } = said.order;
        let times = (said.at, said.order.exchange_at);
        let order = (id, tick, lots, leaves, status);
        (times, said.answer, said.request, order, (last_tick, last_lots, maker))
    };
    let by_order = answers(by_order(&recording, FillModel::Partial, Compat::NONE));
    let by_engine = answers(by_engine(&recording));
    assert_eq!(by_engine.len(), 15);
    for (ours, theirs) in by_engine.into_iter().zip(by_order) {
        assert_eq!(fields(ours), fields(theirs));
    }
}

#[test]
fn a_request_that_comes_too_late_is_refused() {
    let rows = [order(100, Fill, Side::Buy, 99, 10, 1), order(101, Fill, Side::Buy, 98, 9, 2)];
    let recording = orders(&rows);
    let mut backtest = by_engine(&recording);
    run(&mut backtest, 10);
    backtest.trader().send(Order::limit(1, Side::Buy, 100, 7)).expect("an order");
    backtest.trader().send(Order::limit(2, Side::Buy, 100, 7)).expect("an order");
    run(&mut backtest, 100);
    backtest.trader().cancel(1).expect("its fill is not known here");
    backtest.trader().modify(2, 100, 5).expect("nor this one's");
    let heard = run(&mut backtest, 200);
    let told: Vec<_> = heard.iter().map(|said| (said.order.id, said.answer)).collect();
    let filled = Answer::Filled;
    // Nine at 98 were sold to those at 100 first, of which four are left.
    let expected =
        [(1, filled), (2, filled), (2, filled), (1, Answer::Refused), (2, Answer::Refused)];
    assert_eq!(told, expected);
    assert_eq!(backtest.trader().account().position(), 14);
}

#[test]
fn two_of_ours_trade_with_each_other() {
    let recording = orders(&[]);
    let mut backtest = by_engine(&recording);
    run(&mut backtest, 10);
    backtest.trader().send(Order::limit(1, Side::Buy, 100, 5)).expect("an order");
    backtest.trader().send(Order::limit(2, Side::Sell, 100, 3)).expect("an order");
    let heard = run(&mut backtest, 100);
    let expected = [(1, Answer::Entered, 0), (1, Answer::Filled, 3), (2, Answer::Filled, 3)];
    assert_eq!(short(&heard), expected);
    assert_eq!(backtest.trader().account().position(), 0);
    assert_eq!(*backtest.exchange().impact(), Impact::default());
}

#[test]
fn a_clear_takes_the_orders_of_a_side() {
    let rows = [
        order(90, Cancel, Side::Buy, 99, 0, 1),
        order(100, Clear, Side::Sell, 0, 0, 0),
        order(200, Add, Side::Sell, 99, 5, 3),
        Event { side: None, ..order(300, Clear, Side::Sell, 0, 0, 0) },
        order(400, Add, Side::Buy, 95, 1, 2),
        order(410, Modify, Side::Sell, 104, 1, 4),
        order(420, Modify, Side::Buy, 96, 2, 2),
    ];
    let recording = orders(&rows);
    let mut backtest = by_engine(&recording);
    run(&mut backtest, 10);
    backtest.trader().send(Order::limit(1, Side::Sell, 103, 2)).expect("an order");
    backtest.trader().send(Order::limit(2, Side::Buy, 97, 2)).expect("an order");
    run(&mut backtest, 50);
    let heard = run(&mut backtest, 150);
    assert_eq!(short(&heard), [(1, Answer::Expired, 0)]);
    let Order { leaves, status, exchange_at, .. } = heard[0].order;
    assert_eq!((leaves, status, exchange_at), (0, Status::Expired, Nanos(100)));
    run(&mut backtest, 250);
    let exchange = backtest.exchange();
    assert_eq!((exchange.best(Side::Buy), exchange.best(Side::Sell)), (Some(98), Some(99)));
    assert_eq!(short(&run(&mut backtest, 350)), [(2, Answer::Expired, 0)]);
    let exchange = backtest.exchange();
    assert_eq!((exchange.best(Side::Buy), exchange.best(Side::Sell)), (None, None));
    assert_eq!(backtest.trader().best(), None);
    // An order from before it is not there to be modified, one that came after it is.
    run(&mut backtest, 450);
    let exchange = backtest.exchange();
    assert_eq!((exchange.best(Side::Buy), exchange.best(Side::Sell)), (Some(96), None));
    assert_eq!(backtest.trader().book().lots(Side::Buy, 96), 2);
}

#[test]
fn what_an_engine_cannot_hold_is_refused_by_its_row() {
    let refused = |rows: &[Event]| EngineExchange::new(&orders(rows), LATENCY).err();
    let at = |row| Some(BacktestError::Crosses { row });
    assert_eq!(refused(&[]), None);
    assert_eq!(refused(&[order(1, Add, Side::Buy, 101, 1, 6)]), at(4));
    assert_eq!(refused(&[order(1, Add, Side::Sell, 99, 1, 6)]), at(4));
    assert_eq!(refused(&[order(1, Modify, Side::Buy, 101, 1, 1)]), at(4));
    // Nothing comes of these.
    assert_eq!(refused(&[order(1, Add, Side::Buy, 101, 1, 1)]), None);
    assert_eq!(refused(&[order(1, Modify, Side::Buy, 101, 1, 6)]), None);
    let local = Event { seen: Seen::Local, ..order(1, Add, Side::Buy, 101, 1, 6) };
    assert_eq!(refused(&[local]), None, "the exchange does not see it");
    let level = level(1, Side::Buy, 90, 1);
    assert_eq!(refused(&[level]), Some(BacktestError::NeedsOrders { row: 4 }));
    let text = std::format!("{}", BacktestError::NeedsOrders { row: 4 });
    assert!(text.contains("row 4 is about a level"), "{text}");
}

#[test]
fn a_full_book_ends_the_run_and_far_prices_do_not() {
    let recording = orders(&[]);
    let mut backtest = by_engine(&recording);
    run(&mut backtest, 10);
    for (id, side, tick) in [(1, Side::Buy, -(1 << 55)), (2, Side::Sell, 1 << 55)] {
        backtest.trader().send(Order::limit(id, side, tick, 1 << 55)).expect("an order");
    }
    assert_eq!(short(&run(&mut backtest, 20)), [(1, Answer::Entered, 0), (2, Answer::Entered, 0)]);
    assert_eq!(lots(&backtest, Side::Buy, -(1 << 55)), 1 << 55);
    for id in 10..4_200 {
        backtest.trader().send(Order::limit(id, Side::Buy, 90, 1)).expect("an order");
    }
    assert_eq!(backtest.run_until(Nanos(50), Stop::Time), Err(BacktestError::NoRoom));
}

#[test]
fn rows_about_orders_that_are_not_there_change_nothing() {
    let rows = [
        order(10, Cancel, Side::Buy, 99, 0, 77),
        order(11, Modify, Side::Buy, 97, 3, 78),
        order(12, Fill, Side::Buy, 99, 3, 79),
        // A trade that is told of it as well.
        trade(12, Side::Sell, 99, 3),
        order(13, Add, Side::Buy, 90, 3, 1),
        Event { side: None, ..order(14, Add, Side::Buy, 100, 3, 80) },
        Event { side: None, ..trade(14, Side::Sell, 99, 3) },
        order(15, Modify, Side::Buy, 98, 0, 2),
        // More than it has.
        order(16, Fill, Side::Sell, 102, 50, 4),
    ];
    let recording = orders(&rows);
    let mut backtest = by_engine(&recording);
    run(&mut backtest, 100);
    let found = [100, 99, 98, 97, 90].map(|tick| lots(&backtest, Side::Buy, tick));
    assert_eq!(found, [0, 10, 0, 0, 0]);
    let expected = Impact { aggressed: 5, out_of_turn: 5, ..Impact::default() };
    assert_eq!(*backtest.exchange().impact(), expected);
}
