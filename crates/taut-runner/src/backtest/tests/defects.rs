//! The defects that users of hftbacktest report or that were found in it, and what a strategy in a
//! gateway sees here by default. [`Compat`] has its behaviour where that is asked for; that both
//! are as they should be, `taut-backtest`'s own tests say.

use std::ops::ControlFlow;
use std::path::Path;

use taut_backtest::{InterpolatedLatency, LatencyRow, OrderExchange};
use taut_gateway::{TouchConfig, TouchStrategy, UpdateKind};
use taut_recording::{Conversion, ReadOptions, Recorded, Source, Target, convert};

use super::*;

/// A row that keeps a run going.
fn end() -> Event {
    level(90_000, Side::Buy, 9_000, 1)
}

fn outcome(rows: &[Event], fills: FillModel, asks: Vec<(i64, Ask)>) -> (BacktestOutcome, Told) {
    let recording = recording(&[rows, &[end()]].concat());
    let (script, told) = Script::new(asks);
    (run_all(vec![market("A", &recording, fills)], script), told)
}

/// Prices and lots of all trades.
fn traded(outcome: &BacktestOutcome) -> Vec<(i64, i64)> {
    outcome.fills.iter().map(|fill| (fill.tick, fill.lots)).collect()
}

fn market_order(side: Side, lots: i64) -> Ask {
    Ask::New(OrderTerms::market(InstrumentId(0), side, Lots(lots)))
}

#[test]
fn partial_fills_are_not_booked_and_a_sweep_has_its_last_part_alone() {
    let rows = [level(0, Side::Sell, 10_002, 5), trade(1_000, Side::Sell, 9_999, 13)];
    let asks =
        vec![(300, market_order(Side::Buy, 15)), (300, Ask::New(limit(Side::Buy, 9_999, 4)))];
    let (outcome, _) = outcome(&rows, FillModel::Partial, asks);
    assert_eq!(traded(&outcome), [(10_001, 10), (10_002, 5), (9_999, 3)]);
    assert_eq!(outcome.instruments[0].position, 18);
}

#[test]
fn an_exact_fill_leaves_an_order_that_ends_the_run() {
    let rows = [trade(1_000, Side::Sell, 9_999, 14), trade(2_000, Side::Sell, 9_999, 1)];
    let asks = vec![(300, Ask::New(limit(Side::Buy, 9_999, 4)))];
    let (outcome, _) = outcome(&rows, FillModel::Partial, asks);
    assert_eq!((traded(&outcome), outcome.open_orders), (vec![(9_999, 4)], 0));
    assert_eq!(outcome.end, BacktestEnd::Recording);
    assert!(outcome.ended_at >= Nanos(90_000));
}

#[test]
fn a_modification_to_more_has_the_old_leaves() {
    let rows = [level(600, Side::Sell, 10_009, 1), trade(5_000, Side::Sell, 9_998, 1)];
    let larger = Ask::Modify(0, Price(9_999 * TICK.0), Lots(7));
    let asks = vec![(300, Ask::New(limit(Side::Buy, 9_999, 2))), (900, larger)];
    let (outcome, _) = outcome(&rows, FillModel::Whole, asks);
    assert_eq!((traded(&outcome), outcome.orders[0].lots), (vec![(9_999, 7)], 7));
}

#[test]
fn a_clear_does_not_find_the_level_a_tick_below() {
    let clear = Event { kind: RowKind::Clear, ..level(1_000, Side::Buy, 9_999, 0) };
    let rows = [level(0, Side::Buy, 9_998, 3), level(0, Side::Buy, 9_997, 3), clear];
    let asks = vec![(1_300, market_order(Side::Sell, 1))];
    let (outcome, _) = outcome(&rows, FillModel::Partial, asks);
    assert_eq!(traded(&outcome), [(9_998, 1)]);
    assert_eq!(outcome.fills[0].top_at_order, Some((9_998, 10_001)), "we see it, too");
}

#[test]
fn own_orders_are_each_filled_by_the_same_lots_and_taking_leaves_the_book() {
    let rows = [trade(2_000, Side::Sell, 9_999, 16)];
    let bid = || Ask::New(limit(Side::Buy, 9_999, 5));
    let asks = vec![
        (300, bid()),
        (300, bid()),
        (300, market_order(Side::Buy, 8)),
        (300, market_order(Side::Buy, 8)),
    ];
    let (outcome, _) = outcome(&rows, FillModel::Partial, asks);
    assert_eq!(traded(&outcome), [(10_001, 8), (10_001, 2), (9_999, 5), (9_999, 1)]);
}

#[test]
fn the_latency_of_a_cancel_counts_from_the_first_request() {
    let rows = [level(5_000, Side::Sell, 10_009, 1)];
    let asks = vec![(300, Ask::New(limit(Side::Buy, 9_999, 5))), (5_300, Ask::Cancel(0))];
    let (outcome, told) = outcome(&rows, FillModel::Partial, asks);
    let told: Vec<_> = told.borrow().iter().map(|(at, it)| (*at, it.kind)).collect();
    let way = 137 + 211;
    assert_eq!(told, [(300 + way, UpdateKind::Accepted), (5_300 + way, UpdateKind::Cancelled)]);
    assert_eq!((outcome.entry.count, outcome.entry.mean_ns()), (2, Some(137.0)));
    assert_eq!((outcome.response.count, outcome.response.mean_ns()), (2, Some(211.0)));
}

#[test]
fn fills_of_one_instant_come_in_another_order_from_run_to_run() {
    let run = || {
        let rows = [trade(5_000, Side::Sell, 9_900, 500)];
        let asks = (0..40).map(|at| (300, Ask::New(limit(Side::Buy, 9_980 - at % 7, 1 + at % 3))));
        outcome(&rows, FillModel::Partial, asks.collect()).0
    };
    let (first, second) = (run(), run());
    assert_eq!((first.fills.len(), &first.fills), (40, &second.fills));
    assert_eq!(first.profit().to_bits(), second.profit().to_bits());
    let orders: Vec<_> = first.fills.iter().map(|fill| fill.order).collect();
    assert_eq!(orders, (0..40).collect::<Vec<_>>(), "as the orders came");
}

/// A row about an order of the market.
fn order(at: i64, kind: RowKind, side: Side, tick: i64, lots: i64, order_id: u64) -> Event {
    Event { kind, order_id, ..level(at, side, tick, lots) }
}

#[test]
fn in_market_queues_better_orders_wait_and_a_modification_that_crosses_rests() {
    let rows = [
        order(0, RowKind::Add, Side::Buy, 9_999, 10, 1),
        order(0, RowKind::Add, Side::Sell, 10_003, 10, 2),
        order(2_000, RowKind::Fill, Side::Buy, 9_999, 5, 1),
        order(2_000, RowKind::Modify, Side::Buy, 9_999, 5, 1),
        order(90_000, RowKind::Add, Side::Buy, 9_000, 1, 3),
    ];
    let recording = Recording::new(rows).expect("a recording");
    let exchange = OrderExchange::new(&recording, LATENCY, FillModel::Partial, Compat::NONE);
    let exchange = Box::new(ExchangeSide::new(&recording, exchange.expect("an exchange")));
    let (instrument, fees) = (instrument("A"), Fees::default());
    let market = BacktestMarket { instrument, fees, recording: &recording, exchange };
    let crosses = Ask::Modify(0, Price(10_003 * TICK.0), Lots(2));
    let asks = vec![
        (300, Ask::New(limit(Side::Buy, 10_001, 3))),
        (300, Ask::New(limit(Side::Buy, 9_990, 2))),
        (2_300, crosses),
    ];
    let (script, _) = Script::new(asks);
    let outcome = run_all(vec![market], script);
    assert_eq!(traded(&outcome), [(10_001, 3), (10_003, 2)]);
    assert!(outcome.fills[0].is_maker && !outcome.fills[1].is_maker);
}

#[test]
fn times_of_databento_go_through_microseconds_and_floats() {
    const AT: i64 = 1_723_161_256_298_000_123;
    let folder = tempfile::tempdir().expect("a folder");
    let [text, dbn] = ["x.csv", "x.dbn"].map(|name| folder.path().join(name));
    let mut rows = "exch_ts,local_ts,seen,kind,side,px,qty,order_id,symbol\n".to_owned();
    for at in 0..50 {
        let (exchange, local) = (AT + at * 1_000_003, AT + at * 1_000_003 + 777);
        rows += &format!("{exchange},{local},both,add,buy,99.{at:02},{at},{},X\n", at + 1);
    }
    std::fs::write(&text, rows).expect("a file");
    let what = Conversion {
        from: Source::Csv,
        files: vec![text],
        to: Target::Dbn,
        reading: ReadOptions::default(),
        quantity_decimals: None,
        base_latency: 0,
    };
    let go_on = &mut |_| ControlFlow::Continue(());
    let mut file = std::fs::File::create(&dbn).expect("a file");
    convert(&what, &mut file, go_on).expect("DBN");
    assert_eq!(Source::of(&dbn), Ok(Source::Dbn));
    let options = ReadOptions { symbol: Some("X".to_owned()), ..ReadOptions::default() };
    let looked = Recorded::look(Source::Dbn, &[dbn], &options, go_on).expect("records");
    let recording = looked.recording((TICK, Qty::whole(1)), Nanos::ZERO, go_on).expect("rows");
    let adds = recording.rows().iter().filter(|row| row.kind() == RowKind::Add);
    let times: Vec<_> = adds.map(|row| (row.exchange_at(), row.local_at())).collect();
    let expected = (0..50).map(|at| AT + at * 1_000_003).map(|at| (at, at + 777));
    assert_eq!(times, expected.collect::<Vec<_>>());
}

#[test]
fn the_example_ends_at_its_first_decision_without_a_trade() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("bt.toml");
    std::fs::write(&path, BACKTEST_SAMPLE).expect("a file");
    let file = BacktestFile::<toml::Table>::read(Path::new(&path)).expect("right");
    let second = 1_000_000_000;
    let mut rows = vec![level(0, Side::Buy, 600_000, 900), level(0, Side::Sell, 600_001, 900)];
    for at in 1..50 {
        let (old, new) = if at % 2 == 0 { (600_001, 600_000) } else { (600_000, 600_001) };
        for side in [Side::Buy, Side::Sell] {
            let above = if side == Side::Sell { 1 } else { 0 };
            rows.push(level(at * second / 10, side, old + above, 0));
            rows.push(level(at * second / 10, side, new + above, 900));
        }
    }
    let recordings = [Recording::new(rows).expect("a recording")];
    let markets = file.markets(&recordings).expect("right");
    let config =
        TouchConfig { orders_per_second: 100, rest: Nanos::from_millis(10), lots: Lots(1) };
    let touch = |now| TouchStrategy::new(config, now);
    let settings = file.settings().expect("right");
    let outcome = run(markets, &settings, touch, &mut |_| true).expect("a run");
    assert!(outcome.ended_at.0 >= 49 * second / 10);
    assert!(outcome.orders.len() > 20 && !outcome.fills.is_empty(), "{:?}", outcome.counts());
}

#[test]
fn latencies_are_borrowed_and_a_temporary_list_of_them_lies() {
    let recording = recording(&[level(5_000, Side::Sell, 10_009, 1), end()]);
    let exchange = {
        let row = |at| LatencyRow { request_at: at, exchange_at: at + 40, response_at: at + 100 };
        let latency = InterpolatedLatency::new(vec![row(0), row(80_000)]).expect("rows");
        let fills = FillModel::Partial;
        LevelExchange::new(&recording, RiskAverse, latency, fills, Compat::NONE)
    };
    let exchange = Box::new(ExchangeSide::new(&recording, exchange.expect("an exchange")));
    let (instrument, fees) = (instrument("A"), Fees::default());
    let market = BacktestMarket { instrument, fees, recording: &recording, exchange };
    let asks = vec![(300, Ask::New(limit(Side::Buy, 9_999, 5))), (5_300, Ask::Cancel(0))];
    let (script, told) = Script::new(asks);
    let outcome = run_all(vec![market], script);
    let times: Vec<_> = told.borrow().iter().map(|it| it.0).collect();
    assert_eq!(times, [300 + 100, 5_300 + 100]);
    assert_eq!(outcome.entry.mean_ns(), Some(40.0));
}
