//! A subscription that sleeps is woken by a message, on every channel in memory.

use taut_channel::{ChannelUri, Opening, Publication, Subscription};
use taut_sys::monotonic;
use taut_types::Nanos;

#[test]
fn a_message_ends_a_sleep_early() {
    for scheme in ["ipc", "inproc"] {
        let text = format!("{scheme}:test.wake.{}", taut_sys::process_id());
        let uri: ChannelUri = text.parse().expect("uri");
        let opening = Opening { now: monotonic(), ..Opening::default() };
        let mut subscription = Subscription::open(&uri, &opening).expect("subscription");
        let mut publication = Publication::open(&uri, &opening).expect("publication");
        let sleeper = std::thread::spawn(move || {
            let mut received = 0;
            while received < 1000 {
                let got = subscription.poll(monotonic(), 10, |_| {});
                received += got;
                if got == 0 {
                    subscription.block(Nanos::from_secs(5));
                }
            }
        });
        let begun = monotonic();
        for _ in 0..1000 {
            while publication.offer(monotonic(), b"wake up").is_err() {
                publication.work(monotonic());
            }
            publication.block(Nanos::from_micros(20));
        }
        sleeper.join().expect("everything was received");
        assert!(monotonic() - begun < Nanos::from_secs(5), "a sleep was slept to its end");
    }
}
