//! Slow subscribers: without a tether, and evicted.

use taut_channel::{EndReason, Event, OfferError, Publication, Subscription};
use taut_sys::monotonic;
use taut_testkit::own_address;
use taut_types::Nanos;

use super::ends::{PATIENCE, message, opening, passed, unicast_with, uri};

#[test]
fn with_tether_false_a_caller_that_reads_nothing_does_not_hold_the_stream_back() {
    let (mut publication, mut subscription) =
        unicast_with("", "|tether=false|rcv-wnd=64k", 0.0, 0.01);
    let begun = monotonic();
    while !publication.is_connected() {
        publication.work(monotonic());
        subscription.poll(monotonic(), 0, |_| {});
        assert!(monotonic() - begun < PATIENCE);
    }
    let mut end = 0;
    while end < 4_000_000 {
        match publication.offer(monotonic(), &[7; 1000]) {
            Ok(position) => end = position,
            Err(OfferError::BackPressured) => {}
            Err(error) => panic!("{error}"),
        }
        publication.work(monotonic());
        // It does its duty and reads nothing.
        subscription.poll(monotonic(), 0, |_| {});
        assert!(monotonic() - begun < PATIENCE, "{end}: {:?}", publication.counters());
    }
    let (mut events, mut first, mut last) = (Vec::new(), None, 0);
    while last < end {
        publication.work(monotonic());
        subscription.poll(monotonic(), 64, |got| {
            first = first.or(Some(got.position));
            last = got.position;
        });
        events.extend(std::iter::from_fn(|| subscription.poll_event()));
        // What was passed may end where the stream ends: then the next message comes first.
        if first.is_none() && passed(&events) == end {
            match publication.offer(monotonic(), &[7; 1000]) {
                Ok(position) => end = position,
                Err(OfferError::BackPressured) => {}
                Err(error) => panic!("{error}"),
            }
        }
        assert!(monotonic() - begun < PATIENCE, "{last} of {end}: {events:?}");
    }
    let lost = passed(&events);
    assert_eq!((subscription.counters().lost, first), (lost, Some(lost + 1056)));
    // Two windows, and what had been taken and was not sent.
    assert!(end - lost < 256 * 1024, "back at the live position: {lost} of {end}");
}

#[test]
fn with_tether_false_a_slow_handler_does_not_hold_the_stream_back() {
    let (mut publication, mut subscription) =
        unicast_with("", "|tether=false|rcv-wnd=64k", 0.0, 0.0);
    let begun = monotonic();
    while !publication.is_connected() {
        publication.work(monotonic());
        subscription.poll(monotonic(), 9, |_| {});
        assert!(monotonic() - begun < PATIENCE);
    }
    // Each call of the handler takes as long as a hundred messages do.
    let (mut calls, mut end) = (0, 0);
    let send = |publication: &mut Publication, end: &mut u64| {
        if let Ok(position) = publication.offer(monotonic(), &[7; 1000]) {
            *end = position;
        }
        publication.work(monotonic());
    };
    while end < 4_000_000 {
        send(&mut publication, &mut end);
        subscription.poll(monotonic(), 64, |_| {
            calls += 1;
            let until = monotonic() + Nanos::from_micros(300);
            (0..100).for_each(|_| send(&mut publication, &mut end));
            while monotonic() < until {}
        });
        assert!(monotonic() - begun < PATIENCE, "it comes {end} bytes far");
    }
    // One message a call is what a stream would be held to that waits for the handler.
    assert!(calls < 2000, "{calls} calls");
    assert!(subscription.counters().lost > 0, "the handler is passed");
}

/// A publication to two subscriptions at its control address, of which one is evicted when it
/// holds the other back.
fn group() -> (Publication, [Subscription; 2]) {
    let control = format!("control={}|control-mode=dynamic", own_address());
    // Small buffers: the kernel must not keep for it what it does not read.
    let listen =
        format!("aeron:udp?endpoint=127.0.0.1:0|{control}|stream-id=7|rcv-wnd=32k|so-rcvbuf=64k");
    let subscriptions =
        [1, 2].map(|seed| Subscription::open(&uri(&listen), &opening(0.0, seed)).expect("listen"));
    let send = format!("aeron:udp?{control}|stream-id=7|term-length=64k|fc=min,e:30ms");
    (Publication::open(&uri(&send), &opening(0.0, 0)).expect("send"), subscriptions)
}

#[test]
fn a_subscription_that_stops_reading_is_evicted_and_the_others_go_on_and_it_can_come_back() {
    let (mut publication, [mut quick, mut slow]) = group();
    let begun = monotonic();
    while publication.subscriber_count() < 2 {
        publication.work(monotonic());
        quick.poll(monotonic(), 64, |_| {});
        slow.poll(monotonic(), 64, |_| {});
        assert!(monotonic() - begun < PATIENCE, "both are there");
    }
    while publication.poll_event().is_some() {}
    // One reads, the other one does not even look; a message is as long as a datagram.
    let (mut sent, mut received, mut events) = (0u64, 0u64, Vec::new());
    while received < 3000 {
        if publication.offer(monotonic(), &message(sent)).is_ok() {
            sent += 1;
        }
        publication.work(monotonic());
        events.extend(std::iter::from_fn(|| publication.poll_event()));
        quick.poll(monotonic(), 64, |got| {
            assert_eq!(got.payload, message(received), "in order and whole");
            received += 1;
        });
        assert!(monotonic() - begun < PATIENCE, "{received} of {sent}");
    }
    let evictions = events
        .iter()
        .filter(|event| matches!(event, Event::Disconnected { reason: EndReason::Evicted, .. }));
    assert_eq!((evictions.count(), publication.counters().evicted), (1, 1));
    assert!(publication.is_connected() && publication.subscriber_count() == 1);

    // It looks again: what it cannot have any more it is told of. Messages go on until it has one
    // of them, however long it takes to join, and then it must have the last.
    let (before, goal) = (sent, sent + 500);
    let (mut last, mut slow_events) = (0, Vec::new());
    while last != sent || publication.subscriber_count() < 2 {
        let goes_on = sent < goal || last <= before;
        if goes_on && publication.offer(monotonic(), &message(sent)).is_ok() {
            sent += 1;
        }
        publication.work(monotonic());
        quick.poll(monotonic(), 64, |_| {});
        slow.poll(monotonic(), 64, |got| {
            last = got.payload.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes) + 1);
        });
        slow_events.extend(std::iter::from_fn(|| slow.poll_event()));
        let state = (publication.subscriber_count(), publication.counters());
        assert!(monotonic() - begun < PATIENCE, "{last} of {sent}: {state:?} {slow_events:?}");
    }
    let has_left = slow_events
        .iter()
        .any(|event| matches!(event, Event::ImageUnavailable { reason: EndReason::Evicted, .. }));
    let images = slow_events.iter().filter(|event| matches!(event, Event::ImageAvailable { .. }));
    assert_eq!((has_left, images.count()), (true, 2), "{slow_events:?}");
    assert_eq!(quick.image_count(), 1);
}

#[test]
fn a_publisher_that_was_stopped_reads_what_its_receivers_said_before_it_gives_them_up() {
    // Whichever turn it is that comes after the pause.
    for turns in 0..4 {
        let (mut publication, mut subscription) = unicast_with("", "", 0.0, 0.0);
        let mut now = monotonic();
        let begun = monotonic();
        while !publication.is_connected() {
            now = now + Nanos::from_millis(1);
            publication.work(now);
            subscription.poll(now, 9, |_| {});
            assert!(monotonic() - begun < PATIENCE);
        }
        for _ in 0..turns {
            publication.work(now);
        }
        while publication.poll_event().is_some() {}
        now = now + Nanos::from_secs(8);
        subscription.poll(now, 9, |_| {});
        publication.offer(now, b"waits").expect("taken");
        publication.work(now);
        let told: Vec<Event> = std::iter::from_fn(|| publication.poll_event()).collect();
        assert!(publication.is_connected() && told.is_empty(), "{turns} turns: {told:?}");
    }
}
