//! A venue that restarts under the same stream, and what only looks like one.

use super::arbiter::{Consumer, LAG, T0, book_at, retransmission};
use super::*;

const STALE: Soundness = Soundness::Stale(Staleness::Restarting);
const LATER: Nanos = Nanos::from_millis(1_100);

/// One that has `count` packets of each line, all at the beginning.
fn with_packets(count: u64) -> Consumer {
    let mut consumer = Consumer::new(Recovery::Snapshot);
    for sequence in 1..=count {
        consumer.take(T0, Line::A, sequence);
        consumer.take(T0, Line::B, sequence);
    }
    assert!(consumer.is_sound());
    consumer
}

fn restarts(consumer: &Consumer) -> u64 {
    consumer.arbiter.restarts_and_requests().0
}

fn heartbeat(consumer: &mut Consumer, now: Nanos, line: Line, last: u64) {
    consumer.arbiter.handle_heartbeat(now, line, STREAM, SequenceNumber(last));
    consumer.drain();
}

#[test]
fn a_restart_under_the_same_stream_is_stale_at_once_and_then_followed() {
    for old in [4, 10, 100, 5_000] {
        let mut consumer = with_packets(old);
        let now = T0 + LAG;
        consumer.take(now, Line::A, 1);
        assert_eq!(consumer.arbiter.soundness(), STALE, "after {old}");
        consumer.take(now, Line::B, 1);
        assert_eq!(consumer.arbiter.soundness(), STALE, "after {old}");
        assert_eq!(consumer.take(now, Line::A, 2), Verdict::Stored, "after {old}");
        assert_eq!(consumer.arbiter.soundness(), Soundness::Stale(Staleness::Joining));
        assert_eq!(restarts(&consumer), 1);
        consumer.take(now, Line::A, 3);
        consumer.snapshot(1);
        assert!(consumer.is_sound() && consumer.book == book_at(3));
        assert_eq!(consumer.take(now, Line::B, 4), Verdict::Apply);
        assert!(consumer.is_sound() && restarts(&consumer) == 1);
    }
}

#[test]
fn a_restart_in_the_middle_of_a_gap_fills_no_gap() {
    let mut consumer = with_packets(10);
    for sequence in [112, 113] {
        consumer.take(T0, Line::A, sequence);
    }
    for sequence in 9..=11 {
        consumer.take(T0 + LAG, Line::A, sequence);
        assert!(!consumer.is_sound());
    }
    assert_eq!(restarts(&consumer), 1);
    consumer.snapshot(11);
    assert!(consumer.is_sound() && consumer.book == book_at(11));
}

#[test]
fn heartbeats_that_go_back_are_a_restart_too() {
    let mut consumer = with_packets(10);
    heartbeat(&mut consumer, T0 + LAG, Line::A, 10);
    assert!(consumer.is_sound());
    heartbeat(&mut consumer, T0 + LAG, Line::A, 0);
    assert_eq!(consumer.arbiter.soundness(), STALE);
    heartbeat(&mut consumer, T0 + LAG, Line::B, 0);
    heartbeat(&mut consumer, T0 + LAG, Line::A, 0);
    assert_eq!(consumer.arbiter.soundness(), Soundness::Stale(Staleness::Joining));
    consumer.snapshot(0);
    assert!(consumer.is_sound() && restarts(&consumer) == 1);
}

#[test]
fn a_stream_that_was_configured_may_restart_too() {
    let mut config = super::arbiter::config(Recovery::Snapshot);
    config.feed.stream_id = Some(STREAM);
    let mut consumer = Consumer { arbiter: Arbiter::new(config, T0), book: 0 };
    consumer.snapshot(0);
    for (now, line) in [(T0, Line::A), (T0, Line::B), (T0 + LAG, Line::A)] {
        for sequence in 1..=5 {
            consumer.take(now, line, sequence);
        }
    }
    assert_eq!(restarts(&consumer), 1);
}

#[test]
fn a_line_that_was_never_heard_tells_of_a_restart_after_the_silence() {
    let mut consumer = Consumer::new(Recovery::Snapshot);
    for sequence in 1..=10 {
        consumer.take(T0, Line::A, sequence);
    }
    for sequence in 1..=3 {
        consumer.take(T0 + LATER, Line::B, sequence);
        assert!(!consumer.is_sound());
    }
    assert_eq!(restarts(&consumer), 1);
}

#[test]
fn a_late_line_is_no_restart_however_late_it_is() {
    let mut consumer = Consumer::new(Recovery::Snapshot);
    for sequence in 1..=2_000 {
        consumer.take(T0, Line::A, sequence);
    }
    let now = T0 + Nanos(LAG.0 * 40);
    for index in 0..2_000_u64 {
        // With reordering.
        assert_eq!(consumer.take(now, Line::B, (index ^ 7) + 1), Verdict::Duplicate);
        assert!(consumer.is_sound(), "at {index}");
    }
    heartbeat(&mut consumer, now, Line::B, 2_000);
    assert!(consumer.is_sound() && restarts(&consumer) == 0);
}

#[test]
fn copies_of_everything_on_a_line_are_no_restart_within_the_lag() {
    let mut consumer = with_packets(100);
    for sequence in 50..=100 {
        let now = T0 + LAG - Nanos(1);
        assert_eq!(consumer.take(now, Line::A, sequence), Verdict::Duplicate);
        assert!(consumer.is_sound());
    }
    assert_eq!(restarts(&consumer), 0);
}

#[test]
fn a_stray_copy_is_stale_until_the_next_news_or_heartbeat() {
    let mut consumer = with_packets(10);
    consumer.take(T0 + LAG, Line::A, 3);
    assert_eq!(consumer.arbiter.soundness(), STALE);
    consumer.take(T0 + LAG, Line::A, 11);
    assert!(consumer.is_sound());
    consumer.take(T0 + LAG + LAG, Line::A, 11);
    assert_eq!(consumer.arbiter.soundness(), STALE);
    heartbeat(&mut consumer, T0 + LAG + LAG, Line::A, 11);
    assert!(consumer.is_sound() && restarts(&consumer) == 0);
}

#[test]
fn answers_to_requests_are_no_restart() {
    let mut consumer = Consumer::new(retransmission());
    for sequence in 1..=100 {
        consumer.take(T0, Line::A, sequence);
    }
    for sequence in (1..=100).chain(1..=100) {
        consumer.take(T0 + LATER, Line::Retransmission, sequence);
        assert!(consumer.is_sound());
    }
    assert_eq!(restarts(&consumer), 0);
}
