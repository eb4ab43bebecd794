//! Spies on a publication of the process, and `ssc`.

use taut_channel::{Closing, EndReason, Event, OfferError, Publication, Subscription};
use taut_sys::monotonic;
use taut_testkit::own_address;

use super::ends::{PATIENCE, message, opening, passed, unicast_with, uri};

/// Everything that a spy sees now.
fn take(spy: &mut Subscription) -> Vec<(Vec<u8>, u64)> {
    let mut seen = Vec::new();
    spy.poll(monotonic(), usize::MAX, |got| seen.push((got.payload.to_vec(), got.position)));
    seen
}

fn events(spy: &mut Subscription) -> Vec<Event> {
    std::iter::from_fn(|| spy.poll_event()).collect()
}

/// A publication to a port where nobody listens.
fn alone(more: &str) -> Publication {
    let at = own_address();
    let send = format!("aeron:udp?endpoint={at}|stream-id=7|session-id=-5{more}");
    Publication::open(&uri(&send), &opening(0.0, 0)).expect("send")
}

#[test]
fn with_ssc_spies_alone_move_a_publication_and_without_it_they_do_not() {
    let mut publication = alone("");
    let _spy = publication.spy().expect("a spy");
    publication.work(monotonic());
    assert_eq!(publication.offer(monotonic(), b"x"), Err(OfferError::NotConnected));

    let mut publication = alone("|ssc=true|linger=0");
    publication.work(monotonic());
    assert_eq!(publication.offer(monotonic(), b"x"), Err(OfferError::NotConnected));
    let mut spy = publication.spy().expect("a spy");
    assert!(publication.is_connected());
    let mut seen = Vec::new();
    for sequence in 0..5000 {
        publication.offer(monotonic(), &message(sequence)).expect("nobody holds it back");
        publication.work(monotonic());
        seen.extend(take(&mut spy));
    }
    let sent: Vec<_> = (0..5000).map(message).collect();
    assert_eq!(seen.iter().map(|(bytes, _)| bytes.clone()).collect::<Vec<_>>(), sent);
    assert!(seen.windows(2).all(|two| two[0].1 < two[1].1), "the stream's own positions");
    let session = u64::from((-5i32).cast_unsigned());
    let begin = Event::ImageAvailable { session, position: 0, peer: None };
    assert_eq!(events(&mut spy), [begin]);
    assert_eq!(publication.unacknowledged_bytes(), 0);

    spy.close(monotonic());
    publication.work(monotonic());
    assert_eq!(publication.offer(monotonic(), b"x"), Err(OfferError::NotConnected));
}

#[test]
fn a_tethered_spy_holds_the_publication_back_and_loses_nothing() {
    let mut publication = alone("|ssc=true");
    let mut spy = publication.tethered_spy().expect("a spy");
    let (mut sent, mut refused, mut next) = (0, 0, 0);
    while next < 20_000 {
        // The spy looks rarely: it is a whole log behind before it does.
        while sent < 20_000 {
            match publication.offer(monotonic(), &message(sent)) {
                Ok(_) => sent += 1,
                Err(OfferError::BackPressured) => break,
                Err(error) => panic!("{error}"),
            }
            publication.work(monotonic());
        }
        refused += u64::from(sent < 20_000);
        for (bytes, _) in take(&mut spy) {
            assert_eq!(bytes, message(next));
            next += 1;
        }
        assert!(sent >= next);
    }
    assert!(refused > 0 && publication.counters().back_pressured >= refused);
    assert_eq!((spy.counters().received, spy.counters().lost), (20_000, 0));
    // One that leaves holds nobody back any more.
    drop(spy);
    let _other = publication.spy().expect("a spy");
    for sequence in 0..20_000 {
        publication.offer(monotonic(), &message(sequence)).expect("nobody holds it back");
        publication.work(monotonic());
    }
}

#[test]
fn a_spy_that_is_overtaken_learns_what_it_lost_in_the_streams_own_positions() {
    let mut publication = alone("|ssc=true");
    let (mut slow, mut quick) = (publication.spy().expect("one"), publication.spy().expect("two"));
    let mut positions = Vec::new();
    for sequence in 0..50_000 {
        publication.offer(monotonic(), &message(sequence)).expect("nobody holds it back");
        publication.work(monotonic());
        positions.extend(take(&mut quick).into_iter().map(|(_, position)| position));
    }
    assert_eq!((positions.len(), quick.counters().lost), (50_000, 0));
    let seen = take(&mut slow);
    let lost = passed(&events(&mut slow));
    assert!(lost > 0 && seen.len() < 50_000);
    assert_eq!(slow.counters().lost, lost);
    // What was read begins where the gap ends: at a message, of the same stream.
    let at = positions.len() - seen.len();
    assert_eq!(positions[at - 1], lost);
    let read: Vec<_> = seen.iter().map(|(_, position)| *position).collect();
    assert_eq!(read, positions[at..]);
    drop(publication);
    assert_eq!(take(&mut slow).len(), 0);
    let session = u64::from((-5i32).cast_unsigned());
    let (position, reason) = (positions[positions.len() - 1], EndReason::Closed);
    let end = Event::ImageUnavailable { session, position, reason };
    assert_eq!(events(&mut slow), [end]);
}

#[test]
fn a_publication_of_spies_counts_them_and_is_closed_at_once() {
    let mut publication = alone("|ssc=true");
    let (mut spy, other) = (publication.spy().expect("one"), publication.spy().expect("two"));
    publication.offer(monotonic(), b"last").expect("nobody holds it back");
    assert_eq!(publication.subscriber_count(), 2);
    drop(other);
    let now = monotonic();
    publication.work(now);
    assert_eq!(publication.subscriber_count(), 1, "who left is not counted");
    publication.close(now);
    publication.work(now);
    assert_eq!(publication.closing(), Closing::Closed);
    assert_eq!(take(&mut spy).len(), 1, "what was taken is there to be read");
}

#[test]
fn the_longest_message_of_a_stream_is_seen_by_spies() {
    let mut publication = alone("|ssc=true|term-length=4m");
    let mut spy = publication.tethered_spy().expect("a spy");
    for byte in 0..20 {
        let longest = vec![byte; 512 * 1024];
        publication.offer(monotonic(), &longest).expect("room");
        publication.work(monotonic());
        assert_eq!(take(&mut spy)[0].0, longest);
    }
}

#[test]
fn a_subscriber_that_comes_to_a_publication_of_spies_takes_part_from_where_it_joins() {
    let (mut publication, mut subscription) =
        unicast_with("|ssc=true|term-length=1m", "|rcv-wnd=64k", 0.0, 0.0);
    let mut spy = publication.tethered_spy().expect("a spy");
    let (mut sent, mut spied, mut first, mut next) = (0u64, 0u64, None, 0);
    let begun = monotonic();
    while first.is_none_or(|first| next < first + 5000) {
        if publication.offer(monotonic(), &message(sent)).is_ok() {
            sent += 1;
        }
        publication.work(monotonic());
        for (bytes, _) in take(&mut spy) {
            assert_eq!(bytes, message(spied));
            spied += 1;
        }
        if sent > 20_000 {
            subscription.poll(monotonic(), 64, |got| {
                let sequence = u64::from_le_bytes(*got.payload.first_chunk().expect("8 bytes"));
                first = first.or(Some(sequence));
                assert_eq!(sequence, if first == Some(sequence) { sequence } else { next });
                next = sequence + 1;
            });
        }
        assert!(monotonic() - begun < PATIENCE, "{sent} sent, {next} received");
    }
    assert!(first > Some(19_000), "it joined later: {first:?}");
}
