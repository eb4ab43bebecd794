//! Messages through a relay, and through one on its own thread.

use taut_channel::{
    ChannelUri, OfferError, Opening, Publication, Relay, Subscription, Unheard, WaitStrategy,
};
use taut_sys::monotonic;
use taut_testkit::{DEADLINE, until};
use taut_types::Nanos;

fn uri(text: &str) -> ChannelUri {
    text.parse().expect(text)
}

fn opening() -> Opening {
    Opening { now: monotonic(), ..Opening::default() }
}

fn ends(text: &str) -> (Publication, Subscription) {
    let subscription = Subscription::open(&uri(text), &opening()).expect("subscription");
    (Publication::open(&uri(text), &opening()).expect("publication"), subscription)
}

#[test]
fn what_finds_no_room_waits_and_nothing_is_lost() {
    let (mut near, from) = ends("inproc:relay.near?capacity=64k");
    let (to, mut far) = ends("inproc:relay.far?capacity=4k");
    let mut relay = Relay::new(from, to, Unheard::Wait);
    let mut now = monotonic() + Nanos::from_secs(1);
    for number in 0..500_u32 {
        near.offer(now, &number.to_le_bytes()).expect("room");
    }
    let mut expected = 0_u32;
    while expected < 500 {
        now = now + Nanos::from_millis(1);
        relay.work(now).expect("relay");
        far.poll(now, 7, |message| {
            assert_eq!(message.payload, expected.to_le_bytes());
            expected += 1;
        });
    }
    assert_eq!((relay.relayed(), relay.dropped()), (500, 0));
    assert!(relay.to().counters().back_pressured > 0, "it was full in between");
}

#[test]
fn while_nobody_listens_messages_wait_or_are_dropped_as_asked() {
    for (unheard, left) in [(Unheard::Wait, 3), (Unheard::Drop, 0)] {
        let name = format!("inproc:relay.unheard.{unheard:?}");
        let (mut near, from) = ends(&format!("{name}.near"));
        let to = Publication::open(&uri(&format!("{name}.far")), &opening()).expect("publication");
        let mut relay = Relay::new(from, to, unheard);
        let now = monotonic();
        for _ in 0..3 {
            near.offer(now, b"tick").expect("room");
        }
        relay.work(now).expect("relay");
        let far = Subscription::open(&uri(&format!("{name}.far")), &opening());
        let mut far = far.expect("subscription");
        let now = monotonic() + Nanos::from_secs(1);
        relay.work(now).expect("relay");
        assert_eq!(far.poll(now, 9, |_| {}), left, "{unheard:?}");
        assert_eq!(relay.dropped(), 3 - left as u64);
    }
}

#[test]
fn a_message_that_the_far_end_can_never_take_is_an_error() {
    let (mut near, from) = ends("inproc:relay.long.near");
    let (to, _far) = ends("inproc:relay.long.far?capacity=4k");
    let mut relay = Relay::new(from, to, Unheard::Wait);
    let now = monotonic();
    near.offer(now, &[0; 5000]).expect("room");
    let error = relay.work(now + Nanos::from_secs(1)).expect_err("too long");
    assert!(matches!(error, OfferError::TooLong { bytes: 5000, .. }));
}

/// `[topic, one, two, three]` stays that, over a subscriber that comes late, too.
#[test]
fn the_parts_of_a_message_stay_parts_and_are_refused_where_there_are_none() {
    let at = || format!("tcp://{}?on-full=block", taut_testkit::own_address());
    let (near_uri, far_uri) = (at(), at());
    let (mut near, from) = ends(&near_uri);
    let to = Publication::open(&uri(&far_uri), &opening()).expect("publication");
    let mut relay = Relay::new(from, to, Unheard::Wait);
    until("the relay hears", DEADLINE, || {
        near.work(monotonic());
        relay.work(monotonic()).expect("relay");
        near.is_connected()
    });
    near.offer_multipart(monotonic(), b"topic", b"onetwothree", &[3, 6]).expect("room");
    near.offer_topic(monotonic(), b"topic", b"whole").expect("room");
    near.offer_multipart(monotonic(), b"topic", b"x", &[0, 1]).expect("room");
    near.offer_multipart(monotonic(), b"", b"x", &[0]).expect("room");
    near.offer_multipart(monotonic(), b"", b"onetwo", &[0, 3]).expect("room");
    near.offer(monotonic(), b"alone").expect("room");
    until("the relay has a message that nobody hears", DEADLINE, || {
        near.work(monotonic());
        relay.work(monotonic()).expect("relay");
        relay.is_waiting()
    });
    let mut far = Subscription::open(&uri(&far_uri), &opening()).expect("subscription");
    let mut got: Vec<(Vec<u8>, Vec<Vec<u8>>)> = Vec::new();
    until("all messages", DEADLINE, || {
        near.work(monotonic());
        relay.work(monotonic()).expect("relay");
        far.poll(monotonic(), 9, |message| {
            let parts = message.parts().map(<[u8]>::to_vec).collect();
            got.push((message.topic.to_vec(), parts));
        });
        got.len() == 6
    });
    let parts = |parts: &[&str]| parts.iter().map(|part| part.as_bytes().to_vec()).collect();
    let expected = [
        ("topic", parts(&["one", "two", "three"])),
        ("topic", parts(&["whole"])),
        ("topic", parts(&["", "x", ""])),
        // An empty first part, as before every request of a REQ socket.
        ("", parts(&["", "x"])),
        ("", parts(&["", "one", "two"])),
        ("", parts(&["alone"])),
    ];
    assert_eq!(got, expected.map(|(topic, parts)| (topic.as_bytes().to_vec(), parts)));

    let (mut near, from) = ends(&at());
    let (to, mut far) = ends("inproc:relay.parts");
    let mut relay = Relay::new(from, to, Unheard::Wait).without_topics();
    until("the relay hears", DEADLINE, || {
        near.work(monotonic());
        relay.work(monotonic()).expect("relay");
        near.is_connected()
    });
    near.offer_multipart(monotonic(), b"", b"payload", &[0]).expect("room");
    until("an empty topic is left out as others are", DEADLINE, || {
        near.work(monotonic());
        relay.work(monotonic()).expect("relay");
        far.poll(monotonic(), 9, |message| assert_eq!(message.parts().count(), 1)) == 1
    });
    near.offer_multipart(monotonic(), b"topic", b"onetwo", &[3]).expect("room");
    until("it is refused", DEADLINE, || {
        near.work(monotonic());
        relay.work(monotonic()) == Err(OfferError::NoParts)
    });
}

#[test]
fn a_relay_on_its_own_thread_says_why_it_ended() {
    let (mut near, from) = ends("inproc:relay.ended");
    let (to, _far) = ends("inproc:relay.ended.far?capacity=4k");
    let thread = Relay::new(from, to, Unheard::Wait).spawn(WaitStrategy::Block).expect("thread");
    near.offer(monotonic(), &[0; 5000]).expect("room");
    let deadline = monotonic() + Nanos::from_secs(10);
    while !thread.is_finished() {
        assert!(monotonic() < deadline, "it goes on");
        near.work(monotonic());
        taut_sys::yield_cpu();
    }
    let relay = thread.stop().expect("the relay");
    assert!(matches!(relay.failure(), Some(OfferError::TooLong { .. })), "{:?}", relay.failure());
}

#[test]
fn a_relay_on_its_own_thread_drives_a_channel_over_udp() {
    let far = format!("lease:udp?endpoint={}", taut_testkit::own_address());
    let (mut near, from) = ends("inproc:relay.thread");
    let to = Publication::open(&uri(&far), &opening()).expect("publication");
    let relay = Relay::new(from, to, Unheard::Wait);
    let thread = relay.spawn(WaitStrategy::Block).expect("thread");
    let mut far = Subscription::open(&uri(&far), &opening()).expect("subscription");
    for number in 0..100_u32 {
        while near.offer(monotonic(), &number.to_le_bytes()).is_err() {
            near.work(monotonic());
        }
    }
    let mut received = Vec::new();
    while received.len() < 100 {
        let got = far.poll(monotonic(), 9, |message| received.push(message.payload.to_vec()));
        if got == 0 {
            far.block(Nanos::from_millis(10));
        }
    }
    assert!((0..100_u32).zip(&received).all(|(number, message)| *message == number.to_le_bytes()));
    let mut relay = thread.stop().expect("the relay");
    assert_eq!(relay.relayed(), 100);
    far.close(monotonic());
    assert!(relay.close(Nanos::from_secs(5)));
}

/// Both ends of a channel of some kind.
fn ends_of(kind: &str, name: &str) -> (Publication, Subscription) {
    let subscription = |text: &str| Subscription::open(&uri(text), &opening()).expect(text);
    let publication = |text: &str| Publication::open(&uri(text), &opening()).expect(text);
    match kind {
        "aeron" => {
            let listening = subscription("aeron:udp?endpoint=127.0.0.1:0|stream-id=7");
            let at = listening.local_address().expect("an address").port();
            (publication(&format!("aeron:udp?endpoint=127.0.0.1:{at}|stream-id=7")), listening)
        }
        "lease" => {
            let bound = publication("lease:udp?endpoint=127.0.0.1:0");
            let at = bound.local_address().expect("an address").port();
            (bound, subscription(&format!("lease:udp?endpoint=127.0.0.1:{at}")))
        }
        "tcp" => {
            let bound = publication("tcp://127.0.0.1:0?on-full=block");
            let at = bound.local_address().expect("an address").port();
            (bound, subscription(&format!("tcp://127.0.0.1:{at}")))
        }
        _ => ends(&format!("{kind}:test.relay.{name}.{}", taut_sys::process_id())),
    }
}

#[test]
fn a_relay_bridges_any_two_channels() {
    const KINDS: [&str; 5] = ["inproc", "ipc", "aeron", "lease", "tcp"];
    let pairs = KINDS.iter().flat_map(|near| KINDS.iter().map(move |far| (*near, *far)));
    for (near_kind, far_kind) in pairs {
        let (mut near, from) = ends_of(near_kind, "near");
        let (to, mut far) = ends_of(far_kind, "far");
        let mut relay = Relay::new(from, to, Unheard::Wait);
        let (mut sent, mut got, begun) = (0_u32, Vec::new(), monotonic());
        while got.len() < 50 {
            let now = monotonic();
            let is_ready = near.is_connected() && sent < 50;
            let message = sent.to_le_bytes().repeat(3);
            sent += u32::from(is_ready && near.offer(now, &message).is_ok());
            near.work(now);
            relay.work(now).expect("relay");
            far.poll(now, 9, |message| got.push(message.payload.to_vec()));
            let patience = Nanos::from_secs(20);
            assert!(now - begun < patience, "{near_kind} to {far_kind}: {} came", got.len());
        }
        let expected = (0..50_u32).map(|number| number.to_le_bytes().repeat(3));
        assert!(expected.eq(got), "{near_kind} to {far_kind}: in order and unchanged");
        assert_eq!((relay.relayed(), relay.dropped()), (50, 0), "{near_kind} to {far_kind}");
    }
}

#[test]
fn topics_travel_where_the_far_end_has_them_and_are_left_out_where_that_was_asked() {
    for (far_kind, drops, expected) in [
        ("tcp", false, Some((b"EUR".to_vec(), b"1.08".to_vec()))),
        ("inproc", false, None),
        ("inproc", true, Some((b"".to_vec(), b"1.08".to_vec()))),
    ] {
        let (mut near, from) = ends_of("tcp", "topics.near");
        let (to, mut far) = ends_of(far_kind, "topics.far");
        let relay = Relay::new(from, to, Unheard::Wait);
        let mut relay = if drops { relay.without_topics() } else { relay };
        let (mut is_sent, mut got, mut failure, begun) = (false, None, None, monotonic());
        while got.is_none() && failure.is_none() {
            let now = monotonic();
            let is_ready = near.is_connected() && relay.to().is_connected() && !is_sent;
            is_sent |= is_ready && near.offer_topic(now, b"EUR", b"1.08").is_ok();
            near.work(now);
            failure = relay.work(now).err();
            far.poll(now, 9, |message| {
                got = Some((message.topic.to_vec(), message.payload.to_vec()));
            });
            assert!(now - begun < Nanos::from_secs(20), "{far_kind}");
        }
        assert_eq!(got, expected, "{far_kind}");
        assert_eq!(failure.is_some(), expected.is_none(), "{far_kind}");
        if let Some(error) = failure {
            assert_eq!(error, OfferError::NoTopics);
        }
    }
}
