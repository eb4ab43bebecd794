//! Members: who is let in, what each may do, and the kill switch, also behind a restart.

use taut_fix::{CancelRejectReason, CompId, ExecType, NewOrderSingle, OrderCancelReplaceRequest};
use taut_testkit::Deadline;
use taut_types::{InstrumentId, Nanos, Price, Qty, Side};

use crate::tests::client::{Answer, Client, cancel, limit, market};
use crate::tests::rig::{Rig, config, instrument};
use crate::{Flow, Member, MemberState, Now, Protection, VenueConfig, VenueError};

fn comp_id(name: &str) -> CompId {
    CompId::new(name.as_bytes()).expect("a name")
}

fn member(name: &str) -> Member {
    Member::new(comp_id(name))
}

fn with(members: Vec<Member>) -> VenueConfig {
    VenueConfig { members, ..config() }
}

/// What became of a request that is answered now, in a word and a text.
fn told(rig: &mut Rig, client: &mut Client, id: u64) -> (String, String) {
    let before = client.reports.len();
    rig.until(client, |client| client.is_answered(id));
    let word = match client.reports[before] {
        Answer::Report(report) => format!("{:?}", report.exec_type),
        Answer::CancelReject { reason, .. } => {
            assert_eq!(reason, Some(CancelRejectReason::Other));
            "CancelReject".to_owned()
        }
        Answer::BusinessReject => "BusinessReject".to_owned(),
    };
    (word, client.texts[before].clone())
}

fn order(rig: &mut Rig, client: &mut Client, order: &NewOrderSingle) -> (String, String) {
    client.order(rig.now, order);
    told(rig, client, order.cl_ord_id.to_u64().expect("a number"))
}

fn refused(text: &str) -> (String, String) {
    ("Rejected".to_owned(), text.to_owned())
}

fn taken() -> (String, String) {
    ("New".to_owned(), String::new())
}

#[test]
fn who_is_no_member_hears_so_and_gets_no_session() {
    let mut rig = Rig::new(&with(vec![member("ALPHA")]), Flow::None);
    let client = Client::connect(rig.orders_at, "NOBODY", rig.now);
    rig.advance(Nanos::from_millis(2));
    let (deadline, mut heard, mut buffer) = (Deadline::default(), Vec::new(), [0; 1_024]);
    loop {
        rig.poll();
        match client.stream.receive(&mut buffer) {
            Ok(None) => {}
            Ok(Some(0)) | Err(_) => break,
            Ok(Some(bytes)) => heard.extend_from_slice(&buffer[..bytes]),
        }
        deadline.check("a Logout", || String::from_utf8_lossy(&heard).into_owned());
    }
    let heard = String::from_utf8_lossy(&heard).replace('\x01', "|");
    assert!(heard.starts_with("8=FIX.4.4|9=") && heard.contains("|35=5|49=VENUE|56=NOBODY|34=1|"));
    assert!(heard.contains("|58=CompID NOBODY is not a member here|10="), "{heard}");
    assert_eq!(rig.venue.counters().session_refusals, 1);
    assert!(rig.log_on("ALPHA").is_logged_on());
    let state = rig.venue.members();
    let names: Vec<_> = state.iter().map(|it| (it.comp_id.to_string(), it.is_connected)).collect();
    assert_eq!(names, [("ALPHA".to_owned(), true)]);
}

#[test]
fn an_order_beyond_a_limit_is_refused_with_the_limit() {
    let alpha = Member {
        instruments: Some(vec![instrument().id()]),
        open_orders_max: Some(2),
        quantity_max: Some(Qty::whole(10)),
        notional_max: Some(Price(1_000_000_000_000)),
        ..member("ALPHA")
    };
    let beta = Member { instruments: Some(Vec::new()), ..member("BETA") };
    let mut rig = Rig::new(&with(vec![alpha, beta]), Flow::None);
    let (mut alpha, mut beta) = (rig.log_on("ALPHA"), rig.log_on("BETA"));
    let (rig, alpha) = (&mut rig, &mut alpha);
    let one = limit(1, Side::Buy, 1, "100.00");
    assert_eq!(order(rig, &mut beta, &one), refused("member BETA may not trade AAPL"));
    assert_eq!(
        order(rig, alpha, &limit(1, Side::Buy, 11, "1.00")),
        refused("OrderQty 11 is more than 10, the limit of member ALPHA")
    );
    assert_eq!(
        order(rig, alpha, &limit(2, Side::Buy, 10, "100.01")),
        refused("10 at 100.01 is more than 1000, the limit of member ALPHA")
    );
    assert_eq!(order(rig, alpha, &limit(3, Side::Buy, 10, "100.00")), taken());
    // A market order counts at the price that it meets: here at 100.
    let big = limit(4, Side::Sell, 10, "500.00");
    assert!(order(rig, alpha, &big).1.contains("10 at 500 is more than 1000"));
    assert_eq!(order(rig, alpha, &limit(5, Side::Sell, 2, "500.00")), taken());
    assert_eq!(
        order(rig, alpha, &market(6, Side::Buy, 1)),
        refused("member ALPHA has 2 open orders: 2 is its limit")
    );
    // A replacement opens no order, and is held against the other limits.
    let replace = |id: u64, orig: u64, order: NewOrderSingle| OrderCancelReplaceRequest {
        orig_cl_ord_id: orig.into(),
        order: NewOrderSingle { cl_ord_id: id.into(), ..order },
    };
    alpha.request(rig.now, &replace(7, 3, limit(0, Side::Buy, 11, "100.00")));
    let (word, words) = told(rig, alpha, 7);
    assert_eq!(word, "CancelReject");
    assert_eq!(words, "OrderQty 11 is more than 10, the limit of member ALPHA");
    alpha.request(rig.now, &replace(8, 3, limit(0, Side::Buy, 9, "100.00")));
    assert_eq!(told(rig, alpha, 8).0, "Replaced");
    alpha.cancel(rig.now, &cancel(9, 5, Side::Sell));
    assert_eq!(told(rig, alpha, 9).0, "Canceled");
    assert_eq!(order(rig, alpha, &market(10, Side::Buy, 1)), taken());
}

#[test]
fn a_throttled_member_can_cancel_and_enters_orders_again_when_its_time_has_come() {
    let alpha = Member { orders_per_second_max: Some(2), ..member("ALPHA") };
    let mut rig = Rig::new(&with(vec![alpha, member("BETA")]), Flow::None);
    let (mut alpha, mut beta) = (rig.log_on("ALPHA"), rig.log_on("BETA"));
    let too_fast = refused("more than 2 orders a second of member ALPHA");
    let next = |id| limit(id, Side::Buy, 1, "100.00");
    for id in 1..=2 {
        assert_eq!(order(&mut rig, &mut alpha, &next(id)), taken());
        assert_eq!(order(&mut rig, &mut beta, &next(id)), taken());
    }
    assert_eq!(order(&mut rig, &mut alpha, &next(3)), too_fast);
    let request = OrderCancelReplaceRequest { orig_cl_ord_id: 1.into(), order: next(4) };
    alpha.request(rig.now, &request);
    assert_eq!(told(&mut rig, &mut alpha, 4), ("CancelReject".to_owned(), too_fast.1.clone()));
    alpha.cancel(rig.now, &cancel(5, 1, Side::Buy));
    assert_eq!(told(&mut rig, &mut alpha, 5).0, "Canceled");
    assert_eq!(order(&mut rig, &mut beta, &next(3)), taken());
    rig.advance(Nanos::from_millis(500));
    assert_eq!(order(&mut rig, &mut alpha, &next(6)), taken());
    assert_eq!(order(&mut rig, &mut alpha, &next(7)), too_fast);
}

#[test]
fn a_kill_switch_cancels_and_refuses_until_it_is_let_go_also_behind_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let start = Now { mono: Nanos::from_secs(1_000), utc: crate::tests::rig::UTC };
    let lasting = VenueConfig { cancel_on_disconnect: false, ..with(Vec::new()) };
    let (mut rig, _) = Rig::journaled(&lasting, Flow::None, folder.path(), start);
    let log_on = |rig: &mut Rig, session| {
        let mut client = Client::resume(rig.orders_at, session, rig.now);
        rig.advance(Nanos::from_millis(2));
        rig.until(&mut client, Client::is_logged_on);
        client
    };
    let mut alpha = log_on(&mut rig, Client::session("ALPHA", false));
    let mut beta = log_on(&mut rig, Client::session("BETA", false));
    for id in 1..=3 {
        assert_eq!(order(&mut rig, &mut alpha, &limit(id, Side::Buy, 1, "100.00")), taken());
    }
    assert_eq!(order(&mut rig, &mut beta, &limit(1, Side::Buy, 1, "100.00")), taken());
    let unknown = rig.venue.set_killed(rig.now, comp_id("GAMMA"), true).expect_err("nobody");
    assert!(matches!(unknown, VenueError::Config { setting: "member", .. }), "{unknown}");
    assert_eq!(rig.venue.set_killed(rig.now, comp_id("ALPHA"), true), Ok(true));
    assert_eq!(rig.venue.set_killed(rig.now, comp_id("ALPHA"), true), Ok(false));
    rig.until(&mut alpha, |client| client.reports.len() == 6);
    let cancelled = |answer: &Answer| {
        matches!(answer, Answer::Report(report) if report.exec_type == ExecType::Canceled
            && report.orig.is_none())
    };
    assert!(alpha.reports[3..].iter().all(cancelled), "{:?}", alpha.reports);
    assert!(alpha.texts[3..].iter().all(|it| it == "cancelled by the venue: kill switch"));
    assert_eq!(rig.venue.counters().cancels_by_operator, 3);
    assert_eq!(rig.venue.book().order_count(), 1, "the other member's stays");
    let stopped = refused("member ALPHA is stopped by the venue: kill switch");
    assert_eq!(order(&mut rig, &mut alpha, &limit(4, Side::Buy, 1, "100.00")), stopped);
    // A venue that goes on with other limits executes the inputs before under those that held.
    let now = rig.now;
    let session = alpha.break_off(now);
    drop((rig, beta));
    let small = |name| Member { quantity_max: Some(Qty::whole(0)), ..member(name) };
    let listed = vec![small("BETA"), Member { instruments: None, ..member("ALPHA") }];
    let limited = VenueConfig { cancel_on_disconnect: false, ..with(listed) };
    let (mut rig, recovered) = Rig::journaled(&limited, Flow::None, folder.path(), now);
    assert_eq!(recovered.open_orders, 1);
    let state = |name: &str, is_killed, open_orders| (comp_id(name), is_killed, open_orders);
    let of = |it: &MemberState| (it.comp_id, it.is_killed, it.open_orders);
    let states: Vec<_> = rig.venue.members().iter().map(of).collect();
    assert_eq!(states, [state("ALPHA", true, 0), state("BETA", false, 1)]);
    let mut alpha = log_on(&mut rig, session);
    assert_eq!(order(&mut rig, &mut alpha, &limit(5, Side::Buy, 1, "100.00")), stopped);
    assert_eq!(rig.venue.set_killed(rig.now, comp_id("ALPHA"), false), Ok(true));
    assert_eq!(order(&mut rig, &mut alpha, &limit(6, Side::Buy, 1, "100.00")), taken());
    let (before, now) = (rig.venue.members(), rig.now);
    drop((rig, alpha));
    let (rig, _) = Rig::journaled(&limited, Flow::None, folder.path(), now);
    let is_away = |it: &MemberState| MemberState { is_connected: false, ..*it };
    assert_eq!(rig.venue.members(), before.iter().map(is_away).collect::<Vec<_>>());
}

#[test]
fn a_throttle_and_a_limit_are_the_same_once_more() {
    let folder = tempfile::tempdir().expect("a folder");
    let start = Now { mono: Nanos::from_secs(1_000), utc: crate::tests::rig::UTC };
    let alpha = Member { orders_per_second_max: Some(5), ..member("ALPHA") };
    let lasting = VenueConfig { cancel_on_disconnect: false, ..with(vec![alpha]) };
    let (mut rig, _) = Rig::journaled(&lasting, Flow::None, folder.path(), start);
    let mut client = Client::resume(rig.orders_at, Client::session("ALPHA", false), rig.now);
    rig.advance(Nanos::from_millis(2));
    rig.until(&mut client, Client::is_logged_on);
    for id in 1..=20 {
        client.order(rig.now, &limit(id, Side::Buy, 1, "100.00"));
        rig.until(&mut client, |client| client.is_answered(id));
        rig.advance(Nanos::from_millis(60));
    }
    let open = rig.venue.book().order_count();
    assert!((8..=12).contains(&open), "{open} were let through");
    let now = rig.now;
    drop((rig, client));
    let (rig, recovered) = Rig::journaled(&lasting, Flow::None, folder.path(), now);
    assert_eq!((recovered.open_orders, rig.venue.book().order_count()), (open, open));
}

#[test]
fn members_that_cannot_be_are_refused() {
    let check = |members: Vec<Member>| with(members).check().expect_err("refused").to_string();
    assert!(check(vec![member("A"), member("A")]).contains("different in their CompIDs"));
    let none = Member { orders_per_second_max: Some(0), ..member("A") };
    assert!(check(vec![none]).contains("orders_per_second_max"));
    let other = Member { instruments: Some(vec![InstrumentId(77)]), ..member("A") };
    assert!(check(vec![other]).contains("traded here"));
}

#[test]
fn a_member_that_trades_too_much_at_once_has_its_orders_cancelled() {
    let folder = tempfile::tempdir().expect("a folder");
    let start = Now { mono: Nanos::from_secs(1_000), utc: crate::tests::rig::UTC };
    let protection = Some(Protection { quantity: Qty::whole(5), within: Nanos::from_secs(1) });
    let members = vec![Member { protection, ..member("MAKER") }, member("TAKER")];
    let lasting = VenueConfig { cancel_on_disconnect: false, ..with(members) };
    let (mut rig, _) = Rig::journaled(&lasting, Flow::None, folder.path(), start);
    let log_on = |rig: &mut Rig, name| {
        let mut client = Client::resume(rig.orders_at, Client::session(name, false), rig.now);
        rig.advance(Nanos::from_millis(2));
        rig.until(&mut client, Client::is_logged_on);
        client
    };
    let (mut maker, mut taker) = (log_on(&mut rig, "MAKER"), log_on(&mut rig, "TAKER"));
    for id in 1..=4 {
        let quote = limit(id, Side::Sell, 3, &format!("10{id}.00"));
        assert_eq!(order(&mut rig, &mut maker, &quote), taken());
    }
    let take = |rig: &mut Rig, taker: &mut Client, id| {
        assert_eq!(order(rig, taker, &limit(id, Side::Buy, 3, "104.00")), taken());
    };
    take(&mut rig, &mut taker, 1);
    rig.advance(Nanos::from_secs(1));
    // The window of the first is over.
    take(&mut rig, &mut taker, 2);
    assert_eq!(rig.venue.book().order_count(), 2);
    let now = rig.now;
    let sessions = [maker.break_off(now), taker.break_off(now)];
    drop(rig);
    // Three of five are counted behind a restart, too.
    let (mut rig, recovered) = Rig::journaled(&lasting, Flow::None, folder.path(), now);
    assert_eq!(recovered.open_orders, 2);
    let [mut maker, mut taker] = sessions.map(|session| {
        let mut client = Client::resume(rig.orders_at, session, rig.now);
        rig.advance(Nanos::from_millis(2));
        rig.until(&mut client, Client::is_logged_on);
        client
    });
    take(&mut rig, &mut taker, 3);
    let protected = "cancelled by the venue: market maker protection";
    rig.until(&mut maker, |client| client.texts.iter().any(|text| text == protected));
    assert_eq!(rig.venue.counters().cancels_by_protection, 1);
    assert_eq!(rig.venue.book().order_count(), 0);
    // It may quote again at once.
    assert_eq!(order(&mut rig, &mut maker, &limit(5, Side::Sell, 3, "104.00")), taken());
}
