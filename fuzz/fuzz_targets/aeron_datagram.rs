//! A stranger's datagrams to both ends of an Aeron stream, before and after they are connected: no
//! panic, no answer without end, and the two still understand each other.
#![no_main]

use std::net::SocketAddr;

use libfuzzer_sys::fuzz_target;
use taut_aeron::{
    CongestionControl, DestinationMode, Publication, PublicationConfig, Subscription,
    SubscriptionConfig,
};
use taut_types::Nanos;

const SESSION: i32 = 0x1234_5678;
const STREAM: i32 = 1001;
/// Of frames: pad, data, NAK, status, error, setup, round trip, resolution, response setup, none.
const CODES: [u16; 10] = [0, 1, 2, 3, 4, 5, 6, 7, 11, 0xFFFF];
/// What one datagram may make an end say: far more than it does.
const ANSWERS_MAX: usize = 64;

fn at(host: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, host], 40_123))
}

struct Pair {
    publication: Publication,
    subscription: Subscription,
    now: Nanos,
    messages: usize,
}

impl Pair {
    fn new(choice: u8) -> Self {
        let is_dynamic = choice & 1 != 0;
        let publication = PublicationConfig {
            session_id: SESSION,
            stream_id: STREAM,
            initial_term_id: 40,
            term_id: 40,
            term_length: 64 * 1024,
            destinations: match is_dynamic {
                true => DestinationMode::Dynamic,
                false => DestinationMode::Fixed,
            },
            is_group: is_dynamic,
            destinations_max: 4,
            receivers_max: 4,
            ..PublicationConfig::default()
        };
        let subscription = SubscriptionConfig {
            stream_id: STREAM,
            receiver_window: 8 * 1024,
            is_reliable: choice & 2 != 0,
            validates: choice & 4 != 0,
            congestion: match choice & 8 {
                0 => CongestionControl::Static,
                _ => CongestionControl::Cubic,
            },
            images_max: 4,
            images_per_host_max: 2,
            message_bytes_max: 16 * 1024,
            elicit: is_dynamic.then(|| at(1)),
            ..SubscriptionConfig::default()
        };
        Self {
            publication: Publication::new(publication).expect("a publication"),
            subscription: Subscription::new(subscription).expect("a subscription"),
            now: Nanos(1),
            messages: 0,
        }
    }

    /// Time passes, and each hears what the other one says.
    fn turn(&mut self) {
        self.now = self.now + Nanos::from_millis(5);
        let (now, mut frame) = (self.now, [0; 2048]);
        self.publication.handle_timeout(now);
        self.subscription.handle_timeout(now);
        let mut answers = 0;
        while let Some(run) = self.publication.next_run(now) {
            for datagram in self.publication.run_bytes(&run).chunks(run.segment_bytes) {
                self.subscription.handle_bytes(now, at(1), datagram);
            }
            self.publication.run_sent(now, &run);
            answers += 1;
            assert!(answers <= 4 * ANSWERS_MAX, "data without end");
        }
        answers = 0;
        while let Some(sent) = self.publication.poll_transmit(now, &mut frame) {
            self.subscription.handle_bytes(now, at(1), &frame[..sent.bytes]);
            answers += 1;
            assert!(answers <= ANSWERS_MAX, "control frames without end");
        }
        answers = 0;
        while let Some(sent) = self.subscription.poll_transmit(now, &mut frame) {
            self.publication.handle_bytes(now, at(2), &frame[..sent.bytes]);
            answers += 1;
            assert!(answers <= ANSWERS_MAX, "feedback without end");
        }
        while self.publication.poll_event().is_some() {}
        while self.subscription.poll_event().is_some() {}
        self.messages += self.subscription.poll(usize::MAX, |_| {});
    }
}

/// A datagram whose header may be right, and the rest of the stranger's making.
fn datagram(bytes: &[u8]) -> Vec<u8> {
    let [choice, rest @ ..] = bytes else { return Vec::new() };
    let mut made = rest.to_vec();
    if choice & 0x80 != 0 {
        return made;
    }
    made.resize(made.len().max(24), 0);
    let length = i32::try_from(made.len()).expect("short");
    made[..4].copy_from_slice(&length.to_le_bytes());
    made[4] = 0;
    made[6..8].copy_from_slice(&CODES[usize::from(choice % 16) % CODES.len()].to_le_bytes());
    let (session, stream) = match made[6] {
        // Data have their offset first.
        0 | 1 | 5 => (12, 16),
        _ => (8, 12),
    };
    if choice & 0x40 != 0 {
        made[session..session + 4].copy_from_slice(&SESSION.to_le_bytes());
        made[stream..stream + 4].copy_from_slice(&STREAM.to_le_bytes());
    }
    made
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, mut data)) = data.split_first() else { return };
    let mut pair = Pair::new(*choice);
    if choice & 0x10 != 0 {
        for _ in 0..20 {
            pair.turn();
        }
    }
    while let [length, from, rest @ ..] = data {
        let (bytes, rest) = rest.split_at(usize::from(*length).min(rest.len()));
        data = rest;
        let asked = datagram(bytes);
        // The stranger's own address, or that of the one whom it plays.
        let (as_receiver, as_sender) = if from & 1 == 0 { (at(3), at(3)) } else { (at(2), at(1)) };
        pair.publication.handle_bytes(pair.now, as_receiver, &asked);
        pair.subscription.handle_bytes(pair.now, as_sender, &asked);
        if from & 2 != 0 {
            let _ = pair.publication.offer(&[*from; 100]);
        }
        if from & 4 != 0 {
            pair.turn();
        }
    }
    pair.turn();
    pair.now = pair.now + Nanos::from_secs(60);
    pair.turn();
});
