//! A stranger's bytes, in any pieces, before and after a handshake: no panic, no end of input is
//! passed, what they make us say stays small, and so does a message of whatever parts.
#![no_main]

use libfuzzer_sys::fuzz_target;
use taut_types::Nanos;
use taut_zmtp::{
    Account, ConnectionConfig, Publisher, PublisherConfig, SEED_BYTES, SecretKey, Security, Seed,
    Socket, SocketConfig, SocketType, Subscriber, SubscriberEvent,
};

const NOW: Nanos = Nanos(1_000_000_000);
const PARTS_MAX: u32 = 16;
const MESSAGE_BYTES_MAX: usize = 1_024;
/// What a peer of ZMTP 3.1 without security says until messages pass.
const HANDSHAKE: [&[u8]; 2] = [b"\xff\0\0\0\0\0\0\0\0\x7f\x03\x01NULL", &[0; 48]];
const READY_SUB: &[u8] = b"\x04\x19\x05READY\x0bSocket-Type\0\0\0\x03SUB";
const READY_PUB: &[u8] = b"\x04\x19\x05READY\x0bSocket-Type\0\0\0\x03PUB";

fn security(choice: u8, is_server: bool) -> Security {
    let account = || Account::new("user", "password").expect("short enough");
    let secret = || SecretKey::new([3; 32]);
    match (choice % 4, is_server) {
        (2, true) => Security::PlainServer(vec![account()]),
        (2, false) => Security::PlainClient(account()),
        (3, true) => Security::CurveServer { secret: secret(), clients: None },
        (3, false) => Security::CurveClient { secret: secret(), server: secret().public() },
        _ => Security::Null,
    }
}

/// Hands bytes over in pieces as long as the first ones say; what is not consumed comes again.
fn feed(bytes: &[u8], mut handle: impl FnMut(&[u8]) -> usize) {
    let Some((piece, bytes)) = bytes.split_first() else { return };
    let piece = usize::from(*piece) + 1;
    let (mut at, mut end) = (0, 0);
    while end < bytes.len() {
        end = (end + piece).min(bytes.len());
        loop {
            let consumed = handle(&bytes[at..end]);
            assert!(consumed <= end - at);
            at += consumed;
            if consumed == 0 {
                break;
            }
        }
    }
}

fn publish(choice: u8, bytes: &[u8]) {
    let socket_type = if choice & 8 == 0 { SocketType::Pub } else { SocketType::Xpub };
    let mut config = PublisherConfig::new(socket_type);
    config.connection.security = security(choice, true);
    config.log_bytes = 4_096;
    let mut publisher = Publisher::new(config).expect("a socket");
    let peer = publisher.add(NOW, Seed::new([7; SEED_BYTES])).expect("a peer");
    if choice & 16 != 0 {
        for known in [HANDSHAKE[0], HANDSHAKE[1], READY_SUB] {
            publisher.handle_bytes(peer, NOW, known);
        }
        assert!(choice & 2 != 0 || publisher.established_count() == 1);
    }
    feed(bytes, |piece| publisher.handle_bytes(peer, NOW, piece).consumed);
    let _ = publisher.offer(&[b"topic", &[1; 70]]);
    let said = publisher.poll_transmit(peer).len();
    assert!(said < 16_384 + 2 * bytes.len());
    publisher.handle_timeout(Nanos(NOW.0 * 100));
}

fn subscribe(choice: u8, bytes: &[u8]) {
    let mut config = ConnectionConfig::new(SocketType::Sub);
    config.security = security(choice, false);
    config.frame_bytes_max = 4_096;
    (config.message_bytes_max, config.message_parts_max) = (MESSAGE_BYTES_MAX, PARTS_MAX);
    let mut subscriber = Subscriber::new(config, 1).expect("a socket");
    subscriber.subscribe(b"to").expect("a subscription");
    let link = subscriber.add(NOW, Seed::new([7; SEED_BYTES])).expect("a link");
    if choice & 16 != 0 {
        for known in [HANDSHAKE[0], HANDSHAKE[1], READY_PUB] {
            subscriber.handle_bytes(link, NOW, known);
        }
        assert!(choice & 2 != 0 || subscriber.established_count() == 1);
    }
    let (mut parts, mut part_bytes) = (0, 0);
    let mut handle = |piece: &[u8]| {
        let handled = subscriber.handle_bytes(link, NOW, piece);
        if let Some(SubscriberEvent::Message { part, more }) = handled.event {
            (parts, part_bytes) = (parts + 1, part_bytes + part.len());
            assert!(parts <= PARTS_MAX && part_bytes <= MESSAGE_BYTES_MAX, "a message is bounded");
            if !more {
                (parts, part_bytes) = (0, 0);
            }
        }
        handled.consumed
    };
    if choice & 32 != 0 {
        // Each byte is a part, or the end of a message: its length, and whether more follows.
        for part in bytes {
            let length = usize::from(part >> 1);
            let frame = [&[part & 1, length as u8][..], &[b't'; 127][..length]].concat();
            handle(&frame);
        }
    } else {
        feed(bytes, handle);
    }
    assert!(subscriber.poll_transmit(link).len() < 16_384 + 2 * bytes.len());
    subscriber.handle_timeout(Nanos(NOW.0 * 100));
}

/// A socket that exchanges messages: what it hears it says again, as far as its rules let it.
fn exchange(choice: u8, bytes: &[u8]) {
    let (socket_type, peer): (_, &[u8]) = match choice >> 2 & 7 {
        0 | 1 => (SocketType::Rep, b"REQ"),
        2 => (SocketType::Req, b"REP"),
        3 | 4 => (SocketType::Router, b"DEALER"),
        5 => (SocketType::Dealer, b"ROUTER"),
        6 => (SocketType::Pull, b"PUSH"),
        _ => (SocketType::Pair, b"PAIR"),
    };
    let mut config = SocketConfig::new(socket_type);
    config.connection.security = security(choice, true);
    config.connection.frame_bytes_max = 4_096;
    config.queue_bytes_max = 8_192;
    (config.correlates_req, config.is_req_relaxed) = (choice & 32 != 0, choice & 32 != 0);
    let mut socket = Socket::new(config, 7).expect("a socket");
    let link = socket.add(NOW, Seed::new([7; SEED_BYTES]), None).expect("a link");
    if choice & 2 == 0 {
        let length = [0, 0, 0, peer.len() as u8];
        let body = [b"\x05READY\x0bSocket-Type", &length[..], peer].concat();
        let ready = [&[4, body.len() as u8][..], &body].concat();
        for known in [HANDSHAKE[0], HANDSHAKE[1], &ready] {
            socket.handle_bytes(link, NOW, known);
        }
        assert_eq!(socket.established_count(), 1);
        let _ = socket.send(&[b"?"]);
    }
    feed(bytes, |piece| {
        let consumed = if socket.wants_bytes(link) {
            socket.handle_bytes(link, NOW, piece).consumed
        } else {
            0
        };
        let said = socket.receive().ok().flatten().map(|message| {
            let parts = message.routing_id().into_iter().chain(message.parts());
            parts.map(<[u8]>::to_vec).collect::<Vec<_>>()
        });
        if let Some(said) = said {
            let parts: Vec<&[u8]> = said.iter().map(Vec::as_slice).collect();
            let _ = socket.send(&parts);
        }
        consumed
    });
    assert!(socket.poll_transmit(link).len() < 16_384 + 3 * bytes.len());
    socket.remove(link);
    while let Ok(Some(_)) = socket.receive() {}
    socket.handle_timeout(Nanos(NOW.0 * 100));
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, bytes)) = data.split_first() else { return };
    if choice & 64 != 0 {
        return exchange(*choice, bytes);
    }
    if choice & 4 == 0 { publish(*choice, bytes) } else { subscribe(*choice, bytes) }
});
