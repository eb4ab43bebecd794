//! Nothing allocates once a connection is built.

use taut_types::Nanos;
use taut_ws::{CloseCode, Connection, Event, KeepAlive, MessageKind, Role, WsConfig};

use crate::rig::{NOW, client, frame, small};

fn hand_over(from: &mut Connection, to: &mut Connection) -> usize {
    let mut events = 0;
    let mut at = 0;
    while at < from.poll_transmit().len() {
        let handled = to.handle_bytes(NOW, &from.poll_transmit()[at..]);
        events += usize::from(handled.event.is_some());
        if matches!(handled.event, Some(Event::Requested(_))) {
            handled.outbox.accept(None, &[("X", "1")]).unwrap();
        }
        at += handled.consumed;
    }
    from.transmitted(at);
    events
}

#[test]
fn handshake_messages_pings_fragments_and_close_allocate_nothing() {
    let keep_alive = Some(KeepAlive { interval: Nanos(1), timeout: Nanos::MAX });
    let config = WsConfig { keep_alive, ..small() };
    let (mut near, mut far) = (client(&config), Connection::server(&config, NOW).unwrap());
    let whole = frame(Role::Server, 0x81, b"in place");
    let mut own = whole.clone();
    let counted = allocation_counter::measure(|| {
        assert_eq!(hand_over(&mut near, &mut far), 1);
        assert_eq!(hand_over(&mut far, &mut near), 1);
        for round in 0..1_000u32 {
            near.outbox().text("a message of some length, as a venue's are").unwrap();
            near.outbox().part(MessageKind::Text, b"in \xc3", false).unwrap();
            near.outbox().ping(b"?").unwrap();
            near.outbox().part(MessageKind::Text, b"\xa9 parts", true).unwrap();
            far.outbox().binary(&round.to_be_bytes()).unwrap();
            assert!(hand_over(&mut near, &mut far) >= 3);
            assert!(hand_over(&mut far, &mut near) >= 2);
            far.handle_timeout(NOW + Nanos(i64::from(round) + 2));
            own.copy_from_slice(&whole);
            assert!(far.handle_bytes_mut(NOW, &mut own).event.is_some());
        }
        near.outbox().close(NOW, Some(CloseCode::NORMAL), "done").unwrap();
        assert!(hand_over(&mut near, &mut far) >= 1);
        assert!(hand_over(&mut far, &mut near) >= 1);
    });
    assert_eq!(counted.count_total, 0, "{counted:?}");
    assert!(far.counters().pings_out > 500);
}
