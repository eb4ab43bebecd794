//! taut's publication and subscription, as the Aeron peer is used: each message begins with its
//! sequence, which the receiver checks.

use std::thread;

use taut_channel::{ChannelUri, Closing, Loss, Opening, Publication, Subscription};
use taut_sys::{monotonic, pin_to_cpu};
use taut_types::Nanos;

/// Messages between two duties.
const BATCH: u64 = 256;
const FRAGMENTS: usize = 256;
/// How long the publisher stays for the last repairs.
const PATIENCE: Nanos = Nanos::from_secs(5);

fn opening(loss: f64) -> Opening {
    let loss = Loss::new(loss, 1).filter(|_| loss > 0.0);
    Opening { now: monotonic(), loss, ..Opening::default() }
}

fn send(uri: &ChannelUri, count: u64, size: usize) -> Nanos {
    let _ = pin_to_cpu(0);
    let mut publication = Publication::open(uri, &opening(0.0)).expect("publication");
    while !publication.is_connected() {
        publication.work(monotonic());
    }
    let mut message = vec![1; size];
    let begun = monotonic();
    let (mut sequence, mut now) = (0u64, begun);
    while sequence < count {
        message[..8].copy_from_slice(&sequence.to_le_bytes());
        let is_taken = publication.offer(now, &message).is_ok();
        sequence += u64::from(is_taken);
        if !is_taken || sequence.is_multiple_of(BATCH) {
            now = monotonic();
            publication.work(now);
        }
    }
    publication.close(monotonic());
    let until = monotonic() + PATIENCE;
    while publication.closing() != Closing::Closed && monotonic() < until {
        publication.work(monotonic());
    }
    begun
}

pub fn throughput(channel: &str, count: u64, size: usize, loss: f64) {
    let uri: ChannelUri = channel.parse().expect("a channel");
    let mut subscription = Subscription::open(&uri, &opening(loss)).expect("subscription");
    let sending = {
        let uri = uri.clone();
        thread::spawn(move || send(&uri, count, size))
    };
    let _ = pin_to_cpu(1);
    let mut next = 0u64;
    while next < count {
        subscription.poll(monotonic(), FRAGMENTS, |message| {
            assert_eq!(message.payload.first_chunk(), Some(&next.to_le_bytes()), "in order");
            next += 1;
        });
    }
    let ended = monotonic();
    while subscription.image_count() > 0 {
        subscription.poll(monotonic(), FRAGMENTS, |_| {});
    }
    subscription.close(monotonic());
    let begun = sending.join().expect("sender");
    let rate = count as f64 / ((ended - begun).0 as f64 / 1e9);
    let dropped = subscription.counters().injected_losses;
    println!(
        "{{\"peer\":\"taut\",\"received\":{next},\"dropped\":{dropped},\"msgs_per_s\":{rate:.0}}}"
    );
}
