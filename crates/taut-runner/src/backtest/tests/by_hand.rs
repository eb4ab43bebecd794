//! What can be checked by hand.

use taut_backtest::Latency;
use taut_gateway::{Refusal, UpdateKind, VenueReject};
use taut_oms::OrderState;
use taut_types::{OrderFlags, TimeInForce};

use super::*;

/// What was told, in short: when, what, and how much had traded.
fn short(told: &Told) -> Vec<(i64, UpdateKind, i64)> {
    told.borrow().iter().map(|(at, it)| (*at, it.kind, it.lots_filled.0)).collect()
}

fn filled(tick: i64, lots: i64) -> UpdateKind {
    UpdateKind::Filled { price: Price(tick * TICK.0), lots: Lots(lots) }
}

fn close(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
}

#[test]
fn fills_fees_and_equity_are_those_of_the_rules() {
    const SECOND: i64 = 1_000_000_000;
    let recording = recording(&[
        // Of thirteen lots ten are of those before us.
        trade(1_000, Side::Sell, 9_999, 13),
        level(1_000, Side::Buy, 9_999, 2),
        level(15 * SECOND, Side::Buy, 10_003, 5),
        level(15 * SECOND, Side::Sell, 10_005, 5),
        level(25 * SECOND, Side::Buy, 9_998, 1),
    ]);
    // Four at the bid; and later two of them are sold at the bid of that time.
    let asks = vec![
        (300, Ask::New(limit(Side::Buy, 9_999, 4))),
        (15 * SECOND, Ask::New(limit(Side::Sell, 10_003, 2))),
    ];
    let (script, told) = Script::new(asks);
    let outcome = run_all(vec![market("A", &recording, FillModel::Partial)], script);
    let late = 15 * SECOND + 300 + 137 + 211;
    assert_eq!(
        short(&told),
        [
            (300 + 137 + 211, UpdateKind::Accepted, 0),
            (1_000 + 211, filled(9_999, 3), 3),
            (late, UpdateKind::Accepted, 0),
            (late, filled(10_003, 2), 2),
            // The best offer has passed 9,999 at 15 s? It has not: the rest still waits.
        ]
    );
    let [first, second] = outcome.fills.as_slice() else { panic!("{:?}", outcome.fills) };
    assert!(first.is_maker && !second.is_maker);
    assert_eq!((first.ahead, second.ahead, outcome.orders[0].ahead), (Some(0), None, Some(10)));
    assert_eq!((first.exchange_at, first.at), (Nanos(1_000), Nanos(1_211)));
    // 299.97 bought for, 200.06 sold for; 0.01 % back and 0.05 % to pay.
    let fee = -0.0001 * 299.97 + 0.0005 * 200.06;
    close(outcome.fees(), fee);
    close(outcome.turnover(), 299.97 + 200.06);
    close(outcome.fee_of(first), -0.0001 * 299.97);
    let money = &outcome.instruments[0];
    assert_eq!(money.position, 1);
    close(outcome.profit(), 200.06 - 299.97 + 100.04 - fee);
    // Every ten seconds, and at the end.
    let values: Vec<_> = outcome.samples.iter().map(|it| (it.at.0, it.positions[0])).collect();
    let end = 25 * SECOND + FEED;
    assert_eq!(values[..3], [(0, 0), (10 * SECOND, 3), (20 * SECOND, 1)]);
    assert_eq!(values.last(), Some(&(outcome.ended_at.0, 1)));
    assert!(outcome.ended_at.0 >= end);
    close(outcome.samples[1].equity, 3.0 * 100.0 - 299.97 + 0.0001 * 299.97);
    // The order that took left when the middle was 100.04; it got 100.03.
    let cost = outcome.slippage(Some(false)).basis_points.expect("a trade");
    close(cost, 10_000.0 * 0.01 / 100.03);
    // One that rested earned half the spread.
    let cost = outcome.slippage(Some(true)).basis_points.expect("a trade");
    close(cost, -10_000.0 * 0.01 / 99.99);
    let counts = outcome.counts();
    assert_eq!((counts.orders, counts.traded, counts.filled), (2, 2, 1));
    assert_eq!((counts.lots, counts.lots_filled, outcome.open_orders), (6, 5, 1));
    close(counts.fill_rate(), 5.0 / 6.0);
    assert_eq!(outcome.entry.mean_ns(), Some(137.0));
    assert_eq!(outcome.response.mean_ns(), Some(211.0));
    // The gateway's own books say the same.
    assert_eq!((outcome.gateway.orders, outcome.gateway.fills), (2, 2));
    assert_eq!((outcome.gateway.troubles, outcome.gateway.unanswered), (0, 0));
}

#[test]
fn mark_outs_are_the_market_a_while_after_a_trade_was_heard_of() {
    let heard = 1_000 + 211;
    let ms = 1_000_000;
    let recording = recording(&[
        trade(1_000, Side::Sell, 9_999, 20),
        // One that comes at the very moment counts.
        level(heard + ms - FEED, Side::Buy, 10_000, 1),
        level(heard + 10 * ms - FEED + 1, Side::Sell, 10_001, 0),
        level(heard + 10 * ms - FEED + 1, Side::Sell, 10_004, 7),
        level(200 * ms, Side::Buy, 9_000, 1),
    ]);
    let (script, _) = Script::new(vec![(300, Ask::New(limit(Side::Buy, 9_999, 1)))]);
    let outcome = run_all(vec![market("A", &recording, FillModel::Whole)], script);
    let marks = outcome.fills[0].marks;
    let (before, after) = (Some((10_000, 10_001)), Some((10_000, 10_004)));
    assert_eq!(marks, [before, before, after, None, None]);
    let [(_, first), .., (_, last)] = outcome.mark_outs();
    close(first.basis_points.expect("a trade"), 10_000.0 * 1.5 / 9_999.0);
    assert_eq!((last.fills, last.basis_points), (0, None));
}

#[test]
fn a_price_that_passes_fills_an_order_with_others_before_it() {
    let recording = recording(&[
        trade(1_000, Side::Sell, 9_999, 4),
        level(1_000, Side::Buy, 9_999, 6),
        trade(2_000, Side::Sell, 9_998, 1),
        level(9_000, Side::Buy, 9_000, 1),
    ]);
    let (script, _) = Script::new(vec![(300, Ask::New(limit(Side::Buy, 9_999, 2)))]);
    let outcome = run_all(vec![market("A", &recording, FillModel::Partial)], script);
    let [fill] = outcome.fills.as_slice() else { panic!("{:?}", outcome.fills) };
    assert_eq!((fill.tick, fill.lots, fill.ahead), (9_999, 2, Some(6)));
    assert_eq!(outcome.orders[0].ahead, Some(10));
}

#[test]
fn a_modification_counts_what_traded_while_it_was_on_its_way() {
    let recording = recording(&[
        level(600, Side::Sell, 10_009, 1),
        trade(1_000, Side::Sell, 9_999, 14),
        level(1_000, Side::Buy, 9_999, 10),
        // It has ten before it again after it has become larger.
        trade(3_000, Side::Sell, 9_999, 30),
        level(9_000, Side::Buy, 9_000, 1),
    ]);
    for (size, rest) in [(8, Some(4)), (4, None), (3, None), (20, Some(16))] {
        // Sent at 900, it arrives at 1,037; of the trade at 1,000 is heard at 1,211.
        let asks = vec![
            (300, Ask::New(limit(Side::Buy, 9_999, 10))),
            (900, Ask::Modify(0, Price(9_999 * TICK.0), Lots(size))),
        ];
        let (script, told) = Script::new(asks);
        let outcome = run_all(vec![market("A", &recording, FillModel::Partial)], script);
        let told = short(&told);
        assert_eq!(told[1], (1_211, filled(9_999, 4), 4));
        let answered = 900 + 137 + 211;
        match rest {
            Some(rest) => {
                assert_eq!(told[2], (answered, UpdateKind::Replaced, 4), "{size}");
                assert_eq!(told[3], (3_211, filled(9_999, rest), size), "{size}");
            }
            None => assert_eq!(told[2..], [(answered, UpdateKind::Cancelled, 4)], "{size}"),
        }
        assert_eq!((outcome.open_orders, outcome.gateway.troubles), (0, 0), "{size}");
        let lots = if rest.is_some() { size } else { 10 };
        assert_eq!((outcome.orders[0].lots, outcome.orders[0].modifications), (lots, 1), "{size}");
    }
}

#[test]
fn what_an_exchange_or_the_gateway_refuses_is_told_as_at_any_venue() {
    let recording = recording(&[level(5_000, Side::Buy, 9_000, 1)]);
    let post = OrderTerms { flags: OrderFlags::POST_ONLY, ..limit(Side::Buy, 10_001, 1) };
    let ioc =
        OrderTerms { time_in_force: TimeInForce::ImmediateOrCancel, ..limit(Side::Buy, 10_000, 1) };
    let shown = OrderTerms { lots_shown: Lots(1), ..limit(Side::Buy, 9_999, 5) };
    let huge = limit(Side::Buy, 9_999, 1_000_000);
    let asks = [post, ioc, shown, huge].map(|terms| (300, Ask::New(terms))).to_vec();
    let (script, told) = Script::new(asks);
    let outcome = run_all(vec![market("A", &recording, FillModel::Partial)], script);
    let told: Vec<_> = told.borrow().iter().map(|(at, it)| (*at, it.kind, it.state)).collect();
    let answered = 300 + 137 + 211;
    assert_eq!(told[0].1, UpdateKind::Refused(Refusal::Unsupported));
    assert!(matches!(told[1].1, UpdateKind::Refused(Refusal::Risk(_))), "{told:?}");
    let would_trade = UpdateKind::Rejected(VenueReject::WouldTrade);
    assert_eq!(told[2], (answered, would_trade, OrderState::Rejected));
    assert_eq!(told[3], (answered, UpdateKind::Expired, OrderState::Expired));
    let counts = outcome.counts();
    assert_eq!((counts.orders, counts.rejected, counts.expired), (2, 1, 1));
    assert_eq!((outcome.gateway.risk_rejects, outcome.gateway.refused), (1, 1));
}

#[test]
fn a_cancel_that_comes_too_late_is_refused() {
    let recording = recording(&[
        level(600, Side::Sell, 10_009, 1),
        trade(1_000, Side::Sell, 9_999, 20),
        level(9_000, Side::Buy, 9_000, 1),
    ]);
    // Sent at 900, it arrives at 1,037: the trade was at 1,000, and was not heard of.
    let asks = vec![(300, Ask::New(limit(Side::Buy, 9_999, 2))), (900, Ask::Cancel(0))];
    let (script, told) = Script::new(asks);
    let outcome = run_all(vec![market("A", &recording, FillModel::Whole)], script);
    let refused = UpdateKind::CancelRejected(VenueReject::TooLate);
    let expected = [
        (300 + 137 + 211, UpdateKind::Accepted, 0),
        (1_000 + 211, filled(9_999, 2), 2),
        (900 + 137 + 211, refused, 2),
    ];
    assert_eq!(short(&told), expected);
    assert_eq!((outcome.open_orders, outcome.gateway.troubles), (0, 0));
}

/// Takes the first request, and refuses those after it on their way, 40 ns after they were sent.
#[derive(Debug)]
struct Refusing;

impl Latency for Refusing {
    fn entry(&self, at: i64) -> i64 {
        if at == 300 { 137 } else { -40 }
    }

    fn response(&self, _: i64) -> i64 {
        211
    }
}

#[test]
fn what_is_refused_on_its_way_is_refused_by_the_venue() {
    let recording = recording(&[
        level(600, Side::Sell, 10_009, 1),
        level(1_600, Side::Sell, 10_009, 2),
        level(2_600, Side::Sell, 10_009, 3),
        trade(5_000, Side::Sell, 9_999, 12),
        level(9_000, Side::Buy, 9_000, 1),
    ]);
    let asks = vec![
        (300, Ask::New(limit(Side::Buy, 9_999, 2))),
        (900, Ask::Modify(0, Price(9_998 * TICK.0), Lots(5))),
        (1_900, Ask::Cancel(0)),
        (2_900, Ask::New(limit(Side::Buy, 9_999, 1))),
    ];
    let (fills, compat) = (FillModel::Whole, Compat::NONE);
    let exchange = LevelExchange::new(&recording, RiskAverse, Refusing, fills, compat);
    let exchange = ExchangeSide::new(&recording, exchange.expect("an exchange"));
    let market = BacktestMarket {
        exchange: Box::new(exchange),
        ..market("A", &recording, FillModel::Whole)
    };
    let (script, told) = Script::new(asks);
    let outcome = run_all(vec![market], script);
    let expected = [
        (648, UpdateKind::Accepted, 0),
        (940, UpdateKind::ModifyRejected(VenueReject::TooLate), 0),
        (1_940, UpdateKind::CancelRejected(VenueReject::TooLate), 0),
        (2_940, UpdateKind::Rejected(VenueReject::Other), 0),
        // It stands where it stood.
        (5_211, filled(9_999, 2), 2),
    ];
    assert_eq!(short(&told), expected);
    let [first, second] = outcome.orders.as_slice() else { panic!("{:?}", outcome.orders) };
    assert_eq!((first.tick, first.lots, first.modifications), (9_999, 2, 1));
    assert_eq!(second.arrived_at, None);
    assert_eq!((outcome.counts().rejected, outcome.open_orders), (1, 0));
    assert_eq!(outcome.entry.mean_ns(), Some(137.0));
    assert_eq!(outcome.gateway.troubles, 0);
}

#[test]
fn who_waits_may_end_it() {
    let recording = recording(&[level(9_000, Side::Buy, 9_000, 1)]);
    let (script, _) = Script::new(Vec::new());
    let markets = vec![market("A", &recording, FillModel::Whole)];
    let settings = BacktestSettings::default();
    let outcome = run(markets, &settings, |_| script, &mut |_| false).expect("a run");
    assert_eq!((outcome.end, outcome.rows), (BacktestEnd::Stopped, 0));
}
