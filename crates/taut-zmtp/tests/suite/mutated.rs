//! No input panics, loops or makes memory grow: mutated conversations, by the million in release.

use taut_testkit::{Draw, Random};
use taut_zmtp::{Account, ConnectionConfig, PublisherConfig, SecretKey, Security, SocketType};

use crate::wire::{NOW, Pair};

/// One side's bytes of a whole conversation: handshake, subscriptions, heartbeats.
fn conversation(
    security: (Security, Security),
) -> (PublisherConfig, ConnectionConfig, Vec<u8>, Vec<u8>) {
    let mut publisher = PublisherConfig::new(SocketType::Xpub);
    publisher.connection.security = security.0;
    publisher.log_bytes = 4_096;
    let mut subscriber = ConnectionConfig::new(SocketType::Sub);
    subscriber.security = security.1;
    subscriber.frame_bytes_max = 4_096;
    let mut pair = Pair::new(publisher.clone(), subscriber.clone());
    pair.subscriber.subscribe(b"").expect("subscribe");
    pair.subscriber.subscribe(b"prefix").expect("subscribe");
    let (mut up, mut down) = (Vec::new(), Vec::new());
    loop {
        let bytes = pair.subscriber.poll_transmit(pair.link).to_vec();
        let more = pair.publisher.poll_transmit(pair.peer).to_vec();
        if bytes.is_empty() && more.is_empty() {
            break;
        }
        up.extend_from_slice(&bytes);
        down.extend_from_slice(&more);
        pair.pass_up(usize::MAX);
        pair.pass_down(usize::MAX);
        if pair.active && pair.messages.is_empty() {
            pair.publisher.offer(&[b"prefix", &[7; 300]]).expect("offer");
        }
    }
    assert_eq!(pair.messages.len(), 1);
    (publisher, subscriber, up, down)
}

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(4) {
        let at = random.usize(..bytes.len());
        match random.below(6) {
            0 => bytes[at] = random.u8(..),
            1 => bytes[at] ^= 1 << random.below(8),
            2 => bytes.insert(at, random.u8(..)),
            3 if bytes.len() > 1 => drop(bytes.remove(at)),
            4 => bytes.truncate(at.max(1)),
            _ => {
                let end = (at + random.usize(..40)).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
        }
    }
}

#[test]
fn no_mutated_input_panics_or_is_taken_for_ever() {
    let account = Account::new("user", "password").expect("account");
    let secret = SecretKey::new([3; 32]);
    let server = secret.public();
    let mechanisms = [
        (Security::Null, Security::Null),
        (Security::PlainServer(vec![account.clone()]), Security::PlainClient(account)),
        (
            Security::CurveServer { secret: secret.clone(), clients: None },
            Security::CurveClient { secret, server },
        ),
    ];
    let rounds = if cfg!(debug_assertions) { 2_000 } else { 1_000_000 };
    for (mechanism, security) in mechanisms.into_iter().enumerate() {
        // A box is opened for each: fewer of them tell as much.
        let rounds = if mechanism == 2 { rounds / 100 } else { rounds };
        let (publisher, subscriber, up, down) = conversation(security);
        let mut random = Random::with_seed(0x2AB1E + mechanism as u64);
        for round in 0..rounds {
            let mut pair = Pair::new(publisher.clone(), subscriber.clone());
            for is_up in [true, false] {
                let mut bytes = if is_up { up.clone() } else { down.clone() };
                mutate(&mut bytes, &mut random);
                let mut at = 0;
                let mut calls = 0;
                while at < bytes.len() {
                    let end = (at + random.usize(1..=200)).min(bytes.len());
                    let consumed = match is_up {
                        true => {
                            pair.publisher.handle_bytes(pair.peer, NOW, &bytes[at..end]).consumed
                        }
                        false => {
                            pair.subscriber.handle_bytes(pair.link, NOW, &bytes[at..end]).consumed
                        }
                    };
                    assert!(consumed <= end - at, "mechanism {mechanism}, round {round}");
                    calls += 1;
                    if consumed == 0 && (end == bytes.len() || calls > 2_000) {
                        break;
                    }
                    at += consumed;
                }
                assert!(calls <= 2_001, "mechanism {mechanism}, round {round}: it ends");
            }
            let waiting = pair.publisher.poll_transmit(pair.peer).len();
            assert!(waiting < 16_384, "mechanism {mechanism}, round {round}: no amplification");
        }
    }
}
