//! Byte for byte as the standard has it (RFC 23, 29 and 37): what a peer sends, what we answer.

use taut_zmtp::{CloseReason, PublisherConfig, PublisherEvent, SocketType, Violation};

use crate::wire::{NOW, Pair};

const GREETING_30: &[u8; 64] =
    b"\xFF\0\0\0\0\0\0\0\x01\x7F\x03\x00NULL\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
    \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
const READY_SUB: &[u8] = b"\x04\x26\x05READY\x0BSocket-Type\0\0\0\x03SUB\x08Identity\0\0\0\0";

fn greeting(minor: u8) -> [u8; 64] {
    let mut greeting = *GREETING_30;
    greeting[11] = minor;
    greeting
}

fn publisher() -> Pair {
    let config = PublisherConfig::new(SocketType::Pub);
    Pair::new(config, taut_zmtp::ConnectionConfig::new(SocketType::Sub))
}

/// Hands all bytes over; the names of the events.
fn handle(pair: &mut Pair, bytes: &[u8]) -> Vec<String> {
    let mut events = Vec::new();
    let mut at = 0;
    loop {
        let handled = pair.publisher.handle_bytes(pair.peer, NOW, &bytes[at..]);
        at += handled.consumed;
        match handled.event {
            Some(PublisherEvent::Established(peer)) => events.push(format!("3.{}", peer.minor)),
            Some(event) => events.push(format!("{event:?}")),
            None if handled.consumed == 0 => break,
            None => {}
        }
        if matches!(handled.event, Some(PublisherEvent::Closed(_))) {
            break;
        }
    }
    events
}

fn sent(pair: &mut Pair) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let bytes = pair.publisher.poll_transmit(pair.peer);
        if bytes.is_empty() {
            return all;
        }
        all.extend_from_slice(bytes);
        let count = bytes.len();
        pair.publisher.transmitted(pair.peer, count);
    }
}

#[test]
fn a_publisher_s_side_of_a_null_connection() {
    let mut pair = publisher();
    assert_eq!(sent(&mut pair), greeting(1), "at once, before the peer says anything");
    assert!(handle(&mut pair, &greeting(1)).is_empty());
    assert_eq!(sent(&mut pair), b"\x04\x19\x05READY\x0BSocket-Type\0\0\0\x03PUB");
    assert_eq!(handle(&mut pair, READY_SUB), ["3.1"]);
    assert_eq!(handle(&mut pair, b"\x04\x0C\x09SUBSCRIBEBT").len(), 1);
    assert_eq!(pair.publisher.offer(&[b"BTC", b"\x01\x02"]), Ok(1));
    assert_eq!(pair.publisher.offer(&[b"ETH"]), Ok(0));
    assert_eq!(sent(&mut pair), b"\x01\x03BTC\x00\x02\x01\x02");
    assert_eq!(handle(&mut pair, b"\x04\x09\x06CANCELBT").len(), 1);
    assert_eq!(pair.publisher.offer(&[b"BTC"]), Ok(0));
}

#[test]
fn a_peer_of_3_0_subscribes_by_message() {
    let mut pair = publisher();
    let mut bytes = greeting(0).to_vec();
    bytes.extend_from_slice(READY_SUB);
    bytes.extend_from_slice(b"\x00\x03\x01BT\x00\x01\x01");
    assert_eq!(handle(&mut pair, &bytes), ["3.0", "Subscribed([66, 84])", "Subscribed([])"]);
    assert_eq!(handle(&mut pair, b"\x00\x03\x00BT"), ["Cancelled([66, 84])"]);
    assert_eq!(pair.publisher.poll_timeout().map(|_| ()), Some(()));
    // It is sent no PING, which it does not know.
    sent(&mut pair);
    let year = taut_types::Nanos::from_secs(31_536_000);
    assert_eq!(pair.publisher.handle_timeout(year), None);
    assert!(sent(&mut pair).is_empty());
}

#[test]
fn a_subscriber_speaks_to_a_3_0_publisher_in_its_form() {
    let mut pair = publisher();
    pair.subscriber.subscribe(b"BT").expect("subscribe");
    let mut bytes = greeting(0).to_vec();
    bytes.extend_from_slice(b"\x04\x19\x05READY\x0BSocket-Type\0\0\0\x03PUB");
    let mut at = 0;
    while at < bytes.len() {
        at += pair.subscriber.handle_bytes(pair.link, NOW, &bytes[at..]).consumed;
    }
    pair.subscriber.cancel(b"BT");
    let sent = pair.subscriber.poll_transmit(pair.link);
    assert!(sent.ends_with(b"\x00\x03\x01BT\x00\x03\x00BT"), "{sent:?}");
}

#[test]
fn violations_end_the_connection_and_are_counted() {
    let established = || {
        let mut pair = publisher();
        let mut bytes = greeting(1).to_vec();
        bytes.extend_from_slice(READY_SUB);
        handle(&mut pair, &bytes);
        pair
    };
    let long_prefix = [b'x'; 300];
    let subscribe = [&b"\x06\0\0\0\0\0\0\x01\x36\x09SUBSCRIBE"[..], &long_prefix].concat();
    let cases: [(&[u8], Violation); 9] = [
        (b"\x08\x00", Violation::FrameFlags),
        (b"\x05\x02\x01a", Violation::FrameFlags),
        (b"\x04\x00", Violation::CommandSyntax),
        (b"\x04\x03\x09SU", Violation::CommandSyntax),
        (b"\x04\x06\x05READY", Violation::UnexpectedCommand),
        (b"\x04\x06\x05HELLO", Violation::UnexpectedCommand),
        (b"\x01\x01a\x04\x07\x04PING\0\0", Violation::CommandInsideMessage),
        (b"\x02\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", Violation::FrameBytes),
        (&subscribe, Violation::PrefixBytes),
    ];
    for (bytes, violation) in cases {
        let mut pair = established();
        let expected = format!("{:?}", PublisherEvent::Closed(CloseReason::Violation(violation)));
        assert_eq!(handle(&mut pair, bytes), [expected]);
        assert_eq!(pair.publisher.counters().violations, 1);
        assert!(handle(&mut pair, b"\x04\x07\x04PING\0\0").is_empty(), "it is over");
    }
    let mut pair = publisher();
    let early = [&greeting(1)[..], b"\x00\x01\x01"].concat();
    let expected = "Closed(Violation(UnexpectedMessage))";
    assert_eq!(handle(&mut pair, &early), [expected], "a message before READY");
    let mut pair = publisher();
    let huge = [&greeting(1)[..], b"\x06\0\0\0\0\0\0\x10\x01"].concat();
    assert_eq!(handle(&mut pair, &huge), ["Closed(Violation(FrameBytes))"], "4097 bytes");
}

#[test]
fn unknown_commands_and_what_a_pub_socket_has_no_use_for_are_passed_over() {
    let mut pair = publisher();
    let mut bytes = greeting(1).to_vec();
    bytes.extend_from_slice(READY_SUB);
    bytes.extend_from_slice(b"\x04\x06\x04JOINg\x00\x03xyz\x01\x01\x01\x00\x01\x01");
    assert_eq!(handle(&mut pair, &bytes), ["3.1"], "also a multipart that starts with 1");
}
