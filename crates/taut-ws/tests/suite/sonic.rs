//! What other WebSocket libraries got wrong, one test each: above all Talos Sonic's client, as it
//! was found when its code was read and when Autobahn was run against it.

use taut_ws::{Closed, Connection, Event, Role, Violation, WsConfig, WsUrl};

use crate::rig::{NOW, Seen, client, close_code, feed, feed_in, frame, open, pair, sent, small};

/// Sonic reads the answer in one read of 1024 bytes.
#[test]
fn an_http_answer_of_more_than_1024_bytes_in_many_pieces_is_understood() {
    let mut near = client(&small());
    let asked = sent(&mut near);
    let mut server = Connection::server(&small(), NOW).unwrap();
    let handled = server.handle_bytes(NOW, &asked);
    let cookie = "c".repeat(3_000);
    handled.outbox.accept(None, &[("Set-Cookie", &cookie)]).unwrap();
    let answer = sent(&mut server);
    assert!(answer.len() > 3_000);
    assert_eq!(feed_in(&mut near, &answer, 100), [Seen::Opened(None)]);
}

/// Sonic's role of a server cannot accept.
#[test]
fn a_server_accepts() {
    let (_, server) = pair(&small());
    assert_eq!(server.role(), Role::Server);
}

/// Sonic checks UTF-8 per frame: a character cut between two fragments is refused (6.2.4 and others
/// of Autobahn), and by default not at all (75 cases).
#[test]
fn utf_8_is_checked_over_the_message_and_always() {
    for role in [Role::Client, Role::Server] {
        let mut end = open(role);
        let cut = [frame(role, 0x01, b"\xe2\x82"), frame(role, 0x80, b"\xac")].concat();
        assert_eq!(feed(&mut end, &cut), [Seen::Text("€".into())]);
        let expected = [Seen::Over(Closed::Violation(Violation::Utf8))];
        assert_eq!(feed(&mut end, &frame(role, 0x81, b"\xce\xba\xe1")), expected);
    }
}

/// Sonic says 1002 where 1007 and 1009 are asked for (74 closes of Autobahn).
#[test]
fn close_codes_say_what_was_wrong_1007_for_text_and_1009_for_length() {
    let mut end = open(Role::Client);
    feed(&mut end, &frame(Role::Client, 0x81, b"\xff"));
    assert_eq!(close_code(end), Some(1007));
    let (mut end, _) = pair(&WsConfig { message_bytes_max: 4, ..small() });
    feed(&mut end, &frame(Role::Client, 0x81, b"12345"));
    assert_eq!(close_code(end), Some(1009));
    let mut end = open(Role::Client);
    feed(&mut end, &frame(Role::Client, 0x83, b""));
    assert_eq!(close_code(end), Some(1002));
}

/// Sonic asks the system for each mask, and copies each message into the caller's buffer.
#[test]
fn masks_differ_by_frame_and_whole_messages_are_not_copied() {
    let (mut near, _) = pair(&small());
    let mut masks = Vec::new();
    for _ in 0..100 {
        near.outbox().text("same").unwrap();
        let bytes = sent(&mut near);
        assert!(!masks.contains(&bytes[2..6].to_vec()));
        masks.push(bytes[2..6].to_vec());
    }
    let bytes = frame(Role::Client, 0x82, &[1; 1000]);
    let handled = near.handle_bytes(NOW, &bytes);
    let Some(Event::Binary(payload)) = handled.event else { panic!("no message") };
    assert_eq!(payload.as_ptr(), bytes[4..].as_ptr());
}

/// tungstenite (RUSTSEC-2023-0065): a long head cost minutes, for it was parsed anew with each
/// byte. A byte is looked at a bounded number of times here, so that single bytes are quick too.
#[test]
fn a_long_head_byte_by_byte_costs_linear_time() {
    let config = WsConfig { head_bytes_max: 1 << 20, ..small() };
    let mut server = Connection::server(&config, NOW).unwrap();
    let start = b"GET / HTTP/1.1\r\nCookie: ";
    assert_eq!(feed_in(&mut server, start, 1), []);
    for _ in 0..1_000_000 {
        assert!(server.handle_bytes(NOW, b"x").event.is_none());
    }
}

/// Autobahn 6.4: the first byte that cannot be UTF-8 fails the connection, whatever comes later.
#[test]
fn fails_fast_between_fragments_and_within_a_frame() {
    for role in [Role::Client, Role::Server] {
        let expected = [Seen::Over(Closed::Violation(Violation::Utf8))];
        let mut end = open(role);
        assert_eq!(feed(&mut end, &frame(role, 0x01, b"\xf4\x90")), expected, "6.4.1");
        let mut end = open(role);
        assert_eq!(feed(&mut end, &frame(role, 0x01, b"\xf4")), []);
        assert_eq!(feed(&mut end, &frame(role, 0x00, b"\x90")), expected, "6.4.2");
    }
}

/// A Host header with the port that the URL has, and without one that it has not: a venue behind a
/// proxy answers 400 otherwise.
#[test]
fn the_host_header_is_the_urls_authority() {
    for (url, host) in [
        ("ws://a.example/x", "\r\nHost: a.example\r\n"),
        ("ws://a.example:8080", "\r\nHost: a.example:8080\r\n"),
        ("wss://[::1]:9443/", "\r\nHost: [::1]:9443\r\n"),
    ] {
        let request = taut_ws::ClientRequest::new(&WsUrl::parse(url).unwrap());
        let seed = taut_ws::Seed::new([0; 16]);
        let end = Connection::client(&small(), &request, seed, NOW).unwrap();
        let text = String::from_utf8_lossy(end.poll_transmit()).into_owned();
        assert!(text.contains(host), "{text}");
    }
}
