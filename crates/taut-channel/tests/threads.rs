//! No channel starts a thread. Alone in its process, so that no other test's threads are counted.

use taut_channel::{ChannelUri, Opening, Publication, Subscription};
use taut_sys::monotonic;
use taut_types::Nanos;

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").expect("own threads").count()
}

#[test]
fn no_channel_starts_a_thread() {
    let opening = || Opening { now: monotonic(), ..Opening::default() };
    let uri = |text: &str| -> ChannelUri { text.parse().expect(text) };
    let name = format!("test.threads.{}", taut_sys::process_id());
    let (ipc, inproc) = (format!("ipc:{name}"), format!("inproc:{name}"));
    let before = threads();
    for (bound, is_publication, connected) in [
        (ipc.as_str(), false, ipc.as_str()),
        (inproc.as_str(), false, inproc.as_str()),
        ("aeron:udp?endpoint=127.0.0.1:0|stream-id=7", false, "aeron:udp?endpoint=AT|stream-id=7"),
        ("lease:udp?endpoint=127.0.0.1:0", true, "lease:udp?endpoint=AT"),
        ("tcp://127.0.0.1:0", true, "tcp://AT"),
    ] {
        let publish = |text: &str| Publication::open(&uri(text), &opening()).expect(text);
        let subscribe = |text: &str| Subscription::open(&uri(text), &opening()).expect(text);
        let at = |address: Option<taut_sys::Address>| {
            address.map_or(connected.to_owned(), |at| connected.replace("AT", &at.to_string()))
        };
        let (mut publication, mut subscription) = if is_publication {
            let publication = publish(bound);
            let subscription = subscribe(&at(publication.local_address()));
            (publication, subscription)
        } else {
            let subscription = subscribe(bound);
            (publish(&at(subscription.local_address())), subscription)
        };
        let (mut sent, mut got, begun) = (0, 0, monotonic());
        while got < 100 {
            let now = monotonic();
            let is_ready = publication.is_connected() && sent < 100;
            sent += usize::from(is_ready && publication.offer(now, b"tick").is_ok());
            publication.work(now);
            got += subscription.poll(now, 9, |_| {});
            assert!(now - begun < Nanos::from_secs(20), "{bound}: {got} came");
            assert_eq!(threads(), before, "{bound}");
        }
    }
}
