//! Messages written by hand from the standard (FIX 4.4 volumes 1 and 2), byte for byte; lengths
//! and sums were computed outside of this crate.

use taut_fix::{
    CancelRejectReason, ExecType, ExecutionReport, OrdStatus, OrderCancelReject, OrderFlow,
    ResponseTo,
};
use taut_types::{Price, Qty};

use crate::support::{
    Driver, Told, acceptor, at, cancel, initiator, message, order, report, shown, text,
};

const LOGON: &str =
    "8=FIX.4.4|9=71|35=A|34=1|49=BUYER|52=20260302-09:30:00.250|56=VENUE|98=0|108=30|141=Y|10=039|";
const LOGON_REPLY: &str =
    "8=FIX.4.4|9=71|35=A|34=1|49=VENUE|52=20260302-09:30:00.250|56=BUYER|98=0|108=30|141=Y|10=039|";

const NOW: f64 = 0.25;

fn wire(text: &str) -> Vec<u8> {
    text.replace('|', "\x01").into_bytes()
}

fn next(session: &mut Driver) -> String {
    let mut out = [0; 512];
    let range = session.poll_transmit(at(NOW), &mut out).expect("a message");
    shown(&out[range])
}

fn buyer() -> Driver {
    let mut session = initiator(30);
    session.connect(at(NOW));
    assert_eq!(next(&mut session), LOGON);
    session.handle_bytes(at(NOW), &wire(LOGON_REPLY));
    assert!(session.is_active());
    session
}

fn venue() -> Driver {
    let mut session = acceptor();
    session.connect(at(NOW));
    session.handle_bytes(at(NOW), &wire(LOGON));
    assert_eq!(next(&mut session), LOGON_REPLY);
    session
}

/// What the venue answers to a message of the buyer.
fn answer(body: &str) -> String {
    let mut venue = venue();
    venue.handle_bytes(at(NOW), &message(body));
    next(&mut venue)
}

#[test]
fn logon_both_ways() {
    buyer();
    venue();
}

#[test]
fn heartbeat_with_and_without_an_id() {
    let header = "49=BUYER|52=20260302-09:30:00.250|56=VENUE";
    let mut venue = venue();
    venue.handle_bytes(at(NOW), &message(&format!("35=1|34=2|{header}|112=HELLO|")));
    assert_eq!(
        next(&mut venue),
        "8=FIX.4.4|9=63|35=0|34=2|49=VENUE|52=20260302-09:30:00.250|56=BUYER|112=HELLO|10=024|"
    );
    venue.handle_timeout(at(NOW + 30.0));
    assert_eq!(
        next(&mut venue),
        "8=FIX.4.4|9=53|35=0|34=3|49=VENUE|52=20260302-09:30:00.250|56=BUYER|10=210|"
    );
}

#[test]
fn test_request() {
    let mut venue = venue();
    // A heartbeat is due as well, but the request says as much.
    venue.handle_timeout(at(NOW + 36.0));
    assert_eq!(
        next(&mut venue),
        "8=FIX.4.4|9=62|35=1|34=2|49=VENUE|52=20260302-09:30:00.250|56=BUYER|112=TEST|10=228|"
    );
}

#[test]
fn resend_request() {
    assert_eq!(
        answer("35=0|34=9|49=BUYER|52=20260302-09:30:00.250|56=VENUE|"),
        "8=FIX.4.4|9=62|35=2|34=2|49=VENUE|52=20260302-09:30:00.250|56=BUYER|7=2|16=0|10=079|"
    );
}

#[test]
fn reject() {
    assert_eq!(
        answer(
            "35=D|34=2|49=BUYER|52=20260302-09:30:00.250|56=VENUE|11=1|38=1|40=1|54=1|\
             60=20260302-09:30:00|"
        ),
        "8=FIX.4.4|9=101|35=3|34=2|49=VENUE|52=20260302-09:30:00.250|56=BUYER|45=2|\
         58=Required tag missing|371=55|372=D|373=1|10=166|"
    );
}

#[test]
fn sequence_reset() {
    assert_eq!(
        answer("35=2|34=2|49=BUYER|52=20260302-09:30:00.250|56=VENUE|7=1|16=0|"),
        "8=FIX.4.4|9=95|35=4|34=1|43=Y|49=VENUE|52=20260302-09:30:00.250|56=BUYER|\
         122=20260302-09:30:00.250|36=2|123=Y|10=210|"
    );
}

#[test]
fn logout() {
    let mut venue = venue();
    let header = "49=BUYER|52=20260302-09:30:00.250|56=VENUE";
    venue.handle_bytes(at(NOW), &message(&format!("35=0|34=2|{header}|")));
    venue.handle_bytes(at(NOW), &message(&format!("35=0|34=1|{header}|")));
    assert_eq!(
        next(&mut venue),
        "8=FIX.4.4|9=102|35=5|34=2|49=VENUE|52=20260302-09:30:00.250|56=BUYER|\
         58=MsgSeqNum too low, expecting 3 but received 1|10=153|"
    );
}

#[test]
fn new_order_single() {
    let golden = "8=FIX.4.4|9=124|35=D|34=2|49=BUYER|52=20260302-09:30:00.250|56=VENUE|11=42|\
                  38=100|40=2|44=585.33|54=1|55=AAPL|59=0|60=20260302-09:30:00.250|10=067|";
    let order = order(42, at(NOW));
    let mut out = [0; 512];
    let range = buyer().send(at(NOW), &order, &mut out).expect("an order");
    assert_eq!(shown(&out[range]), golden);
    let read = wire(golden);
    assert_eq!(
        venue().handle_bytes(at(NOW), &read).event,
        Some(Told::Flow(OrderFlow::NewOrderSingle(order)))
    );
}

#[test]
fn order_cancel_request() {
    let golden = "8=FIX.4.4|9=110|35=F|34=2|49=BUYER|52=20260302-09:30:00.250|56=VENUE|11=43|\
                  38=100|41=42|54=1|55=AAPL|60=20260302-09:30:00.250|10=190|";
    let cancel = cancel(43, 42, at(NOW));
    let mut out = [0; 512];
    let range = buyer().send(at(NOW), &cancel, &mut out).expect("a cancel");
    assert_eq!(shown(&out[range]), golden);
    let read = wire(golden);
    assert_eq!(
        venue().handle_bytes(at(NOW), &read).event,
        Some(Told::Flow(OrderFlow::OrderCancelRequest(cancel)))
    );
}

#[test]
fn execution_report_of_a_trade() {
    let golden = "8=FIX.4.4|9=165|35=8|34=2|49=VENUE|52=20260302-09:30:00.250|56=BUYER|6=585.33|\
                  11=42|14=40|17=E1|31=585.33|32=40|37=V1|38=100|39=1|54=1|55=AAPL|\
                  60=20260302-09:30:00.250|150=F|151=60|10=187|";
    let report = report(&order(42, at(NOW)), at(NOW));
    both_ways(&report, golden);
}

#[test]
fn execution_report_of_a_refusal() {
    let golden = "8=FIX.4.4|9=168|35=8|34=2|49=VENUE|52=20260302-09:30:00.250|56=BUYER|6=0|11=42|\
                  14=0|17=E1|37=NONE|38=100|39=8|54=1|55=AAPL|58=no such symbol|\
                  60=20260302-09:30:00.250|103=1|150=8|151=0|10=037|";
    let report = ExecutionReport {
        order_id: text("NONE"),
        exec_type: ExecType::Rejected,
        ord_status: OrdStatus::Rejected,
        last_qty: Qty::whole(0),
        last_price: None,
        leaves_qty: Qty::whole(0),
        cum_qty: Qty::whole(0),
        avg_price: Some(Price(0)),
        ord_rej_reason: Some(1),
        text: b"no such symbol",
        ..report(&order(42, at(NOW)), at(NOW))
    };
    both_ways(&report, golden);
}

fn both_ways(report: &ExecutionReport<'_>, golden: &str) {
    let mut out = [0; 512];
    let range = venue().send(at(NOW), report, &mut out).expect("a report");
    assert_eq!(shown(&out[range]), golden);
    let read = wire(golden);
    assert_eq!(
        buyer().handle_bytes(at(NOW), &read).event,
        Some(Told::Flow(OrderFlow::ExecutionReport(*report)))
    );
}

#[test]
fn order_cancel_reject() {
    let golden = "8=FIX.4.4|9=98|35=9|34=2|49=VENUE|52=20260302-09:30:00.250|56=BUYER|11=43|37=V1|\
                  39=2|41=42|58=filled|102=0|434=1|10=036|";
    let reject = OrderCancelReject {
        order_id: text("V1"),
        cl_ord_id: text("43"),
        orig_cl_ord_id: Some(text("42")),
        ord_status: OrdStatus::Filled,
        response_to: ResponseTo::CancelRequest,
        reason: Some(CancelRejectReason::TooLateToCancel),
        text: b"filled",
    };
    let mut out = [0; 512];
    let range = venue().send(at(NOW), &reject, &mut out).expect("a reject");
    assert_eq!(shown(&out[range]), golden);
    let read = wire(golden);
    assert_eq!(
        buyer().handle_bytes(at(NOW), &read).event,
        Some(Told::Flow(OrderFlow::OrderCancelReject(reject)))
    );
}

#[test]
fn business_message_reject() {
    let golden = "8=FIX.4.4|9=98|35=j|34=2|49=VENUE|52=20260302-09:30:00.250|56=BUYER|45=2|\
                  58=Unsupported Message Type|372=Y|380=3|10=039|";
    assert_eq!(answer("35=Y|34=2|49=BUYER|52=20260302-09:30:00.250|56=VENUE|262=1|"), golden);
    let read = wire(golden);
    let event = buyer().handle_bytes(at(NOW), &read).event;
    let Some(Told::Flow(OrderFlow::BusinessMessageReject(reject))) = event else {
        panic!("{event:?}")
    };
    assert_eq!((reject.ref_sequence, reject.ref_msg_type, reject.ref_id), (2, text("Y"), None));
}
