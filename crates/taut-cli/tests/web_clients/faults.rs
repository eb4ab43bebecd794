//! A venue's faults, its crowd and its books, changed and looked at while it runs.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Output};

use serde_json::Value;
use taut_testkit::{DEADLINE, Run, odd_json_keys, until};

use crate::Venue;

/// `taut venue` with this verb for the venue at this socket, with these words.
fn operate(verb: &str, control: &std::path::Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    command.args(["venue", verb]).arg(control).args(words).run()
}

fn faults(control: &std::path::Path, words: &[&str]) -> Output {
    operate("faults", control, words)
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What the venue answers to a plain question.
fn answer(venue: &Venue) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", venue.port)).expect("a connection");
    stream.set_read_timeout(Some(DEADLINE)).expect("a deadline");
    let request = "GET /api/v2/public/get_time HTTP/1.1\r\nHost: venue\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = Vec::new();
    let mut buffer = [0; 4_096];
    while !answer.ends_with(b"}") {
        let bytes = stream.read(&mut buffer).expect("an answer");
        assert!(bytes > 0, "it ended within its answer: {}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&buffer[..bytes]);
    }
    String::from_utf8(answer).expect("text")
}

#[test]
fn an_operator_makes_a_venues_day_bad_and_good_again() {
    let venue = Venue::start("deribit");
    let control = venue.control();
    assert_eq!(printed(&faults(&control, &[])), "none; 0 so far\n");
    assert!(answer(&venue).contains("\"result\""));

    let bad = printed(&faults(&control, &["maintenance,seed=3"]));
    assert_eq!(bad, "maintenance,seed=3; 0 so far\n");
    let refused = answer(&venue);
    assert!(!refused.contains("\"result\"") && refused.contains("\"error\""), "{refused}");
    assert_eq!(printed(&faults(&control, &[])), "maintenance,seed=3; 1 so far\n");

    assert_eq!(printed(&faults(&control, &["none"])), "none; 1 so far\n");
    assert!(answer(&venue).contains("\"result\""));
}

#[test]
fn what_is_no_fault_and_who_is_no_venue_are_named() {
    let venue = Venue::start("binance");
    let control = venue.control();
    let said = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let wrong = faults(&control, &["dorp=5"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(said(&wrong).contains("dorp") && said(&wrong).contains("duplicate"), "{wrong:?}");
    let nobody = faults(&control.with_file_name("nobody"), &[]);
    assert_eq!(nobody.status.code(), Some(1));
    assert!(
        said(&nobody).contains("nobody") && said(&nobody).contains("does it run"),
        "{nobody:?}"
    );
    assert_eq!(printed(&faults(&control, &[])), "none; 0 so far\n", "nothing has changed");
}

#[test]
fn an_operator_stops_the_crowd_and_sees_what_the_books_come_to() {
    for name in ["deribit", "binance"] {
        let venue = Venue::start(name);
        let control = venue.control();
        let state = || -> Value {
            let text = printed(&operate("state", &control, &["--json"]));
            assert_eq!(odd_json_keys(&text), [""; 0], "{text}");
            serde_json::from_str(&text).expect("JSON")
        };
        let first = state();
        until("the crowd trades", DEADLINE, || state() != first);
        printed(&operate("crowd", &control, &["stop"]));
        let at_rest = state();
        let book = &at_rest["books"][0];
        assert!(book["orders"].as_u64() > Some(0) && book["bid"]["price"].is_string(), "{book}");
        assert!(book["change"].as_u64() > first["books"][0]["change"].as_u64(), "{book}");
        assert_eq!(state(), at_rest, "nobody trades");
        let words = printed(&operate("state", &control, &[]));
        let (symbol, hash) = (&book["symbol"], &book["levels_hash"]);
        for shown in [symbol, hash] {
            assert!(words.contains(shown.as_str().expect("text")), "{words}");
        }
        printed(&operate("crowd", &control, &["go"]));
        until("the crowd trades again", DEADLINE, || state() != at_rest);
    }
}
