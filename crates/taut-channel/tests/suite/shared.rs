//! Publishers of one process share a session.

use std::thread;

use taut_channel::{ChannelUri, Closing, OfferError, Opening, SharedPublication, Subscription};
use taut_sys::monotonic;
use taut_types::Nanos;

const THREADS: u64 = 3;
const COUNT: u64 = 5000;
const PATIENCE: Nanos = Nanos::from_secs(30);

fn opening() -> Opening {
    Opening { now: monotonic(), ..Opening::default() }
}

/// Offers messages that begin with the thread and a sequence.
fn publish(shared: &SharedPublication, thread: u64) {
    let (begun, mut next) = (monotonic(), 0u64);
    while next < COUNT {
        let (thread, sequence) = (thread.to_le_bytes(), next.to_le_bytes());
        match shared.offer_vectored(monotonic(), &[&thread, &sequence]) {
            Ok(_) => next += 1,
            Err(OfferError::BackPressured | OfferError::NotConnected) => {}
            Err(error) => panic!("{error}"),
        }
        shared.work(monotonic());
        assert!(monotonic() - begun < PATIENCE, "{next} offered");
    }
    // The duty is everybody's until everything has arrived.
    while shared.with(|publication| publication.unacknowledged_bytes()) > 0 {
        shared.work(monotonic());
        assert!(monotonic() - begun < PATIENCE, "{next} offered");
    }
}

#[test]
fn publishers_of_one_channel_share_one_session_and_keep_each_its_order() {
    let listen: ChannelUri = "aeron:udp?endpoint=127.0.0.1:0|stream-id=7".parse().expect("uri");
    let mut subscription = Subscription::open(&listen, &opening()).expect("listen");
    let port = subscription.local_address().expect("an address").port();
    let uri: ChannelUri =
        format!("aeron:udp?endpoint=127.0.0.1:{port}|stream-id=7").parse().expect("uri");
    let threads: Vec<_> = (0..THREADS)
        .map(|thread| {
            let shared = SharedPublication::open(&uri, &opening()).expect("shared");
            thread::spawn(move || {
                publish(&shared, thread);
                shared
            })
        })
        .collect();
    let (begun, mut next) = (monotonic(), [0u64; THREADS as usize]);
    let mut sessions = Vec::new();
    while threads.iter().any(|thread| !thread.is_finished()) {
        subscription.poll(monotonic(), 64, |got| {
            let (thread, sequence) = got.payload.split_at(8);
            let thread = u64::from_le_bytes(thread.try_into().expect("8 bytes")) as usize;
            assert_eq!(sequence, next[thread].to_le_bytes(), "each thread's order");
            next[thread] += 1;
            if !sessions.contains(&got.session) {
                sessions.push(got.session);
            }
        });
        assert!(monotonic() - begun < PATIENCE, "{next:?} received");
    }
    assert_eq!(next, [COUNT; THREADS as usize]);
    assert_eq!(sessions.len(), 1, "one session");
    let shared = threads.into_iter().map(|thread| thread.join().expect("it published"));
    let left: Vec<_> = shared.map(SharedPublication::leave).collect();
    let mut last = left.into_iter().flatten().collect::<Vec<_>>();
    assert_eq!(last.len(), 1, "the last handle is the publication");
    let mut publication = last.remove(0);
    publication.close(monotonic());
    while publication.closing() != Closing::Closed {
        publication.work(monotonic());
        subscription.poll(monotonic(), 64, |_| {});
        assert!(monotonic() - begun < PATIENCE, "closed");
    }
}
