//! Section 4: the opening handshake, both halves.

use taut_types::Nanos;
use taut_ws::{
    Closed, Connection, Event, HandshakeFault, Misuse, Seed, State, WsConfig, WsError, WsUrl,
};

use crate::rig::{NOW, Seen, client, feed, feed_in, frame, pair, request, seen, sent, small};

const REQUEST: &str = "GET /chat HTTP/1.1\r\nHost: server.example.com\r\nUpgrade: websocket\r\n\
                       Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
                       Origin: http://example.com\r\nSec-WebSocket-Protocol: chat, superchat\r\n\
                       Sec-WebSocket-Version: 13\r\n\r\n";

fn server() -> Connection {
    Connection::server(&small(), NOW).unwrap()
}

/// What the server makes of a request, and what it answers.
fn answer_to(text: &str) -> (Vec<Seen>, String) {
    let mut server = server();
    let made = feed(&mut server, text.as_bytes());
    (made, String::from_utf8(sent(&mut server)).unwrap())
}

/// A good answer to what the client sent, with this line in place of that.
fn answer_with(client: &mut Connection, from: &str, to: &str) -> Vec<u8> {
    let mut server = server();
    let asked = sent(client);
    feed(&mut server, &asked);
    let answer = String::from_utf8(sent(&mut server)).unwrap();
    assert!(answer.contains(from), "{answer}");
    answer.replace(from, to).into_bytes()
}

#[test]
fn the_example_of_section_1_2_is_accepted_with_its_answer() {
    let mut server = server();
    let handled = server.handle_bytes(NOW, REQUEST.as_bytes());
    assert_eq!(handled.consumed, REQUEST.len());
    let Some(Event::Requested(asked)) = handled.event else { panic!("{:?}", handled.event) };
    assert_eq!((asked.path(), asked.host()), ("/chat", "server.example.com"));
    assert_eq!(asked.origin(), Some("http://example.com"));
    assert_eq!(asked.protocols().collect::<Vec<_>>(), ["chat", "superchat"]);
    assert_eq!(asked.header("upgrade"), Some("websocket"));
    assert_eq!(asked.headers().count(), 7);
    handled.outbox.accept(Some("chat"), &[("X-Session", "42")]).unwrap();
    let answer = String::from_utf8(sent(&mut server)).unwrap();
    let expected = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\
                    Connection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\
                    Sec-WebSocket-Protocol: chat\r\nX-Session: 42\r\n\r\n";
    assert_eq!(answer, expected);
    assert_eq!(server.state(), State::Open);
}

#[test]
fn a_client_asks_for_what_the_url_names_with_its_headers() {
    let url = WsUrl::parse("wss://venue.example:9443/ws?x=1").unwrap();
    let request = taut_ws::ClientRequest::new(&url);
    let request = request.protocol("fix").unwrap().protocol("json").unwrap();
    let request = request.header("Origin", "https://venue.example").unwrap();
    let mut client = Connection::client(&small(), &request, Seed::new([1; 16]), NOW).unwrap();
    let text = String::from_utf8(sent(&mut client)).unwrap();
    let (start, rest) = text.split_once("Sec-WebSocket-Key: ").unwrap();
    let expected = "GET /ws?x=1 HTTP/1.1\r\nHost: venue.example:9443\r\nUpgrade: websocket\r\n\
                    Connection: Upgrade\r\n";
    assert_eq!(start, expected);
    let expected = "==\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: fix, json\r\n\
                    Origin: https://venue.example\r\n\r\n";
    assert_eq!(&rest[22..], expected);
    let other = Connection::client(&small(), &request, Seed::new([2; 16]), NOW).unwrap();
    assert!(!other.poll_transmit().ends_with(rest.as_bytes()), "another key");
}

#[test]
fn headers_that_would_break_the_head_are_refused_when_they_are_given() {
    let misuse = Some(WsError::Misuse(Misuse::HeaderText));
    for (name, value) in [
        ("X", "a\r\nEvil: 1"),
        ("X\r\nEvil", "1"),
        ("", "1"),
        ("X Y", "1"),
        ("Host", "other"),
        ("sec-websocket-key", "mine"),
        ("Sec-WebSocket-Extensions", "permessage-deflate"),
    ] {
        assert_eq!(request().header(name, value).err(), misuse, "{name}");
    }
    assert_eq!(request().protocol("a, b").err(), misuse);
    let mut server = server();
    let handled = server.handle_bytes(NOW, REQUEST.as_bytes());
    let bad = handled.outbox.accept(None, &[("X", "a\r\nEvil: 1")]);
    assert_eq!(bad, Err(WsError::Misuse(Misuse::HeaderText)));
    assert_eq!(handled.outbox.accept(Some("a b"), &[]).err(), misuse);
    assert_eq!(server.state(), State::Deciding);
}

#[test]
fn each_rule_of_section_4_2_1_is_held_with_its_status() {
    let cases = [
        ("GET /chat", "POST /chat", HandshakeFault::Method, 405),
        ("GET /chat HTTP/1.1", "GET /chat HTTP/1.0", HandshakeFault::NotHttp, 0),
        ("GET /chat HTTP/1.1", "GET chat HTTP/1.1", HandshakeFault::Head, 400),
        ("Host: server.example.com\r\n", "", HandshakeFault::Host, 400),
        ("Host: server.example.com", "Host: a\r\nHost: b", HandshakeFault::Host, 400),
        ("Upgrade: websocket\r\n", "", HandshakeFault::Upgrade, 426),
        ("Upgrade: websocket", "Upgrade: h2c", HandshakeFault::Upgrade, 426),
        ("Connection: Upgrade\r\n", "", HandshakeFault::Connection, 400),
        ("Connection: Upgrade", "Connection: close", HandshakeFault::Connection, 400),
        ("Sec-WebSocket-Version: 13\r\n", "", HandshakeFault::Version, 426),
        ("Version: 13", "Version: 8", HandshakeFault::Version, 426),
        ("Sec-WebSocket-Key", "X-Key", HandshakeFault::Key, 400),
        ("dGhlIHNhbXBsZSBub25jZQ==", "c2hvcnQ=", HandshakeFault::Key, 400),
        ("Origin: ", "Orig in: ", HandshakeFault::Head, 400),
        ("\r\nOrigin: ", "\r\n Origin: ", HandshakeFault::Head, 400),
    ];
    for (from, to, fault, status) in cases {
        assert!(REQUEST.contains(from));
        let (made, answer) = answer_to(&REQUEST.replacen(from, to, 1));
        assert_eq!(made, [Seen::Over(Closed::Handshake(fault))], "{to}");
        match status {
            0 => assert_eq!(answer, "", "{to}"),
            _ => assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{to}: {answer}"),
        }
        assert!(status == 0 || answer.ends_with(fault.as_str()), "the user sees why: {answer}");
        assert_eq!(answer.contains("Sec-WebSocket-Version: 13\r\n"), status == 426);
    }
}

#[test]
fn forms_that_the_standard_allows_are_accepted() {
    for (from, to) in [
        ("Connection: Upgrade", "Connection: keep-alive, upgrade"),
        ("Connection: Upgrade", "Connection: keep-alive\r\nconnection: UPGRADE"),
        ("Upgrade: websocket", "UPGRADE:WebSocket"),
        ("GET /chat", "GET http://server.example.com/chat?x"),
        ("Origin: ", "Sec-WebSocket-Extensions: permessage-deflate\r\nOrigin: "),
    ] {
        let (made, answer) = answer_to(&REQUEST.replacen(from, to, 1));
        assert!(matches!(made[..], [Seen::Requested(_)]), "{to}: {made:?}");
        assert!(answer.starts_with("HTTP/1.1 101 "), "{to}");
        assert!(!answer.contains("Extensions"), "no extension is ever agreed on");
    }
}

#[test]
fn each_rule_of_section_4_1_is_held_for_the_servers_answer() {
    let cases = [
        ("HTTP/1.1 101", "HTTP/1.0 101", HandshakeFault::NotHttp),
        ("HTTP/1.1 101", "HTTP/1.1 1x1", HandshakeFault::Head),
        ("Upgrade: websocket\r\n", "", HandshakeFault::Upgrade),
        ("Upgrade: websocket", "Upgrade: other", HandshakeFault::Upgrade),
        ("Connection: Upgrade", "Connection: close", HandshakeFault::Connection),
        ("Sec-WebSocket-Accept: ", "Sec-WebSocket-Accept: x", HandshakeFault::Accept),
        ("Sec-WebSocket-Accept", "X-Accept", HandshakeFault::Accept),
        ("\r\n\r\n", "\r\nSec-WebSocket-Extensions: x\r\n\r\n", HandshakeFault::Extension),
        ("\r\n\r\n", "\r\nSec-WebSocket-Protocol: mqtt\r\n\r\n", HandshakeFault::Subprotocol),
    ];
    for (from, to, fault) in cases {
        let mut client = client(&small());
        let answer = answer_with(&mut client, from, to);
        let made = feed(&mut client, &answer);
        assert_eq!(made, [Seen::Over(Closed::Handshake(fault))], "{to}");
        assert!(client.poll_transmit().is_empty());
    }
}

#[test]
fn a_subprotocol_that_was_offered_can_be_chosen_once() {
    let offers = || request().protocol("fix").unwrap().protocol("json").unwrap();
    for (line, expected) in [
        ("json", Seen::Opened(Some("json".into()))),
        ("JSON", Seen::Over(Closed::Handshake(HandshakeFault::Subprotocol))),
        ("fix, json", Seen::Over(Closed::Handshake(HandshakeFault::Subprotocol))),
        (
            "fix\r\nSec-WebSocket-Protocol: json",
            Seen::Over(Closed::Handshake(HandshakeFault::Subprotocol)),
        ),
    ] {
        let mut client = Connection::client(&small(), &offers(), Seed::new([3; 16]), NOW).unwrap();
        let line = format!("\r\nSec-WebSocket-Protocol: {line}\r\n\r\n");
        let answer = answer_with(&mut client, "\r\n\r\n", &line);
        assert_eq!(feed(&mut client, &answer), [expected], "{line}");
    }
}

#[test]
fn a_refusal_reaches_the_user_with_status_words_and_the_first_bytes_of_its_body() {
    let answer = "HTTP/1.1 403 Forbidden\r\nContent-Length: 31\r\nLocation: /elsewhere\r\n\r\n\
                  {\"error\":\"your IP is not known\"}";
    let body = answer.split_once("\r\n\r\n").unwrap().1.as_bytes().to_vec();
    assert_eq!(body.len(), 32, "one more than announced");
    for piece in [1, 7, usize::MAX] {
        let mut client = client(&small());
        let made = feed_in(&mut client, answer.as_bytes(), piece);
        assert_eq!(made, [Seen::Refused(403, "Forbidden".into(), body[..31].to_vec())]);
    }
    // Without a length it is what has come when the transport ends, or time is over.
    for ends in [true, false] {
        let mut client = client(&small());
        let answer = answer.replace("Content-Length: 31\r\n", "");
        assert_eq!(feed(&mut client, answer.as_bytes()), []);
        let event = if ends {
            client.handle_end().event.map(|event| seen(&event))
        } else {
            let due = client.poll_timeout().unwrap();
            client.handle_timeout(due).event.map(|event| seen(&event))
        };
        assert_eq!(event, Some(Seen::Refused(403, "Forbidden".into(), body.clone())));
    }
}

#[test]
fn a_refusal_says_when_to_come_again() {
    for (field, expected) in [
        ("Retry-After: 30\r\n", Some(30)),
        ("retry-after:  0 \r\n", Some(0)),
        ("", None),
        ("Retry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\n", None),
        ("Retry-After: -1\r\n", None),
        ("Retry-After: 4294967296\r\n", None),
        ("Retry-After: 1\r\nRetry-After: 2\r\n", None),
    ] {
        let mut client = client(&small());
        let answer = format!("HTTP/1.1 429 Too Many\r\n{field}Content-Length: 0\r\n\r\n");
        let handled = client.handle_bytes(NOW, answer.as_bytes());
        let Some(Event::Closed(Closed::Refused(refused))) = handled.event else {
            panic!("{field:?}: {:?}", handled.event)
        };
        assert_eq!((refused.status, refused.retry_after), (429, expected), "{field:?}");
    }
}

#[test]
fn a_refusal_of_ours_is_sent_reported_once_and_final() {
    let mut server = server();
    let handled = server.handle_bytes(NOW, REQUEST.as_bytes());
    assert_eq!(handled.outbox.refuse(200, &[], ""), Err(WsError::Misuse(Misuse::Status)));
    handled.outbox.refuse(401, &[("WWW-Authenticate", "Bearer")], "no token").unwrap();
    let event = server.poll_event().map(|event| seen(&event));
    assert_eq!(event, Some(Seen::Over(Closed::RefusedByUs { status: 401 })));
    assert_eq!((server.poll_event(), server.state()), (None, State::Closed));
    let answer = sent(&mut server);
    let mut client = client(&small());
    let _ = sent(&mut client);
    let expected = [Seen::Refused(401, "Unauthorized".into(), b"no token".to_vec())];
    assert_eq!(feed(&mut client, &answer), expected);
    let misuse = Err(WsError::Misuse(Misuse::NoRequest));
    assert_eq!(server.outbox().accept(None, &[]), misuse);
    assert_eq!(server.outbox().refuse(500, &[], ""), misuse);
}

#[test]
fn a_head_over_the_limit_is_refused_and_so_is_what_is_no_http() {
    let config = WsConfig { head_bytes_max: 512, ..small() };
    let mut server = Connection::server(&config, NOW).unwrap();
    let long = format!("GET / HTTP/1.1\r\nCookie: {}", "x".repeat(600));
    let expected = [Seen::Over(Closed::Handshake(HandshakeFault::HeadBytes))];
    assert_eq!(feed_in(&mut server, long.as_bytes(), 1), expected);
    assert!(sent(&mut server).starts_with(b"HTTP/1.1 431 "));
    for junk in [&b"\x16\x03\x01\x02\x00"[..], b"\0", b"8=FIX.4.4\x019="] {
        let mut server = Connection::server(&config, NOW).unwrap();
        let expected = [Seen::Over(Closed::Handshake(HandshakeFault::NotHttp))];
        assert_eq!(feed(&mut server, junk), expected);
        assert!(server.poll_transmit().is_empty(), "nothing to say to it");
    }
}

#[test]
fn a_peer_that_takes_too_long_is_given_up_at_the_deadline() {
    let mut server = server();
    let mut now = NOW;
    // A byte a second, for ever.
    for byte in REQUEST.bytes().take(9) {
        now = now + Nanos::from_secs(1);
        assert_eq!(server.handle_timeout(now).event, None);
        assert!(server.handle_bytes(now, &[byte]).event.is_none());
    }
    let due = server.poll_timeout().unwrap();
    assert_eq!(due, NOW + small().handshake_timeout, "bytes do not move it");
    let event = server.handle_timeout(due).event.map(|event| seen(&event));
    assert_eq!(event, Some(Seen::Over(Closed::HandshakeTimeout)));
}

#[test]
fn a_transport_that_ends_in_the_middle_of_the_handshake_is_a_cut() {
    let mut client = client(&small());
    assert_eq!(feed(&mut client, b"HTTP/1.1 101 Swi"), []);
    let event = client.handle_end().event.map(|event| seen(&event));
    assert_eq!(event, Some(Seen::Over(Closed::Cut)));
}

#[test]
fn a_request_that_waits_for_its_answer_holds_what_comes_behind_it() {
    let mut server = server();
    let bytes = [REQUEST.as_bytes(), &frame(taut_ws::Role::Server, 0x81, b"eager")[..]].concat();
    let handled = server.handle_bytes(NOW, &bytes);
    assert_eq!(handled.consumed, REQUEST.len());
    let rest = &bytes[handled.consumed..];
    assert_eq!(server.handle_bytes(NOW, rest).consumed, 0);
    server.outbox().accept(None, &[]).unwrap();
    assert_eq!(feed(&mut server, rest), [Seen::Text("eager".into())]);
}

#[test]
fn messages_right_behind_the_servers_answer_are_not_lost() {
    let mut client = client(&small());
    let answer = answer_with(&mut client, "\r\n\r\n", "\r\n\r\n");
    let bytes = [&answer[..], b"\x81\x05Hello"].concat();
    let expected = [Seen::Opened(None), Seen::Text("Hello".into())];
    assert_eq!(feed(&mut client, &bytes), expected);
}

#[test]
fn sizes_of_zero_are_misuse() {
    for config in [
        WsConfig { message_bytes_max: 0, ..small() },
        WsConfig { send_bytes_max: 0, ..small() },
        WsConfig { head_bytes_max: 0, ..small() },
        WsConfig { fragments_max: 0, ..small() },
    ] {
        let made = Connection::server(&config, NOW).err();
        assert_eq!(made, Some(WsError::Misuse(Misuse::Size)));
    }
    let _ = pair(&small());
}

/// Section 5.3: who knows one key, a proxy say, must not know the next; the handshake's is the
/// first that everybody sees.
#[test]
fn the_handshakes_key_says_nothing_of_the_masks_that_follow() {
    let mut client = client(&small());
    let asked = sent(&mut client);
    let text = String::from_utf8(asked.clone()).unwrap();
    let (_, key) = text.split_once("Sec-WebSocket-Key: ").unwrap();
    let key = decoded(key.get(..24).unwrap());
    let mut server = server();
    feed(&mut server, &asked);
    feed(&mut client, &sent(&mut server));
    assert_eq!(client.state(), State::Open);
    for _ in 0..8 {
        client.outbox().binary(b"").unwrap();
        let frame = sent(&mut client);
        let mask = frame.get(2..6).unwrap();
        assert!(key.chunks(4).all(|part| part != mask), "{mask:?} of {key:?}");
    }
}

/// What base64 stands for, without its padding.
fn decoded(text: &str) -> Vec<u8> {
    let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let values = text.chars().filter_map(|digit| digits.find(digit));
    let bits: Vec<usize> =
        values.flat_map(|value| (0..6).rev().map(move |bit| value >> bit & 1)).collect();
    bits.chunks_exact(8).map(|byte| byte.iter().fold(0, |all, bit| all << 1 | *bit as u8)).collect()
}
