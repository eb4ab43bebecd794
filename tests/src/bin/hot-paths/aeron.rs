//! Messages of 100 bytes from a publication to a subscription, both in one thread and the wire in
//! memory, with what the two tell each other about them.

use std::hint::black_box;
use std::net::SocketAddr;

use taut_aeron::{Publication, PublicationConfig, Subscription, SubscriptionConfig};
use taut_types::Nanos;

use crate::{Outcome, count};

/// Messages between two looks of the subscriber.
const BATCH: u64 = 10;

struct Ends {
    publication: Publication,
    subscription: Subscription,
    now: Nanos,
    here: SocketAddr,
    there: SocketAddr,
}

impl Ends {
    fn connected() -> Self {
        let mut ends = Self {
            publication: Publication::new(PublicationConfig::default()).expect("a publication"),
            subscription: Subscription::new(SubscriptionConfig::default()).expect("a subscription"),
            now: Nanos(1),
            here: SocketAddr::from(([10, 0, 0, 1], 40_123)),
            there: SocketAddr::from(([10, 0, 0, 2], 40_456)),
        };
        for _ in 0..1_000 {
            if ends.publication.offer(b"connected").is_ok() {
                ends.round(Nanos::from_millis(10));
                return ends;
            }
            ends.round(Nanos::from_millis(10));
        }
        panic!("the two do not come together");
    }

    /// Everything that waits goes over the wire; returns the sum of the numbers that came.
    fn round(&mut self, span: Nanos) -> u64 {
        let Self { publication, subscription, now, here, there } = self;
        let (mut frame, mut sum) = ([0; 2048], 0);
        *now = *now + span;
        while let Some(sent) = publication.poll_transmit(*now, &mut frame) {
            subscription.handle_bytes(*now, *here, &frame[..sent.bytes]);
        }
        while let Some(run) = publication.next_run(*now) {
            subscription.handle_bytes(*now, *here, black_box(publication.run_bytes(&run)));
            publication.run_sent(*now, &run);
        }
        subscription.poll(usize::MAX, |message| {
            sum += message.bytes.first_chunk().map_or(0, |number| u64::from_le_bytes(*number));
        });
        while let Some(sent) = subscription.poll_transmit(*now, &mut frame) {
            publication.handle_bytes(*now, *there, &frame[..sent.bytes]);
        }
        publication.handle_timeout(*now);
        subscription.handle_timeout(*now);
        sum
    }
}

pub fn run(words: &[&str]) -> Outcome {
    let count = count(words.first())?;
    let (mut ends, mut message, mut sum) = (Ends::connected(), [7; 100], 0);
    for batch in 0..count / BATCH {
        for number in 0..BATCH {
            message[..8].copy_from_slice(&(batch * BATCH + number).to_le_bytes());
            ends.publication.offer(black_box(&message)).expect("room");
        }
        sum += ends.round(Nanos::from_micros(50));
    }
    println!("{count} messages, sum {sum}");
    Ok(())
}
