//! Nothing allocates once messages pass.

use taut_zmtp::{PublisherConfig, SocketType};

use crate::wire::{NOW, Pair};

#[test]
fn offering_sending_and_receiving_allocate_nothing() {
    let mut pair = Pair::subscribed(PublisherConfig::new(SocketType::Pub), &["quote"]);
    let mut wire = vec![0; 1 << 16];
    let mut received = 0usize;
    let mut round = || {
        for _ in 0..100 {
            pair.publisher.offer(&[b"quote", &[7; 70]]).expect("offer");
            pair.publisher.offer(&[b"other", &[7; 70]]).expect("offer");
        }
        let bytes = pair.publisher.poll_transmit(pair.peer);
        let count = bytes.len();
        wire[..count].copy_from_slice(bytes);
        pair.publisher.transmitted(pair.peer, count);
        let mut at = 0;
        while at < count {
            let handled = pair.subscriber.handle_bytes(pair.link, NOW, &wire[at..count]);
            at += handled.consumed;
            received += usize::from(handled.event.is_some());
        }
    };
    round();
    let info = allocation_counter::measure(|| (0..100).for_each(|_| round()));
    assert_eq!(info.count_total, 0);
    assert_eq!(received, 101 * 200);
}
