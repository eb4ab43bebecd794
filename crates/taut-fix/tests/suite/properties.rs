//! Properties over random input. A failing case prints its seed and replays from it.

use proptest::prelude::*;
use taut_fix::{
    Body, ExecTransType, ExecType, ExecutionReport, FieldIndex, Framed, LongText,
    MESSAGE_BYTES_MAX, MassCancelType, MassStatus, MassStatusType, NewOrderSingle, OrdStatus,
    OrderCancelReplaceRequest, OrderCancelRequest, OrderFlow, OrderMassCancelReport,
    OrderMassCancelRequest, OrderMassStatusRequest, OrderStatusRequest, PositionReport,
    RequestForPositions, Role, SessionConfig, ShortText, frame,
};
use taut_types::{Nanos, OrderFlags, OrderType, Price, Qty, Side, TimeInForce};

use crate::support::{Driver, Told, acceptor, at, config, initiator, message, sent, told};

const HEADER: &str = "49=BUYER|52=20260302-09:30:00.000|56=VENUE";

fn short() -> impl Strategy<Value = ShortText> {
    prop::collection::vec(0x20u8..=0x7e, 1..=23)
        .prop_map(|bytes| ShortText::new(&bytes).expect("a short text"))
}

fn side() -> impl Strategy<Value = Side> {
    prop::bool::ANY.prop_map(|buys| if buys { Side::Buy } else { Side::Sell })
}

/// A quantity with as many decimals as it needs.
fn qty(least: i64) -> impl Strategy<Value = Qty> {
    let decimals = prop_oneof![Just(0u8), 0u8..=18];
    (least..=i64::MAX, decimals).prop_map(|(mantissa, decimals)| {
        let mut qty = Qty { mantissa, decimals };
        while let Some(shorter) = qty.decimals.checked_sub(1).and_then(|it| qty.with_decimals(it)) {
            qty = shorter;
        }
        qty
    })
}

/// Whole milliseconds, as timestamps are written, between 1990 and 2150.
fn millis() -> impl Strategy<Value = Nanos> {
    (631_152_000_000i64..5_680_281_600_000).prop_map(Nanos::from_millis)
}

fn long() -> impl Strategy<Value = LongText> {
    prop::collection::vec(0x20u8..=0x7e, 1..=39)
        .prop_map(|bytes| LongText::new(&bytes).expect("a long text"))
}

fn maybe_long() -> impl Strategy<Value = Option<LongText>> {
    prop::option::of(long())
}

fn maybe_price() -> impl Strategy<Value = Option<Price>> {
    prop::option::of(any::<i64>().prop_map(Price))
}

prop_compose! {
    fn new_order()(
        ids in (short(), prop::option::of(short()), short()),
        side in side(),
        time_in_force in 0u8..4,
        flags in 0u8..4,
        prices in [maybe_price(), maybe_price()],
        qty in qty(1),
        max_floor in prop::option::of(qty(0)),
        transact_time in millis(),
    ) -> NewOrderSingle {
        let (cl_ord_id, account, symbol) = ids;
        let [price, stop_price] = prices;
        NewOrderSingle {
            cl_ord_id,
            account,
            symbol,
            side,
            order_type: if price.is_some() { OrderType::Limit } else { OrderType::Market },
            time_in_force: TimeInForce::from_index(time_in_force).expect("an index"),
            flags: OrderFlags::from_bits(flags).expect("known bits"),
            price,
            stop_price,
            qty,
            max_floor,
            transact_time,
        }
    }
}

fn status_request() -> impl Strategy<Value = OrderStatusRequest> {
    (short(), short(), side(), prop::option::of(short())).prop_map(
        |(cl_ord_id, symbol, side, request_id)| OrderStatusRequest {
            cl_ord_id,
            symbol,
            side,
            request_id,
        },
    )
}

fn mass_status_request() -> impl Strategy<Value = OrderMassStatusRequest> {
    (short(), (0x21..0x7f_u8).prop_map(MassStatusType::from_byte), prop::option::of(short()))
        .prop_map(|(request_id, scope, symbol)| OrderMassStatusRequest {
            request_id,
            scope,
            symbol,
        })
}

fn positions_request() -> impl Strategy<Value = RequestForPositions> {
    (short(), prop::option::of(short()), millis()).prop_map(
        |(request_id, account, transact_time)| RequestForPositions {
            request_id,
            account,
            transact_time,
        },
    )
}

fn position_report() -> impl Strategy<Value = PositionReport> {
    let number = || prop::option::of(any::<u32>());
    ((long(), maybe_long(), maybe_long(), maybe_long()), number(), any::<u32>(), 0..40_000_i64)
        .prop_map(|((report_id, request_id, account, symbol), total, result, day)| {
            let qty = |qty| if symbol.is_some() { Qty::whole(qty) } else { Qty::ZERO };
            PositionReport {
                report_id,
                request_id,
                total,
                result,
                business_day: Nanos::from_secs(day * 86_400),
                account,
                symbol,
                long: qty(day),
                short: qty(i64::from(result)),
                settlement_price: Price(day),
            }
        })
}

fn mass_cancel_request() -> impl Strategy<Value = OrderMassCancelRequest> {
    (short(), prop::option::of(short()), prop::option::of(side()), millis()).prop_map(
        |(cl_ord_id, symbol, side, transact_time)| OrderMassCancelRequest {
            cl_ord_id,
            scope: if symbol.is_some() { MassCancelType::Security } else { MassCancelType::All },
            symbol,
            side,
            transact_time,
        },
    )
}

fn mass_cancel_report() -> impl Strategy<Value = OrderMassCancelReport<'static>> {
    let code = || (0x21..0x7f_u8).prop_map(MassCancelType::from_byte);
    let number = || prop::option::of(any::<u32>());
    (maybe_long(), long(), code(), code(), number(), number()).prop_map(
        |(cl_ord_id, order_id, scope, response, reason, affected)| OrderMassCancelReport {
            cl_ord_id,
            order_id,
            scope,
            response,
            reason,
            affected,
            text: b"all of them",
        },
    )
}

fn cancel_request() -> impl Strategy<Value = OrderCancelRequest> {
    (short(), short(), short(), side(), qty(0), millis()).prop_map(
        |(cl_ord_id, orig_cl_ord_id, symbol, side, qty, transact_time)| OrderCancelRequest {
            cl_ord_id,
            orig_cl_ord_id,
            symbol,
            side,
            qty,
            transact_time,
        },
    )
}

prop_compose! {
    fn execution_report()(
        ids in (long(), long(), maybe_long(), maybe_long(), maybe_long()),
        refs in (maybe_long(), prop::option::of(prop::sample::select(ExecTransType::ALL))),
        mass in prop::option::of((long(), prop::option::of(any::<u32>()), any::<bool>())),
        account in maybe_long(),
        exec_type in (0x21..0x7f_u8).prop_map(ExecType::from_byte),
        ord_status in (0x21..0x7f_u8).prop_map(OrdStatus::from_byte),
        side in side(),
        quantities in (prop::option::of(qty(0)), qty(0), qty(0), qty(0)),
        prices in [maybe_price(), maybe_price(), maybe_price()],
        ord_rej_reason in prop::option::of(prop::sample::select(&[0, 1, 2, 3, 6, 11, 13, 99][..])),
        transact_time in prop::option::of(millis()),
    ) -> ExecutionReport<'static> {
        let (order_id, exec_id, cl_ord_id, orig_cl_ord_id, symbol) = ids;
        let (order_qty, last_qty, leaves_qty, cum_qty) = quantities;
        let [last_price, avg_price, price] = prices;
        ExecutionReport {
            order_id, exec_id, cl_ord_id, orig_cl_ord_id, exec_type, ord_status, symbol, side,
            order_qty, last_qty, last_price, leaves_qty, cum_qty, avg_price, ord_rej_reason,
            account, price,
            exec_ref_id: refs.0,
            exec_trans_type: refs.1,
            charges: taut_fix::Charges::NONE,
            mass_status: mass.map(|(request_id, total, is_last)| MassStatus {
                request_id,
                total,
                is_last,
            }),
            text: b"as it was = said",
            transact_time,
        }
    }
}

fn logged_on() -> (Driver, Driver) {
    log_on(initiator(30), acceptor())
}

/// Without a dictionary: codes that no version has pass, too.
fn logged_on_to_anything() -> (Driver, Driver) {
    let open = |role| Driver::new(SessionConfig { dictionaries: None, ..config(role) });
    log_on(open(Role::Initiator), open(Role::Acceptor))
}

fn log_on(mut buyer: Driver, mut venue: Driver) -> (Driver, Driver) {
    buyer.connect(at(0.0));
    venue.connect(at(0.0));
    let mut out = [0; 512];
    let range = buyer.poll_transmit(at(0.0), &mut out).expect("a Logon");
    venue.handle_bytes(at(0.0), &out[range]);
    let range = venue.poll_transmit(at(0.0), &mut out).expect("a reply");
    buyer.handle_bytes(at(0.0), &out[range]);
    (buyer, venue)
}

/// A venue's whole life in one stream: orders, a garbled message, a gap, a reject, a logout.
fn life() -> Vec<u8> {
    let order = "11=1|38=100|40=2|44=585.33|54=1|55=AAPL|60=20260302-09:30:00.000|";
    let mut stream = message(&format!("35=A|34=1|{HEADER}|98=0|108=30|95=5|96=a|b=c|"));
    stream.extend(message(&format!("35=D|34=2|{HEADER}|{order}")));
    stream.extend(b"noise \x01 8=FIX 9=\x01");
    stream.extend(message(&format!("35=D|34=3|{HEADER}|11=1|")));
    stream.extend(message(&format!("35=1|34=5|{HEADER}|112=HELLO|")));
    stream.extend(message(&format!("35=4|34=4|{HEADER}|43=Y|122=20260302-09:30:00|36=6|123=Y|")));
    stream.extend(message(&format!(
        "35=F|34=6|{HEADER}|11=2|38=100|41=1|54=1|55=AAPL|60=20260302-09:30:00|"
    )));
    stream.extend(message(&format!("35=2|34=7|{HEADER}|7=1|16=0|")));
    stream.extend(message(&format!("35=5|34=8|{HEADER}|58=bye|")));
    stream
}

/// Feeds pieces as a driver does, and tells all that came of it.
fn tell(pieces: &[&[u8]]) -> Vec<String> {
    let mut venue = acceptor();
    venue.connect(at(0.0));
    let (mut story, mut buffer) = (Vec::new(), Vec::new());
    for piece in pieces {
        buffer.extend_from_slice(piece);
        loop {
            let handled = venue.handle_bytes(at(0.0), &buffer);
            let consumed = handled.consumed;
            story.extend(handled.event.map(|event| told(&event)));
            story.extend(sent(&mut venue, at(0.0)));
            if consumed == 0 {
                break;
            }
            buffer.drain(..consumed);
        }
    }
    story
}

#[test]
fn every_split_in_two_tells_the_same_story() {
    let stream = life();
    let whole = tell(&[&stream]);
    assert_eq!(whole.iter().filter(|line| !line.starts_with("35=")).count(), 4, "{whole:#?}");
    assert_eq!(
        whole.last().map(String::as_str),
        Some("35=5|34=4|49=VENUE|52=20260302-09:30:00.000|56=BUYER|")
    );
    for cut in 0..=stream.len() {
        assert_eq!(tell(&[&stream[..cut], &stream[cut..]]), whole, "cut at {cut}");
    }
    let bytes: Vec<&[u8]> = stream.chunks(1).collect();
    assert_eq!(tell(&bytes), whole);
}

const MSG_TYPES: &[&str] = &["0", "1", "2", "3", "4", "5", "8", "9", "A", "D", "F", "j", "E", "?"];
const TAGS: &[u32] = &[
    6, 7, 11, 14, 16, 17, 31, 32, 34, 36, 37, 38, 39, 40, 41, 43, 44, 45, 54, 55, 58, 59, 60, 95,
    96, 97, 98, 102, 103, 108, 112, 122, 123, 141, 150, 151, 371, 372, 373, 379, 380, 434,
];
const VALUES: &[&str] = &[
    "",
    "0",
    "1",
    "2",
    "Y",
    "N",
    "-1",
    "9",
    "100.0",
    "18446744073709551615",
    "99999999999999999999",
    "20260302-09:30:00",
    "x",
    "F",
];

proptest! {
    #[test]
    fn what_is_asked_about_many_survives_the_wire(
        status in status_request(),
        mass_status in mass_status_request(),
        mass_cancel in mass_cancel_request(),
        report in mass_cancel_report(),
        positions in positions_request(),
        position in position_report(),
        order in new_order(),
        orig_cl_ord_id in short(),
    ) {
        let replace = OrderCancelReplaceRequest { orig_cl_ord_id, order };
        let (mut buyer, mut venue) = logged_on_to_anything();
        let mut out = [0; 512];
        let range = buyer.send(at(0.0), &status, &mut out).expect("room");
        let event = venue.handle_bytes(at(0.0), &out[range]).event;
        prop_assert_eq!(event, Some(Told::Flow(OrderFlow::OrderStatusRequest(status))));
        let range = buyer.send(at(0.0), &mass_status, &mut out).expect("room");
        let event = venue.handle_bytes(at(0.0), &out[range]).event;
        prop_assert_eq!(event, Some(Told::Flow(OrderFlow::OrderMassStatusRequest(mass_status))));
        let range = buyer.send(at(0.0), &mass_cancel, &mut out).expect("room");
        let event = venue.handle_bytes(at(0.0), &out[range]).event;
        prop_assert_eq!(event, Some(Told::Flow(OrderFlow::OrderMassCancelRequest(mass_cancel))));
        let range = buyer.send(at(0.0), &positions, &mut out).expect("room");
        let event = venue.handle_bytes(at(0.0), &out[range]).event;
        prop_assert_eq!(event, Some(Told::Flow(OrderFlow::RequestForPositions(positions))));
        let range = venue.send(at(0.0), &position, &mut out).expect("room");
        let event = buyer.handle_bytes(at(0.0), &out[range]).event;
        prop_assert_eq!(event, Some(Told::Flow(OrderFlow::PositionReport(position))));
        let range = buyer.send(at(0.0), &replace, &mut out).expect("room");
        let event = venue.handle_bytes(at(0.0), &out[range]).event;
        prop_assert_eq!(event, Some(Told::Flow(OrderFlow::OrderCancelReplaceRequest(replace))));
        let range = venue.send(at(0.0), &report, &mut out).expect("room");
        let event = buyer.handle_bytes(at(0.0), &out[range]).event;
        prop_assert_eq!(event, Some(Told::Flow(OrderFlow::OrderMassCancelReport(report))));
    }

    #[test]
    fn orders_survive_the_wire(order in new_order()) {
        let (mut buyer, mut venue) = logged_on();
        let mut out = [0; 512];
        let range = buyer.send(at(0.0), &order, &mut out).expect("an order");
        let handled = venue.handle_bytes(at(0.0), &out[range.clone()]);
        prop_assert_eq!(handled.consumed, range.len());
        prop_assert_eq!(handled.event, Some(Told::Flow(OrderFlow::NewOrderSingle(order))));
    }

    #[test]
    fn cancels_survive_the_wire(cancel in cancel_request()) {
        let (mut buyer, mut venue) = logged_on();
        let mut out = [0; 512];
        let range = buyer.send(at(0.0), &cancel, &mut out).expect("a cancel");
        let event = venue.handle_bytes(at(0.0), &out[range]).event;
        prop_assert_eq!(event, Some(Told::Flow(OrderFlow::OrderCancelRequest(cancel))));
    }

    #[test]
    fn reports_survive_the_wire(report in execution_report()) {
        let (mut buyer, mut venue) = logged_on_to_anything();
        let mut out = [0; 1024];
        let range = venue.send(at(0.0), &report, &mut out).expect("a report");
        let event = buyer.handle_bytes(at(0.0), &out[range]).event;
        prop_assert_eq!(event, Some(Told::Flow(OrderFlow::ExecutionReport(report))));
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = frame(&bytes, MESSAGE_BYTES_MAX);
        tell(&[&bytes]);
        let (_, mut venue) = logged_on();
        feed(&mut venue, &bytes);
    }

    #[test]
    fn mutated_messages_never_panic_nor_stall(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..3), 1..8),
        repair in prop::bool::ANY,
    ) {
        let mut stream = life();
        for (place, byte, kind) in edits {
            let place = place.index(stream.len());
            match kind {
                0 => stream[place] = byte,
                1 => stream.insert(place, byte),
                _ => { stream.remove(place); }
            }
        }
        if repair {
            stream = repaired(&stream);
        }
        tell(&[&stream]);
        let (_, mut venue) = logged_on();
        feed(&mut venue, &stream);
    }

    #[test]
    fn fields_in_any_order_and_number_never_panic(
        msg_type in prop::sample::select(MSG_TYPES),
        fields in prop::collection::vec(
            (prop::sample::select(TAGS), prop::sample::select(VALUES)),
            0..20,
        ),
        sequence in prop::sample::select(&[0u64, 1, 2, 3, u64::MAX][..]),
    ) {
        let mut body = format!("35={msg_type}|34={sequence}|{HEADER}|");
        for (tag, value) in fields {
            body += &format!("{tag}={value}|");
        }
        let mut bytes = message(&body);
        bytes.extend(message(&format!("35=1|34=3|{HEADER}|112=x|")));
        tell(&[&bytes]);
        let (_, mut venue) = logged_on();
        feed(&mut venue, &bytes);
    }
}

fn feed(session: &mut Driver, bytes: &[u8]) {
    let mut at_byte = 0;
    // Each call consumes, or the rest is no whole message.
    for _ in 0..=bytes.len() {
        let handled = session.handle_bytes(at(0.0), &bytes[at_byte..]);
        sent(session, at(0.0));
        at_byte += handled.consumed;
        if handled.consumed == 0 {
            return;
        }
    }
    panic!("the session does not come to an end");
}

/// Recomputes lengths and sums, so that mutations reach behind the framing.
fn repaired(stream: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(stream).replace('\x01', "|");
    let mut stream = Vec::new();
    for part in text.split("8=FIX.4.4|9=").skip(1) {
        let body = part.split_once('|').map_or("", |(_, body)| body);
        let body = body.rsplit_once("10=").map_or(body, |(body, _)| body);
        stream.extend(message(&format!("{}|", body.trim_end_matches('|'))));
    }
    stream
}

proptest! {
    #[test]
    fn a_header_is_read_from_every_frame_that_has_one(sequence in any::<u64>()) {
        let bytes = message(&format!("35=0|34={sequence}|{HEADER}|"));
        let Ok(Framed::Message(found)) = frame(&bytes, MESSAGE_BYTES_MAX) else { panic!("none") };
        let mut index = FieldIndex::with_capacity(8);
        index.fill(&found).expect("an index");
        let slot = index.find(34).expect("a number");
        prop_assert_eq!(slot.field(&bytes).number(), Ok(sequence));
        prop_assert_eq!(Body::new(&bytes, &index).count(), 0);
    }
}
