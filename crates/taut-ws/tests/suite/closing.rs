//! Section 7: the closing handshake.

use taut_types::Nanos;
use taut_ws::{CloseCode, Closed, Limit, Role, State, Violation, WsError};

use crate::rig::{NOT_OPEN, NOW, Seen, close_code, feed, frame, open, pair, seen, sent, small};

fn agreed(code: Option<u16>, reason: &str) -> Vec<Seen> {
    vec![Seen::Agreed(code, reason.into())]
}

#[test]
fn either_side_closes_and_the_other_answers_with_its_code() {
    for client_first in [true, false] {
        let (client, server) = pair(&small());
        let (mut near, mut far) = if client_first { (client, server) } else { (server, client) };
        near.outbox().text("last words").unwrap();
        near.outbox().close(NOW, Some(CloseCode::GOING_AWAY), "maintenance").unwrap();
        assert_eq!(near.state(), State::Closing);
        assert_eq!(near.outbox().text("too late"), Err(NOT_OPEN));
        assert_eq!(near.outbox().close(NOW, None, ""), Err(NOT_OPEN));
        let bytes = sent(&mut near);
        let made = feed(&mut far, &bytes);
        assert_eq!(made[0], Seen::Text("last words".into()));
        assert_eq!(made[1..], agreed(Some(1001), "maintenance"));
        let answer = sent(&mut far);
        assert_eq!(feed(&mut near, &answer), agreed(Some(1001), ""));
        assert_eq!((near.state(), far.state()), (State::Closed, State::Closed));
        assert!(near.poll_transmit().is_empty() && near.poll_timeout().is_none());
        assert_eq!(near.handle_end().event, None, "the end of the transport is no news");
        assert_eq!(near.ends_first() as u8 + far.ends_first() as u8, 1, "one side ends first");
    }
}

#[test]
fn both_sides_at_once_send_one_close_frame_each() {
    let (mut client, mut server) = pair(&small());
    client.outbox().close(NOW, Some(CloseCode::NORMAL), "client").unwrap();
    server.outbox().close(NOW, Some(CloseCode::GOING_AWAY), "server").unwrap();
    let (from_client, from_server) = (sent(&mut client), sent(&mut server));
    assert_eq!(feed(&mut client, &from_server), agreed(Some(1001), "server"));
    assert_eq!(feed(&mut server, &from_client), agreed(Some(1000), "client"));
    assert!(client.poll_transmit().is_empty() && server.poll_transmit().is_empty());
}

#[test]
fn an_empty_close_frame_is_answered_with_an_empty_one() {
    let mut server = open(Role::Server);
    assert_eq!(feed(&mut server, &frame(Role::Server, 0x88, b"")), agreed(None, ""));
    assert_eq!(close_code(server), None);
}

#[test]
fn what_was_under_way_when_we_closed_still_arrives_and_pings_are_not_answered() {
    let (mut client, mut server) = pair(&small());
    client.outbox().close(NOW, Some(CloseCode::NORMAL), "").unwrap();
    let _ = sent(&mut client);
    server.outbox().text("crossed").unwrap();
    server.outbox().ping(b"").unwrap();
    let crossing = sent(&mut server);
    assert_eq!(feed(&mut client, &crossing), [Seen::Text("crossed".into()), Seen::Ping(vec![])]);
    assert!(client.poll_transmit().is_empty());
}

#[test]
fn a_close_frame_with_half_a_code_a_wrong_code_or_a_wrong_reason_is_a_violation() {
    let cases: [(&[u8], Violation, u16); 8] = [
        (b"\x03", Violation::CloseBytes, 1002),
        (b"\x00\x00", Violation::CloseCode, 1002),
        (b"\x03\xec", Violation::CloseCode, 1002), // 1004
        (b"\x03\xed", Violation::CloseCode, 1002), // 1005
        (b"\x03\xee", Violation::CloseCode, 1002), // 1006
        (b"\x03\xf7", Violation::CloseCode, 1002), // 1015
        (b"\xff\xff", Violation::CloseCode, 1002),
        (b"\x03\xe8\xce\xba\xff", Violation::Utf8, 1007),
    ];
    for (payload, violation, code) in cases {
        for role in [Role::Client, Role::Server] {
            let mut end = open(role);
            let expected = [Seen::Over(Closed::Violation(violation))];
            assert_eq!(feed(&mut end, &frame(role, 0x88, payload)), expected);
            assert_eq!(close_code(end), Some(code));
        }
    }
}

#[test]
fn a_peer_that_does_not_answer_our_close_is_given_up_in_time() {
    let (mut client, _) = pair(&small());
    client.outbox().close(NOW, None, "").unwrap();
    let due = client.poll_timeout().unwrap();
    assert_eq!(due, NOW + small().close_timeout);
    assert_eq!(client.handle_timeout(due - Nanos(1)).event, None);
    let event = client.handle_timeout(due).event.map(|event| seen(&event));
    assert_eq!(event, Some(Seen::Over(Closed::CloseTimeout)));
    assert_eq!(client.handle_timeout(due).event, None);
    assert_eq!(client.state(), State::Closed);
}

#[test]
fn a_transport_that_ends_without_a_close_frame_is_a_cut() {
    for role in [Role::Client, Role::Server] {
        let mut end = open(role);
        let event = end.handle_end().event.map(|event| seen(&event));
        assert_eq!(event, Some(Seen::Over(Closed::Cut)));
        assert_eq!(end.handle_end().event, None);
        assert_eq!(end.poll_timeout(), None);
        assert!(end.poll_transmit().is_empty());
    }
}

#[test]
fn a_reason_has_123_bytes_at_the_most_and_always_fits() {
    let (_, mut server) = pair(&small());
    let long = "x".repeat(124);
    let too_long = Err(WsError::Limit(Limit::ControlBytes));
    assert_eq!(server.outbox().close(NOW, Some(CloseCode::NORMAL), &long), too_long);
    // Whatever waits before it.
    while server.outbox().binary(&[0; 100]).is_ok() {}
    while server.outbox().ping(&[0; 125]).is_ok() {}
    let before = server.poll_transmit().len();
    server.outbox().close(NOW, Some(CloseCode::NORMAL), &long[..123]).unwrap();
    assert_eq!(server.poll_transmit().len(), before + 2 + 125);
}

#[test]
fn after_a_violation_nothing_more_is_read_and_nothing_more_can_be_sent() {
    let mut server = open(Role::Server);
    let bytes = [frame(Role::Server, 0x83, b""), frame(Role::Server, 0x81, b"behind it")].concat();
    let expected = [Seen::Over(Closed::Violation(Violation::ReservedOpcode))];
    assert_eq!(feed(&mut server, &bytes), expected);
    assert_eq!(server.outbox().text("more"), Err(NOT_OPEN));
    assert_eq!(server.outbox().ping(b""), Err(NOT_OPEN));
}
