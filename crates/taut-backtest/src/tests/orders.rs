//! What orders do, apart from differences.

use super::*;
use taut_types::TimeInForce;

/// What comes of an order over the market, at once.
fn comes(fills: FillModel, order: Order) -> Vec<(u64, Answer, i64)> {
    let recording = market(&[]);
    let mut backtest = by_level(&recording, fills, Compat::NONE);
    run(&mut backtest, 10);
    backtest.trader().send(order).expect("an order");
    let mut heard = short(&run(&mut backtest, 50));
    heard.iter_mut().for_each(|(id, ..)| *id = 0);
    heard
}

#[test]
fn times_in_force_decide_what_becomes_of_an_order() {
    use Answer::{Entered, Expired, Filled};
    let ioc = |order: Order| order.lasting(TimeInForce::ImmediateOrCancel);
    let fok = |order: Order| order.lasting(TimeInForce::FillOrKill);
    let buy = |tick, lots| Order::limit(1, Side::Buy, tick, lots);
    let sell = |tick, lots| Order::limit(1, Side::Sell, tick, lots);
    let (whole, partial) = (FillModel::Whole, FillModel::Partial);
    for (fills, order, heard) in [
        (whole, buy(100, 3), &[(0, Entered, 0)][..]),
        (whole, buy(100, 3).post_only(), &[(0, Entered, 0)]),
        (whole, buy(101, 3).post_only(), &[(0, Expired, 0)]),
        (whole, buy(101, 33), &[(0, Filled, 33)]),
        (whole, ioc(buy(100, 3)), &[(0, Expired, 0)]),
        (whole, fok(sell(100, 3)), &[(0, Expired, 0)]),
        (whole, fok(sell(99, 3)), &[(0, Filled, 3)]),
        (whole, Order::market(1, Side::Sell, 7), &[(0, Filled, 7)]),
        (partial, ioc(buy(101, 12)), &[(0, Filled, 10), (0, Expired, 0)]),
        (partial, ioc(buy(102, 12)), &[(0, Filled, 10), (0, Filled, 2)]),
        (partial, fok(buy(102, 15)), &[(0, Filled, 10), (0, Filled, 5)]),
        (partial, fok(buy(102, 16)), &[(0, Expired, 0)]),
        (partial, fok(buy(101, 11)), &[(0, Expired, 0)]),
        (partial, buy(101, 10).lasting(TimeInForce::Day), &[(0, Filled, 10)]),
        (
            partial,
            Order::market(1, Side::Buy, 17),
            &[(0, Filled, 10), (0, Filled, 5), (0, Expired, 0)],
        ),
    ] {
        assert_eq!(comes(fills, order), heard, "{fills:?} {order:?}");
    }
}

#[test]
fn a_market_order_without_a_market_expires() {
    let recording = Recording::new([level(0, Side::Buy, 99, 1), level(99, Side::Buy, 98, 1)]);
    let recording = recording.expect("rows");
    for fills in [FillModel::Whole, FillModel::Partial] {
        for compat in [Compat::NONE, Compat::HFTBACKTEST] {
            let mut backtest = by_level(&recording, fills, compat);
            run(&mut backtest, 10);
            backtest.trader().send(Order::market(1, Side::Buy, 1)).expect("an order");
            assert_eq!(short(&run(&mut backtest, 50)), [(1, Answer::Expired, 0)]);
        }
    }
}

#[test]
fn a_best_that_passes_and_a_trade_through_fill_all() {
    let rows = [level(100, Side::Sell, 98, 1), trade(200, Side::Buy, 105, 1)];
    let recording = market(&rows);
    for fills in [FillModel::Whole, FillModel::Partial] {
        let mut backtest = by_level(&recording, fills, Compat::NONE);
        run(&mut backtest, 10);
        let limits =
            [(1, Side::Buy, 99), (2, Side::Buy, 97), (3, Side::Sell, 104), (4, Side::Sell, 106)];
        for (id, side, tick) in limits {
            backtest.trader().send(Order::limit(id, side, tick, 50)).expect("an order");
        }
        run(&mut backtest, 50);
        let heard = run(&mut backtest, 300);
        assert_eq!(short(&heard), [(1, Answer::Filled, 50), (3, Answer::Filled, 50)]);
        assert!(
            heard.iter().all(|said| said.order.maker && said.order.last_tick == said.order.tick)
        );
        let open: Vec<_> =
            backtest.trader().orders().filter(|o| o.is_cancellable()).map(|o| o.id).collect();
        assert_eq!(open, [2, 4]);
        backtest.trader().forget_done();
        assert_eq!(backtest.trader().orders().count(), 2);
    }
}

#[test]
fn a_modification_keeps_its_place_for_less_at_the_same_price_alone() {
    let recording = market(&[
        trade(100, Side::Sell, 99, 8),
        trade(200, Side::Sell, 99, 3),
        level(300, Side::Buy, 99, 30),
        trade(400, Side::Sell, 99, 20),
    ]);
    for (lots, heard) in [(2, &[(1, Answer::Filled, 2)][..]), (4, &[])] {
        let mut backtest = by_level(&recording, FillModel::Whole, Compat::NONE);
        run(&mut backtest, 10);
        backtest.trader().send(Order::limit(1, Side::Buy, 99, 3)).expect("an order");
        run(&mut backtest, 150);
        backtest.trader().modify(1, 99, lots).expect("a modification");
        assert_eq!(short(&run(&mut backtest, 160)), [(1, Answer::Modified, 0)]);
        // Eight of the ten before it were traded; a new one has ten before it again.
        assert_eq!(short(&run(&mut backtest, 250)), heard);
    }
}

#[test]
fn requests_about_orders_that_are_not_there_are_refused() {
    let recording = market(&[trade(100, Side::Sell, 98, 1)]);
    let mut backtest = by_level(&recording, FillModel::Whole, Compat::NONE);
    run(&mut backtest, 10);
    let mut trader = backtest.trader();
    assert_eq!(trader.cancel(1), Err(BacktestError::UnknownOrder(1)));
    assert_eq!(trader.send(Order::limit(1, Side::Buy, 99, 0)), Err(BacktestError::BadCommand));
    trader.send(Order::limit(1, Side::Buy, 99, 3)).expect("an order");
    let again = trader.send(Order::limit(1, Side::Buy, 99, 3));
    assert_eq!(again, Err(BacktestError::OrderExists(1)));
    assert_eq!(trader.modify(1, 99, 1), Err(BacktestError::NotNow(1)));
    run(&mut backtest, 101);
    // The fill is under way to us, and the order is gone at the exchange.
    backtest.trader().modify(1, 98, 1).expect("a modification");
    let heard = run(&mut backtest, 200);
    assert_eq!(short(&heard), [(1, Answer::Filled, 3), (1, Answer::Refused, 0)]);
    let order = *backtest.trader().order(1).expect("the order");
    assert_eq!((order.status, order.tick), (Status::Filled, 99));
    assert_eq!(backtest.trader().cancel(1), Err(BacktestError::NotNow(1)));
}

#[test]
fn own_orders_stand_in_market_queues() {
    use RowKind::{Add, Cancel, Clear, Fill, Modify};
    let rows = [
        order(100, Add, Side::Buy, 99, 5, 6),
        // The one before ours is traded: it is not behind us.
        order(110, Fill, Side::Buy, 99, 4, 1),
        order(110, Modify, Side::Buy, 99, 6, 1),
        // It grows, and stands behind all.
        order(120, Modify, Side::Buy, 99, 7, 1),
        order(130, Fill, Side::Buy, 99, 5, 6),
        order(130, Cancel, Side::Buy, 99, 0, 6),
        order(140, Clear, Side::Sell, 0, 0, 0),
    ];
    let recording = orders(&rows);
    let mut backtest = by_order(&recording, FillModel::Partial, Compat::NONE);
    run(&mut backtest, 10);
    backtest.trader().send(Order::limit(1, Side::Buy, 99, 3)).expect("an order");
    backtest.trader().send(Order::limit(2, Side::Sell, 101, 3)).expect("an order");
    run(&mut backtest, 50);
    assert_eq!(short(&run(&mut backtest, 129)), []);
    assert_eq!(backtest.trader().book().lots(Side::Buy, 99), 12);
    assert_eq!(short(&run(&mut backtest, 139)), [(1, Answer::Filled, 3)]);
    assert_eq!(short(&run(&mut backtest, 200)), [(2, Answer::Expired, 0)]);
    assert_eq!(backtest.trader().book().best(Side::Sell), None);
    assert_eq!(backtest.trader().book().lots(Side::Buy, 99), 7);
}

#[test]
fn rows_about_orders_that_are_not_there_change_nothing() {
    use RowKind::{Add, Cancel, Fill, Modify};
    let rows = [
        order(10, Cancel, Side::Buy, 99, 0, 77),
        order(11, Modify, Side::Buy, 97, 3, 78),
        order(12, Fill, Side::Buy, 99, 3, 79),
        order(13, Add, Side::Buy, 90, 3, 1),
        Event { side: None, ..order(14, Add, Side::Buy, 100, 3, 80) },
        order(15, Modify, Side::Buy, 98, 0, 2),
    ];
    let recording = orders(&rows);
    let mut backtest = by_order(&recording, FillModel::Whole, Compat::NONE);
    run(&mut backtest, 100);
    let trader = backtest.trader();
    let lots = [100, 99, 98, 97, 90].map(|tick| trader.book().lots(Side::Buy, tick));
    assert_eq!(lots, [0, 10, 0, 0, 0], "the last row is a cancel");
}
