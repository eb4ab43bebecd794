//! Replacements in two steps, and what nobody knows the outcome of.

use super::*;

#[test]
fn of_what_nobody_knows_nothing_is_said() {
    for (status, error) in [
        (408, r#""code":-1007,"msg":"Timeout waiting for response from backend server.""#),
        (500, r#""code":-1000,"msg":"An unknown error occurred.""#),
        (400, r#""code":-2010,"msg":"Duplicate order sent.""#),
        (400, r#""code":-31337,"msg":"new""#),
    ] {
        let mut line = Line::up();
        line.create(&terms()).unwrap();
        assert_eq!(line.fails(status, error), [], "{error}");
        assert!(line.next().is_empty(), "nothing is sent again");
    }
}

#[test]
fn a_replacement_that_fails_says_what_is_left() {
    let error = |code: i64, cancel: &str, place: &str, cancelled: &str, placed: &str| {
        format!(
            concat!(
                r#""code":{},"msg":"Order cancel-replace failed.","data":{{"cancelResult":"{}","#,
                r#""newOrderResult":"{}","cancelResponse":{},"newOrderResponse":{}}}"#
            ),
            code, cancel, place, cancelled, placed
        )
    };
    let restricted = r#"{"code":-2011,"msg":"Order was not canceled due to cancel restrictions."}"#;
    let unknown = r#"{"code":-2011,"msg":"Unknown order sent."}"#;
    for (cancelled, is_over) in [(restricted, false), (unknown, true)] {
        let mut line = Line::resting(None);
        line.modify(1, 2, &at(43_001, 4)).unwrap();
        let error = error(-2_022, "FAILURE", "NOT_ATTEMPTED", cancelled, "null");
        assert_eq!(refusal(line.fails(400, &error)), (Some(request(2)), is_over));
        // It is what it was.
        let cancel = line.cancel(1, 3).unwrap();
        assert!(cancel.contains(r#""orderId":42"#), "{cancel}");
    }
    let done = r#"{"orderId":42,"origClientOrderId":"{1}","status":"CANCELED"}"#;
    let mut line = Line::resting(None);
    line.modify(1, 2, &at(43_001, 4)).unwrap();
    let poor = r#"{"code":-2010,"msg":"Account has insufficient balance."}"#;
    let half = only(line.fails(409, &error(-2_021, "SUCCESS", "FAILURE", done, poor)));
    assert_eq!((half.request, half.event), (Some(request(2)), Some(OrderEvent::Cancelled)));
    // Whether the second half was done nobody knows.
    let mut line = Line::resting(None);
    line.modify(1, 2, &at(43_001, 4)).unwrap();
    let late = r#"{"code":-1007,"msg":"Timeout."}"#;
    assert_eq!(line.fails(409, &error(-2_021, "SUCCESS", "FAILURE", done, late)), []);
}

#[test]
fn a_modify_of_an_order_that_has_traded_waits_for_its_end_and_asks_for_the_rest() {
    let mut line = Line::resting(Some("0.00100000"));
    let cancel = line.modify(1, 2, &at(43_002, 5)).unwrap();
    assert!(cancel.starts_with(r#""order.cancel""#), "{cancel}");
    assert!(cancel.contains(r#""orderId":42,"newClientOrderId":"{2}-W""#), "{cancel}");
    assert_eq!(line.modify(1, 3, &at(43_003, 5)), Err(NotSent::Busy));
    // The answer comes first; a trade that crossed the cancel counts.
    let id = line.handler.last_message();
    let answer = r#"{"orderId":42,"origClientOrderId":"{1}","status":"CANCELED"}"#;
    assert_eq!(line.answer_to(id, answer), []);
    assert!(line.next().is_empty(), "not before the last trade is known");
    line.trade("{1}", 10, "0.001", "0.002", "PARTIALLY_FILLED");
    assert_eq!(line.event("CANCELED", ["{2}-W", "{1}"], "CANCELED", "0.002"), []);
    let rest = line.next();
    assert!(rest.contains(r#""quantity":"0.003","price":"43002""#), "{rest}");
    assert!(rest.contains(r#""newClientOrderId":"{2}-30d40""#), "{rest}");
    // The venue may say it twice.
    assert_eq!(line.event("CANCELED", ["{2}-W", "{1}"], "CANCELED", "0.002"), []);
    assert!(line.next().is_empty());
    let placed = r#"{"symbol":"BTCUSDT","orderId":44,"clientOrderId":"{2}-30d40"}"#;
    let replaced = only(line.answer(placed));
    assert_eq!((replaced.request, replaced.event), (Some(request(2)), Some(OrderEvent::Replaced)));
    // Totals are of the whole order.
    let trade = only(line.trade("{2}-30d40", 11, "0.003", "0.003", "FILLED"));
    assert_eq!((trade.total, trade.request), (qty(500_000), Some(request(0))));
}

#[test]
fn the_rest_does_not_come_when_the_order_is_cancelled_meanwhile_or_nothing_is_left() {
    // A cancel while it waits.
    let mut line = Line::resting(Some("0.00100000"));
    line.modify(1, 2, &at(43_002, 5)).unwrap();
    let cancel = line.cancel(2, 3).unwrap();
    assert!(cancel.contains(r#""orderId":42,"newClientOrderId":"{3}""#), "{cancel}");
    let ended = line.event("CANCELED", ["{2}-W", "{1}"], "CANCELED", "0.001");
    assert_eq!(said(&ended), [Some(OrderEvent::Cancelled)]);
    assert!(line.next().is_empty());
    // The cancel fails: the order was filled.
    let mut line = Line::resting(Some("0.00100000"));
    line.modify(1, 2, &at(43_002, 5)).unwrap();
    let refused = line.fails(400, r#""code":-2011,"msg":"Unknown order sent.""#);
    assert_eq!(refusal(refused), (Some(request(2)), true));
    // As much as was asked for has traded.
    let mut line = Line::resting(Some("0.00100000"));
    line.modify(1, 2, &at(43_002, 2)).unwrap();
    assert_eq!(line.event("CANCELED", ["{2}-W", "{1}"], "CANCELED", "0.002"), []);
    assert!(line.next().is_empty());
    let over = line.handler.handle_timeout(line.now);
    assert_eq!(said(&Vec::from_iter(over)), [Some(OrderEvent::Cancelled)]);
    // The connection ends between both.
    let mut line = Line::resting(Some("0.00100000"));
    line.modify(1, 2, &at(43_002, 5)).unwrap();
    line.event("CANCELED", ["{2}-W", "{1}"], "CANCELED", "0.001");
    line.reconnect();
    assert!(line.next().is_empty());
    line.ask().unwrap();
    let stands =
        r#"{"orderId":42,"clientOrderId":"{2}-W","status":"CANCELED","executedQty":"0.001"}"#;
    assert_eq!(only(line.answer(stands)).event, Some(OrderEvent::Status(OrderState::Cancelled)));
}

#[test]
fn that_there_is_no_such_order_counts_when_its_request_cannot_come_any_more() {
    let mut line = Line::up();
    line.create(&terms()).unwrap();
    line.reconnect();
    let ask = line.ask().unwrap();
    assert!(
        ask.contains(r#""order.status","params":{"symbol":"BTCUSDT","origClientOrderId":"{1}""#),
        "{ask}"
    );
    let unknown = r#""code":-2013,"msg":"Order does not exist.""#;
    assert_eq!(line.fails(400, unknown), []);
    assert!(line.next().is_empty(), "the window of the order is still open");
    assert_eq!(line.handler.poll_timeout(), Some(START.mono + Nanos::from_secs(3)));
    line.pass(Nanos::from_secs(3));
    assert!(line.next().contains("order.status"));
    let report = only(line.fails(400, unknown));
    assert_eq!((report.event, report.is_answer), (Some(OrderEvent::NotFound), true));
}

#[test]
fn an_answer_about_an_order_whose_rest_has_taken_its_place_counts_what_it_had_traded_once() {
    let mut line = Line::resting(Some("0.00100000"));
    line.ask().unwrap();
    let question = line.handler.last_message();
    line.modify(1, 2, &at(43_002, 5)).unwrap();
    line.event("CANCELED", ["{2}-W", "{1}"], "CANCELED", "0.001");
    assert!(line.next().contains("order.place"));
    let stood = r#"{"orderId":42,"clientOrderId":"{1}","status":"PARTIALLY_FILLED",
        "executedQty":"0.00100000","origQty":"0.004"}"#;
    let report = only(line.answer_to(question, stood));
    assert_eq!(report.total, qty(100_000));
}

/// The cancel that makes way is answered, and its event, behind which the rest leaves, never comes.
#[test]
fn an_order_whose_way_was_made_in_silence_has_ended() {
    let mut line = Line::resting(Some("0.00100000"));
    line.modify(1, 2, &at(43_002, 5)).unwrap();
    let answer = r#"{"orderId":42,"origClientOrderId":"{1}","status":"CANCELED"}"#;
    assert_eq!(line.answer(answer), []);
    let stands = concat!(
        r#"{"orderId":42,"clientOrderId":"{2}-W","origClientOrderId":"{1}","status":"CANCELED","#,
        r#""executedQty":"0.002"}"#
    );
    line.ask().unwrap();
    let early = only(line.answer(stands));
    assert_eq!(early.event, Some(OrderEvent::Status(OrderState::Working)), "it may be late");
    line.pass(Nanos::from_secs(4));
    line.ask().unwrap();
    let told = only(line.answer(stands));
    assert_eq!(told.event, Some(OrderEvent::Status(OrderState::Cancelled)));
    assert_eq!(told.total, qty(200_000));
    // Too late.
    let late = line.event("CANCELED", ["{2}-W", "{1}"], "CANCELED", "0.002");
    assert_eq!(said(&late), [Some(OrderEvent::Cancelled)]);
    assert!(line.next().is_empty());
}

/// The answer about the old order comes when its rest has left.
#[test]
fn an_answer_that_is_older_than_the_rest_ends_nothing() {
    let mut line = Line::resting(Some("0.00100000"));
    line.modify(1, 2, &at(43_002, 5)).unwrap();
    line.ask().unwrap();
    let question = line.handler.last_message();
    line.event("CANCELED", ["{2}-W", "{1}"], "CANCELED", "0.001");
    assert!(line.next().contains("order.place"));
    let stood = r#"{"orderId":42,"clientOrderId":"{2}-W","status":"CANCELED",
        "executedQty":"0.001","origQty":"0.004"}"#;
    let report = only(line.answer_to(question, stood));
    assert_eq!(report.event, Some(OrderEvent::Status(OrderState::Working)));
}

/// Two orders at the venue, one after the other, before which as much had traded.
#[test]
fn an_answer_that_is_older_than_what_took_the_orders_place_ends_nothing() {
    let stood = r#"{"orderId":42,"clientOrderId":"{2}-R","status":"CANCELED","executedQty":"0",
        "origQty":"0.003"}"#;
    let mut line = Line::resting(None);
    line.ask().unwrap();
    let question = line.handler.last_message();
    line.modify(1, 2, &at(43_002, 5)).unwrap();
    let report = only(line.answer_to(question, stood));
    assert_eq!(report.event, Some(OrderEvent::Status(OrderState::Working)));
}

/// It was taken for over, so that no name of it is known any more, and the venue lists its rest.
#[test]
fn an_order_that_is_over_here_and_listed_is_asked_about_as_it_is_listed() {
    let mut line = Line::resting(Some("0.00100000"));
    line.handler.over(ORDER);
    line.handler.ask_all(line.now).unwrap();
    let listed = concat!(
        r#"[{"orderId":44,"clientOrderId":"{2}-186a0","status":"NEW","origQty":"0.003","#,
        r#""executedQty":"0"}]"#
    );
    let listed = line.answer(listed);
    let VenueEvent::Report(report) = listed[0] else { panic!("{listed:?}") };
    assert_eq!((report.request, report.total), (Some(request(2)), qty(100_000)));
    line.handler.clear_unsent();
    let asked = line.ask().unwrap();
    assert!(asked.contains(r#""orderId":44"#), "{asked}");
    let stands = r#"{"orderId":44,"clientOrderId":"{2}-186a0","status":"NEW","origQty":"0.003",
        "executedQty":"0"}"#;
    let report = only(line.answer(stands));
    assert_eq!(report.event, Some(OrderEvent::Status(OrderState::Working)));
    // A list without it.
    line.handler.ask_all(line.now).unwrap();
    line.answer("[]");
    line.handler.clear_unsent();
    assert!(!line.ask().unwrap().contains(r#""orderId":44"#));
}

/// The order was filled, and nobody told: every change of it is refused.
#[test]
fn however_many_changes_are_refused_an_order_is_asked_about_by_its_own_name() {
    let mut line = Line::resting(None);
    for version in 2..9 {
        line.modify(1, version, &at(43_001, 4)).unwrap();
        let refused = concat!(
            r#""code":-2022,"msg":"Order cancel-replace failed.","data":{"#,
            r#""cancelResult":"FAILURE","newOrderResult":"NOT_ATTEMPTED","#,
            r#""cancelResponse":{"code":-2011,"msg":"Unknown order sent."},"#,
            r#""newOrderResponse":null}"#
        );
        assert_eq!(refusal(line.fails(400, refused)), (Some(request(version)), true));
    }
    assert!(line.ask().unwrap().contains(r#""orderId":42"#));
    // Nobody knows of these what became of them: the name that is certain stays.
    for version in 9..16 {
        line.modify(1, version, &at(43_001, 4)).unwrap();
    }
    line.pass(Nanos::from_secs(4));
    let unknown = r#""code":-2013,"msg":"Order does not exist.""#;
    let mut asked = line.ask().unwrap();
    let mut names = 1;
    while !asked.contains(r#""orderId":42"#) {
        assert_eq!(line.fails(400, unknown), []);
        (asked, names) = (line.next(), names + 1);
        assert!(!asked.is_empty(), "it is never asked about by its own name");
    }
    assert_eq!(names, 5);
}

#[test]
fn an_order_is_looked_for_under_every_name_that_it_may_have() {
    let unknown = r#""code":-2013,"msg":"Order does not exist.""#;
    let mut line = Line::resting(None);
    line.modify(1, 2, &at(43_001, 4)).unwrap();
    line.reconnect();
    line.pass(Nanos::from_secs(4));
    let ask = line.ask().unwrap();
    assert!(ask.contains(r#""origClientOrderId":"{2}""#), "{ask}");
    assert_eq!(line.fails(400, unknown), []);
    assert!(line.next().contains(r#""orderId":42"#));
    let stands = concat!(
        r#"{"orderId":42,"clientOrderId":"{1}","status":"NEW","origQty":"0.003","#,
        r#""price":"43000.5","executedQty":"0"}"#
    );
    let report = only(line.answer(stands));
    assert_eq!(report.request, Some(request(1)));
    assert_eq!(report.event, Some(OrderEvent::Status(OrderState::Working)));
    assert_eq!(report.order_qty, qty(300_000));
    // It was replaced: the answer names the request that was granted.
    line.ask().unwrap();
    let stands = concat!(
        r#"{"orderId":43,"clientOrderId":"{2}","status":"NEW","origQty":"0.004","#,
        r#""executedQty":"0"}"#
    );
    let events = line.answer(stands);
    let working = Some(OrderEvent::Status(OrderState::Working));
    assert_eq!(said(&events), [Some(OrderEvent::Replaced), working]);
    assert_eq!(only(events[1..].to_vec()).request, Some(request(2)));
}

#[test]
fn an_order_of_an_earlier_process_is_found_by_the_venues_number_and_its_later_names() {
    let lost = Order::recovered(ORDER, &terms(), 0, (2, 1), (Lots(1), 43_000_000_000_000));
    let mut line = Line::up();
    line.handler.adopt(&lost, b"42");
    let ask = line.ask().unwrap();
    assert!(ask.contains(r#""origClientOrderId":"{2}-186a0""#), "{ask}");
    assert_eq!(line.fails(400, r#""code":-2013,"msg":"Order does not exist.""#), []);
    assert!(line.next().contains(r#""orderId":42"#));
    let stands = concat!(
        r#"{"orderId":42,"clientOrderId":"{1}","status":"PARTIALLY_FILLED","executedQty":"0.001","#,
        r#""cummulativeQuoteQty":"43.0","origQty":"0.003","price":"43000.5"}"#
    );
    let report = only(line.answer(stands));
    assert_eq!((report.total, report.average), (qty(100_000), Some(Price(43_000_000_000_000))));
    // It has traded: another price is a cancel and an order for the rest.
    assert!(line.modify(1, 3, &at(43_001, 3)).unwrap().contains("order.cancel\""));
}

#[test]
fn the_question_about_all_is_answered_order_by_order() {
    let mut line = Line::resting(None);
    line.handler.ask_all(line.now).unwrap();
    assert!(line.next().contains(r#""openOrders.status","params":{"recvWindow""#));
    let events = line.answer(concat!(
        r#"[{"orderId":42,"clientOrderId":"{1}","status":"NEW","executedQty":"0.0"},"#,
        r#"{"orderId":99,"clientOrderId":"web_1","status":"NEW","executedQty":"0.0"}]"#
    ));
    let [VenueEvent::Report(ours), VenueEvent::Report(other), VenueEvent::AllTold] = events[..]
    else {
        panic!("{events:?}")
    };
    assert_eq!((ours.of_all, ours.request), (OfAll::One, Some(request(1))));
    assert_eq!((other.of_all, other.request), (OfAll::One, None));
    line.handler.ask_all(line.now).unwrap();
    line.next();
    let events = line.answer("[]");
    assert_eq!(
        (only(events[..1].to_vec()).of_all, events[1]),
        (OfAll::Nothing, VenueEvent::AllTold)
    );
}
