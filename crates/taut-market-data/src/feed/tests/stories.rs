//! One story each.

use super::*;

#[test]
fn joining_needs_a_snapshot_even_for_the_first_packet() {
    let mut feed = small();
    assert_eq!(packet(&mut feed, 1), Verdict::Stored);
    assert_eq!(packet(&mut feed, 2), Verdict::Stored);
    assert_eq!(drain(&mut feed), []);
    // The book as it was before the first packet.
    assert_eq!(begin(&mut feed, 1, 0, 1), SnapshotVerdict::Stored);
    assert_eq!(part(&mut feed, 1, 1, 1), SnapshotVerdict::Complete);
    let expected = [Step::Reset(0), Step::Begin, Step::Part(1), Step::Packet(1), Step::Packet(2)];
    assert_eq!(drain(&mut feed), expected);
    assert_eq!(feed.state(), FeedState::Live { next: SequenceNumber(3) });
    assert_eq!((feed.counters().applied, feed.counters().recovered), (2, 0));
}

#[test]
fn a_late_packet_heals_the_gap_without_a_snapshot() {
    let mut feed = live_at(10);
    assert_eq!(packet(&mut feed, 12), Verdict::Stored);
    assert_eq!(packet(&mut feed, 13), Verdict::Stored);
    assert!(!feed.is_live());
    assert_eq!(packet(&mut feed, 11), Verdict::Apply);
    assert_eq!(drain(&mut feed), [Step::Packet(12), Step::Packet(13)]);
    assert!(feed.is_live());
    let counters = *feed.counters();
    assert_eq!((counters.applied, counters.recovered, counters.gaps), (3, 10, 1));
    // The snapshot of joining, and no other.
    assert_eq!(counters.snapshots_used, 1);
}

#[test]
fn a_heartbeat_reveals_a_lost_tail_and_a_snapshot_covers_it() {
    let mut feed = live_at(10);
    feed.handle_heartbeat(STREAM, SequenceNumber(10));
    assert!(feed.is_live());
    feed.handle_heartbeat(STREAM, SequenceNumber(12));
    assert!(!feed.is_live());
    assert_eq!(feed.lost(SequenceNumber(12)), 2);
    assert_eq!(begin(&mut feed, 1, 12, 0), SnapshotVerdict::Complete);
    assert_eq!(drain(&mut feed), [Step::Reset(12), Step::Begin]);
    assert!(feed.is_live());
    assert_eq!(feed.lost(SequenceNumber(12)), 0);
    assert_eq!(feed.counters().recovered, 12);
}

#[test]
fn a_snapshot_from_before_the_gap_is_ignored() {
    let mut feed = live_at(10);
    assert_eq!(packet(&mut feed, 12), Verdict::Stored);
    assert_eq!(begin(&mut feed, 1, 10, 1), SnapshotVerdict::Ignored);
    assert_eq!(part(&mut feed, 1, 1, 1), SnapshotVerdict::Ignored);
    assert_eq!(drain(&mut feed), []);
}

#[test]
fn parts_may_come_in_any_order_and_twice_and_are_replayed_in_order() {
    let mut feed = small();
    assert_eq!(part(&mut feed, 1, 2, 1), SnapshotVerdict::Ignored);
    assert_eq!(begin(&mut feed, 1, 5, 5), SnapshotVerdict::Stored);
    assert_eq!(part(&mut feed, 1, 3, 1), SnapshotVerdict::Stored);
    assert_eq!(part(&mut feed, 1, 2, 3), SnapshotVerdict::Stored);
    assert_eq!(part(&mut feed, 1, 2, 3), SnapshotVerdict::Ignored);
    assert_eq!(begin(&mut feed, 1, 5, 5), SnapshotVerdict::Ignored);
    assert_eq!(part(&mut feed, 2, 1, 1), SnapshotVerdict::Ignored);
    assert_eq!(part(&mut feed, 1, 1, 1), SnapshotVerdict::Complete);
    assert_eq!(part(&mut feed, 1, 1, 1), SnapshotVerdict::Ignored);
    let expected = [Step::Reset(5), Step::Begin, Step::Part(1), Step::Part(2), Step::Part(3)];
    assert_eq!(drain(&mut feed), expected);
    assert!(feed.is_live());
}

#[test]
fn parts_that_are_not_needed_can_be_left_out() {
    let mut feed = small();
    assert_eq!(begin(&mut feed, 1, 5, 1), SnapshotVerdict::Stored);
    assert_eq!(part(&mut feed, 1, 3, 1), SnapshotVerdict::Complete);
    assert_eq!(drain(&mut feed), [Step::Reset(5), Step::Begin, Step::Part(3)]);
}

#[test]
fn a_newer_snapshot_takes_the_place_of_one_that_lost_a_part_and_not_the_other_way() {
    let mut feed = small();
    assert_eq!(begin(&mut feed, 1, 5, 2), SnapshotVerdict::Stored);
    assert_eq!(part(&mut feed, 1, 1, 1), SnapshotVerdict::Stored);
    assert_eq!(begin(&mut feed, 2, 8, 2), SnapshotVerdict::Stored);
    assert_eq!(begin(&mut feed, 1, 5, 2), SnapshotVerdict::Ignored);
    assert_eq!(part(&mut feed, 1, 2, 1), SnapshotVerdict::Ignored);
    assert_eq!(part(&mut feed, 2, 2, 1), SnapshotVerdict::Stored);
    assert_eq!(part(&mut feed, 2, 1, 1), SnapshotVerdict::Complete);
    assert_eq!(drain(&mut feed), [Step::Reset(8), Step::Begin, Step::Part(1), Step::Part(2)]);
}

#[test]
fn a_snapshot_that_is_too_large_or_contradicts_itself_is_refused() {
    let mut feed = small();
    for (index, units, bytes) in [(4, 1, &b"x"[..]), (1, 3, b"x"), (1, 1, b"too long!")] {
        assert_eq!(begin(&mut feed, 1, 5, 2), SnapshotVerdict::Stored);
        let verdict = feed.handle_snapshot_part(STREAM, 1, index, units, bytes);
        assert_eq!(verdict, SnapshotVerdict::Ignored);
        assert_eq!(part(&mut feed, 1, 1, 2), SnapshotVerdict::Ignored);
    }
    assert_eq!(feed.counters().snapshots_refused, 3);
    assert_eq!(drain(&mut feed), []);
}

#[test]
fn when_the_store_overflows_the_newest_packets_are_kept_for_a_newer_snapshot() {
    let mut feed = live_at(10);
    for sequence in 12..=18 {
        assert_eq!(packet(&mut feed, sequence), Verdict::Stored);
    }
    assert_eq!(feed.counters().dropped, 3);
    // Too old a slot for a packet that comes late.
    assert_eq!(packet(&mut feed, 13), Verdict::Dropped);
    // Covers up to 13, but 14 has been dropped: a step forward, and not live yet.
    assert_eq!(begin(&mut feed, 1, 13, 0), SnapshotVerdict::Complete);
    assert_eq!(drain(&mut feed), [Step::Reset(13), Step::Begin]);
    assert!(!feed.is_live());
    assert_eq!(begin(&mut feed, 2, 15, 0), SnapshotVerdict::Complete);
    let expected = [16, 17, 18].map(Step::Packet);
    assert_eq!(drain(&mut feed)[2..], expected);
    assert!(feed.is_live());
    assert_eq!((feed.counters().applied, feed.counters().recovered), (3, 15));
}

#[test]
fn a_snapshot_that_the_late_packets_overtook_is_not_replayed() {
    let mut feed = live_at(10);
    assert_eq!(packet(&mut feed, 12), Verdict::Stored);
    assert_eq!(begin(&mut feed, 1, 11, 2), SnapshotVerdict::Stored);
    assert_eq!(packet(&mut feed, 11), Verdict::Apply);
    assert_eq!(drain(&mut feed), [Step::Packet(12)]);
    assert!(feed.is_live());
    // A second gap; the old snapshot gets its last part and is of no use.
    assert_eq!(packet(&mut feed, 14), Verdict::Stored);
    assert_eq!(part(&mut feed, 1, 1, 2), SnapshotVerdict::Ignored);
    assert_eq!(drain(&mut feed), []);
    assert_eq!(feed.counters().recovered, 10);
}

#[test]
fn packets_that_come_before_the_replay_is_drained_are_stored() {
    let mut feed = small();
    assert_eq!(begin(&mut feed, 1, 5, 0), SnapshotVerdict::Complete);
    assert_eq!(packet(&mut feed, 6), Verdict::Stored);
    assert_eq!(begin(&mut feed, 2, 7, 0), SnapshotVerdict::Ignored);
    assert_eq!(drain(&mut feed), [Step::Reset(5), Step::Begin, Step::Packet(6)]);
    // The second snapshot told that there is a 7.
    assert!(!feed.is_live());
    assert_eq!(packet(&mut feed, 7), Verdict::Apply);
    assert!(feed.is_live());
}

#[test]
fn only_the_stream_that_is_followed_counts() {
    let mut feed = live_at(10);
    assert_eq!(feed.stream_id(), Some(STREAM));
    let other = STREAM + 1;
    assert_eq!(feed.handle_packet(other, SequenceNumber(11), b"x"), Verdict::OtherStream);
    feed.handle_heartbeat(other, SequenceNumber(99));
    let head = SnapshotHead { id: 1, last_sequence: SequenceNumber(99), units: 0 };
    assert_eq!(feed.handle_snapshot_begin(other, head, b"x"), SnapshotVerdict::Ignored);
    assert!(feed.is_live());
    assert_eq!((feed.counters().foreign, feed.counters().highest_seen), (3, 10));

    feed.restart(Some(other));
    assert_eq!(packet(&mut feed, 11), Verdict::OtherStream);
    assert_eq!(feed.handle_packet(other, SequenceNumber(1), b"x"), Verdict::Stored);
    assert_eq!((feed.counters().applied, feed.counters().highest_seen), (0, 1));
}

#[test]
fn nothing_is_allocated_after_construction() {
    let mut feed = small();
    let allocations = allocation_counter::measure(|| {
        for round in 0..1_000u64 {
            let first = round * 10 + 1;
            begin(&mut feed, 1, first, 1);
            part(&mut feed, 1, 1, 1);
            while feed.poll_replay().is_some() {}
            for sequence in [first + 1, first + 3, first + 4, first + 2, first + 9] {
                packet(&mut feed, sequence);
                while feed.poll_replay().is_some() {}
            }
        }
    });
    assert_eq!(allocations.count_total, 0);
    assert_eq!(feed.counters().applied, 4_000);
}
