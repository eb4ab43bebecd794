//! Trades that are taken back by the operator.

use taut_fix::{
    ExecType, NewOrderSingle, OrdStatus, OrderCancelReplaceRequest, RequestForPositions,
};
use taut_types::{FeeRates, Price, Side};

use crate::journal::Put;
use crate::tests::client::{Answer, Client, Report, limit};
use crate::tests::journaled::START;
use crate::tests::rig::{Rig, config, text};
use crate::{Flow, Venue, VenueConfig, VenueError};

fn image(venue: &mut Venue) -> Vec<u8> {
    let mut put = Put::default();
    venue.put_exchange(&mut put);
    put.0
}

fn report(client: &Client, at: usize) -> Report {
    let Answer::Report(report) = client.reports[at] else { panic!("a report") };
    report
}

fn log_on(rig: &mut Rig, name: &str) -> Client {
    let mut client = Client::resume(rig.orders_at, Client::session(name, false), rig.now);
    rig.advance(taut_types::Nanos::from_millis(2));
    rig.until(&mut client, Client::is_logged_on);
    client
}

#[test]
fn a_trade_that_is_taken_back_is_told_to_both_sides_and_leaves_no_position() {
    let folder = tempfile::tempdir().expect("a folder");
    let lasting = VenueConfig { cancel_on_disconnect: false, ..config() };
    let (mut rig, _) = Rig::journaled(&lasting, Flow::None, folder.path(), START);
    let (mut maker, mut taker) = (log_on(&mut rig, "MAKER"), log_on(&mut rig, "TAKER"));
    let account = Some(text("A"));
    let resting = NewOrderSingle { account, ..limit(1, Side::Sell, 10, "100.00") };
    maker.order(rig.now, &resting);
    rig.until(&mut maker, |client| client.reports.len() == 1);
    for (id, qty) in [(1, 4), (2, 3)] {
        taker.order(rig.now, &limit(id, Side::Buy, qty, "100.00"));
        rig.until(&mut taker, |client| client.reports.len() == 2 * id as usize);
    }
    rig.until(&mut maker, |client| client.reports.len() == 3);
    let exec_id = taker.exec_ids[1];
    assert!(rig.venue.bust(rig.now, exec_id).expect("it is remembered"));
    assert!(!rig.venue.bust(rig.now, maker.exec_ids[1]).expect("the same trade"), "once");
    let unknown = rig.venue.bust(rig.now, 999).expect_err("no such trade");
    assert!(matches!(unknown, VenueError::Config { setting: "exec_id", .. }), "{unknown}");
    rig.until(&mut taker, |client| client.reports.len() == 5);
    rig.until(&mut maker, |client| client.reports.len() == 4);
    // The taker's order was filled; the maker's is open, and asks for so much less.
    let hundred = Price(100_000_000_000);
    let theirs = report(&taker, 4);
    assert_eq!((theirs.exec_type, theirs.status), (ExecType::TradeCancel, OrdStatus::Canceled));
    assert_eq!((theirs.last, theirs.cum, theirs.leaves), (Some((4, hundred)), 0, 0));
    let ours = report(&maker, 3);
    assert_eq!((ours.exec_type, ours.status), (ExecType::TradeCancel, OrdStatus::PartiallyFilled));
    assert_eq!((ours.cum, ours.leaves, ours.avg), (3, 3, hundred));
    assert_eq!(maker.accounts[3].as_deref(), Some("A"));
    assert_eq!(maker.texts[3], "the venue has taken the trade back");
    // A replacement's quantity is the order's total, without what was taken back.
    let order = NewOrderSingle { account, ..limit(2, Side::Sell, 8, "100.00") };
    maker.request(rig.now, &OrderCancelReplaceRequest { orig_cl_ord_id: 1.into(), order });
    rig.until(&mut maker, |client| client.reports.len() == 5);
    let replaced = report(&maker, 4);
    assert_eq!((replaced.exec_type, replaced.cum, replaced.leaves), (ExecType::Replaced, 3, 5));
    assert_eq!(rig.venue.book_state(lasting.instruments[0].id()).expect("a book").orders, 1);
    assert_eq!(rig.venue.book().best(Side::Sell).expect("an offer").lots.0, 5);
    let transact_time = rig.now.utc;
    let positions = RequestForPositions { request_id: 7.into(), account: None, transact_time };
    taker.request(rig.now, &positions);
    rig.until(&mut taker, |client| client.held.len() == 1);
    assert_eq!(taker.held[0].2, 3);
    assert_eq!(rig.venue.counters().busts, 1);
    // The same behind a restart, where it is taken back no more.
    let (before, now) = (image(&mut rig.venue), rig.now);
    drop((rig, maker, taker));
    for _ in 0..2 {
        let (mut rig, _) = Rig::journaled(&lasting, Flow::None, folder.path(), now);
        assert!(image(&mut rig.venue) == before, "it is something else");
        assert_eq!(rig.venue.bust(rig.now, exec_id), Ok(false));
    }
}

#[test]
fn what_a_trade_cost_is_paid_back() {
    let mut rig = Rig::empty();
    rig.venue.set_fees(&[FeeRates { maker: -100_000, taker: 500_000 }]);
    let mut client = rig.log_on("ALPHA");
    client.order(rig.now, &limit(1, Side::Sell, 4, "100.00"));
    client.order(rig.now, &limit(2, Side::Buy, 4, "100.00"));
    rig.until(&mut client, |client| client.reports.len() == 4);
    assert!(rig.venue.bust(rig.now, client.exec_ids[2]).expect("it is remembered"));
    rig.until(&mut client, |client| client.reports.len() == 6);
    // A twentieth of a percent of 400, and a hundredth that came back to who was there first.
    let paid: Vec<_> = client.charges.iter().filter_map(|it| Some(it.commission?.0)).collect();
    assert_eq!(paid, [200_000_000, -40_000_000, -200_000_000, 40_000_000]);
}
