//! Messages of 100 bytes through a channel, offered and polled by one thread. What is not in memory
//! goes over loopback, each message by itself.

use std::hint::black_box;

use taut_channel::{ChannelUri, Message, Opening, Publication, Subscription};
use taut_types::Nanos;

use crate::{Outcome, count, one_of};

/// Messages between two looks of the subscriber.
const BATCH: u64 = 20;
/// Rounds until both ends know each other.
const ROUNDS_MAX: u32 = 10_000;

pub fn run(words: &[&str]) -> Outcome {
    let scheme = one_of(words.first(), &["ipc", "inproc", "aeron", "lease", "zmtp"])?;
    let count = count(words.get(1))?;
    let mut now = Nanos::from_secs(1);
    let (mut publication, mut subscription) = open(scheme, now);
    connect(&mut publication, &mut subscription, &mut now);
    // Beyond every look that a driver takes now and then.
    now = now + Nanos::from_millis(60);
    let is_sent_by_work = !matches!(scheme, "ipc" | "inproc");
    let (mut message, mut sum) = ([7; 100], 0);
    for batch in 0..count / BATCH {
        now = now + Nanos::from_micros(10);
        for number in 0..BATCH {
            message[..8].copy_from_slice(&(batch * BATCH + number).to_le_bytes());
            send(&mut publication, now, black_box(&message), is_sent_by_work);
        }
        sum += receive(&mut subscription, now);
    }
    println!("{count} messages, sum {sum}");
    Ok(())
}

/// A function of its own, for a profile that tells the sender from the receiver.
#[inline(never)]
fn send(publication: &mut Publication, now: Nanos, message: &[u8], is_sent_by_work: bool) {
    publication.offer(now, message).expect("room");
    if is_sent_by_work {
        publication.work(now);
    }
}

#[inline(never)]
fn receive(subscription: &mut Subscription, now: Nanos) -> u64 {
    let mut sum = 0;
    let mut take = |message: Message<'_>| {
        sum += message.payload.first_chunk().map_or(0, |number| u64::from_le_bytes(*number));
    };
    while subscription.poll(now, usize::MAX, &mut take) > 0 {}
    sum
}

/// Both ends. The one that binds has a port from the kernel.
fn open(scheme: &str, now: Nanos) -> (Publication, Subscription) {
    let opening = Opening { now, seed: Some(1), ..Opening::default() };
    let uri = |text: String| -> ChannelUri { text.parse().expect("a channel") };
    let publication = |text| Publication::open(&uri(text), &opening).expect("a publication");
    let subscription = |text| Subscription::open(&uri(text), &opening).expect("a subscription");
    let any = "127.0.0.1:0";
    match scheme {
        "aeron" => {
            let text = |at| format!("aeron:udp?endpoint={at}|stream-id=7");
            let receiver = subscription(text(any.to_owned()));
            let at = receiver.local_address().expect("a port");
            (publication(text(at.to_string())), receiver)
        }
        "lease" | "zmtp" => {
            let before = if scheme == "lease" { "lease:udp?endpoint=" } else { "tcp://" };
            let sender = publication(format!("{before}{any}"));
            let at = sender.local_address().expect("a port");
            (sender, subscription(format!("{before}{at}")))
        }
        _ => {
            let text = format!("{scheme}:channel-cost.{}?capacity=64k", taut_sys::process_id());
            let receiver = subscription(text.clone());
            (publication(text), receiver)
        }
    }
}

fn connect(publication: &mut Publication, subscription: &mut Subscription, now: &mut Nanos) {
    for _ in 0..ROUNDS_MAX {
        if publication.is_connected() && subscription.image_count() > 0 {
            return;
        }
        *now = *now + Nanos::from_micros(100);
        publication.work(*now);
        subscription.poll(*now, usize::MAX, |_| ());
    }
    panic!("the ends did not meet in {ROUNDS_MAX} rounds");
}
