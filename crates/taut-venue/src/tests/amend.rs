//! Requests about orders that stand, and orders with terms.

use taut_fix::{
    CancelRejectReason, ExecType, MassCancelType, MassStatusType, NewOrderSingle, OrdStatus,
    OrderCancelReplaceRequest, OrderMassCancelRequest, OrderMassStatusRequest, OrderStatusRequest,
};
use taut_testkit::{Draw, Random, for_each_seed};
use taut_types::{Nanos, OrderFlags, Price, Qty, Side};

use crate::tests::client::{Answer, Client, Report, cancel, limit, market};
use crate::tests::consumer::{level_consumer, level_hash, order_consumer, order_hash};
use crate::tests::rig::{Rig, config, drain, text};
use crate::{Flow, PostOnly, VenueConfig};

fn replace(id: u64, orig: u64, order: NewOrderSingle) -> OrderCancelReplaceRequest {
    let order = NewOrderSingle { cl_ord_id: id.into(), ..order };
    OrderCancelReplaceRequest { orig_cl_ord_id: orig.into(), order }
}

fn price(text: &str) -> Option<Price> {
    Some(Price::parse(text.as_bytes()).expect("a price"))
}

fn report(client: &Client, at: usize) -> Report {
    match client.reports[at] {
        Answer::Report(report) => report,
        other => panic!("no report: {other:?}"),
    }
}

fn refused(client: &Client, at: usize) -> (u64, Option<CancelRejectReason>, OrdStatus) {
    match client.reports[at] {
        Answer::CancelReject { id, reason, status, .. } => (id, reason, status),
        other => panic!("no reject: {other:?}"),
    }
}

/// Who trades next at this price.
fn next_in_line(rig: &mut Rig, client: &mut Client, id: u64) -> u64 {
    let before = client.reports.len();
    client.order(rig.now, &market(id, Side::Sell, 1));
    rig.until(client, |client| client.reports.len() == before + 3);
    let maker = (before..before + 3).map(|at| report(client, at));
    let of_maker = maker.filter(|it| it.exec_type == ExecType::Trade && it.id != id);
    of_maker.map(|it| it.id).next().expect("a maker")
}

#[test]
fn a_replacement_keeps_its_place_only_when_its_quantity_falls() {
    let mut rig = Rig::empty();
    let mut client = rig.log_on("ALPHA");
    for id in [1, 2, 3] {
        client.order(rig.now, &limit(id, Side::Buy, 10, "100.00"));
    }
    client.request(rig.now, &replace(11, 1, limit(0, Side::Buy, 5, "100.00")));
    rig.until(&mut client, |client| client.reports.len() == 4);
    let replaced = report(&client, 3);
    assert_eq!((replaced.exec_type, replaced.status), (ExecType::Replaced, OrdStatus::New));
    assert_eq!((replaced.id, replaced.orig, replaced.leaves), (11, Some(1), 5));
    assert_eq!(replaced.order_id, report(&client, 0).order_id);
    assert_eq!(next_in_line(&mut rig, &mut client, 50), 11);
    // More of it goes to the end of the queue, and so does another price and back.
    client.request(rig.now, &replace(12, 11, limit(0, Side::Buy, 9, "100.00")));
    rig.until(&mut client, |client| client.reports.len() == 8);
    let replaced = report(&client, 7);
    assert_eq!(
        (replaced.status, replaced.cum, replaced.leaves),
        (OrdStatus::PartiallyFilled, 1, 8)
    );
    assert_eq!(next_in_line(&mut rig, &mut client, 51), 2);
    client.request(rig.now, &replace(22, 2, limit(0, Side::Buy, 9, "99.00")));
    client.request(rig.now, &replace(23, 22, limit(0, Side::Buy, 9, "100.00")));
    rig.until(&mut client, |client| client.reports.len() == 13);
    assert_eq!(next_in_line(&mut rig, &mut client, 52), 3);
    // One that crosses trades at once.
    client.order(rig.now, &limit(4, Side::Sell, 2, "105.00"));
    client.request(rig.now, &replace(31, 3, limit(0, Side::Buy, 9, "105.00")));
    rig.until(&mut client, |client| client.reports.len() == 20);
    let kinds = (16..20).map(|at| (report(&client, at).id, report(&client, at).exec_type));
    let kinds: Vec<_> = kinds.collect();
    assert_eq!(
        kinds,
        [(4, ExecType::New), (31, ExecType::Replaced), (31, ExecType::Trade), (4, ExecType::Trade),]
    );
    let counters = rig.venue.counters();
    assert_eq!((counters.replace_requests, counters.replaces), (5, 5));
}

#[test]
fn a_replacement_that_races_with_fills_never_makes_the_order_larger() {
    let mut rig = Rig::empty();
    let (mut maker, mut taker) = (rig.log_on("MAKER"), rig.log_on("TAKER"));
    maker.order(rig.now, &limit(1, Side::Buy, 10, "100.00"));
    rig.until(&mut maker, |client| client.reports.len() == 1);
    // Four trade while the replacement to eight is on its way: four are left.
    taker.order(rig.now, &limit(1, Side::Sell, 4, "100.00"));
    rig.until(&mut taker, |client| client.reports.len() == 2);
    maker.request(rig.now, &replace(2, 1, limit(0, Side::Buy, 8, "100.00")));
    rig.until(&mut maker, |client| client.reports.len() == 3);
    assert_eq!((report(&maker, 2).cum, report(&maker, 2).leaves), (4, 4));
    // A total that has traded already cancels the rest, under the request's ClOrdID.
    maker.request(rig.now, &replace(3, 2, limit(0, Side::Buy, 4, "100.00")));
    rig.until(&mut maker, |client| client.reports.len() == 4);
    let over = report(&maker, 3);
    assert_eq!((over.exec_type, over.id, over.orig), (ExecType::Canceled, 3, Some(2)));
    assert_eq!((over.cum, over.leaves), (4, 0));
    // The fill came first: too late.
    maker.order(rig.now, &limit(5, Side::Buy, 1, "100.00"));
    taker.order(rig.now, &limit(2, Side::Sell, 1, "100.00"));
    rig.until(&mut maker, |client| client.reports.len() == 6);
    maker.request(rig.now, &replace(6, 5, limit(0, Side::Buy, 9, "100.00")));
    rig.until(&mut maker, |client| client.reports.len() == 7);
    let late = Some(CancelRejectReason::TooLateToCancel);
    assert_eq!(refused(&maker, 6), (6, late, OrdStatus::Filled));
    assert_eq!(rig.venue.book().order_count(), 0);
}

#[test]
fn an_order_that_is_over_is_over_under_the_names_that_it_had_before() {
    let mut rig = Rig::empty();
    let (mut maker, mut taker) = (rig.log_on("MAKER"), rig.log_on("TAKER"));
    maker.order(rig.now, &limit(1, Side::Buy, 10, "100.00"));
    rig.until(&mut maker, |client| client.reports.len() == 1);
    maker.request(rig.now, &replace(2, 1, limit(0, Side::Buy, 4, "100.00")));
    rig.until(&mut maker, |client| client.reports.len() == 2);
    taker.order(rig.now, &limit(1, Side::Sell, 4, "100.00"));
    rig.until(&mut maker, |client| client.reports.len() == 3);
    // Neither open nor unknown: who has not heard of the change and the fill is told both.
    maker.cancel(rig.now, &cancel(3, 1, Side::Buy));
    rig.until(&mut maker, |client| client.reports.len() == 4);
    let late = Some(CancelRejectReason::TooLateToCancel);
    assert_eq!(refused(&maker, 3), (3, late, OrdStatus::Filled));
    let symbol = limit(1, Side::Buy, 1, "1.00").symbol;
    let question =
        OrderStatusRequest { cl_ord_id: 1.into(), symbol, side: Side::Buy, request_id: None };
    maker.request(rig.now, &question);
    rig.until(&mut maker, |client| client.reports.len() == 5);
    let told = report(&maker, 4);
    assert_eq!((told.status, told.cum, told.leaves), (OrdStatus::Filled, 4, 0));
}

#[test]
fn a_replacement_that_makes_no_sense_changes_nothing() {
    let mut rig = Rig::empty();
    let mut client = rig.log_on("ALPHA");
    client.order(rig.now, &limit(1, Side::Buy, 10, "100.00"));
    client.request(rig.now, &replace(2, 1, limit(0, Side::Buy, 9, "100.00")));
    rig.until(&mut client, |client| client.reports.len() == 2);
    client.reports.clear();
    let other =
        |symbol: &str| NewOrderSingle { symbol: text(symbol), ..limit(0, Side::Buy, 5, "100.00") };
    client.request(rig.now, &replace(10, 99, limit(0, Side::Buy, 5, "100.00")));
    client.request(rig.now, &replace(11, 1, limit(0, Side::Buy, 5, "100.00")));
    client.request(rig.now, &replace(2, 2, limit(0, Side::Buy, 5, "100.00")));
    client.request(rig.now, &replace(12, 2, limit(0, Side::Sell, 5, "100.00")));
    client.request(rig.now, &replace(13, 2, other("MSFT")));
    client.request(rig.now, &replace(14, 2, limit(0, Side::Buy, 5, "100.005")));
    client.request(rig.now, &replace(15, 2, market(0, Side::Buy, 5)));
    let iceberg = NewOrderSingle { max_floor: Some(Qty::whole(6)), ..other("AAPL") };
    client.request(rig.now, &replace(16, 2, iceberg));
    client.request(rig.now, &replace(17, 10, limit(0, Side::Buy, 5, "100.00")));
    client.cancel(rig.now, &cancel(18, 1, Side::Buy));
    rig.until(&mut client, |client| client.reports.len() == 10);
    use {CancelRejectReason as R, OrdStatus as S};
    let refusals: Vec<_> = (0..10).map(|at| refused(&client, at)).collect();
    assert_eq!(
        refusals,
        [
            (10, Some(R::UnknownOrder), S::Rejected),
            (11, Some(R::Other), S::New),
            (2, Some(R::DuplicateClOrdId), S::New),
            (12, Some(R::Other), S::New),
            (13, Some(R::Other), S::New),
            (14, Some(R::Other), S::New),
            (15, Some(R::Other), S::New),
            (16, Some(R::Other), S::New),
            (17, Some(R::UnknownOrder), S::Rejected),
            (18, Some(R::Other), S::New),
        ]
    );
    // It stands as it was, under its last ClOrdID.
    client.cancel(rig.now, &cancel(20, 2, Side::Buy));
    rig.until(&mut client, |client| client.reports.len() == 11);
    assert_eq!(
        (report(&client, 10).orig, report(&client, 10).exec_type),
        (Some(2), ExecType::Canceled)
    );
    assert_eq!(rig.venue.counters().replace_rejects, 9);
}

#[test]
fn a_client_learns_how_its_orders_stand_and_no_others() {
    let mut rig = Rig::empty();
    let (mut client, mut other) = (rig.log_on("ALPHA"), rig.log_on("BETA"));
    other.order(rig.now, &limit(1, Side::Buy, 3, "99.00"));
    rig.until(&mut other, |client| client.reports.len() == 1);
    let all = |id: &str| OrderMassStatusRequest {
        request_id: text(id),
        scope: MassStatusType::All,
        symbol: None,
    };
    client.request(rig.now, &all("A"));
    rig.until(&mut client, |client| client.reports.len() == 1);
    assert_eq!(client.mass, [(text("A"), Some(0), true)]);
    let account =
        NewOrderSingle { account: Some(text("HOUSE")), ..limit(1, Side::Buy, 7, "100.00") };
    client.order(rig.now, &account);
    client.order(rig.now, &limit(2, Side::Sell, 5, "101.00"));
    client.order(rig.now, &limit(3, Side::Sell, 2, "100.00"));
    rig.until(&mut client, |client| client.reports.len() == 6);
    client.reports.clear();
    client.mass.clear();
    client.accounts.clear();
    client.request(rig.now, &all("B"));
    rig.until(&mut client, |client| client.reports.len() == 2);
    assert_eq!(client.mass, [(text("B"), Some(2), false), (text("B"), Some(2), true)]);
    assert_eq!(client.accounts, [Some("HOUSE".to_owned()), None]);
    let (first, second) = (report(&client, 0), report(&client, 1));
    assert_eq!((first.id, first.status, first.cum), (1, OrdStatus::PartiallyFilled, 2));
    assert_eq!((first.leaves, first.exec_type), (5, ExecType::OrderStatus));
    assert_eq!((second.id, second.status, second.leaves), (2, OrdStatus::New, 5));
    // Of one symbol, which nobody lists, and one by one: open, over, unknown.
    let of = OrderMassStatusRequest {
        scope: MassStatusType::Security,
        symbol: Some(text("MSFT")),
        ..all("C")
    };
    client.request(rig.now, &of);
    for id in [1, 3, 77] {
        let (cl_ord_id, symbol, side) = (id.into(), text("AAPL"), Side::Buy);
        let request = OrderStatusRequest { cl_ord_id, symbol, side, request_id: None };
        client.request(rig.now, &request);
    }
    rig.until(&mut client, |client| client.reports.len() == 6);
    assert_eq!(client.mass[2..], [(text("C"), Some(0), true)]);
    let statuses = (3..6).map(|at| (report(&client, at).status, report(&client, at).cum));
    let statuses: Vec<_> = statuses.collect();
    use OrdStatus as S;
    assert_eq!(statuses, [(S::PartiallyFilled, 2), (S::Filled, 2), (S::Rejected, 0)]);
}

#[test]
fn a_mass_cancel_takes_the_clients_own_orders_of_a_symbol_or_all() {
    let mut rig = Rig::empty();
    let (mut client, mut other) = (rig.log_on("ALPHA"), rig.log_on("BETA"));
    other.order(rig.now, &limit(1, Side::Buy, 3, "99.00"));
    rig.until(&mut other, |client| client.reports.len() == 1);
    for id in 1..=4 {
        let side = if id % 2 == 0 { Side::Sell } else { Side::Buy };
        let at = if side == Side::Buy { "100.00" } else { "101.00" };
        client.order(rig.now, &limit(id, side, 1, at));
    }
    let request = |id: u64, scope, symbol: Option<&str>, side| OrderMassCancelRequest {
        cl_ord_id: id.into(),
        scope,
        symbol: symbol.map(text),
        side,
        transact_time: Nanos::ZERO,
    };
    client.request(rig.now, &request(10, MassCancelType::Security, Some("MSFT"), None));
    client.request(rig.now, &request(11, MassCancelType::All, None, Some(Side::Sell)));
    client.request(rig.now, &request(11, MassCancelType::All, None, None));
    client.request(rig.now, &request(12, MassCancelType::Security, Some("AAPL"), None));
    client.request(rig.now, &request(13, MassCancelType::All, None, None));
    rig.until(&mut client, |client| client.mass_cancels.len() == 5);
    assert_eq!(
        client.mass_cancels,
        [
            (MassCancelType::Refused, Some(0)),
            (MassCancelType::All, Some(2)),
            (MassCancelType::Refused, Some(0)),
            (MassCancelType::Security, Some(2)),
            (MassCancelType::All, Some(0)),
        ]
    );
    let cancelled = (4..8).map(|at| (report(&client, at).id, report(&client, at).exec_type));
    let cancelled: Vec<_> = cancelled.collect();
    assert_eq!(cancelled, [2, 4, 1, 3].map(|id| (id, ExecType::Canceled)));
    assert_eq!(rig.venue.book().order_count(), 1);
}

#[test]
fn post_only_orders_do_not_take_and_rest_or_are_refused_as_configured() {
    let posted =
        |id, at| NewOrderSingle { flags: OrderFlags::POST_ONLY, ..limit(id, Side::Buy, 1, at) };
    for post_only in [PostOnly::Reject, PostOnly::Slide] {
        let mut rig = Rig::new(&VenueConfig { post_only, ..config() }, Flow::None);
        let mut client = rig.log_on("ALPHA");
        client.order(rig.now, &limit(1, Side::Sell, 1, "100.00"));
        client.order(rig.now, &posted(2, "99.00"));
        client.order(rig.now, &posted(3, "100.00"));
        let reduce_only = NewOrderSingle { flags: OrderFlags::REDUCE_ONLY, ..posted(4, "99.00") };
        client.order(rig.now, &reduce_only);
        rig.until(&mut client, |client| client.reports.len() == 4);
        assert_eq!(report(&client, 1).exec_type, ExecType::New);
        let slides = post_only == PostOnly::Slide;
        let expected = if slides { ExecType::New } else { ExecType::Rejected };
        assert_eq!(report(&client, 2).exec_type, expected);
        assert_eq!(report(&client, 3).refusal, Some(99), "{:?}", client.texts);
        let best = rig.venue.book().best(Side::Buy).expect("a bid").price.0;
        assert_eq!(best, if slides { 2 * 9_999 } else { 2 * 9_900 });
    }
}

#[test]
fn a_stop_waits_for_a_trade_at_its_price() {
    let mut rig = Rig::empty();
    let mut client = rig.log_on("ALPHA");
    let stop = |id, order: NewOrderSingle, at| NewOrderSingle {
        cl_ord_id: u64::into(id),
        stop_price: price(at),
        ..order
    };
    client.order(rig.now, &limit(1, Side::Buy, 5, "100.00"));
    client.order(rig.now, &limit(2, Side::Buy, 5, "99.00"));
    client.order(rig.now, &stop(3, market(0, Side::Sell, 2), "100.00"));
    client.order(rig.now, &stop(4, limit(0, Side::Sell, 9, "100.00"), "100.00"));
    client.order(rig.now, &stop(5, market(0, Side::Sell, 1), "90.00"));
    client.order(rig.now, &stop(6, market(0, Side::Sell, 1), "90.005"));
    rig.until(&mut client, |client| client.reports.len() == 6);
    assert_eq!(report(&client, 5).refusal, Some(99));
    assert_eq!(rig.venue.book().order_count(), 2, "a stop is not displayed");
    client.reports.clear();
    client.order(rig.now, &limit(7, Side::Sell, 1, "100.00"));
    // The trade at 100 fires both: two and two more trade there, and the rest of the limit rests.
    rig.until(&mut client, |client| client.reports.len() == 7);
    let sold = (0..7).map(|at| report(&client, at)).filter(|it| it.last.is_some());
    let sold: Vec<_> = sold.map(|it| (it.id, it.cum, it.leaves)).collect();
    assert_eq!(sold, [(7, 1, 0), (1, 1, 4), (3, 2, 0), (1, 3, 2), (4, 2, 7), (1, 5, 0)]);
    assert_eq!(rig.venue.book().order_count(), 2);
    // What has been triggered does not wait again, whatever a replacement says of its stop.
    let again = stop(0, limit(0, Side::Sell, 8, "101.00"), "95.00");
    client.request(rig.now, &replace(70, 4, again));
    rig.until(&mut client, |client| client.reports.len() == 8);
    let best = rig.venue.book().best(Side::Sell).map(|level| (level.price.0, level.lots.0));
    assert_eq!(best, Some((2 * 10_100, 6)));
    // One that waits can be replaced and cancelled.
    client.reports.clear();
    client.request(rig.now, &replace(8, 5, stop(0, market(0, Side::Sell, 3), "95.00")));
    client.cancel(rig.now, &cancel(9, 8, Side::Sell));
    rig.until(&mut client, |client| client.reports.len() == 2);
    assert_eq!(report(&client, 0).exec_type, ExecType::Replaced);
    assert_eq!(
        (report(&client, 1).exec_type, report(&client, 1).orig),
        (ExecType::Canceled, Some(8))
    );
}

#[test]
fn an_iceberg_shows_a_part_at_a_time_and_is_filled_whole() {
    let mut rig = Rig::empty();
    let mut client = rig.log_on("ALPHA");
    let iceberg =
        NewOrderSingle { max_floor: Some(Qty::whole(3)), ..limit(1, Side::Sell, 10, "100.00") };
    client.order(rig.now, &iceberg);
    rig.until(&mut client, |client| client.reports.len() == 1);
    let shown = |rig: &Rig| rig.venue.book().best(Side::Sell).map(|level| level.lots.0);
    assert_eq!(shown(&rig), Some(3));
    client.order(rig.now, &market(2, Side::Buy, 4));
    rig.until(&mut client, |client| client.reports.len() == 6);
    assert_eq!(shown(&rig), Some(2));
    let last = report(&client, 5);
    assert_eq!((last.id, last.cum, last.leaves), (1, 4, 6));
    client.order(rig.now, &market(3, Side::Buy, 6));
    rig.until(&mut client, |client| {
        client.reports.last().is_some_and(|answer| {
        matches!(answer, Answer::Report(report) if report.id == 1 && report.leaves == 0)
    })
    });
    assert_eq!(rig.venue.book().order_count(), 0);
}

/// A request of any kind about any order, sensible or not.
fn any_request(client: &mut Client, rig: &Rig, random: &mut Random, next: &mut u64) {
    *next += 1;
    let id = *next;
    let old = id.saturating_sub(1 + random.below(6)).max(1);
    let side = random.pick(&Side::BOTH);
    // Mostly away from the other side.
    let at = 100 - side.sign() * (random.below(8).cast_signed() - 2);
    let at = format!("{at}.00");
    let qty = 1 + random.below(20).cast_signed();
    let order = NewOrderSingle {
        max_floor: random.per_mille(200).then(|| Qty::whole(1 + random.below(5).cast_signed())),
        stop_price: random.per_mille(100).then(|| price(&at)).flatten(),
        flags: if random.per_mille(100) { OrderFlags::POST_ONLY } else { OrderFlags::NONE },
        ..limit(id, side, qty, &at)
    };
    match random.below(10) {
        0..4 => client.order(rig.now, &order),
        4 => client.order(rig.now, &market(id, side, qty)),
        5..8 => client.request(rig.now, &replace(id, old, order)),
        _ => client.cancel(rig.now, &cancel(id, old, side)),
    }
}

#[test]
fn whatever_is_asked_for_the_feed_has_the_book_and_every_request_its_answer() {
    for_each_seed(0..8, |seed, mut random| {
        let mut rig = Rig::empty();
        let mut clients = [rig.log_on("ALPHA"), rig.log_on("BETA")];
        let (mut levels, mut orders) = (level_consumer(), order_consumer());
        let mut next = [0, 0];
        for turn in 0..600 {
            let at = random.below(2) as usize;
            any_request(&mut clients[at], &rig, &mut random, &mut next[at]);
            rig.tick();
            clients.iter_mut().for_each(|client| client.pump(rig.now));
            drain(&rig.incremental, |datagram| {
                levels.on_increment(datagram);
                orders.on_increment(datagram);
            });
            drain(&rig.snapshot, |datagram| {
                levels.on_snapshot(datagram);
                orders.on_snapshot(datagram);
            });
            let published = rig.venue.counters().published;
            if levels.is_live_after(published) && orders.is_live_after(published) {
                assert_eq!(levels.book.state_hash(), level_hash(rig.venue.book()), "{seed} {turn}");
                assert_eq!(order_hash(&orders.book), order_hash(rig.venue.book()), "{seed} {turn}");
            }
        }
        for (client, count) in clients.iter_mut().zip(next) {
            let answered = |client: &Client| (1..=count).all(|id| client.is_answered(id));
            rig.until(client, answered);
        }
        let counters = rig.venue.counters();
        assert!(
            counters.replaces > 5 && counters.cancels > 5 && counters.fills > 100,
            "{counters:?}"
        );
    });
}
