//! Heartbeats, deadlines, on virtual time.

use taut_types::Nanos;
use taut_zmtp::{CloseReason, ConnectionConfig, PublisherConfig, PublisherEvent, SocketType};

use crate::wire::{NOW, Pair};

fn later(millis: i64) -> Nanos {
    Nanos(NOW.0 + Nanos::from_millis(millis).0)
}

#[test]
fn a_handshake_has_a_deadline_and_so_has_silence() {
    let mut pair =
        Pair::new(PublisherConfig::new(SocketType::Pub), ConnectionConfig::new(SocketType::Sub));
    assert_eq!(pair.publisher.poll_timeout(), Some(later(5_000)));
    assert_eq!(pair.publisher.handle_timeout(later(4_999)), None);
    let late = pair.publisher.handle_timeout(later(5_000));
    assert_eq!(late, Some((pair.peer, CloseReason::HandshakeTimeout)));
    assert_eq!(pair.publisher.handle_timeout(later(5_000)), None);
    assert_eq!(pair.publisher.counters().timeouts, 1);

    pair = Pair::subscribed(PublisherConfig::new(SocketType::Pub), &[""]);
    assert_eq!(pair.subscriber.handle_timeout(later(999)), None);
    assert!(pair.subscriber.poll_transmit(pair.link).is_empty());
    assert_eq!(pair.subscriber.handle_timeout(later(1_000)), None);
    assert_eq!(pair.subscriber.poll_transmit(pair.link), b"\x04\x07\x04PING\0\x1E");
    let silent = pair.subscriber.handle_timeout(later(3_000));
    assert_eq!(silent, Some((pair.link, CloseReason::HeartbeatTimeout)));
}

#[test]
fn any_traffic_is_a_sign_of_life() {
    let mut pair = Pair::subscribed(PublisherConfig::new(SocketType::Pub), &[""]);
    for second in 1..20 {
        let now = later(second * 1_000);
        assert_eq!(pair.subscriber.handle_timeout(now), None, "second {second}");
        let ping = pair.subscriber.poll_transmit(pair.link).to_vec();
        pair.subscriber.transmitted(pair.link, ping.len());
        let mut at = 0;
        while at < ping.len() {
            at += pair.publisher.handle_bytes(pair.peer, now, &ping[at..]).consumed;
        }
        assert_eq!(pair.publisher.handle_timeout(now), None);
        let pong = pair.publisher.poll_transmit(pair.peer).to_vec();
        pair.publisher.transmitted(pair.peer, pong.len());
        let mut at = 0;
        while at < pong.len() {
            at += pair.subscriber.handle_bytes(pair.link, now, &pong[at..]).consumed;
        }
    }
}

#[test]
fn a_peer_is_held_to_the_time_to_live_that_it_promised() {
    let mut config = PublisherConfig::new(SocketType::Pub);
    config.connection.heartbeat = None;
    let mut pair = Pair::subscribed(config, &[""]);
    let ping = b"\x04\x0A\x04PING\0\x05abc";
    let handled = pair.publisher.handle_bytes(pair.peer, NOW, ping);
    assert_eq!((handled.consumed, handled.event), (12, None));
    assert_eq!(pair.publisher.poll_transmit(pair.peer), b"\x04\x08\x04PONGabc");
    // Time is looked at when it was due before; a promise is noticed at the next look.
    assert_eq!(pair.publisher.handle_timeout(later(499)), None);
    let silent = pair.publisher.handle_timeout(later(500));
    assert_eq!(silent, Some((pair.peer, CloseReason::HeartbeatTimeout)));
}

#[test]
fn pings_that_nobody_reads_the_answers_of_are_not_answered_for_ever() {
    let mut pair = Pair::subscribed(PublisherConfig::new(SocketType::Pub), &[""]);
    let ping = b"\x04\x07\x04PING\0\x00";
    for _ in 0..100_000 {
        let handled = pair.publisher.handle_bytes(pair.peer, NOW, ping);
        assert_eq!(handled.consumed, ping.len());
        assert!(!matches!(handled.event, Some(PublisherEvent::Closed(_))));
    }
    assert!(pair.publisher.poll_transmit(pair.peer).len() < 5_000);
}

#[test]
fn a_promise_that_comes_after_the_last_look_is_kept_too() {
    let mut config = PublisherConfig::new(SocketType::Pub);
    config.connection.heartbeat = None;
    let mut pair = Pair::subscribed(config, &[""]);
    // A last look, by the promise of the PING behind the subscription.
    assert_eq!(pair.publisher.handle_timeout(NOW), None);
    assert_eq!(pair.publisher.poll_timeout(), Some(later(3_000)));
    pair.publisher.handle_bytes(pair.peer, NOW, b"\x04\x0A\x04PING\0\x05abc");
    let due = pair.publisher.poll_timeout().expect("a promise to be checked");
    assert!(due <= later(500), "{due:?}");
    assert_eq!(pair.publisher.handle_timeout(later(499)), None);
    let silent = pair.publisher.handle_timeout(later(500));
    assert_eq!(silent, Some((pair.peer, CloseReason::HeartbeatTimeout)));
}

#[test]
fn the_answer_to_a_heartbeat_does_not_undo_the_barrier_behind_a_subscription() {
    let mut pair = Pair::subscribed(PublisherConfig::new(SocketType::Pub), &[""]);
    assert!(pair.subscriber.is_active(pair.link));
    assert_eq!(pair.subscriber.handle_timeout(later(1_000)), None);
    pair.run(usize::MAX);
    assert!(pair.subscriber.is_active(pair.link));
}

#[test]
fn bytes_that_wait_to_be_read_are_a_sign_of_life() {
    let mut pair = Pair::subscribed(PublisherConfig::new(SocketType::Pub), &[""]);
    pair.subscriber.heard(pair.link, later(10_000));
    assert_eq!(pair.subscriber.handle_timeout(later(10_000)), None);
    assert_eq!(pair.subscriber.handle_timeout(later(12_999)), None);
    let silent = pair.subscriber.handle_timeout(later(13_000));
    assert_eq!(silent, Some((pair.link, CloseReason::HeartbeatTimeout)));
}
