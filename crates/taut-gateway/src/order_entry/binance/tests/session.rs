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
fn a_symbol_that_changes_in_a_session_ends_it_and_an_answer_that_fails_does_not() {
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
                assert_eq!(half_minutes, 20, "ten minutes");
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
    assert_eq!(line.answer(&changed), [VenueEvent::Broken]);
    assert!(line.handler.last_refusal().contains("tick is 0.01, and the venue's is 0.1"));
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
