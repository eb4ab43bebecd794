//! Memory is taken as it fills, not before, and goes back.

use taut_types::Nanos;
use taut_ws::{Closed, Connection, Event, KeepAlive, Role, Violation, WsConfig};

use crate::rig::{NOW, Seen, feed, feed_in, frame, pair, sent};

const MESSAGE_BYTES_MAX: usize = 16 << 20;
const SECOND: Nanos = Nanos::from_secs(1);

fn large() -> WsConfig {
    let keep_alive = Some(KeepAlive { interval: SECOND, timeout: Nanos::from_secs(9) });
    WsConfig {
        message_bytes_max: MESSAGE_BYTES_MAX,
        send_bytes_max: 2 * MESSAGE_BYTES_MAX,
        keep_alive,
        ..WsConfig::default()
    }
}

#[test]
fn a_stranger_costs_no_more_than_its_head_may_have() {
    let mut made = None;
    let built = allocation_counter::measure(|| {
        made = Some(Connection::server(&large(), NOW).expect("a server"));
    });
    assert!(built.bytes_max < 16 << 10, "{built:?}");
    let mut server = made.expect("made");
    let head = [b"GET /", &[b'a'; 4_000][..]].concat();
    let more = allocation_counter::measure(|| {
        assert!(feed_in(&mut server, &head, 7).is_empty());
    });
    // The rig's list of what was seen is empty.
    assert_eq!(more.bytes_max, 0, "{more:?}");
}

#[test]
fn a_message_takes_memory_as_it_fills_and_gives_it_back() {
    let (_, mut server) = pair(&large());
    let idle = server.memory_bytes();
    let message = vec![7; MESSAGE_BYTES_MAX];
    let bytes = frame(Role::Server, 0x82, &message);
    // A header that promises much takes nothing.
    let (start, rest) = bytes.split_at(1_000);
    assert!(feed(&mut server, start).is_empty());
    assert_eq!(server.memory_bytes(), idle);
    let (middle, rest) = rest.split_at(1 << 20);
    assert!(feed_in(&mut server, middle, 1 << 16).is_empty());
    assert!((1 << 20..4 << 20).contains(&server.memory_bytes()), "{}", server.memory_bytes());
    assert_eq!(feed_in(&mut server, rest, 1 << 16), [Seen::Binary(message.clone())]);
    server.outbox().binary(&message).expect("room");
    assert!((32 << 20..64 << 20).contains(&server.memory_bytes()));
    // While it waits, it stays.
    assert!(server.handle_timeout(NOW + SECOND).event.is_none());
    assert!(server.memory_bytes() > 16 << 20);
    assert!(sent(&mut server).len() > MESSAGE_BYTES_MAX);
    feed(&mut server, &frame(Role::Server, 0x8a, b""));
    assert!(server.handle_timeout(NOW + SECOND + SECOND).event.is_none());
    assert!(server.memory_bytes() <= idle + 1_024, "{}", server.memory_bytes());
    // And it goes on.
    let text = frame(Role::Server, 0x81, b"still here");
    assert_eq!(feed(&mut server, &text), [Seen::Text("still here".into())]);
}

#[test]
fn what_is_too_long_is_refused_before_it_takes_any_memory() {
    let (_, mut server) = pair(&large());
    let idle = server.memory_bytes();
    let bytes = frame(Role::Server, 0x82, &vec![7; MESSAGE_BYTES_MAX + 1]);
    let handled = server.handle_bytes(NOW, &bytes[..100]);
    let refused = Event::Closed(Closed::Violation(Violation::MessageBytes));
    assert_eq!(handled.event, Some(refused));
    assert_eq!(server.memory_bytes(), idle);
}
