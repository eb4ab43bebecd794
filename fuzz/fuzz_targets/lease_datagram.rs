//! A stranger's datagrams to both ends of a lease, before and after there is one: no panic, no
//! answer longer than what was asked, no lease without a cookie, and nobody cut off.
#![no_main]

use std::net::SocketAddr;

use libfuzzer_sys::fuzz_target;
use taut_lease::{
    CONTROL_BYTES, Header, Key, Kind, LeasePublisher, LeaseSubscriber, LeaseTerms, SubscriberTerms,
};
use taut_types::Nanos;

const NOW: Nanos = Nanos(1_000_000_000);
const KINDS: [Kind; 8] = [
    Kind::Ask,
    Kind::Challenge,
    Kind::Grant,
    Kind::Message,
    Kind::Leave,
    Kind::End,
    Kind::Heartbeat,
    Kind::Refusal,
];

fn at(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// Passes what the honest two have to say.
fn pass(publisher: &mut LeasePublisher, subscriber: &mut LeaseSubscriber, now: Nanos) {
    let mut datagram = [0; 2048];
    for _ in 0..4 {
        while let Some(length) = subscriber.poll_transmit(now, &mut datagram) {
            publisher.handle_datagram(now, at(1), &datagram[..length]);
        }
        while let Some((length, to)) = publisher.poll_transmit(now, &mut datagram) {
            if to.is_none_or(|to| to == at(1)) {
                let _ = subscriber.handle_datagram(now, &datagram[..length]);
            }
        }
    }
}

/// A datagram with a header that may be right, and the rest of the stranger's making.
fn datagram(bytes: &[u8], session: u64) -> Vec<u8> {
    let [choice, rest @ ..] = bytes else { return Vec::new() };
    if choice & 0x80 != 0 {
        return rest.to_vec();
    }
    let kind = KINDS[usize::from(choice % 8)];
    let number = rest.first().map_or(0, |byte| u64::from(*byte));
    let session = if choice & 0x40 != 0 { session } else { number };
    let sequence = if choice & 0x20 != 0 { u64::MAX - number } else { number };
    let header = Header { kind, message_type: 0, session, sequence, sent: NOW };
    [&header.to_bytes(), rest].concat()
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, mut data)) = data.split_first() else { return };
    let key = (choice & 1 != 0).then(|| Key::new([9; 16]));
    let (lease, secret) = (Nanos::from_secs(60), Key::new([7; 16]));
    let session = 5;
    let terms = LeaseTerms {
        lease,
        mtu_bytes: 1452,
        subscribers_max: 2,
        subscribers_per_host_max: 2,
        session,
        secret,
        key,
    };
    let mut publisher = LeasePublisher::new(NOW, terms);
    let terms = SubscriberTerms { nonce: 3, key, drops_late: choice & 2 != 0 };
    let mut subscriber = LeaseSubscriber::new(NOW, terms);
    let is_leased = choice & 4 != 0;
    if is_leased {
        pass(&mut publisher, &mut subscriber, NOW);
        assert!(subscriber.has_image() && publisher.subscriber_count() == 1);
    }
    let mut out = [0; 2048];
    while let Some((length, rest)) = data.split_first() {
        let (bytes, rest) = rest.split_at(usize::from(*length).min(rest.len()));
        data = rest;
        let asked = datagram(bytes, session);
        publisher.handle_datagram(NOW, at(2), &asked);
        while let Some((length, to)) = publisher.poll_transmit(NOW, &mut out) {
            assert!(to == Some(at(2)) && length <= asked.len(), "{length} for {}", asked.len());
            assert!(asked.len() >= CONTROL_BYTES);
        }
        // Who spoofs the publisher's address: what it says of the stream is not for us to judge.
        let _ = subscriber.handle_datagram(NOW, &asked);
        while subscriber.poll_transmit(NOW, &mut out).is_some() {}
        while subscriber.poll_event().is_some() {}
    }
    assert_eq!(publisher.subscriber_count(), usize::from(is_leased), "none more, none less");
    publisher.handle_timeout(Nanos(NOW.0 * 100));
    subscriber.handle_timeout(Nanos(NOW.0 * 100));
});
