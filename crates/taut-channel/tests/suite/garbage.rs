//! A process that writes garbage over the memory of a channel: a poll hands over no more than its
//! limit, and returns.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use taut_channel::{ChannelUri, Opening, Publication, Subscription};
use taut_sync::atomic::{AtomicBool, Ordering};
use taut_sys::monotonic;

const POLLS: u64 = 20_000;
const LIMIT: usize = 64;
const DEADLINE: Duration = Duration::from_secs(120);
/// Where a log's control words lie, at most: behind the segment's header.
const CONTROL_BYTES: u64 = 8192;

fn scribble(file: &File, stop: &AtomicBool) {
    let bytes = file.metadata().expect("its length").len();
    let mut number = 0x9E37_79B9_7F4A_7C15_u64;
    while !stop.load(Ordering::Relaxed) {
        number ^= number << 13;
        number ^= number >> 7;
        number ^= number << 17;
        // Headers of padding and of messages, and numbers of any size.
        let word = match number >> 61 {
            0 => number,
            1 => number % 4,
            2 | 3 => (3 << 62) | (number % 4096),
            4 => (1 << 63) | (number % 4096),
            5 => number % 65_536,
            _ => u64::MAX - number % 64,
        };
        let most = if (number >> 60) & 1 == 0 { CONTROL_BYTES.min(bytes) } else { bytes };
        let at = (number >> 8) % (most / 8) * 8;
        file.write_all_at(&word.to_ne_bytes(), at).expect("it is written");
    }
}

fn poll_under_garbage(name: &str) {
    let uri: ChannelUri = format!("ipc:{name}").parse().expect("a channel");
    let opening = Opening { now: monotonic(), ..Opening::default() };
    let mut subscription = Subscription::open(&uri, &opening).expect("a subscription");
    let mut publication = Publication::open(&uri, &opening).expect("a publication");
    let file = File::options().write(true).open(format!("/dev/shm/taut.{name}")).expect("its file");
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    let scribbler = thread::spawn(move || scribble(&file, &asked));
    for _ in 0..POLLS {
        let _ = publication.offer(monotonic(), b"a message among garbage");
        publication.work(monotonic());
        let _ = (publication.unacknowledged_bytes(), publication.subscribers().len());
        let mut handed = 0;
        let count = subscription.poll(monotonic(), LIMIT, |_| handed += 1);
        assert!(count == handed && handed <= LIMIT);
        while subscription.poll_event().is_some() || publication.poll_event().is_some() {}
    }
    stop.store(true, Ordering::Relaxed);
    scribbler.join().expect("it scribbles");
}

#[test]
fn garbage_in_shared_memory_holds_no_poll_and_is_no_panic() {
    let name = format!("test-{}-garbage", std::process::id());
    let (done, ended) = channel();
    let worker = thread::spawn(move || {
        poll_under_garbage(&name);
        let _ = done.send(());
    });
    let end = ended.recv_timeout(DEADLINE);
    assert_ne!(end, Err(RecvTimeoutError::Timeout), "a poll does not return");
    assert!(worker.join().is_ok(), "a call panicked");
}
