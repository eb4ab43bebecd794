//! More orders than there is room for.

use std::vec::Vec;

use super::*;

/// Hears so many transactions and, with each, some packets of the snapshot cycle.
fn run(venue: &mut Venue, follower: &mut Follower, transactions: usize) {
    for _ in 0..transactions {
        let mut packets: Vec<_> =
            venue.transact().into_iter().map(|it| (Source::LINE_A, it)).collect();
        packets.extend((0..3).map(|_| (Source::SNAPSHOT, venue.snapshot())));
        for (source, packet) in packets {
            follower.hear(Nanos(3), source, &packet);
        }
        follower.check(venue);
    }
}

#[test]
fn a_book_with_too_many_orders_stays_sound_by_price_and_lists_them_when_they_fit_again() {
    for_each_seed(0..3, |seed, _| {
        let instruments = [instrument(0), instrument(1)];
        let mut venue = Venue::new(&instruments, seed);
        let mut follower = Follower::new(&instruments, 300, false);
        let ids = [0, 1].map(InstrumentId);
        run(&mut venue, &mut follower, 200);
        assert!(ids.iter().all(|id| follower.told[id].queues.is_some()));
        for turn in 1..=3 {
            // They overflow as they come, or in the snapshot.
            venue.order_count = 500;
            run(&mut venue, &mut follower, 1_000);
            assert!(venue.books.iter().all(|book| book.order_count() > 300));
            for id in &ids {
                let told = &follower.told[id];
                assert!(told.is_sound && told.queues.is_none(), "{id:?}");
                assert!(told.unknown >= turn, "{id:?}");
            }
            let feed = &follower.feed;
            assert!(feed.is_whole() && feed.is_settled() && feed.needs_snapshots());
            let unknown: u64 = follower.told.values().map(|told| told.unknown).sum();
            assert_eq!(feed.counters().order_overflows, unknown, "each is said once");
            venue.order_count = 100;
            run(&mut venue, &mut follower, 1_500);
            assert!(ids.iter().all(|id| follower.told[id].queues.is_some()));
            assert!(!follower.feed.needs_snapshots());
        }
        let counters = follower.feed.counters();
        assert_eq!((counters.malformed, counters.gaps), (0, 0));
    });
}

#[test]
fn who_joins_a_book_with_too_many_orders_is_told_that_they_are_not_known() {
    let instruments = [instrument(0), instrument(1)];
    let mut venue = Venue::new(&instruments, 1);
    (0..500).for_each(|_| drop(venue.transact()));
    let mut follower = Follower::new(&instruments, 50, false);
    run(&mut venue, &mut follower, 50);
    for id in [0, 1].map(InstrumentId) {
        let told = &follower.told[&id];
        assert!(told.is_sound && (told.unknown, told.lists) == (1, 0));
    }
    assert_eq!(follower.feed.counters().order_overflows, 2);
}

#[test]
fn a_feed_whose_snapshots_list_levels_alone_has_books_and_no_orders() {
    let instruments = [instrument(0)];
    let mut venue = Venue::new(&instruments, 1);
    let mut follower = Follower::new(&instruments, 50, false);
    venue.has_order_lists = false;
    run(&mut venue, &mut follower, 100);
    let told = &follower.told[&InstrumentId(0)];
    assert!(told.is_sound && (told.unknown, told.lists) == (1, 0));
    let counters = follower.feed.counters();
    assert_eq!((counters.order_overflows, counters.malformed), (0, 0));
}

#[test]
fn nothing_is_allocated_while_orders_are_followed_listed_and_overflow() {
    let instruments = [instrument(0), instrument(1)];
    let mut venue = Venue::new(&instruments, 1);
    let config = NativeConfig {
        instruments: &instruments[..1],
        stream_id: None,
        level_capacity: 256,
        has_retransmission: false,
    };
    let mut feed = NativeFeed::new(&config, Nanos::ZERO).unwrap();
    feed.reserve_instruments(1);
    feed.tell_orders(300);
    let mut frames = Vec::new();
    for (order_count, transactions) in [(150, 300), (500, 1_000), (100, 1_500)] {
        venue.order_count = order_count;
        for _ in 0..transactions {
            frames.extend(venue.transact().into_iter().map(|it| (Source::LINE_A, it)));
            frames.extend((0..3).map(|_| (Source::SNAPSHOT, venue.snapshot())));
        }
    }
    // A packet that is lost in between.
    let lost = frames.iter().rposition(|(source, _)| *source == Source::LINE_A).unwrap() - 2_000;
    let lost = frames[..lost].iter().rposition(|(source, _)| *source == Source::LINE_A).unwrap();
    frames.remove(lost);
    let (mut lists, mut changes) = (0, 0);
    let measured = allocation_counter::measure(|| {
        for (at, (source, packet)) in frames.iter().enumerate() {
            if at == 300 {
                assert_eq!(feed.follow(&instruments[1], InstrumentId(1), b""), Ok(()));
            }
            let mut sink = |_: &Context<'_>, event: &Event| match event.kind {
                EventKind::End { .. } => lists += 1,
                EventKind::OrderReduce { .. } => changes += 1,
                _ => {}
            };
            let now = Nanos(3 + at as i64);
            if let Some(frame) = feed.decode(now, *source, packet) {
                feed.apply(frame, &mut sink);
            }
            if !feed.is_settled() {
                feed.recover(now, &mut sink);
            }
        }
    });
    assert!(lists >= 6 && changes > 500, "{lists} lists, {changes} changes");
    assert_eq!((feed.counters().order_overflows, feed.counters().gaps), (2, 1));
    assert!(!feed.needs_snapshots());
    assert_eq!(measured.count_total, 0);
}
