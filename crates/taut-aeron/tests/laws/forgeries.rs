//! Seeded datagrams of strangers at both ends of a stream: nothing panics, no datagram is answered
//! without end, and who cannot know the session neither ends the stream nor hears more than he
//! sends.
//!
//! `TAUT_EXECUTIONS=400000 cargo test --release -p taut-aeron --test laws -- --nocapture forged`
//! sends so many; an ordinary run sends a few thousand.

use std::net::SocketAddr;

use taut_aeron::{
    DestinationMode, Publication, PublicationConfig, Subscription, SubscriptionConfig, Target,
};
use taut_testkit::{Draw, Random};
use taut_types::Nanos;

use crate::pair::{here, there};

const SEED: u64 = 0x5EED_AE20_2026_1125;
const SESSION: i32 = 0x1234_5678;
const STREAM: i32 = 1001;
/// Pad, data, NAK, status, error, setup, round trip, resolution, response setup, and none.
const CODES: [u16; 10] = [0, 1, 2, 3, 4, 5, 6, 7, 11, 0xFFFF];
/// Datagrams that one pair meets with.
const OF_A_PAIR: usize = 1_000;
/// What both ends may say to one datagram, and to the time that passes with it.
const ANSWERS_MAX: usize = 64;

fn executions() -> usize {
    std::env::var("TAUT_EXECUTIONS").ok().and_then(|count| count.parse().ok()).unwrap_or(4_000)
}

/// Two ends that mean it, and what strangers sent and heard.
struct Scene {
    publication: Publication,
    subscription: Subscription,
    now: Nanos,
    messages: usize,
    /// Real frames, to be changed.
    seen: Vec<Vec<u8>>,
    came: usize,
    went: usize,
}

impl Scene {
    fn new(random: &mut Random) -> Self {
        let destinations =
            if random.bool() { DestinationMode::Dynamic } else { DestinationMode::Fixed };
        let is_dynamic = destinations == DestinationMode::Dynamic;
        let publication = PublicationConfig {
            session_id: SESSION,
            stream_id: STREAM,
            initial_term_id: 40,
            term_id: 40,
            term_length: 64 * 1024,
            destinations,
            is_group: is_dynamic,
            ..PublicationConfig::default()
        };
        let subscription = SubscriptionConfig {
            stream_id: STREAM,
            receiver_window: 8 * 1024,
            is_reliable: random.below(4) > 0,
            elicit: is_dynamic.then(here),
            ..SubscriptionConfig::default()
        };
        Self {
            publication: Publication::new(publication).expect("a publication"),
            subscription: Subscription::new(subscription).expect("a subscription"),
            now: Nanos(1),
            messages: 0,
            seen: Vec::new(),
            came: 0,
            went: 0,
        }
    }

    fn see(&mut self, frame: &[u8]) {
        if self.seen.len() < 200 {
            self.seen.push(frame.to_vec());
        }
    }

    /// Time passes, and each hears what the other one says.
    fn turn(&mut self) {
        self.now = self.now + Nanos::from_millis(1);
        let (now, mut frame, mut said) = (self.now, [0; 2048], 0);
        self.publication.handle_timeout(now);
        self.subscription.handle_timeout(now);
        while let Some(run) = self.publication.next_run(now) {
            let bytes = self.publication.run_bytes(&run).to_vec();
            for datagram in bytes.chunks(run.segment_bytes) {
                self.see(datagram);
                self.subscription.handle_bytes(now, here(), datagram);
            }
            self.publication.run_sent(now, &run);
            said += 1;
            assert!(said <= ANSWERS_MAX, "data without end");
        }
        while let Some(sent) = self.publication.poll_transmit(now, &mut frame) {
            match sent.to {
                Target::One(to) if to != there() => self.went += sent.bytes,
                _ => {
                    self.see(&frame[..sent.bytes]);
                    self.subscription.handle_bytes(now, here(), &frame[..sent.bytes]);
                }
            }
            said += 1;
            assert!(said <= 2 * ANSWERS_MAX, "control frames without end");
        }
        while let Some(sent) = self.subscription.poll_transmit(now, &mut frame) {
            if sent.to == Target::One(here()) {
                self.see(&frame[..sent.bytes]);
                self.publication.handle_bytes(now, there(), &frame[..sent.bytes]);
            } else {
                self.went += sent.bytes;
            }
            said += 1;
            assert!(said <= 3 * ANSWERS_MAX, "feedback without end");
        }
        while self.publication.poll_event().is_some() {}
        while self.subscription.poll_event().is_some() {}
        self.messages += self.subscription.poll(usize::MAX, |_| {});
    }

    /// Whether a message gets through within a second.
    fn is_served(&mut self) -> bool {
        let before = self.messages;
        (0..1_000).any(|_| {
            let _ = self.publication.offer(b"still there");
            self.turn();
            self.messages > before
        })
    }
}

/// A frame of any type with a right length, or a real one; some bytes of either are changed.
fn forge(random: &mut Random, scene: &Scene, knows_session: bool) -> Vec<u8> {
    let mut bytes: Vec<u8> = if knows_session && random.bool() && !scene.seen.is_empty() {
        scene.seen[random.usize(..scene.seen.len())].clone()
    } else {
        let length = random.usize(24..200);
        let mut bytes: Vec<u8> = (0..length).map(|_| random.u8(..)).collect();
        bytes[..4].copy_from_slice(&(length as i32).to_le_bytes());
        bytes[4] = 0;
        bytes[6..8].copy_from_slice(&random.pick(&CODES).to_le_bytes());
        // Data and SETUPs have their offset first.
        let stream = if matches!(bytes[6], 0 | 1 | 5) { 16 } else { 12 };
        if random.bool() {
            bytes[stream..stream + 4].copy_from_slice(&STREAM.to_le_bytes());
        }
        if knows_session {
            bytes[stream - 4..stream].copy_from_slice(&SESSION.to_le_bytes());
        }
        bytes
    };
    for _ in 0..random.below(4) {
        let at = random.usize(..bytes.len());
        bytes[at] = if random.bool() { random.u8(..) } else { bytes[at] ^ (1 << random.below(8)) };
    }
    if random.below(8) == 0 {
        bytes.truncate(random.usize(..bytes.len()));
    }
    bytes
}

#[test]
fn forged_datagrams_panic_nothing_and_do_not_end_the_stream() {
    let mut random = Random::with_seed(SEED);
    let (executions, mut done, mut served) = (executions(), 0, 0);
    let (mut came, mut went) = (0, 0);
    while done < executions {
        let mut scene = Scene::new(&mut random);
        // Who knows it has heard the stream, or is in its place: nothing is promised to the others.
        let knows_session = random.below(3) == 0;
        let first = scene.is_served();
        assert!(first, "a quiet pair");
        for _ in 0..OF_A_PAIR.min(executions - done) {
            let bytes = forge(&mut random, &scene, knows_session);
            let stranger = SocketAddr::from(([11, 0, 0, random.u8(..70)], 4000));
            let is_as_peer = knows_session && random.below(4) == 0;
            let from = |peer| if is_as_peer { peer } else { stranger };
            scene.publication.handle_bytes(scene.now, from(there()), &bytes);
            scene.subscription.handle_bytes(scene.now, from(here()), &bytes);
            // Each end heard it, and may answer for itself.
            scene.came += 2 * bytes.len();
            done += 1;
            if random.below(4) == 0 {
                let _ = scene.publication.offer(&[7; 100]);
                scene.turn();
            }
        }
        if !knows_session {
            assert!(scene.is_served(), "after {done} datagrams of strangers");
            assert!(scene.went <= scene.came, "{} for {}", scene.went, scene.came);
            served += 1;
            (came, went) = (came + scene.came, went + scene.went);
        }
    }
    assert!(served > 0 && went > 0, "{served} pairs, {went} bytes");
    println!(
        "{done} forged datagrams; {served} pairs met with strangers who do not know the session \
         and were served behind them: {went} bytes for {came}"
    );
}
