//! Order entry: every request has one answer, and the sums are right.

use taut_fix::{CancelRejectReason, Charges, ExecType, Liquidity, NewOrderSingle, OrdStatus};
use taut_types::{FeeRates, Instrument, InstrumentId, Price, Qty, Side, Symbol, TimeInForce};

use crate::VenueConfig;
use crate::tests::client::{Answer, Client, Report, cancel, limit, market};
use crate::tests::rig::{Rig, config, drain, synthetic, text};

fn reports(client: &Client) -> Vec<Report> {
    let report = |answer: &Answer| match answer {
        Answer::Report(report) => *report,
        other => panic!("no report: {other:?}"),
    };
    client.reports.iter().map(report).collect()
}

fn kinds(client: &Client) -> Vec<(u64, ExecType, OrdStatus)> {
    reports(client).iter().map(|report| (report.id, report.exec_type, report.status)).collect()
}

fn price(text: &str) -> Price {
    Price::parse(text.as_bytes()).expect("a price")
}

#[test]
fn an_aggressive_order_is_acknowledged_then_filled_by_the_synthetic_book() {
    let mut rig = Rig::new(&config(), synthetic(1));
    let mut client = rig.log_on("ALPHA");
    let best = rig.venue.book().best(Side::Sell).expect("an ask");
    client.order(rig.now, &market(1, Side::Buy, 1));
    rig.until(&mut client, |client| client.reports.len() == 2);
    let reports = reports(&client);
    assert_eq!((reports[0].exec_type, reports[0].status), (ExecType::New, OrdStatus::New));
    assert_eq!((reports[0].cum, reports[0].leaves, reports[0].avg), (0, 1, Price(0)));
    assert_eq!((reports[1].exec_type, reports[1].status), (ExecType::Trade, OrdStatus::Filled));
    let at = crate::tests::rig::instrument().price(best.price).expect("in range");
    assert_eq!((reports[1].last, reports[1].avg), (Some((1, at)), at));
    assert_eq!((reports[1].cum, reports[1].leaves), (1, 0));
    assert_eq!(rig.venue.counters().fills, 1);
    // The synthetic flow knows of the fill: it goes on without a refused command.
    rig.venue.start_flow(rig.now.mono);
    for _ in 0..200 {
        rig.tick();
        drain(&rig.incremental, |_| {});
    }
    assert_eq!(rig.venue.counters().flow_rejects, 0);
}

#[test]
fn reports_of_trades_say_what_they_cost_and_who_was_there_first() {
    let mut rig = Rig::empty();
    rig.venue.set_fees(&[FeeRates { maker: -100_000, taker: 500_000 }]);
    let (mut maker, mut taker) = (rig.log_on("MAKER"), rig.log_on("TAKER"));
    maker.order(rig.now, &limit(1, Side::Sell, 3, "100.01"));
    rig.until(&mut maker, |client| client.reports.len() == 1);
    taker.order(rig.now, &limit(1, Side::Buy, 3, "100.01"));
    rig.until(&mut taker, |client| client.reports.len() == 2);
    rig.until(&mut maker, |client| client.reports.len() == 2);
    // 300.03, of which a hundredth of a percent comes back and a twentieth is paid.
    let charged = |charges: &Charges| (charges.commission, charges.liquidity);
    assert_eq!(charged(&maker.charges[0]), (None, None), "it has only been acknowledged");
    assert_eq!(charged(&maker.charges[1]), (Some(price("-0.030003")), Some(Liquidity::Maker)));
    assert_eq!(charged(&taker.charges[1]), (Some(price("0.150015")), Some(Liquidity::Taker)));
}

#[test]
fn a_resting_order_is_cancelled_on_request() {
    let mut rig = Rig::empty();
    let mut client = rig.log_on("ALPHA");
    client.order(rig.now, &limit(1, Side::Buy, 7, "100.01"));
    client.cancel(rig.now, &cancel(2, 1, Side::Buy));
    rig.until(&mut client, |client| client.reports.len() == 2);
    let reports = reports(&client);
    assert_eq!((reports[1].id, reports[1].orig), (2, Some(1)));
    assert_eq!(
        (reports[1].exec_type, reports[1].status),
        (ExecType::Canceled, OrdStatus::Canceled)
    );
    assert_eq!((reports[1].leaves, reports[1].cum), (0, 0));
    assert_eq!(reports[1].order_id, reports[0].order_id);
    assert_eq!(rig.venue.book().order_count(), 0);
}

#[test]
fn both_sides_of_a_trade_are_told_with_exact_averages() {
    let mut rig = Rig::empty();
    let (mut maker, mut taker) = (rig.log_on("MAKER"), rig.log_on("TAKER"));
    for (id, qty, at) in [(1, 1, "100.00"), (2, 1, "100.01"), (3, 1, "100.03")] {
        maker.order(rig.now, &limit(id, Side::Sell, qty, at));
    }
    rig.until(&mut maker, |client| client.reports.len() == 3);
    taker.order(rig.now, &limit(1, Side::Buy, 5, "100.05"));
    rig.until(&mut taker, |client| client.reports.len() == 4);
    rig.until(&mut maker, |client| client.reports.len() == 6);
    let taken = reports(&taker);
    assert_eq!(
        taken.iter().map(|report| (report.cum, report.leaves)).collect::<Vec<_>>(),
        [(0, 5), (1, 4), (2, 3), (3, 2)]
    );
    // 100.01333...: to the nearest 1e-9.
    assert_eq!(taken[2].avg, price("100.005"));
    assert_eq!(taken[3].avg, price("100.013333333"));
    assert_eq!(taken[3].status, OrdStatus::PartiallyFilled);
    for (made, at) in reports(&maker)[3..].iter().zip(["100.00", "100.01", "100.03"]) {
        assert_eq!((made.exec_type, made.status), (ExecType::Trade, OrdStatus::Filled));
        assert_eq!((made.last, made.avg), (Some((1, price(at))), price(at)));
    }
    // What is left of the taker's order rests and can be hit.
    maker.order(rig.now, &limit(9, Side::Sell, 2, "100.05"));
    rig.until(&mut taker, |client| client.reports.len() == 5);
    assert_eq!(reports(&taker)[4].status, OrdStatus::Filled);
    // (100.00 + 100.01 + 100.03 + 2 * 100.05) / 5
    assert_eq!(reports(&taker)[4].avg, price("100.028"));
    rig.until(&mut maker, |client| client.reports.len() == 8);
    let mut exec_ids = [maker.exec_ids, taker.exec_ids].concat();
    exec_ids.sort_unstable();
    exec_ids.dedup();
    assert_eq!(exec_ids.len(), 8 + 5);
}

#[test]
fn a_remainder_that_may_not_rest_expires() {
    let mut rig = Rig::empty();
    let mut client = rig.log_on("ALPHA");
    client.order(rig.now, &limit(1, Side::Sell, 1, "100.00"));
    let immediate = taut_fix::NewOrderSingle {
        time_in_force: TimeInForce::ImmediateOrCancel,
        ..limit(2, Side::Buy, 3, "100.00")
    };
    let killed = taut_fix::NewOrderSingle {
        time_in_force: TimeInForce::FillOrKill,
        ..limit(3, Side::Buy, 3, "100.00")
    };
    client.order(rig.now, &immediate);
    client.order(rig.now, &killed);
    client.order(rig.now, &market(4, Side::Buy, 1));
    rig.until(&mut client, |client| client.reports.len() == 9);
    use {ExecType as E, OrdStatus as S};
    assert_eq!(
        kinds(&client),
        [
            (1, E::New, S::New),
            (2, E::New, S::New),
            (2, E::Trade, S::PartiallyFilled),
            (1, E::Trade, S::Filled),
            (2, E::Expired, S::Expired),
            (3, E::New, S::New),
            (3, E::Expired, S::Expired),
            (4, E::New, S::New),
            (4, E::Expired, S::Expired),
        ]
    );
    let expired = reports(&client)[4];
    assert_eq!((expired.cum, expired.leaves, expired.orig), (1, 0, None));
}

#[test]
fn what_makes_no_sense_is_refused_with_a_reason() {
    let mut rig = Rig::empty();
    let mut client = rig.log_on("ALPHA");
    let foreign =
        taut_fix::NewOrderSingle { symbol: text("MSFT"), ..limit(1, Side::Buy, 1, "100.00") };
    client.order(rig.now, &foreign);
    client.order(rig.now, &limit(2, Side::Buy, 1, "100.005"));
    client.order(rig.now, &limit(3, Side::Buy, 1, "-100.00"));
    client.order(rig.now, &limit(4, Side::Buy, 1, "0"));
    client.order(rig.now, &limit(5, Side::Buy, 1, "100.00"));
    client.order(rig.now, &limit(5, Side::Buy, 1, "100.00"));
    client.order(rig.now, &limit(2, Side::Buy, 1, "100.00"));
    rig.until(&mut client, |client| client.reports.len() == 7);
    let refusals: Vec<_> = reports(&client).iter().map(|report| report.refusal).collect();
    assert_eq!(
        refusals,
        [Some(1), Some(99), Some(99), Some(99), None, Some(6), Some(6)],
        "{:?}",
        client.texts
    );
    assert_eq!(client.texts[0], "Symbol MSFT is not traded here: only AAPL is");
    assert_eq!(client.texts[1], "Price 100.005 is no positive multiple of the tick 0.01");
    assert_eq!(client.texts[5], "ClOrdID 5 has been used before");
    let counters = rig.venue.counters();
    assert_eq!((counters.orders, counters.order_rejects), (7, 6));
    assert_eq!(rig.venue.book().order_count(), 1);
}

#[test]
fn a_quantity_off_the_lot_and_a_full_book_are_refused() {
    let instrument = Instrument::new(
        InstrumentId(1),
        Symbol::new(b"AAPL").expect("a symbol"),
        price("0.01"),
        Qty { mantissa: 100, decimals: 0 },
    )
    .expect("an instrument");
    let small = VenueConfig {
        instruments: vec![instrument],
        order_capacity: 1,
        level_capacity: 1,
        ..config()
    };
    let mut rig = Rig::new(&small, crate::Flow::None);
    let mut client = rig.log_on("ALPHA");
    client.order(rig.now, &limit(1, Side::Buy, 150, "100.00"));
    client.order(rig.now, &limit(2, Side::Buy, 300, "100.00"));
    client.order(rig.now, &limit(3, Side::Buy, 100, "100.00"));
    client.order(rig.now, &market(4, Side::Sell, 200));
    client.cancel(rig.now, &cancel(5, 3, Side::Buy));
    rig.until(&mut client, |client| client.reports.len() == 7);
    let Some(Answer::CancelReject { status, reason, .. }) = client.reports.pop() else {
        panic!("a refused order cannot be cancelled")
    };
    assert_eq!((status, reason), (OrdStatus::Rejected, Some(CancelRejectReason::TooLateToCancel)));
    let reports = reports(&client);
    assert_eq!((reports[0].refusal, reports[2].refusal), (Some(13), Some(3)));
    assert_eq!(client.texts[0], "OrderQty 150 is no positive multiple of the lot 100");
    assert_eq!((reports[4].last, reports[4].cum), (Some((200, price("100.00"))), 200));
    assert_eq!((reports[5].cum, reports[5].leaves, reports[5].id), (200, 100, 2));
}

#[test]
fn a_cancel_that_cannot_be_is_refused_with_the_orders_status() {
    let mut rig = Rig::empty();
    let mut client = rig.log_on("ALPHA");
    client.order(rig.now, &limit(1, Side::Buy, 1, "100.00"));
    client.order(rig.now, &market(2, Side::Sell, 1));
    client.order(rig.now, &limit(3, Side::Buy, 1, "100.00"));
    rig.until(&mut client, |client| client.reports.len() == 5);
    client.reports.clear();
    client.cancel(rig.now, &cancel(10, 77, Side::Buy));
    client.cancel(rig.now, &cancel(11, 1, Side::Buy));
    client.cancel(rig.now, &cancel(11, 3, Side::Buy));
    client.cancel(rig.now, &cancel(3, 3, Side::Buy));
    client.cancel(rig.now, &cancel(12, 3, Side::Sell));
    client.cancel(rig.now, &cancel(13, 10, Side::Buy));
    client.cancel(rig.now, &cancel(14, 3, Side::Buy));
    rig.until(&mut client, |client| client.reports.len() == 7);
    let reject =
        |id, orig, reason, status| Answer::CancelReject { id, orig, reason: Some(reason), status };
    use {CancelRejectReason as R, OrdStatus as S};
    assert_eq!(
        client.reports[..6],
        [
            reject(10, 77, R::UnknownOrder, S::Rejected),
            reject(11, 1, R::TooLateToCancel, S::Filled),
            reject(11, 3, R::DuplicateClOrdId, S::New),
            reject(3, 3, R::DuplicateClOrdId, S::New),
            reject(12, 3, R::Other, S::New),
            reject(13, 10, R::UnknownOrder, S::Rejected),
        ]
    );
    assert!(matches!(client.reports[6], Answer::Report(report) if report.orig == Some(3)));
    let counters = rig.venue.counters();
    assert_eq!((counters.cancel_requests, counters.cancels, counters.cancel_rejects), (7, 1, 6));
}

#[test]
fn a_client_may_trade_with_itself_and_is_told_twice() {
    let mut rig = Rig::empty();
    let mut client = rig.log_on("ALPHA");
    client.order(rig.now, &limit(1, Side::Buy, 2, "100.00"));
    client.order(rig.now, &limit(2, Side::Sell, 1, "100.00"));
    rig.until(&mut client, |client| client.reports.len() == 4);
    use {ExecType as E, OrdStatus as S};
    assert_eq!(
        kinds(&client),
        [
            (1, E::New, S::New),
            (2, E::New, S::New),
            (2, E::Trade, S::Filled),
            (1, E::Trade, S::PartiallyFilled),
        ]
    );
    client.cancel(rig.now, &cancel(3, 1, Side::Buy));
    rig.until(&mut client, |client| client.reports.len() == 5);
    let cancelled = reports(&client)[4];
    assert_eq!((cancelled.cum, cancelled.leaves, cancelled.avg), (1, 0, price("100.00")));
}

#[test]
fn quantities_are_decimals_of_the_lot() {
    let lot = Qty { mantissa: 1, decimals: 5 };
    let symbol = Symbol::new(b"AAPL").expect("a symbol");
    let instrument =
        Instrument::new(InstrumentId(1), symbol, price("0.01"), lot).expect("an instrument");
    let mut rig =
        Rig::new(&VenueConfig { instruments: vec![instrument], ..config() }, crate::Flow::None);
    let mut client = rig.log_on("ALPHA");
    client.instrument = instrument;
    let order = |id, side, text: &str| NewOrderSingle {
        qty: Qty::parse(text.as_bytes()).expect("a quantity"),
        ..limit(id, side, 1, "64000.01")
    };
    for (id, side, qty) in [
        (1, Side::Sell, "1.00012"),
        (2, Side::Buy, "0.000010"),
        (3, Side::Buy, "1"),
        (4, Side::Buy, "0.000001"),
        (5, Side::Buy, "92233720368547758"),
    ] {
        client.order(rig.now, &order(id, side, qty));
    }
    rig.until(&mut client, |client| client.reports.len() == 9);
    let fills: Vec<_> = reports(&client)
        .iter()
        .filter_map(|report| Some((report.id, report.last?.0, report.cum, report.leaves)))
        .collect();
    let expected =
        [(2, 1, 1, 0), (1, 1, 1, 100_011), (3, 100_000, 100_000, 0), (1, 100_000, 100_001, 11)];
    assert_eq!(fills, expected);
    let refused = |id| format!("OrderQty {id} is no positive multiple of the lot 0.00001");
    assert_eq!(client.texts[7], refused("0.000001"));
    assert_eq!(client.texts[8], refused("92233720368547758"));
}

#[test]
fn a_halted_instrument_takes_no_new_order_and_cancels_what_it_has() {
    let mut rig = Rig::empty();
    let mut client = rig.log_on("ALPHA");
    let id = crate::tests::rig::instrument().id();
    client.order(rig.now, &limit(1, Side::Buy, 7, "100.01"));
    rig.until(&mut client, |client| client.reports.len() == 1);
    assert!(rig.venue.set_halted(rig.now, id, true).expect("the feed"));
    assert!(!rig.venue.set_halted(rig.now, id, true).expect("the feed"), "it is already");
    let other = InstrumentId(7);
    assert!(rig.venue.set_halted(rig.now, other, true).is_err(), "nobody trades it here");
    client.order(rig.now, &limit(2, Side::Buy, 7, "100.01"));
    rig.until(&mut client, |client| client.reports.len() == 2);
    client.cancel(rig.now, &cancel(3, 1, Side::Buy));
    rig.until(&mut client, |client| client.reports.len() == 3);
    assert!(rig.venue.set_halted(rig.now, id, false).expect("the feed"));
    client.order(rig.now, &limit(4, Side::Buy, 7, "100.01"));
    rig.until(&mut client, |client| client.reports.len() == 4);
    let expected = [
        (1, ExecType::New, OrdStatus::New),
        (2, ExecType::Rejected, OrdStatus::Rejected),
        (3, ExecType::Canceled, OrdStatus::Canceled),
        (4, ExecType::New, OrdStatus::New),
    ];
    assert_eq!(kinds(&client), expected);
}
