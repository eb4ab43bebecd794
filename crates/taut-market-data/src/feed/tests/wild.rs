//! Numbers that are further ahead than anything known: one alone is not believed.

use super::arbiter::{Consumer, T0, book_at, retransmission};
use super::*;

const GAP: Soundness = Soundness::Stale(Staleness::Gap);
/// The least jump that one number alone may make, for a small store.
const JUMP: u64 = 1_024;
const WILD: [u64; 4] = [13 + JUMP, 1 << 20, 1 << 62, i64::MAX.unsigned_abs()];

fn with_packets(recovery: Recovery) -> Consumer {
    let mut consumer = Consumer::new(recovery);
    for sequence in 1..=10 {
        consumer.take(T0, Line::A, sequence);
    }
    consumer
}

fn doubted(consumer: &Consumer) -> u64 {
    consumer.arbiter.sequencer().counters().doubted
}

fn wild_snapshot(consumer: &mut Consumer, last: u64) {
    let head = SnapshotHead { id: 2, last_sequence: SequenceNumber(last), units: 0 };
    consumer.arbiter.handle_snapshot_begin(T0, STREAM, head, &[0; 8]);
    consumer.drain();
}

#[test]
fn one_wild_packet_is_stale_until_the_next_one_in_line() {
    for wild in WILD {
        let mut consumer = with_packets(Recovery::Snapshot);
        assert_eq!(consumer.take(T0, Line::A, wild), Verdict::Dropped);
        // The venue wrote it on both lines.
        assert_eq!(consumer.take(T0, Line::B, wild), Verdict::Dropped);
        assert_eq!(consumer.arbiter.soundness(), GAP, "after {wild}");
        assert_eq!(consumer.take(T0, Line::A, 11), Verdict::Apply);
        assert!(consumer.is_sound() && consumer.book == book_at(11), "after {wild}");
        assert_eq!(doubted(&consumer), 2);
    }
}

#[test]
fn one_wild_heartbeat_is_stale_until_the_next_true_one() {
    for wild in WILD {
        let mut consumer = with_packets(Recovery::Snapshot);
        for line in [Line::A, Line::B] {
            consumer.arbiter.handle_heartbeat(T0, line, STREAM, SequenceNumber(wild));
            assert_eq!(consumer.arbiter.soundness(), GAP, "after {wild}");
        }
        consumer.arbiter.handle_heartbeat(T0, Line::A, STREAM, SequenceNumber(10));
        assert!(consumer.is_sound(), "after {wild}");
    }
}

#[test]
fn one_wild_snapshot_becomes_no_book() {
    for wild in WILD {
        let mut consumer = with_packets(Recovery::Snapshot);
        wild_snapshot(&mut consumer, wild);
        assert_eq!(consumer.arbiter.soundness(), GAP, "after {wild}");
        consumer.snapshot(10);
        assert!(consumer.is_sound() && consumer.book == book_at(10), "after {wild}");
        // While one is needed, too.
        consumer.take(T0, Line::A, 12);
        wild_snapshot(&mut consumer, wild);
        assert_eq!(consumer.arbiter.soundness(), GAP, "after {wild}");
        consumer.snapshot(11);
        assert!(consumer.is_sound() && consumer.book == book_at(12), "after {wild}");
    }
}

#[test]
fn what_is_only_doubted_is_neither_asked_for_nor_given_up() {
    for recovery in [retransmission(), Recovery::NaturalRefresh] {
        let mut consumer = with_packets(recovery);
        consumer.take(T0, Line::A, 1 << 40);
        let now = T0 + Nanos::from_millis(5);
        consumer.arbiter.handle_timeout(now);
        consumer.drain();
        assert_eq!(consumer.arbiter.poll_request(), None);
        assert_eq!(consumer.arbiter.poll_timeout(), Some(T0 + Nanos::from_secs(1)), "silence");
        assert_eq!(consumer.arbiter.soundness(), GAP);
        consumer.take(now, Line::A, 11);
        assert!(consumer.is_sound() && consumer.book == book_at(11));
    }
}

#[test]
fn a_long_outage_is_believed_with_the_second_number() {
    let mut consumer = with_packets(Recovery::Snapshot);
    assert_eq!(consumer.take(T0, Line::A, 50_000), Verdict::Dropped);
    assert_eq!(consumer.take(T0, Line::B, 50_000), Verdict::Dropped);
    assert_eq!(consumer.take(T0, Line::A, 50_001), Verdict::Stored);
    assert_eq!(consumer.take(T0, Line::B, 50_000), Verdict::Stored);
    assert_eq!(consumer.arbiter.soundness(), GAP);
    consumer.snapshot(49_999);
    assert!(consumer.is_sound() && consumer.book == book_at(50_001));
    assert_eq!(doubted(&consumer), 2);
}

#[test]
fn in_a_quiet_market_a_snapshot_confirms_what_a_heartbeat_or_the_one_before_said() {
    for by_heartbeat in [true, false] {
        let mut consumer = Consumer::new(Recovery::Snapshot);
        if by_heartbeat {
            consumer.arbiter.handle_heartbeat(T0, Line::A, STREAM, SequenceNumber(50_000));
        } else {
            consumer.snapshot(50_000);
        }
        assert_eq!(consumer.arbiter.soundness(), GAP);
        consumer.snapshot(50_000);
        assert!(consumer.is_sound() && consumer.book == book_at(50_000));
    }
}

#[test]
fn a_late_joiner_is_not_held_up_by_a_number_however_high() {
    let config = super::arbiter::config(Recovery::Snapshot);
    let first = 1 << 40;
    for wild in [None, Some(1), Some(1 << 62)] {
        let mut feed = Arbiter::new(config, T0);
        let sequences = wild.into_iter().chain(first..first + 3);
        for sequence in sequences {
            feed.handle_packet(T0, Line::A, STREAM, SequenceNumber(sequence), b"x");
        }
        let last_sequence = SequenceNumber(first + 1);
        let head = SnapshotHead { id: 1, last_sequence, units: 0 };
        feed.handle_snapshot_begin(T0, STREAM, head, b"x");
        while feed.poll_replay().is_some() {}
        assert_eq!(feed.soundness(), Soundness::Sound, "after {wild:?}");
    }
}
