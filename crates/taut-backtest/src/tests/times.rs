//! What happens when.

use super::*;

#[test]
fn at_one_instant_data_come_before_requests_and_who_decides_is_last() {
    // Sent at 105 it arrives at 106, at the instant of a row that takes the level away.
    let recording = market(&[level(106, Side::Sell, 101, 0)]);
    for (sent, answer, tick) in [(105, Answer::Filled, 102), (104, Answer::Filled, 101)] {
        let mut backtest = by_level(&recording, FillModel::Whole, Compat::NONE);
        run(&mut backtest, sent);
        backtest.trader().send(Order::market(1, Side::Buy, 1)).expect("an order");
        let heard = run(&mut backtest, sent + 3);
        assert_eq!((heard[0].answer, heard[0].order.last_tick), (answer, tick));
        assert_eq!((heard[0].at, backtest.now()), (Nanos(sent + 3), Nanos(sent + 3)));
    }
}

/// Later requests are faster.
struct Hurrying;

impl Latency for Hurrying {
    fn entry(&self, at: i64) -> i64 {
        if at < 20 { 50 } else { 1 }
    }

    fn response(&self, at: i64) -> i64 {
        if at < 100 { 60 } else { 3 }
    }
}

#[test]
fn nothing_overtakes() {
    let recording = market(&[trade(101, Side::Sell, 98, 1)]);
    let (fills, compat) = (FillModel::Whole, Compat::NONE);
    let exchange = LevelExchange::new(&recording, RiskAverse, Hurrying, fills, compat);
    let mut backtest = Backtest::new(&recording, exchange.expect("an exchange")).expect("a run");
    for (at, id) in [(10, 1), (20, 2)] {
        run(&mut backtest, at);
        backtest.trader().send(Order::limit(id, Side::Buy, 99, 1)).expect("an order");
    }
    let heard = run(&mut backtest, 300);
    let times: Vec<_> =
        heard.iter().map(|said| (said.order.id, said.order.exchange_at.0, said.at.0)).collect();
    assert_eq!(times, [(1, 60, 120), (2, 60, 120), (1, 101, 120), (2, 101, 120)]);
}

#[test]
fn what_is_refused_on_its_way_is_as_it_was() {
    struct Refusing;
    impl Latency for Refusing {
        fn entry(&self, at: i64) -> i64 {
            if at == 10 { 1 } else { -7 }
        }
        fn response(&self, _: i64) -> i64 {
            2
        }
    }
    let recording = market(&[]);
    let (fills, compat) = (FillModel::Whole, Compat::NONE);
    let exchange = LevelExchange::new(&recording, RiskAverse, Refusing, fills, compat);
    let mut backtest = Backtest::new(&recording, exchange.expect("an exchange")).expect("a run");
    run(&mut backtest, 10);
    backtest.trader().send(Order::limit(1, Side::Buy, 99, 3)).expect("an order");
    run(&mut backtest, 20);
    backtest.trader().send(Order::limit(2, Side::Buy, 99, 3)).expect("an order");
    backtest.trader().modify(1, 98, 5).expect("a modification");
    assert_eq!(backtest.trader().order(1).map(|order| order.tick), Some(98));
    let heard = run(&mut backtest, 50);
    assert_eq!(short(&heard), [(2, Answer::Refused, 0), (1, Answer::Refused, 0)]);
    assert_eq!((heard[0].at, heard[1].at), (Nanos(27), Nanos(27)));
    let one = *backtest.trader().order(1).expect("the order");
    assert_eq!((one.status, one.tick, one.lots), (Status::Resting, 99, 3));
    assert!(one.is_cancellable());
    backtest.trader().cancel(1).expect("a cancel");
    run(&mut backtest, 90);
    assert!(backtest.trader().order(1).is_some_and(Order::is_cancellable));
    assert_eq!(backtest.trader().order(2).map(|order| order.status), Some(Status::Expired));
}

#[test]
fn a_run_stops_for_what_it_is_asked_to() {
    let recording = market(&[level(50, Side::Buy, 97, 1), level(60, Side::Buy, 96, 1)]);
    let mut backtest = by_level(&recording, FillModel::Whole, Compat::NONE);
    assert_eq!(backtest.now(), Nanos(0));
    assert_eq!(backtest.run_until(Nanos(70), Stop::Event), Ok(Stopped::Row));
    assert_eq!(backtest.now(), Nanos(5), "rows arrive 5 ns after they happened");
    backtest.trader().send(Order::limit(1, Side::Buy, 99, 1)).expect("an order");
    assert_eq!(backtest.run_until(Nanos(70), Stop::Response), Ok(Stopped::Response));
    assert_eq!((backtest.now(), backtest.poll_response().is_some()), (Nanos(8), true));
    for at in [55, 65] {
        assert_eq!(backtest.run_until(Nanos(70), Stop::Event), Ok(Stopped::Row));
        assert_eq!(backtest.now(), Nanos(at));
    }
    assert_eq!(backtest.run_until(Nanos(70), Stop::Event), Ok(Stopped::Time));
    assert_eq!(backtest.run_until(Nanos(70), Stop::Time), Ok(Stopped::Time));
    assert_eq!(backtest.now(), Nanos(70));
    assert_eq!(backtest.run_until(Nanos(1_000_004), Stop::Time), Ok(Stopped::Time));
    let end = backtest.run_until(Nanos(1_000_005), Stop::Time);
    assert_eq!((end, backtest.now()), (Ok(Stopped::End), Nanos(1_000_004)));
}

#[test]
fn a_strategy_does_not_act_when_nothing_is_to_come() {
    struct Once(Vec<i64>, usize);
    impl Strategy for Once {
        fn act(&mut self, trader: &mut Trader<'_>) -> Result<Nanos, BacktestError> {
            self.0.push(trader.now().0);
            if self.0.len() == 2 {
                trader.send(Order::market(1, Side::Buy, 1))?;
            }
            Ok(trader.now() + Nanos(400_000))
        }
        fn hear(&mut self, _: &Response) {
            self.1 += 1;
        }
    }
    let recording = market(&[]);
    let mut backtest = by_level(&recording, FillModel::Whole, Compat::NONE);
    let mut once = Once(Vec::new(), 0);
    assert_eq!(backtest.run(&mut once), Ok(()));
    assert_eq!((once.0.as_slice(), once.1), (&[0, 400_000, 800_000][..], 1));
}

#[test]
fn trades_are_told_when_they_arrive() {
    #[derive(Default)]
    struct Counts(Vec<(i64, i64)>, Vec<usize>);
    impl Strategy for Counts {
        fn act(&mut self, trader: &mut Trader<'_>) -> Result<Nanos, BacktestError> {
            self.1.push(self.0.len());
            Ok(trader.now() + Nanos(100))
        }
        fn on_trade(&mut self, trade: &Row) {
            assert_eq!((trade.side(), trade.tick()), (Some(Side::Sell), 99));
            self.0.push((trade.local_at(), trade.lots()));
        }
    }
    let recording = market(&[trade(94, Side::Sell, 99, 3), trade(100, Side::Sell, 99, 4)]);
    let mut backtest = by_level(&recording, FillModel::Whole, Compat::NONE);
    let mut counts = Counts::default();
    assert_eq!(backtest.run(&mut counts), Ok(()));
    assert_eq!(counts.0, [(99, 3), (105, 4)]);
    assert_eq!(counts.1[..3], [0, 1, 2]);
}

#[test]
fn rows_allocate_nothing() {
    let side = |at: i64| if at % 2 == 0 { Side::Buy } else { Side::Sell };
    let rows: Vec<_> = (1..1_000).map(|at| level(at, side(at), 90 + at % 20, at % 3)).collect();
    let recording = market(&rows);
    let mut backtest = by_level(&recording, FillModel::Whole, Compat::NONE);
    let mut run = || backtest.run_until(Nanos::MAX, Stop::Time);
    let info = allocation_counter::measure(|| assert_eq!(run(), Ok(Stopped::End)));
    assert_eq!(info.count_total, 0);
    let add = |at: i64| order(at, RowKind::Add, Side::Buy, 80 + at % 20, 3, 10 + at as u64);
    let fill = |at: i64| order(at, RowKind::Fill, Side::Buy, 80 + at % 20, 2, 10 + at as u64 - 1);
    let rows: Vec<_> = (1..1_000).map(|at| if at % 2 == 1 { add(at) } else { fill(at) }).collect();
    let recording = orders(&rows);
    let mut backtest = by_engine(&recording);
    let mut run = || backtest.run_until(Nanos::MAX, Stop::Time);
    let info = allocation_counter::measure(|| assert_eq!(run(), Ok(Stopped::End)));
    assert_eq!(info.count_total, 0, "an engine");
}

#[test]
fn an_exchange_runs_without_the_half_of_who_trades() {
    let recording = market(&[trade(100, Side::Sell, 99, 14), trade(200, Side::Sell, 99, 9)]);
    let (fills, compat) = (FillModel::Partial, Compat::NONE);
    let exchange = LevelExchange::new(&recording, RiskAverse, LATENCY, fills, compat);
    let mut side = ExchangeSide::new(&recording, exchange.expect("an exchange"));
    assert!(!side.may_respond() && side.is_quiet());
    let mut order = Order::limit(1, Side::Buy, 99, 10);
    order.local_at = Nanos(10);
    let request = Request { kind: RequestKind::New, order, known: (99, 10), total: None };
    assert_eq!(side.send(request), Some(Nanos(11)));
    assert!(side.may_respond() && !side.is_quiet());
    assert_eq!(side.next_at(), Some(Nanos(0)));
    assert_eq!(side.run_until(Nanos(50), true), Ok(Nanos(13)), "there the answer arrives");
    assert_eq!(side.next_response_at(), Some(Nanos(13)));
    assert_eq!(side.poll_response(Nanos(12)), None);
    let entered = side.poll_response(Nanos(13)).expect("an answer");
    assert_eq!((entered.answer, entered.order.ahead), (Answer::Entered, Some(10)));
    // Of the six lots that it is to be of, four have traded when the modification arrives.
    let mut order = entered.order;
    (order.local_at, order.lots) = (Nanos(99), 6);
    let known = (99, 10);
    side.send(Request { kind: RequestKind::Modify, order, known, total: Some(6) });
    let mut run = |to: i64| {
        assert_eq!(side.run_until(Nanos(to), false), Ok(Nanos(to)));
        let told: Vec<_> = std::iter::from_fn(|| side.poll_response(Nanos(to))).collect();
        told.iter().map(|it| (it.at.0, it.answer, it.order.leaves, it.order.filled)).collect()
    };
    let told: Vec<_> = run(150);
    assert_eq!(told, [(102, Answer::Filled, 6, 4), (102, Answer::Modified, 2, 4)]);
    let told: Vec<_> = run(300);
    assert_eq!(told, [(202, Answer::Filled, 0, 6)]);
    assert!(!side.may_respond(), "nothing rests");
}
