//! The session: its beginning, its limits, its clock, its end.

use super::*;

#[test]
fn a_session_asks_the_time_signs_and_is_up_when_all_that_it_begins_with_is_answered() {
    let mut line = Line::new(BinanceOrderSettings::default());
    line.next();
    line.answer(&format!(r#"{{"serverTime":{VENUE_MS}}}"#));
    let logon = line.next();
    // The venue's clock, not ours; signed as `apiKey=key&recvWindow=2000&timestamp=...`.
    assert!(logon.contains(&format!(r#""recvWindow":2000,"timestamp":{VENUE_MS}"#)), "{logon}");
    let key = taut_order_entry::sign::Ed25519Key::new(&[7; 32]);
    let text = format!("apiKey=key&recvWindow=2000&timestamp={VENUE_MS}");
    let signature = String::from_utf8(key.sign_base64(text.as_bytes()).to_vec()).unwrap();
    assert!(logon.contains(&format!(r#""signature":"{signature}""#)), "{logon}");
    let mut line = Line::up();
    assert!(line.create(&terms()).is_ok());
}

#[test]
fn a_session_that_is_refused_says_why() {
    let mut line = Line::new(BinanceOrderSettings::default());
    line.next();
    line.answer(&format!(r#"{{"serverTime":{VENUE_MS}}}"#));
    line.next();
    let refused = line.fails(401, r#""code":-2015,"msg":"Invalid API-key.""#);
    assert_eq!(refused, [VenueEvent::Broken]);
    assert_eq!(line.handler.last_refusal(), "-2015 Invalid API-key.");
    // A key that is revoked while it trades is told without an id.
    let mut line = Line::up();
    let revoked = r#"{"id":null,"status":401,"error":{"code":-2015,"msg":"Revoked."}}"#;
    assert_eq!(line.hear(revoked), [VenueEvent::Broken]);
    let ended = r#"{"subscriptionId":0,"event":{"e":"eventStreamTerminated","E":1}}"#;
    assert_eq!(Line::up().hear(ended), [VenueEvent::Broken]);
    let down = r#"{"event":{"e":"serverShutdown","E":1}}"#;
    assert_eq!(Line::up().hear(down), [VenueEvent::Broken]);
}

#[test]
fn an_instrument_that_the_venue_has_otherwise_is_no_session() {
    for (from, to, words) in [
        (
            r#""tickSize":"0.01""#,
            r#""tickSize":"0.1""#,
            "BTCUSDT: tick is 0.01, and the venue's is 0.1",
        ),
        (
            r#""stepSize":"0.00001""#,
            r#""stepSize":"0.01""#,
            "BTCUSDT: lot is 0.001, and the venue's",
        ),
        (r#""symbol":"BTCUSDT""#, r#""symbol":"BTCUSD""#, "the venue has no symbol BTCUSDT"),
    ] {
        let mut line = Line::new(BinanceOrderSettings::default());
        line.next();
        line.answer(&format!(r#"{{"serverTime":{VENUE_MS}}}"#));
        for _ in 0..2 {
            line.next();
            line.answer("{}");
        }
        line.next();
        assert_eq!(line.answer(&SYMBOLS.replace(from, to)), [VenueEvent::Broken], "{words}");
        assert!(line.handler.last_refusal().contains(words), "{}", line.handler.last_refusal());
    }
}

#[test]
fn a_symbol_that_changes_is_told_and_neither_that_nor_an_answer_that_fails_ends_the_session() {
    let mut line = Line::up();
    // Until the symbols are asked for again; the venue is there all the time.
    let pass = |line: &mut Line| -> String {
        for half_minutes in 1.. {
            assert_eq!(line.pass(Nanos::from_secs(30)), None);
            let ms = line.now.mono.0 / 1_000_000;
            assert!(line.next().contains(r#""method":"time""#));
            line.answer(&format!(r#"{{"serverTime":{}}}"#, VENUE_MS + ms as u64));
            let asked = line.next();
            if !asked.is_empty() {
                assert_eq!(half_minutes, 2, "a minute");
                return asked;
            }
        }
        String::new()
    };
    assert!(pass(&mut line).contains("exchangeInfo"));
    assert_eq!(line.fails(503, r#""code":-1008,"msg":"busy""#), []);
    assert!(line.handler.is_up());
    assert!(pass(&mut line).contains("exchangeInfo"));
    let changed = SYMBOLS.replace(r#""tickSize":"0.01""#, r#""tickSize":"0.1""#);
    assert_eq!(line.handler.poll_compared(), None);
    assert_eq!(line.answer(&changed), []);
    assert_eq!(line.handler.poll_compared(), Some((InstrumentId(0), false)));
    assert!(line.handler.last_refusal().contains("tick is 0.01, and the venue's is 0.1"));
    // The next session is one for what else is traded.
    line.handler.disconnected(line.now);
    line.handler.connected(line.now, [8; 32], 0);
    line.begin();
    assert_eq!(line.answer(&changed), [VenueEvent::LoggedOn]);
    assert_eq!(line.handler.poll_compared(), Some((InstrumentId(0), false)));
}

/// What the venue says of a symbol.
fn symbol(name: &str, tick: &str) -> String {
    SYMBOLS.replace("BTCUSDT", name).replace(r#""tickSize":"0.01""#, tick)
}

const TICK: &str = r#""tickSize":"0.01""#;

fn asked(name: &str) -> String {
    format!(r#"{{"id":,"method":"exchangeInfo","params":{{"symbols":["{name}"]}}}}"#)
}

/// The instrument that is added.
fn ether() -> Instrument {
    let (symbol, lot) = (taut_types::Symbol::new(b"ETH").unwrap(), bitcoin().lot());
    Instrument::new(InstrumentId(1), symbol, bitcoin().tick(), lot).unwrap()
}

#[test]
fn an_added_symbol_is_asked_about_by_itself_and_then_with_the_others() {
    let mut line = Line::up();
    assert!(line.handler.add_instrument(&ether(), "ETHUSDT"));
    assert_eq!(line.next(), asked("ETHUSDT"));
    assert_eq!(line.answer(&symbol("ETHUSDT", TICK)), []);
    assert_eq!(line.handler.poll_compared(), Some((InstrumentId(1), true)));
    assert_eq!(line.handler.poll_compared(), None);
    let terms = OrderTerms { instrument: InstrumentId(1), ..terms() };
    let message =
        OrderMessage { request: request(1), instrument: &ether(), account: None, terms: &terms };
    assert_eq!(line.handler.create(line.now, &message, false), Ok(()));
    assert!(line.next().contains(r#""symbol":"ETHUSDT""#));
    line.handler.disconnected(line.now);
    line.handler.connected(line.now, [8; 32], 0);
    assert!(line.begin().contains(r#"["BTCUSDT","ETHUSDT"]"#));
}

#[test]
fn an_added_symbol_that_the_venue_does_not_have_or_has_otherwise_ends_no_session() {
    let mut line = Line::up();
    line.handler.add_instrument(&ether(), "ETHUSD");
    assert_eq!(line.next(), asked("ETHUSD"));
    assert_eq!(line.fails(400, r#""code":-1121,"msg":"Invalid symbol.""#), []);
    assert!(line.handler.is_up() && line.handler.last_refusal().contains("ETHUSD: -1121"));
    assert_eq!((line.handler.poll_compared(), line.next()), (None, String::new()));
    // It is not in the question that a session needs, and is asked about once that is up.
    line.reconnect();
    assert_eq!(line.next(), asked("ETHUSD"));
    let otherwise = symbol("ETHUSD", r#""tickSize":"0.1""#);
    assert_eq!(line.answer(&otherwise), []);
    assert_eq!(line.handler.poll_compared(), Some((InstrumentId(1), false)));
    assert!(line.handler.last_refusal().contains("ETHUSD: tick is 0.01, and the venue's is 0.1"));
    // The number did not come to be, and is another one's now.
    line.handler.add_instrument(&ether(), "ETHUSDT");
    assert_eq!(line.next(), asked("ETHUSDT"));
    assert_eq!(line.answer(&symbol("ETHUSDT", TICK)), []);
    assert_eq!(line.handler.poll_compared(), Some((InstrumentId(1), true)));
}

#[test]
fn no_more_orders_leave_in_ten_seconds_or_a_day_than_the_venue_takes() {
    let settings = BinanceOrderSettings {
        orders: Rate { per_second: 1, burst: 2 },
        orders_a_day: 3,
        ..BinanceOrderSettings::default()
    };
    let mut line = Line::up_with(settings);
    assert!(line.create(&terms()).is_ok() && line.create(&terms()).is_ok());
    line.handler.trading.symbols.ended(InstrumentId(0));
    let Err(NotSent::Throttled(until)) = line.create(&terms()) else { panic!() };
    assert_eq!(until, START.mono + Nanos::from_secs(1));
    line.pass(Nanos::from_secs(2));
    assert!(line.create(&terms()).is_ok());
    line.handler.trading.symbols.ended(InstrumentId(0));
    // A cancel is no order.
    assert!(line.cancel(1, 2).is_ok());
    let Err(NotSent::Throttled(until)) = line.create(&terms()) else { panic!() };
    let day_ms = 24 * 60 * 60 * 1_000;
    let left = Nanos::from_millis((day_ms - (VENUE_MS + 2_000) % day_ms) as i64);
    assert_eq!(until, line.now.mono + left);
}

/// What an answer says that the venue has counted.
fn counted(kind: &str, interval: &str, many: u32, limit: u32, count: u32) -> String {
    format!(
        concat!(
            r#"[{{"rateLimitType":"{kind}","interval":"{interval}","intervalNum":{many},"#,
            r#""limit":{limit},"count":{count}}}]"#
        ),
        kind = kind,
        interval = interval,
        many = many,
        limit = limit,
        count = count
    )
}

fn placed_with(line: &mut Line, limits: &str) {
    line.create(&terms()).unwrap();
    line.handler.trading.symbols.ended(InstrumentId(0));
    let id = line.handler.last_message();
    let frame = format!(r#"{{"id":{id},"status":200,"result":{ACK},"rateLimits":{limits}}}"#);
    line.hear(&frame);
}

/// The windows are the venue's clock's: it is 20 seconds behind its minute at the start.
#[test]
fn what_other_programs_have_used_is_not_there_for_this_one() {
    let second = Nanos::from_secs(1);
    let near = |until: Nanos, expected: Nanos| (until - expected).0.abs() <= 2_000_000;
    for (kind, interval, many, limit, left) in [
        ("ORDERS", "SECOND", 10, 100, Nanos::from_secs(8)),
        ("REQUEST_WEIGHT", "MINUTE", 1, 6_000, Nanos::from_secs(38)),
        ("ORDERS", "DAY", 1, 200_000, Nanos::from_secs(6_398)),
    ] {
        let mut line = Line::up();
        line.pass(second + second);
        // Two orders more; of the weight the cancels have 200 to themselves.
        let remain = if kind == "ORDERS" { 2 } else { 202 };
        placed_with(&mut line, &counted(kind, interval, many, limit, limit - remain));
        for _ in 0..2 {
            line.create(&terms()).unwrap();
            line.handler.trading.symbols.ended(InstrumentId(0));
        }
        let Err(NotSent::Throttled(until)) = line.create(&terms()) else { panic!("{kind}") };
        assert!(near(until, line.now.mono + left), "{kind} {interval}: {until:?}");
        assert!(line.cancel(1, 2).is_ok(), "{kind} {interval}: a cancel");
        // In the next window nobody has used anything.
        line.pass(left + second);
        assert!(line.create(&terms()).is_ok(), "{kind} {interval}");
    }
}

#[test]
fn requests_behind_the_answered_one_are_not_counted_yet() {
    let mut line = Line::up();
    line.pass(Nanos::from_secs(2));
    for _ in 0..3 {
        line.create(&terms()).unwrap();
        line.handler.trading.symbols.ended(InstrumentId(0));
    }
    let id = line.handler.last_message() - 2;
    // Three are left behind the first one, of which two have left.
    let limits = counted("ORDERS", "SECOND", 10, 100, 97);
    line.hear(&format!(r#"{{"id":{id},"status":200,"result":{ACK},"rateLimits":{limits}}}"#));
    assert!(line.create(&terms()).is_ok());
    line.handler.trading.symbols.ended(InstrumentId(0));
    assert!(matches!(line.create(&terms()), Err(NotSent::Throttled(_))));
}

#[test]
fn what_is_told_at_the_beginning_of_a_window_or_cannot_be_read_says_nothing() {
    let mut line = Line::up();
    // The ten seconds have just begun: the answer may be older.
    placed_with(&mut line, &counted("ORDERS", "SECOND", 10, 100, 100));
    line.pass(Nanos::from_secs(2));
    for limits in [
        "null",
        "[7]",
        r#"[{"rateLimitType":"ORDERS"}]"#,
        counted("ORDERS", "HOUR", 1, 100, 100).as_str(),
        counted("REQUEST_WEIGHT", "DAY", 1, 100, 100).as_str(),
        counted("CONNECTIONS", "SECOND", 10, 100, 100).as_str(),
    ] {
        placed_with(&mut line, limits);
    }
    assert!(line.create(&terms()).is_ok());
    // What was said of orders holds until the connection ends.
    line.handler.trading.symbols.ended(InstrumentId(0));
    placed_with(&mut line, &counted("ORDERS", "DAY", 1, 100, 100));
    assert!(matches!(line.create(&terms()), Err(NotSent::Throttled(_))));
    line.reconnect();
    assert!(line.create(&terms()).is_ok());
}

#[test]
fn nothing_leaves_before_the_venue_says_so_once_a_limit_is_reached() {
    let mut line = Line::up();
    line.create(&terms()).unwrap();
    let retry = VENUE_MS + 5_000;
    let error = format!(
        concat!(
            r#""code":-1003,"msg":"Too much request weight used.","#,
            r#""data":{{"serverTime":{},"retryAfter":{}}}"#
        ),
        VENUE_MS, retry
    );
    let message = line.handler.last_message();
    let (named, reject) = (Some(request(1)), VenueReject::RateLimit);
    assert_eq!(line.fails(429, &error), [VenueEvent::Refused { message, named, reject }]);
    let Err(NotSent::Throttled(until)) = line.cancel(1, 2) else { panic!() };
    assert!((until - START.mono - Nanos::from_secs(5)).0.abs() < 1_000_000, "{until:?}");
    line.pass(Nanos::from_secs(66));
    assert!(line.create(&terms()).is_ok());
}

#[test]
fn maintenance_refuses_what_is_asked_and_ends_no_session_that_is_up() {
    let maintenance = r#""code":-1016,"msg":"This service is no longer available.""#;
    let mut line = Line::up();
    line.create(&terms()).unwrap();
    let (message, named) = (line.handler.last_message(), Some(request(1)));
    let reject = VenueReject::Other;
    assert_eq!(line.fails(503, maintenance), [VenueEvent::Refused { message, named, reject }]);
    let mut line = Line::resting(None);
    line.modify(1, 2, &at(42_000, 3)).unwrap();
    assert_eq!(refusal(line.fails(503, maintenance)), (Some(request(2)), false));
    line.cancel(1, 3).unwrap();
    assert_eq!(refusal(line.fails(503, maintenance)), (Some(request(3)), false));
    line.ask().unwrap();
    let (message, named) = (line.handler.last_message(), None);
    assert_eq!(line.fails(503, maintenance), [VenueEvent::Refused { message, named, reject }]);
    // Behind another 503 nobody knows what was done.
    line.cancel(1, 4).unwrap();
    assert_eq!(line.fails(503, r#""code":-1000,"msg":"An unknown error occurred.""#), []);
    assert!(line.handler.is_up());
    // A session that begins in it does not go on, and says why.
    let mut line = Line::new(BinanceOrderSettings::default());
    line.next();
    line.answer(&format!(r#"{{"serverTime":{VENUE_MS}}}"#));
    assert!(line.next().contains("session.logon"));
    assert_eq!(line.fails(503, maintenance), [VenueEvent::Broken]);
    assert_eq!(line.handler.last_refusal(), "-1016 This service is no longer available.");
}

#[test]
fn a_page_for_people_says_nothing_of_an_order() {
    let page = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n</html>\r\n";
    let mut line = Line::up();
    line.create(&terms()).unwrap();
    assert_eq!(line.hear(page), [VenueEvent::Unreadable(None)]);
    // Nor is one in the place of an error's details.
    let message = line.handler.last_message();
    let proxied = format!(r#"{{"id":{message},"status":502,"error":"<html>502</html>"}}"#);
    assert_eq!(line.hear(&proxied), [VenueEvent::Unreadable(Some(request(0)))]);
    assert!(line.handler.is_up());
    let accepted = only(line.event("NEW", ["{1}", ""], "NEW", "0").into_iter().take(1).collect());
    assert_eq!(accepted.event, Some(OrderEvent::Accepted));
}

#[test]
fn a_time_that_the_venue_does_not_take_is_asked_again() {
    let mut line = Line::up();
    line.create(&terms()).unwrap();
    let refused = line.fails(400, r#""code":-1021,"msg":"Timestamp for this request is outside.""#);
    assert!(matches!(refused[..], [VenueEvent::Refused { .. }]), "{refused:?}");
    assert_eq!(line.next(), r#"{"id":,"method":"time"}"#);
    line.answer(&format!(r#"{{"serverTime":{}}}"#, VENUE_MS + 60_000));
    let place = line.create(&terms()).unwrap();
    assert!(place.contains(r#""timestamp":1700000060000"#), "{place}");
    // A step of our own clock changes nothing.
    line.now.utc = Nanos::from_secs(9_999_999);
    let place = line.cancel(1, 2).unwrap();
    assert!(place.contains(r#""timestamp":1700000060000"#), "{place}");
}

#[test]
fn a_connection_that_brings_nothing_is_given_up() {
    let mut line = Line::up();
    assert_eq!(line.pass(Nanos::from_secs(30)), None);
    assert_eq!(line.next(), r#"{"id":,"method":"time"}"#);
    line.answer(&format!(r#"{{"serverTime":{}}}"#, VENUE_MS + 30_000));
    assert_eq!(line.pass(Nanos::from_secs(60)), None);
    assert_eq!(line.pass(Nanos::from_secs(30)), Some(VenueEvent::Broken));
}

#[test]
fn what_cannot_be_read_is_told() {
    let mut line = Line::resting(None);
    for frame in ["", "{", "[]", "{}", r#"{"id":1}"#, r#"{"event":{"e":"executionReport"}}"#] {
        for event in line.hear(frame) {
            assert_eq!(event, VenueEvent::Unreadable(None), "{frame}");
        }
    }
    line.cancel(1, 2).unwrap();
    assert_eq!(line.answer("{}"), [VenueEvent::Unreadable(Some(request(0)))]);
    let strange = only(line.event("NOVEL", ["{1}", ""], "NOVEL", "0"));
    assert!(strange.is_strange && strange.event.is_none());
}
