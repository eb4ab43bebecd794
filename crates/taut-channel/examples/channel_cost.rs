//! Messages of 100 bytes through a channel in memory, offered and polled by one thread, to be
//! counted: `valgrind --tool=callgrind channel_cost ipc|inproc COUNT`, twice with different counts;
//! the difference is the messages' own.

use std::hint::black_box;

use taut_channel::{ChannelUri, Opening, Publication, Subscription};
use taut_types::Nanos;

/// Messages between two looks of the subscriber.
const BATCH: u64 = 20;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let scheme = arguments.next().unwrap_or_else(|| "ipc".to_owned());
    let count: u64 = arguments.next().and_then(|count| count.parse().ok()).unwrap_or(10_000);
    let text = format!("{scheme}:channel-cost.{}?capacity=64k", taut_sys::process_id());
    let uri: ChannelUri = text.parse().expect("a channel");
    let mut now = Nanos::from_secs(1);
    let opening = Opening { now, ..Opening::default() };
    let mut subscription = Subscription::open(&uri, &opening).expect("a subscription");
    let mut publication = Publication::open(&uri, &opening).expect("a publication");
    // Beyond every look that a driver takes now and then.
    now = now + Nanos::from_millis(60);
    let (mut message, mut sum) = ([7; 100], 0_u64);
    for batch in 0..count / BATCH {
        now = now + Nanos::from_micros(10);
        for number in 0..BATCH {
            message[..8].copy_from_slice(&(batch * BATCH + number).to_le_bytes());
            publication.offer(now, black_box(&message)).expect("room");
        }
        subscription.poll(now, usize::MAX, |message| {
            sum += message.payload.first_chunk().map_or(0, |number| u64::from_le_bytes(*number));
        });
    }
    println!("{count} messages, sum {sum}");
}
