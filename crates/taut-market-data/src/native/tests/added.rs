//! Instruments that are added while the others are followed.

use std::vec::Vec;

use taut_types::{Instrument, InstrumentId, Nanos};

use super::many::{Publisher, STREAM, instrument};
use crate::event::{Context, Event, EventKind, Soundness};
use crate::handler::{FeedHandler, FollowError, Source};
use crate::native::*;

/// The venue's instruments, of which the gateway knows some by numbers of its own.
const LISTED: u32 = 4;

/// As the gateway has the venue's instrument with this number.
fn own(id: u32, number: u32) -> Instrument {
    instrument(number).with_id(InstrumentId(id))
}

/// Follows the venue's 3 and 1 as 0 and 1, with room for one more.
fn feed() -> NativeFeed {
    let instruments = [own(0, 3), own(1, 1)];
    let config = NativeConfig {
        instruments: &instruments,
        stream_id: None,
        level_capacity: 256,
        has_retransmission: false,
    };
    let mut feed = NativeFeed::new(&config, Nanos(1)).unwrap();
    feed.set_numbers(&[InstrumentId(3), InstrumentId(1)]).unwrap();
    feed.reserve_instruments(1);
    feed
}

/// Frames of a transaction and, with it, of a snapshot.
fn frames(publisher: &mut Publisher, has_snapshot: bool) -> Vec<(Source, Vec<u8>)> {
    let snapshot = has_snapshot.then(|| (Source::SNAPSHOT, publisher.snapshot()));
    let packets = publisher.transact().into_iter().map(|it| (Source::LINE_A, it));
    packets.chain(snapshot).collect()
}

/// The same with a snapshot that has the transaction and is read before it.
fn overtaken_frames(publisher: &mut Publisher) -> Vec<(Source, Vec<u8>)> {
    let packets = publisher.transact();
    let snapshot = (Source::SNAPSHOT, publisher.snapshot());
    let packets = packets.into_iter().map(|it| (Source::LINE_A, it));
    std::iter::once(snapshot).chain(packets).collect()
}

/// Has the feed take frames; shows what it tells.
fn take(feed: &mut NativeFeed, frames: &[(Source, Vec<u8>)], told: &mut dyn FnMut(&Event)) {
    for (source, packet) in frames {
        let mut sink = |_: &Context<'_>, event: &Event| told(event);
        if let Some(frame) = feed.decode(Nanos(3), *source, packet) {
            feed.apply(frame, &mut sink);
        }
        if !feed.is_settled() {
            feed.recover(Nanos(3), &mut sink);
        }
    }
}

#[test]
fn an_instrument_that_is_added_gets_its_book_and_the_others_go_on_in_between() {
    for seed in 1..30 {
        let listed: Vec<_> = (0..LISTED).map(instrument).collect();
        let mut publisher = Publisher::new(&listed, STREAM, seed);
        let mut feed = feed();
        while !feed.is_whole() {
            take(&mut feed, &frames(&mut publisher, true), &mut |_| {});
        }
        assert_eq!(feed.follow(&own(2, 0), InstrumentId(0), b""), Ok(()));
        assert!(!feed.is_whole() && feed.book(InstrumentId(2)).is_some());
        // Without a snapshot it has no book, and what the others tell is as before.
        let (mut others, mut new) = (0, Vec::new());
        for _ in 0..50 {
            take(&mut feed, &frames(&mut publisher, false), &mut |event| {
                others += u32::from(matches!(event.kind, EventKind::Level(_)));
                assert_ne!(event.instrument, InstrumentId(2), "{event:?}");
                assert!(!matches!(event.kind, EventKind::Book(_)), "{event:?}");
            });
            for id in [0, 1].map(InstrumentId) {
                assert_eq!(feed.soundness(id), Soundness::Sound);
            }
            assert_ne!(feed.soundness(InstrumentId(2)), Soundness::Sound);
        }
        assert!(others > 20, "{others}");
        for _ in 0..200 {
            let frames = match seed % 2 {
                0 => frames(&mut publisher, true),
                _ => overtaken_frames(&mut publisher),
            };
            take(&mut feed, &frames, &mut |event| {
                new.extend((event.instrument == InstrumentId(2)).then_some(event.kind));
                let is_book = matches!(event.kind, EventKind::Book(_));
                assert!(!is_book || event.instrument == InstrumentId(2), "{event:?}");
            });
        }
        assert!(feed.is_whole());
        assert!(matches!(new.first(), Some(EventKind::Status(_))), "{:?}", new.first());
        assert!(new.iter().any(|kind| matches!(kind, EventKind::Level(_))));
        for (id, number) in [(0, 3), (1, 1), (2, 0)] {
            let book = feed.book(InstrumentId(id)).expect("a book");
            assert_eq!(book.state_hash(), publisher.books[number].state_hash(), "{id}");
        }
        let counters = feed.counters();
        let last = feed.arbiter().sequencer().last();
        assert_eq!((counters.gaps, counters.malformed, feed.lost(last)), (0, 0, 0));
    }
}

#[test]
fn an_instrument_without_room_or_with_a_number_that_is_taken_changes_nothing() {
    let mut feed = feed();
    let taken = |number| Err(FollowError::SameNumber(InstrumentId(number)));
    assert_eq!(feed.follow(&own(2, 0), InstrumentId(3), b""), taken(3));
    assert_eq!(feed.follow(&own(1, 0), InstrumentId(0), b""), taken(1));
    let high = InstrumentId(1 << 20 | 1);
    assert_eq!(feed.follow(&own(2, 0), high, b""), Err(FollowError::NumberTooHigh(high)));
    assert!(feed.book(InstrumentId(2)).is_none());
    let events_max = feed.events_max();
    assert_eq!(feed.follow(&own(2, 0), InstrumentId(1 << 20), b""), Ok(()));
    assert_eq!(feed.follow(&own(3, 2), InstrumentId(2), b""), Err(FollowError::Full));
    assert_eq!(feed.events_max(), events_max, "there was room for its events from the beginning");
    assert_eq!(feed.stale_count(), 3);
}

#[test]
fn neither_the_addition_nor_what_comes_behind_it_takes_memory() {
    let listed: Vec<_> = (0..LISTED).map(instrument).collect();
    let mut publisher = Publisher::new(&listed, STREAM, 7);
    let mut feed = feed();
    while !feed.is_whole() {
        take(&mut feed, &frames(&mut publisher, true), &mut |_| {});
    }
    let later: Vec<_> = (0..200).flat_map(|_| frames(&mut publisher, true)).collect();
    let new = own(2, 2);
    let mut told = 0;
    let measured = allocation_counter::measure(|| {
        assert_eq!(feed.follow(&new, InstrumentId(2), b""), Ok(()));
        take(&mut feed, &later, &mut |event| told += u32::from(event.instrument == new.id()));
    });
    assert!(feed.is_whole() && told > 20, "{told}");
    assert_eq!(measured.count_total, 0);
}
