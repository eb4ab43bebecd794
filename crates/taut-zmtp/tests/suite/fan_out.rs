//! One publisher, many subscribers; PUSH and PULL; the last-value cache.

use taut_zmtp::{
    CloseReason, ConnectionConfig, LastValueConfig, LastValueKey, OnFull, PeerId, Publisher,
    PublisherConfig, Refusal, SocketType, Subscriber, SubscriberEvent, Violation,
};

use crate::wire::{NOW, Pair, seed};

/// A subscriber beside a publisher, with what it got.
struct Member {
    subscriber: Subscriber,
    link: taut_zmtp::LinkId,
    peer: PeerId,
    got: Vec<Vec<u8>>,
}

fn join(publisher: &mut Publisher, socket_type: SocketType, prefixes: &[&str]) -> Member {
    let mut subscriber = Subscriber::new(ConnectionConfig::new(socket_type), 1).expect("socket");
    for prefix in prefixes {
        subscriber.subscribe(prefix.as_bytes()).expect("subscribe");
    }
    let link = subscriber.add(NOW, seed(2)).expect("link");
    let peer = publisher.add(NOW, seed(1)).expect("peer");
    let mut member = Member { subscriber, link, peer, got: Vec::new() };
    member.exchange(publisher);
    member
}

impl Member {
    fn exchange(&mut self, publisher: &mut Publisher) {
        loop {
            let up = self.subscriber.poll_transmit(self.link).to_vec();
            self.subscriber.transmitted(self.link, up.len());
            let mut at = 0;
            while at < up.len() {
                at += publisher.handle_bytes(self.peer, NOW, &up[at..]).consumed;
            }
            let down = publisher.poll_transmit(self.peer).to_vec();
            publisher.transmitted(self.peer, down.len());
            let mut at = 0;
            while at < down.len() {
                let handled = self.subscriber.handle_bytes(self.link, NOW, &down[at..]);
                at += handled.consumed;
                if let Some(SubscriberEvent::Message { part, .. }) = handled.event {
                    self.got.push(part.to_vec());
                }
            }
            if up.is_empty() && down.is_empty() {
                return;
            }
        }
    }
}

#[test]
fn each_subscriber_gets_what_starts_with_one_of_its_prefixes_once() {
    let mut publisher = Publisher::new(PublisherConfig::new(SocketType::Pub)).expect("publisher");
    let prefixes: [&[&str]; 5] = [&[""], &["BTC"], &["BTC", "BTC-USD", ""], &["ETH"], &[]];
    let mut members: Vec<Member> =
        prefixes.iter().map(|prefixes| join(&mut publisher, SocketType::Sub, prefixes)).collect();
    for topic in ["BTC-USD", "BTC", "ETH-EUR", "SOL", ""] {
        publisher.offer(&[topic.as_bytes()]).expect("offer");
    }
    let got = members.iter_mut().map(|member| {
        member.exchange(&mut publisher);
        member.got.len()
    });
    assert_eq!(got.collect::<Vec<_>>(), [5, 2, 5, 1, 0]);
    assert!(publisher.is_drained());
    assert_eq!(publisher.counters().offered, 5);
}

#[test]
fn one_who_is_slow_costs_the_others_nothing_and_finds_its_oldest_messages() {
    let mut config = PublisherConfig::new(SocketType::Pub);
    (config.hwm, config.log_bytes) = (100, 4_096);
    let mut publisher = Publisher::new(config).expect("publisher");
    let mut slow = join(&mut publisher, SocketType::Sub, &[""]);
    let mut quick = join(&mut publisher, SocketType::Sub, &[""]);
    for number in 0..10_000u32 {
        assert!(publisher.offer(&[&number.to_be_bytes(), &[7; 20]]).is_ok_and(|got| got > 0));
        quick.exchange(&mut publisher);
    }
    assert_eq!(quick.got.len(), 20_000, "two parts each");
    slow.exchange(&mut publisher);
    let numbers = slow.got.iter().filter(|part| part.len() == 4);
    let expected = (0..100u32).map(|number| number.to_be_bytes().to_vec());
    assert!(numbers.cloned().eq(expected), "the newest were dropped: {}", slow.got.len());
    let counters = publisher.peer_counters(slow.peer).expect("the slow one");
    assert_eq!((counters.queued, counters.sent, counters.dropped), (100, 100, 9_900));
    assert_eq!(publisher.peer_counters(quick.peer).expect("the quick one").dropped, 0);
    assert_eq!(publisher.counters().dropped, 9_900);
}

#[test]
fn push_hands_each_message_to_one_peer_in_turn() {
    let mut publisher = Publisher::new(PublisherConfig::new(SocketType::Push)).expect("push");
    assert_eq!(publisher.offer(&[b"x"]), Err(Refusal::NotConnected));
    let mut members: Vec<Member> =
        (0..3).map(|_| join(&mut publisher, SocketType::Pull, &[])).collect();
    for number in 0..300u32 {
        assert_eq!(publisher.offer(&[&number.to_be_bytes()]), Ok(1));
    }
    for (at, member) in members.iter_mut().enumerate() {
        member.exchange(&mut publisher);
        let numbers = (0..300u32).filter(|number| *number as usize % 3 == at);
        assert!(numbers.map(|number| number.to_be_bytes().to_vec()).eq(member.got.clone()));
    }
    assert!(publisher.remove(members[1].peer).is_some());
    assert!(publisher.remove(members[1].peer).is_none(), "an old id names nobody");
    for _ in 0..4 {
        publisher.offer(&[b"y"]).expect("offer");
    }
    members[0].exchange(&mut publisher);
    assert_eq!(members[0].got.len(), 102);
}

#[test]
fn who_subscribes_late_gets_the_last_value_of_each_topic() {
    let mut config = PublisherConfig::new(SocketType::Pub);
    config.last_value = Some(LastValueConfig { key: LastValueKey::FirstPart, topics_max: 10 });
    let mut publisher = Publisher::new(config).expect("publisher");
    for (topic, price) in [("BTC", "1"), ("ETH", "2"), ("BTC", "3")] {
        assert_eq!(publisher.offer(&[topic.as_bytes(), price.as_bytes()]), Ok(0));
    }
    let mut late = join(&mut publisher, SocketType::Sub, &["B"]);
    assert_eq!(late.got, [b"BTC".to_vec(), b"3".to_vec()]);
    late.subscriber.subscribe(b"B").expect("again");
    late.exchange(&mut publisher);
    assert_eq!(late.got.len(), 2, "a second subscription to the same is not answered again");
    late.subscriber.subscribe(b"").expect("everything");
    late.exchange(&mut publisher);
    assert_eq!(late.got.len(), 6);
    assert_eq!(publisher.peer_counters(late.peer).expect("it").replayed, 3);
}

#[test]
fn what_is_cancelled_does_not_come_any_more_even_when_it_is_on_its_way() {
    let mut pair = Pair::subscribed(PublisherConfig::new(SocketType::Xpub), &["a", "b"]);
    assert!(pair.active);
    pair.publisher.offer(&[b"a1", b"tail"]).expect("offer");
    pair.subscriber.cancel(b"a");
    pair.publisher.offer(&[b"b1"]).expect("offer");
    pair.run(usize::MAX);
    assert_eq!(pair.messages, [[b"b1".to_vec()]]);
    assert_eq!(pair.subscriber.counters().unwanted, 1);
    assert_eq!(pair.publisher.offer(&[b"a2"]), Ok(0));
}

#[test]
fn an_xsub_sends_upstream_to_an_xpub() {
    let mut pair =
        Pair::new(PublisherConfig::new(SocketType::Xpub), ConnectionConfig::new(SocketType::Xsub));
    pair.run(usize::MAX);
    pair.subscriber.send(&[b"up", b"stream"]).expect("send");
    pair.run(3);
    assert_eq!(pair.upstream, [b"up".to_vec(), b"stream".to_vec()]);
}

#[test]
fn a_claim_is_written_in_place_and_filtered_when_it_is_committed() {
    let mut pair = Pair::subscribed(PublisherConfig::new(SocketType::Pub), &["a"]);
    for (text, recipients) in [(b"abc", 1), (b"xyz", 0), (b"aaa", 1)] {
        pair.publisher.claim(3).expect("claim").copy_from_slice(text);
        assert_eq!(pair.publisher.commit(), Ok(recipients));
    }
    pair.publisher.claim(300).expect("claim").fill(b'a');
    pair.publisher.abort();
    assert!(pair.publisher.claimed().is_empty() && pair.publisher.claimed_mut().is_empty());
    assert_eq!(pair.publisher.commit(), Err(Refusal::Misuse));
    pair.publisher.claim(300).expect("claim").fill(b'b');
    assert_eq!(pair.publisher.claimed(), [b'b'; 300]);
    pair.publisher.claimed_mut().fill(b'a');
    assert_eq!(pair.publisher.commit(), Ok(1));
    pair.run(usize::MAX);
    let expected = [b"abc".to_vec(), b"aaa".to_vec(), vec![b'a'; 300]];
    assert!(pair.messages.concat().eq(&expected));
    assert!(matches!(pair.publisher.claim(600_000), Err(Refusal::TooLong { bytes_max: 524_288 })));
}

#[test]
fn connections_beyond_the_limit_are_refused_and_places_are_used_again() {
    let mut config = PublisherConfig::new(SocketType::Pub);
    config.peers_max = 2;
    let mut publisher = Publisher::new(config).expect("publisher");
    let first = join(&mut publisher, SocketType::Sub, &["a"]);
    let _second = join(&mut publisher, SocketType::Sub, &["b"]);
    assert!(publisher.add(NOW, seed(3)).is_err());
    assert_eq!(publisher.subscription_count(), 2);
    publisher.remove(first.peer);
    assert_eq!(publisher.subscription_count(), 1);
    let third = join(&mut publisher, SocketType::Sub, &["a"]);
    assert_ne!(third.peer, first.peer);
    assert_eq!(third.peer.index(), first.peer.index());
    assert_eq!(publisher.counters().refused, 1);
}

/// The first part decides for the whole message, by what was wanted when it came.
#[test]
fn a_subscription_that_changes_within_a_message_cuts_no_message() {
    let big = [b'-'; 700];
    for (before, after, expected) in [("", "A", 2), ("A", "", 1)] {
        let mut pair = Pair::subscribed(PublisherConfig::new(SocketType::Pub), &["", "A"]);
        if before == "A" {
            pair.subscriber.cancel(b"");
        }
        pair.publisher.offer(&[b"B1", &big]).expect("offer");
        pair.publisher.offer(&[b"A2", &big]).expect("offer");
        pair.pass_down(100);
        match after {
            "A" => pair.subscriber.cancel(b""),
            _ => pair.subscriber.subscribe(b"").expect("subscribe"),
        }
        pair.run(usize::MAX);
        let parts: Vec<usize> = pair.messages.iter().map(Vec::len).collect();
        assert_eq!(parts, vec![2; expected], "from {before:?} to {after:?}");
        assert_eq!(pair.messages[expected - 1][0], b"A2");
    }
}

#[test]
fn a_message_that_the_memory_has_no_room_for_counts_once_however_often_it_is_offered() {
    let mut config = PublisherConfig::new(SocketType::Pub);
    (config.on_full, config.log_bytes) = (OnFull::Block, 2_048);
    let mut publisher = Publisher::new(config).expect("publisher");
    // Who wants A waits with it in the log; who wants B has room of its own, but the log has not.
    let _slow = join(&mut publisher, SocketType::Sub, &["A"]);
    let _fast = join(&mut publisher, SocketType::Sub, &["B"]);
    publisher.offer(&[b"A", &[0; 1_000]]).expect("offer");
    publisher.offer(&[b"B", &[0; 900]]).expect("offer");
    for _ in 0..5 {
        assert_eq!(publisher.offer(&[b"B", &[0; 900]]), Err(Refusal::BackPressured));
    }
    assert_eq!((publisher.counters().offered, publisher.counters().back_pressured), (2, 5));
}

#[test]
fn a_frame_beyond_the_limit_ends_the_connection_also_a_short_one() {
    let mut config = ConnectionConfig::new(SocketType::Sub);
    config.frame_bytes_max = 100;
    let mut pair = Pair::new(PublisherConfig::new(SocketType::Pub), config);
    pair.subscriber.subscribe(b"").expect("subscribe");
    pair.run(usize::MAX);
    pair.publisher.offer(&[&[0; 100]]).expect("offer");
    pair.run(usize::MAX);
    assert_eq!((pair.messages.len(), pair.closed), (1, None));
    pair.publisher.offer(&[&[0; 101]]).expect("offer");
    pair.pass_down(usize::MAX);
    let reason = CloseReason::Violation(Violation::FrameBytes);
    assert_eq!((pair.messages.len(), pair.closed), (1, Some(reason)));
}
