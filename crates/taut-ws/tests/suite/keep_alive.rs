//! Pings that ask whether the peer is there (5.5.2).

use taut_types::Nanos;
use taut_ws::{Closed, KeepAlive, Role, State, WsConfig};

use crate::rig::{NOW, Seen, close_code, feed, frame, pair, seen, sent};

const SECOND: Nanos = Nanos::from_secs(1);

fn config() -> WsConfig {
    let timeout = Nanos::from_secs(3);
    WsConfig { keep_alive: Some(KeepAlive { interval: SECOND, timeout }), ..WsConfig::default() }
}

#[test]
fn a_silent_peer_is_asked_every_interval_and_given_up_after_the_timeout() {
    let (mut client, mut server) = pair(&config());
    for ping in 1..=2 {
        let due = client.poll_timeout().unwrap();
        assert_eq!(due, NOW + Nanos::from_secs(ping));
        assert_eq!(client.handle_timeout(due - Nanos(1)).event, None);
        assert_eq!(client.handle_timeout(due).event, None);
        let bytes = sent(&mut client);
        assert_eq!(feed(&mut server, &bytes), [Seen::Ping(vec![])]);
    }
    assert_eq!(client.counters().pings_out, 2);
    let due = client.poll_timeout().unwrap();
    assert_eq!(due, NOW + Nanos::from_secs(3), "silence comes before the third ping");
    let event = client.handle_timeout(due).event.map(|event| seen(&event));
    assert_eq!(event, Some(Seen::Over(Closed::Silence)));
    assert_eq!(client.state(), State::Closed);
    assert_eq!(close_code(client), Some(1001));
}

#[test]
fn whatever_comes_is_a_sign_of_life() {
    let (mut client, _) = pair(&config());
    let later = NOW + Nanos::from_millis(2_900);
    let bytes = frame(Role::Client, 0x81, b"x");
    assert_eq!(client.handle_timeout(NOW + SECOND).event, None);
    assert!(client.handle_bytes(later, &bytes).event.is_some());
    assert_eq!(client.handle_timeout(NOW + Nanos::from_secs(4)).event, None, "a ping at the most");
    assert_eq!(client.state(), State::Open);
    // Half a header is one too.
    assert!(client.handle_bytes(later + SECOND, &bytes[..1]).event.is_none());
    assert_eq!(client.handle_timeout(later + Nanos::from_millis(3_500)).event, None);
}

#[test]
fn without_keep_alive_nothing_is_ever_due() {
    let (client, _) = pair(&WsConfig { keep_alive: None, ..WsConfig::default() });
    assert_eq!(client.poll_timeout(), None);
}
