//! An initiator and an acceptor, joined in memory on virtual time.

use crate::support::{Pair, Told, body, cancel, message, order, report};
use taut_fix::{CancelRejectReason, OrdStatus, OrderCancelReject, OrderFlow, ResponseTo};

fn logged_on(heartbeat_secs: i64) -> Pair {
    let mut pair = Pair::new(heartbeat_secs);
    pair.connect();
    assert_eq!(pair.log, ["venue logged on", "buyer logged on"]);
    pair.log.clear();
    pair.wire.clear();
    pair
}

#[test]
fn logs_on_and_resets_both_counts() {
    let mut pair = Pair::new(30);
    pair.connect();
    assert!(pair.buyer.is_active() && pair.venue.is_active());
    assert_eq!(
        pair.count("> 35=A|34=1|49=BUYER|52=20260302-09:30:00.000|56=VENUE|98=0|108=30|141=Y|"),
        1
    );
    assert_eq!(
        pair.count("< 35=A|34=1|49=VENUE|52=20260302-09:30:00.000|56=BUYER|98=0|108=30|141=Y|"),
        1
    );
    assert_eq!((pair.buyer.next_outgoing(), pair.buyer.next_expected()), (2, 2));
    assert_eq!((pair.venue.next_outgoing(), pair.venue.next_expected()), (2, 2));
}

#[test]
fn heartbeats_keep_an_idle_hour_alive() {
    let mut pair = logged_on(30);
    pair.run_until(3600.0);
    assert!(pair.log.is_empty(), "{:?}", pair.log);
    // One every 30 seconds and a microsecond, either way; nobody ever had to ask.
    for direction in ["> 35=0", "< 35=0"] {
        assert_eq!(pair.count(direction), 119);
    }
    assert_eq!((pair.count("> 35=1"), pair.count("< 35=1")), (0, 0));
}

#[test]
fn traffic_makes_heartbeats_needless() {
    let mut pair = logged_on(30);
    let mut out = [0; 512];
    for second in 1..=100 {
        pair.run_until(f64::from(second));
        let now = pair.time();
        let order = order(second.try_into().expect("an id"), now);
        let range = pair.buyer.send(now, &order, &mut out).expect("an order");
        pair.send_to_venue(&out[range]);
        pair.settle();
    }
    assert_eq!(pair.count("> 35=0"), 0);
    assert_eq!(pair.count("< 35=0"), 3);
    assert_eq!(pair.log.len(), 100);
}

#[test]
fn a_silent_peer_is_asked_and_then_given_up() {
    let mut pair = logged_on(10);
    pair.buyer_is_deaf = true;
    pair.run_until(11.9);
    assert_eq!(pair.count("> 35=1"), 0);
    pair.run_until(12.1);
    assert_eq!(pair.count("> 35=1|34=3|49=BUYER|52=20260302-09:30:12.000|56=VENUE|112=TEST|"), 1);
    assert_eq!(pair.count("< 35=0|34=3|49=VENUE|52=20260302-09:30:12.000|56=BUYER|112=TEST|"), 1);
    pair.run_until(23.9);
    assert!(pair.buyer.is_active());
    pair.run_until(24.2);
    assert_eq!(pair.log, ["buyer disconnect: HeartbeatTimeout"]);
    assert!(pair.buyer.is_closed());
    assert_eq!(pair.buyer.poll_timeout(), None);
}

#[test]
fn an_answer_in_time_keeps_the_session() {
    let mut pair = logged_on(10);
    pair.buyer_is_deaf = true;
    pair.run_until(20.0);
    pair.buyer_is_deaf = false;
    // What was lost meanwhile shows as a gap, which the venue fills.
    pair.run_until(60.0);
    assert!(pair.log.is_empty(), "{:?}", pair.log);
    assert!(pair.buyer.is_active());
    assert_eq!(pair.count("> 35=2"), 1);
    assert_eq!(pair.count("< 35=4"), 1);
    assert_eq!(pair.buyer.next_expected(), pair.venue.next_outgoing());
}

#[test]
fn orders_reports_cancels_and_rejects_arrive_as_they_were_sent() {
    let mut pair = logged_on(30);
    let mut out = [0; 512];
    let now = pair.time();
    let order = order(7, now);
    let range = pair.buyer.send(now, &order, &mut out).expect("an order");
    let handled = pair.venue.handle_bytes(now, &out[range]);
    assert_eq!(handled.event, Some(Told::Flow(OrderFlow::NewOrderSingle(order))));
    assert_eq!(handled.info, Some((2, false, false)));

    let mut report = report(&order, now);
    report.text = b"first of two";
    let range = pair.venue.send(now, &report, &mut out).expect("a report");
    assert_eq!(
        pair.buyer.handle_bytes(now, &out[range]).event,
        Some(Told::Flow(OrderFlow::ExecutionReport(report)))
    );

    let cancel = cancel(8, 7, now);
    let range = pair.buyer.send(now, &cancel, &mut out).expect("a cancel");
    assert_eq!(
        pair.venue.handle_bytes(now, &out[range]).event,
        Some(Told::Flow(OrderFlow::OrderCancelRequest(cancel)))
    );

    let reject = OrderCancelReject {
        order_id: report.order_id,
        cl_ord_id: cancel.cl_ord_id.into(),
        orig_cl_ord_id: Some(cancel.orig_cl_ord_id.into()),
        ord_status: OrdStatus::Filled,
        response_to: ResponseTo::CancelRequest,
        reason: Some(CancelRejectReason::TooLateToCancel),
        text: b"",
    };
    let range = pair.venue.send(now, &reject, &mut out).expect("a reject");
    assert_eq!(
        pair.buyer.handle_bytes(now, &out[range]).event,
        Some(Told::Flow(OrderFlow::OrderCancelReject(reject)))
    );
}

#[test]
fn a_lost_order_is_asked_for_and_comes_again_and_the_session_goes_on() {
    let mut pair = logged_on(30);
    let mut out = [0; 512];
    for id in 1..=5 {
        let now = pair.time();
        let range = pair.buyer.send(now, &order(id, now), &mut out).expect("an order");
        // Number 3, the second order, gets lost.
        if id != 2 {
            pair.send_to_venue(&out[range]);
        }
    }
    pair.settle();
    // Orders 3 to 5 waited for it; that they came again as well made no second order of them.
    let orders: Vec<String> = (1..=5).map(|id| format!("venue order {id}")).collect();
    assert_eq!(pair.log, orders);
    assert_eq!(pair.count("< 35=2|34=2|49=VENUE|52=20260302-09:30:00.000|56=BUYER|7=3|16=0|"), 1);
    assert_eq!(
        pair.count(
            "> 35=D|34=3|43=Y|49=BUYER|52=20260302-09:30:00.000|56=VENUE|\
             122=20260302-09:30:00.000|11=2|"
        ),
        1
    );
    assert_eq!(pair.count("< 35=2"), 1);
    let now = pair.time();
    let range = pair.buyer.send(now, &order(6, now), &mut out).expect("an order");
    pair.send_to_venue(&out[range]);
    pair.settle();
    assert_eq!(pair.log.last().map(String::as_str), Some("venue order 6"));
    assert_eq!(pair.log.len(), 6);
    let counters = pair.venue.counters();
    assert_eq!((counters.gaps, counters.out_of_sequence, counters.duplicates), (1, 3, 3));
}

#[test]
fn both_sides_can_miss_messages_at_once() {
    let mut pair = logged_on(30);
    let mut out = [0; 512];
    let now = pair.time();
    let mine = order(1, now);
    for lost in [true, false] {
        let range = pair.buyer.send(now, &mine, &mut out).expect("an order");
        if !lost {
            pair.send_to_venue(&out[range]);
        }
        let report = report(&mine, now);
        let range = pair.venue.send(now, &report, &mut out).expect("a report");
        if !lost {
            pair.send_to_buyer(&out[range]);
        }
    }
    pair.settle();
    assert_eq!((pair.count("> 35=2"), pair.count("< 35=2")), (1, 1));
    assert_eq!(pair.buyer.next_expected(), pair.venue.next_outgoing());
    assert_eq!(pair.venue.next_expected(), pair.buyer.next_outgoing());
    pair.run_until(120.0);
    assert!(pair.buyer.is_active() && pair.venue.is_active());
}

#[test]
fn a_gap_that_nobody_fills_ends_the_session() {
    let mut pair = logged_on(0);
    let mut out = [0; 512];
    let now = pair.time();
    pair.buyer.send(now, &order(1, now), &mut out).expect("an order");
    let range = pair.buyer.send(now, &order(2, now), &mut out).expect("an order");
    pair.buyer_is_deaf = true;
    pair.send_to_venue(&out[range]);
    pair.settle();
    pair.run_until(29.0);
    assert!(pair.venue.is_active());
    pair.run_until(31.0);
    assert_eq!(pair.log, ["venue disconnect: ResendTimeout"]);
    assert_eq!(pair.count("< 35=5|34=3|49=VENUE|52=20260302-09:30:30.000|56=BUYER|58="), 1);
}

#[test]
fn a_logout_is_answered_and_both_sides_close() {
    let mut pair = logged_on(30);
    assert_eq!(pair.buyer.logout(pair.time(), "end of day"), None);
    assert!(!pair.buyer.is_active());
    pair.settle();
    assert_eq!(pair.log, ["venue logged out [end of day]", "buyer logged out []"]);
    assert!(pair.buyer.is_closed() && pair.venue.is_closed());
    assert_eq!((pair.count("> 35=5"), pair.count("< 35=5")), (1, 1));
}

#[test]
fn a_logout_without_an_answer_ends_by_itself() {
    let mut pair = logged_on(30);
    pair.buyer_is_deaf = true;
    pair.buyer.logout(pair.time(), "");
    pair.settle();
    pair.run_until(10.1);
    assert_eq!(pair.log, ["venue logged out []", "buyer disconnect: LogoutTimeout"]);
}

#[test]
fn a_report_that_crosses_a_logout_still_arrives() {
    let mut pair = logged_on(30);
    let mut out = [0; 512];
    let now = pair.time();
    let report = report(&order(1, now), now);
    let range = pair.venue.send(now, &report, &mut out).expect("a report");
    pair.buyer.logout(now, "");
    pair.send_to_buyer(&out[range]);
    pair.settle();
    assert!(pair.log.contains(&"buyer report Trade of 1".to_string()), "{:?}", pair.log);
    assert!(pair.buyer.is_closed() && pair.venue.is_closed());
}

#[test]
fn a_connection_without_a_logon_ends_by_itself() {
    let mut pair = Pair::new(30);
    pair.venue_is_deaf = true;
    pair.connect();
    pair.run_until(11.0);
    assert_eq!(pair.log, ["buyer disconnect: LogonTimeout", "venue disconnect: LogonTimeout"]);
}

#[test]
fn a_new_connection_starts_again_at_one() {
    let mut pair = logged_on(30);
    let mut out = [0; 512];
    let now = pair.time();
    let range = pair.buyer.send(now, &order(1, now), &mut out).expect("an order");
    pair.send_to_venue(&out[range]);
    pair.settle();
    pair.buyer.transport_closed(now);
    pair.venue.transport_closed(now);
    assert!(pair.buyer.send(now, &order(2, now), &mut out).is_err());
    pair.connect();
    assert!(pair.buyer.is_active());
    assert_eq!((pair.buyer.next_outgoing(), pair.venue.next_expected()), (2, 2));
}

#[test]
fn a_reset_in_session_restarts_both_counts() {
    let mut pair = logged_on(30);
    pair.run_until(100.0);
    let reset = "35=A|34=1|49=BUYER|52=20260302-09:31:40.000|56=VENUE|98=0|108=20|141=Y|";
    pair.wire.clear();
    let now = pair.time();
    let bytes = message(reset);
    let event = pair.venue.handle_bytes(now, &bytes).event;
    assert!(matches!(event, Some(Told::LoggedOn)));
    let mut out = [0; 512];
    let range = pair.venue.poll_transmit(now, &mut out).expect("an answer");
    assert_eq!(
        body(&out[range]),
        "35=A|34=1|49=VENUE|52=20260302-09:31:40.000|56=BUYER|98=0|108=20|141=Y|"
    );
    assert_eq!((pair.venue.next_outgoing(), pair.venue.next_expected()), (2, 2));
}
