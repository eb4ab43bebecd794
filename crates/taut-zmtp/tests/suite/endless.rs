//! Peers that never come to an end: of a message, or of their wishes.

use taut_zmtp::{
    CloseReason, ConnectionConfig, Publisher, PublisherConfig, PublisherEvent, SocketType,
    Subscriber, Violation,
};

use crate::wire::{NOW, Pair, seed};

const PARTS_MAX: u32 = 8;
const BYTES_MAX: usize = 4_096;

/// A subscriber with small limits, and what it makes of a message of these parts.
fn taken(parts: &[&[u8]]) -> Result<usize, CloseReason> {
    let mut config = ConnectionConfig::new(SocketType::Sub);
    (config.message_parts_max, config.message_bytes_max) = (PARTS_MAX, BYTES_MAX);
    let mut pair = Pair::new(PublisherConfig::new(SocketType::Pub), config);
    pair.subscriber.subscribe(b"").expect("subscribe");
    pair.run(usize::MAX);
    // What came before counts for nothing.
    for _ in 0..3 {
        pair.publisher.offer(&[b"a", b"b"]).expect("room");
        pair.run(usize::MAX);
    }
    pair.publisher.offer(parts).expect("room");
    pair.run(7);
    match pair.closed {
        Some(reason) => Err(reason),
        None => Ok(pair.messages.last().expect("a message").len()),
    }
}

#[test]
fn a_message_of_too_many_parts_closes_the_connection() {
    let (part, long): (&[u8], &[u8]) = (&[1; 10], &[1; 300]);
    for part in [part, &[], long] {
        assert_eq!(taken(&[part; PARTS_MAX as usize]), Ok(8));
        let reason = Err(CloseReason::Violation(Violation::MessageParts));
        assert_eq!(taken(&[part; PARTS_MAX as usize + 1]), reason);
    }
}

#[test]
fn a_message_of_too_many_bytes_closes_the_connection_whatever_its_frames_may_have() {
    let half: &[u8] = &[1; BYTES_MAX / 2];
    assert_eq!(taken(&[half, half]), Ok(2));
    let reason = Err(CloseReason::Violation(Violation::MessageBytes));
    assert_eq!(taken(&[half, half, b"x"]), reason);
    assert_eq!(taken(&[&[1; BYTES_MAX + 1]]), reason);
}

#[test]
fn a_socket_that_has_no_use_for_messages_does_not_read_an_endless_one_either() {
    let mut subscriber = ConnectionConfig::new(SocketType::Xsub);
    subscriber.heartbeat = None;
    let mut publisher = PublisherConfig::new(SocketType::Pub);
    publisher.connection.message_parts_max = PARTS_MAX;
    let mut pair = Pair::new(publisher, subscriber);
    pair.run(usize::MAX);
    pair.subscriber.send(&[&b"x"[..]; PARTS_MAX as usize]).expect("upstream");
    pair.run(usize::MAX);
    assert_eq!(pair.closed, None);
    pair.subscriber.send(&[&b"x"[..]; PARTS_MAX as usize + 1]).expect("upstream");
    pair.run(usize::MAX);
    assert_eq!(pair.closed, Some(CloseReason::Violation(Violation::MessageParts)));
}

/// A SUBSCRIBE command.
fn subscribe(number: u32) -> Vec<u8> {
    let prefix = number.to_be_bytes().into_iter().chain([7; 236]);
    [4, 250].into_iter().chain(*b"\x09SUBSCRIBE").chain(prefix).collect()
}

#[test]
fn who_subscribes_to_too_much_leaves_every_other_peer_its_share() {
    let mut pair = Pair::subscribed(PublisherConfig::new(SocketType::Pub), &[]);
    let mut subscriber = Subscriber::new(ConnectionConfig::new(SocketType::Sub), 9).expect("it");
    let mut established = |publisher: &mut Publisher| {
        let (peer, link) = (
            publisher.add(NOW, seed(1)).expect("a peer"),
            subscriber.add(NOW, seed(2)).expect("it"),
        );
        let hello = subscriber.poll_transmit(link).to_vec();
        subscriber.transmitted(link, hello.len());
        let answer = publisher.poll_transmit(peer).to_vec();
        let mut at = 0;
        while at < answer.len() {
            at += subscriber.handle_bytes(link, NOW, &answer[at..]).consumed;
        }
        let hello = [hello, subscriber.poll_transmit(link).to_vec()].concat();
        let mut at = 0;
        while at < hello.len() {
            at += publisher.handle_bytes(peer, NOW, &hello[at..]).consumed;
        }
        peer
    };
    let publisher = &mut pair.publisher;
    let (mut number, mut refused) = (0, 0);
    // Each takes as much as it can get, until they are refused.
    for _ in 0..4 {
        let greedy = established(publisher);
        for _ in 0..9_000 {
            number += 1;
            let wish = subscribe(number);
            match publisher.handle_bytes(greedy, NOW, &wish).event {
                Some(PublisherEvent::Subscribed(_)) => {}
                Some(PublisherEvent::Closed(reason)) => {
                    let limit = CloseReason::Violation(Violation::SubscriptionCount);
                    assert_eq!(reason, limit);
                    refused += 1;
                    break;
                }
                other => panic!("{other:?}"),
            }
        }
    }
    assert!(refused > 0, "the test has to reach the limit");
    let modest = established(publisher);
    // Far more than its share: a few greedy ones do not reduce everybody else to that.
    for more in 1..100 {
        let wish = subscribe(number + more);
        let handled = publisher.handle_bytes(modest, NOW, &wish);
        assert!(matches!(handled.event, Some(PublisherEvent::Subscribed(_))), "{more}");
    }
}
