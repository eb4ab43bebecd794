//! Sends messages of 70 bytes, or takes them in. The wire between the two ends is memory.

use std::hint::black_box;

use taut_types::Nanos;
use taut_zmtp::{
    ConnectionConfig, LinkId, PeerId, Publisher, PublisherConfig, SEED_BYTES, Seed, SocketType,
    Subscriber, SubscriberEvent,
};

use crate::{Outcome, count, one_of};

const NOW: Nanos = Nanos(1_000_000_000);
/// Messages between two writes.
const BATCH: usize = 500;
const SIZE: usize = 70;

struct Ends {
    publisher: Publisher,
    subscriber: Subscriber,
    peer: PeerId,
    link: LinkId,
}

impl Ends {
    fn connected() -> Self {
        let seed = || Seed::new([7; SEED_BYTES]);
        let mut publisher = Publisher::new(PublisherConfig::new(SocketType::Pub)).expect("PUB");
        let config = ConnectionConfig::new(SocketType::Sub);
        let mut subscriber = Subscriber::new(config, 1).expect("SUB");
        subscriber.subscribe(b"").expect("a subscription");
        let peer = publisher.add(NOW, seed()).expect("a peer");
        let link = subscriber.add(NOW, seed()).expect("a link");
        let mut ends = Self { publisher, subscriber, peer, link };
        for _ in 0..8 {
            ends.exchange();
        }
        assert_eq!(ends.publisher.subscription_count(), 1);
        ends
    }

    fn exchange(&mut self) {
        let mut wire = self.publisher.poll_transmit(self.peer).to_vec();
        self.publisher.transmitted(self.peer, wire.len());
        take(&mut self.subscriber, self.link, &wire);
        wire = self.subscriber.poll_transmit(self.link).to_vec();
        self.subscriber.transmitted(self.link, wire.len());
        let mut at = 0;
        loop {
            let handled = self.publisher.handle_bytes(self.peer, NOW, &wire[at..]);
            at += handled.consumed;
            if handled.consumed == 0 {
                break;
            }
        }
    }
}

/// Takes all frames in, and adds up what they hold.
fn take(subscriber: &mut Subscriber, link: LinkId, wire: &[u8]) -> u64 {
    let (mut at, mut sum) = (0, 0);
    loop {
        let handled = subscriber.handle_bytes(link, NOW, &wire[at..]);
        at += handled.consumed;
        if let Some(SubscriberEvent::Message { part, more: false }) = handled.event {
            sum += part.first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
        }
        if handled.consumed == 0 {
            return sum;
        }
    }
}

fn offer_batch(ends: &mut Ends, message: &mut [u8; SIZE], first: u64) {
    for number in first..first + BATCH as u64 {
        message[..8].copy_from_slice(&number.to_le_bytes());
        ends.publisher.offer(&[black_box(&message[..])]).expect("room");
    }
}

pub fn run(words: &[&str]) -> Outcome {
    let is_sent = one_of(words.first(), &["send", "receive"])? == "send";
    let count = count(words.get(1))?;
    let (mut ends, mut message, mut sum) = (Ends::connected(), [9; SIZE], 0);
    if is_sent {
        for batch in 0..count / BATCH as u64 {
            offer_batch(&mut ends, &mut message, batch * BATCH as u64);
            let sent = ends.publisher.poll_transmit(ends.peer).len();
            sum += sent as u64;
            ends.publisher.transmitted(ends.peer, sent);
        }
    } else {
        offer_batch(&mut ends, &mut message, 0);
        let wire = ends.publisher.poll_transmit(ends.peer).to_vec();
        for _ in 0..count / BATCH as u64 {
            sum += take(&mut ends.subscriber, ends.link, black_box(&wire));
        }
    }
    println!("{sum}");
    Ok(())
}
