//! Bytes that were never meant: no panic, everything consumed, what it makes us say is bounded.

use proptest::prelude::*;
use taut_testkit::{Draw, Random, for_each_seed};
use taut_types::Nanos;
use taut_ws::{Event, Role, State};

use crate::rig::{NOW, client, feed_in, frame, open, small};

fn valid(role: Role, random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..=random.below(6) {
        let opcodes = [0x81, 0x82, 0x01, 0x00, 0x80, 0x89, 0x8a, 0x88];
        let payload: Vec<u8> = (0..random.below(140)).map(|_| random.u8(b'a'..=b'z')).collect();
        bytes.extend(frame(role, random.pick(&opcodes), &payload));
    }
    bytes
}

#[test]
fn mutated_frames_never_panic_and_end_in_one_last_event() {
    for_each_seed(1..4_000, |seed, mut random| {
        let role = if seed % 2 == 0 { Role::Client } else { Role::Server };
        let mut bytes = valid(role, &mut random);
        for _ in 0..random.below(5) {
            let at = random.usize(..bytes.len());
            match random.below(3) {
                0 => bytes[at] = random.u8(..),
                1 => bytes[at] ^= 1 << random.below(8),
                _ => bytes.truncate(at.max(1)),
            }
        }
        let mut end = open(role);
        let piece = random.usize(1..=60);
        let made = feed_in(&mut end, &bytes, piece);
        let ends = made.iter().filter(|seen| {
            use crate::rig::Seen::{Agreed, Over, Refused};
            matches!(seen, Agreed(..) | Over(_) | Refused(..))
        });
        let ends = ends.count();
        assert_eq!(ends, usize::from(end.state() == State::Closed));
        assert!(end.poll_transmit().len() < 2 * bytes.len() + 400);
    });
}

#[test]
fn a_mutated_answer_never_opens_with_another_key() {
    let answer = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\
                   \r\nSec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n";
    for at in 0..answer.len() {
        for bit in 0..8 {
            let mut bytes = answer.to_vec();
            bytes[at] ^= 1 << bit;
            let mut client = client(&small());
            feed_in(&mut client, &bytes, 11);
            assert!(!client.outbox().is_open(), "byte {at} bit {bit}");
        }
    }
}

proptest! {
    #[test]
    fn random_bytes_never_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
        cuts in 1usize..50,
        is_client in any::<bool>(),
    ) {
        let role = if is_client { Role::Client } else { Role::Server };
        let mut end = open(role);
        let mut last = None;
        for piece in bytes.chunks(cuts) {
            let mut rest = piece;
            while !rest.is_empty() {
                let handled = end.handle_bytes(NOW, rest);
                if let Some(Event::Closed(_)) = handled.event {
                    prop_assert!(last.is_none(), "one last event");
                    last = Some(());
                } else {
                    prop_assert!(last.is_none() || handled.event.is_none());
                }
                let consumed = handled.consumed;
                prop_assert!(consumed > 0 && consumed <= rest.len());
                rest = &rest[consumed..];
            }
        }
        let _ = end.handle_timeout(Nanos::MAX);
    }
}
