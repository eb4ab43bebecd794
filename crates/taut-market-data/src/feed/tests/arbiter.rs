//! Two lines: single stories, and every way in which both can lose packets.

use super::*;

const MS: Nanos = Nanos::from_millis(1);
pub(super) const LAG: Nanos = Nanos::from_millis(20);
pub(super) const T0: Nanos = Nanos::from_secs(1);

pub(super) fn config(recovery: Recovery) -> ArbiterConfig {
    ArbiterConfig {
        feed: FeedConfig {
            packet_count: 16,
            snapshot_packet_count: 4,
            packet_bytes: 8,
            ..FeedConfig::default()
        },
        silence: Nanos::from_secs(1),
        gap_timeout: MS,
        recovery,
        lag: LAG,
        restart_packets: 3,
    }
}

pub(super) fn retransmission() -> Recovery {
    Recovery::Retransmission { interval: MS, attempts_max: 3, packets_max: 8 }
}

/// A consumer whose book is a chain of what was applied: what is left out or twice shows.
pub(super) struct Consumer {
    pub(super) arbiter: Arbiter,
    pub(super) book: u64,
}

fn chain(book: u64, sequence: u64) -> u64 {
    book.wrapping_mul(31).wrapping_add(sequence)
}

pub(super) fn book_at(sequence: u64) -> u64 {
    (1..=sequence).fold(7, chain)
}

impl Consumer {
    /// One that has everything up to nothing.
    pub(super) fn new(recovery: Recovery) -> Self {
        let mut consumer = Self { arbiter: Arbiter::new(config(recovery), T0), book: 0 };
        consumer.snapshot(0);
        assert_eq!(consumer.arbiter.soundness(), Soundness::Sound);
        consumer
    }

    fn reset(&mut self) {
        self.arbiter.handle_reset(T0, STREAM);
        while self.arbiter.poll_replay().is_some() {}
        self.book = book_at(0);
    }

    pub(super) fn snapshot(&mut self, last: u64) {
        let head = SnapshotHead { id: 1, last_sequence: SequenceNumber(last), units: 0 };
        let book = book_at(last).to_le_bytes();
        self.arbiter.handle_snapshot_begin(T0, STREAM, head, &book);
        self.drain();
    }

    pub(super) fn take(&mut self, now: Nanos, line: Line, sequence: u64) -> Verdict {
        let bytes = sequence.to_le_bytes();
        let verdict =
            self.arbiter.handle_packet(now, line, STREAM, SequenceNumber(sequence), &bytes);
        if verdict == Verdict::Apply {
            self.book = chain(self.book, sequence);
        }
        self.drain();
        verdict
    }

    pub(super) fn drain(&mut self) {
        while let Some(replay) = self.arbiter.poll_replay() {
            match replay {
                Replay::Reset { .. } => self.book = 0,
                Replay::SnapshotPart(bytes) => {
                    self.book = u64::from_le_bytes(bytes.try_into().unwrap());
                }
                Replay::Packet { sequence, .. } => self.book = chain(self.book, sequence.0),
            }
        }
    }

    pub(super) fn is_sound(&self) -> bool {
        self.arbiter.soundness() == Soundness::Sound
    }
}

#[test]
fn whichever_line_comes_first_is_taken_and_the_other_is_a_duplicate() {
    let mut consumer = Consumer::new(Recovery::Snapshot);
    assert_eq!(consumer.take(T0, Line::A, 1), Verdict::Apply);
    assert_eq!(consumer.take(T0, Line::B, 1), Verdict::Duplicate);
    assert_eq!(consumer.take(T0, Line::B, 2), Verdict::Apply);
    assert_eq!(consumer.take(T0, Line::A, 3), Verdict::Apply);
    assert_eq!(consumer.take(T0, Line::A, 2), Verdict::Duplicate);
    assert_eq!(consumer.book, book_at(3));
    let (a, b) = (consumer.arbiter.line(Line::A), consumer.arbiter.line(Line::B));
    assert_eq!((a.packets, a.first, b.packets, b.first), (3, 2, 2, 1));
}

#[test]
fn a_gap_is_stale_at_once_and_sound_when_the_other_line_fills_it() {
    let mut consumer = Consumer::new(retransmission());
    consumer.take(T0, Line::A, 2);
    assert_eq!(consumer.arbiter.soundness(), Soundness::Stale(Staleness::Gap));
    consumer.take(T0, Line::B, 1);
    assert!(consumer.is_sound() && consumer.book == book_at(2));
    consumer.arbiter.handle_timeout(T0 + MS);
    assert_eq!(consumer.arbiter.poll_request(), None);
}

#[test]
fn a_gap_of_both_lines_is_asked_for_after_the_timeout_and_again_with_longer_waits() {
    let mut consumer = Consumer::new(retransmission());
    for line in [Line::A, Line::B] {
        consumer.take(T0, line, 4);
    }
    let wanted = RetransmitRequest { stream_id: STREAM, first: SequenceNumber(1), count: 3 };
    let mut asked = std::vec::Vec::new();
    for tick in 0..20 {
        let now = T0 + Nanos(MS.0 * tick);
        consumer.arbiter.handle_timeout(now);
        if let Some(request) = consumer.arbiter.poll_request() {
            assert_eq!(request, wanted);
            asked.push(tick);
        }
    }
    assert_eq!(asked, [1, 2, 4]);
    assert_eq!(consumer.arbiter.poll_timeout(), Some(T0 + Nanos::from_secs(1)));
    for sequence in 1..=3 {
        consumer.take(T0, Line::Retransmission, sequence);
    }
    assert!(consumer.is_sound() && consumer.book == book_at(4));
}

#[test]
fn what_was_given_up_is_stale_until_its_owner_says_that_all_was_replaced() {
    let mut consumer = Consumer::new(Recovery::NaturalRefresh);
    consumer.take(T0, Line::A, 3);
    assert_eq!(consumer.arbiter.poll_timeout(), Some(T0 + MS));
    consumer.arbiter.handle_timeout(T0 + MS);
    consumer.drain();
    assert_eq!(consumer.book, chain(book_at(0), 3));
    assert_eq!(consumer.arbiter.soundness(), Soundness::Stale(Staleness::Refreshing));
    assert_eq!(consumer.take(T0 + MS, Line::A, 4), Verdict::Apply);
    assert_eq!(consumer.arbiter.sequencer().lost(SequenceNumber(4)), 2);
    consumer.arbiter.refreshed();
    assert!(consumer.is_sound());
}

#[test]
fn a_silent_line_is_counted_and_two_make_the_book_stale() {
    let mut consumer = Consumer::new(Recovery::Snapshot);
    let second = Nanos::from_secs(1);
    consumer.take(T0 + MS, Line::A, 1);
    consumer.arbiter.handle_timeout(T0 + second);
    assert!(consumer.is_sound());
    assert_eq!(consumer.arbiter.line(Line::B).silences, 1);
    assert_eq!(consumer.arbiter.poll_timeout(), Some(T0 + MS + second));
    consumer.arbiter.handle_timeout(T0 + MS + second);
    assert_eq!(consumer.arbiter.soundness(), Soundness::Stale(Staleness::Silent));
    let last = SequenceNumber(1);
    consumer.arbiter.handle_heartbeat(T0 + second + second, Line::B, STREAM, last);
    assert!(consumer.is_sound());
}

#[test]
fn a_heartbeat_reveals_a_lost_tail() {
    let mut consumer = Consumer::new(Recovery::Snapshot);
    consumer.arbiter.handle_heartbeat(T0, Line::B, STREAM, SequenceNumber(1));
    assert_eq!(consumer.arbiter.soundness(), Soundness::Stale(Staleness::Gap));
    consumer.take(T0, Line::A, 1);
    assert!(consumer.is_sound());
}

#[test]
fn a_late_joiner_is_joining_until_a_snapshot_meets_what_was_kept() {
    let mut consumer = Consumer { arbiter: Arbiter::new(config(retransmission()), T0), book: 0 };
    assert_eq!(consumer.take(T0, Line::A, 8), Verdict::Stored);
    assert_eq!(consumer.arbiter.soundness(), Soundness::Stale(Staleness::Joining));
    consumer.arbiter.handle_timeout(T0 + MS);
    assert_eq!(consumer.arbiter.poll_request(), None, "there is nothing to ask for yet");
    assert_eq!(consumer.arbiter.poll_timeout(), Some(T0 + Nanos::from_secs(1)), "silence");
    consumer.snapshot(7);
    assert!(consumer.is_sound() && consumer.book == book_at(8));
}

#[test]
fn a_restart_is_followed_after_some_packets_and_its_predecessor_never_again() {
    let mut consumer = Consumer::new(Recovery::Snapshot);
    let other = STREAM + 1;
    let mut take = |stream, sequence| {
        consumer.arbiter.handle_packet(T0, Line::A, stream, SequenceNumber(sequence), b"x")
    };
    assert_eq!(take(other, 1), Verdict::OtherStream);
    assert_eq!(take(STREAM, 1), Verdict::Apply);
    assert_eq!([take(other, 1), take(other, 2)], [Verdict::OtherStream; 2]);
    assert_eq!(take(other, 3), Verdict::Stored);
    assert_eq!([take(STREAM, 2), take(STREAM, 3), take(STREAM, 4)], [Verdict::OtherStream; 3]);
    assert_eq!(consumer.arbiter.soundness(), Soundness::Stale(Staleness::Joining));
    assert_eq!(consumer.arbiter.restarts_and_requests().0, 1);
}

/// Late packets of the run before can overtake the first ones of the next: then the right one is
/// left, and nothing comes on the wrong one.
#[test]
fn a_stream_that_was_left_is_followed_again_when_the_other_has_fallen_silent() {
    let mut consumer = Consumer::new(Recovery::Snapshot);
    let next_run = STREAM + 1;
    let mut take = |now, stream, sequence| {
        let arbiter = &mut consumer.arbiter;
        arbiter.handle_timeout(now);
        arbiter.handle_packet(now, Line::A, stream, SequenceNumber(sequence), b"x")
    };
    let is_taken = |verdict| verdict != Verdict::OtherStream;
    (1..=3).for_each(|sequence| drop(take(T0, next_run, sequence)));
    assert!(is_taken(take(T0, next_run, 4)));
    // It is followed, and then a third one.
    (1..=3).for_each(|sequence| drop(take(T0, next_run + 1, sequence)));
    assert!(is_taken(take(T0, next_run + 1, 4)) && !is_taken(take(T0, next_run, 5)));
    let later = T0 + Nanos::from_secs(2);
    (6..=8).for_each(|sequence| drop(take(later, next_run, sequence)));
    assert!(is_taken(take(later, next_run, 9)));
}

#[test]
fn a_stream_that_was_configured_has_no_successor_but_by_a_reset() {
    let mut config = config(Recovery::Snapshot);
    config.feed.stream_id = Some(STREAM);
    let mut consumer = Consumer { arbiter: Arbiter::new(config, T0), book: 0 };
    consumer.snapshot(0);
    let other = STREAM + 1;
    for sequence in 1..=10 * u64::from(config.restart_packets) {
        let sequence = SequenceNumber(sequence);
        let verdict = consumer.arbiter.handle_packet(T0, Line::A, other, sequence, b"x");
        assert_eq!(verdict, Verdict::OtherStream);
    }
    assert_eq!(consumer.take(T0, Line::B, 1), Verdict::Apply);
    assert_eq!(consumer.arbiter.restarts_and_requests().0, 0);

    consumer.arbiter.handle_reset(T0, other);
    while consumer.arbiter.poll_replay().is_some() {}
    let verdict = consumer.arbiter.handle_packet(T0, Line::A, other, SequenceNumber(1), b"x");
    assert_eq!(verdict, Verdict::Apply);
}

#[test]
fn a_reset_begins_again_at_one_with_an_empty_book() {
    let mut consumer = Consumer::new(Recovery::Snapshot);
    consumer.take(T0, Line::A, 1);
    consumer.take(T0, Line::A, 3);
    consumer.reset();
    assert!(consumer.is_sound());
    assert_eq!(consumer.take(T0, Line::B, 1), Verdict::Apply);
    assert!(consumer.is_sound() && consumer.book == book_at(1));
}

const PACKETS: u64 = 12;

/// Both lines send twelve packets, B a while behind A, each with its own losses; then a heartbeat.
/// At every step a book that is called sound is right, and has all that is known to have been sent.
fn run_masks(consumer: &mut Consumer, masks: [u32; 2], lag: u64) {
    consumer.reset();
    let mut known = 0;
    for step in 1..=PACKETS + lag {
        for (line, mask, sequence) in
            [(Line::A, masks[0], step), (Line::B, masks[1], step.wrapping_sub(lag))]
        {
            if (1..=PACKETS).contains(&sequence) && mask >> (sequence - 1) & 1 == 1 {
                consumer.take(T0, line, sequence);
                known = known.max(sequence);
                if consumer.is_sound() {
                    assert_eq!(consumer.book, book_at(known), "{masks:x?}");
                }
            }
        }
    }
    consumer.arbiter.handle_heartbeat(T0, Line::A, STREAM, SequenceNumber(PACKETS));
    let all = masks[0] | masks[1];
    let is_whole = all == (1 << PACKETS) - 1;
    assert_eq!(consumer.is_sound(), is_whole, "{masks:x?}");
    if is_whole {
        assert_eq!(consumer.book, book_at(PACKETS), "{masks:x?}");
    }
}

/// What was lost on both lines is asked for, and the server has it.
fn retransmit(consumer: &mut Consumer, masks: [u32; 2]) {
    let mut now = T0;
    while !consumer.is_sound() {
        now = now + MS;
        consumer.arbiter.handle_timeout(now);
        let Some(request) = consumer.arbiter.poll_request() else {
            assert!(now < T0 + Nanos::from_millis(900), "{masks:x?}");
            continue;
        };
        for index in 0..u64::from(request.count) {
            consumer.take(now, Line::Retransmission, request.first.0 + index);
        }
    }
    assert_eq!(consumer.book, book_at(PACKETS), "{masks:x?}");
}

fn every_mask(visit: &mut dyn FnMut([u32; 2])) {
    // All 2^24 of them; in the ordinary build one of a few thousand, which still are all sorts.
    let step = if cfg!(debug_assertions) { 2_503 } else { 1 };
    for masks in (0_u32..1 << 24).step_by(step) {
        visit([masks & 0xFFF, masks >> 12]);
    }
}

#[test]
fn every_loss_mask_of_twelve_packets_on_two_lines_ends_right_or_reported_stale() {
    let mut consumer = Consumer::new(Recovery::Snapshot);
    every_mask(&mut |masks| run_masks(&mut consumer, masks, u64::from(masks[0] % 4)));
}

#[test]
fn every_loss_mask_is_healed_by_retransmission() {
    let mut consumer = Consumer::new(retransmission());
    every_mask(&mut |masks| {
        run_masks(&mut consumer, masks, 1);
        retransmit(&mut consumer, masks);
    });
}

#[test]
fn every_loss_mask_is_healed_by_a_snapshot_that_meets_what_was_kept() {
    let mut consumer = Consumer::new(Recovery::Snapshot);
    every_mask(&mut |masks| {
        run_masks(&mut consumer, masks, 2);
        // The snapshot is one of the middle or of the end: the kept packets must close the rest.
        for last in [6, PACKETS] {
            consumer.snapshot(last);
        }
        assert!(consumer.is_sound() && consumer.book == book_at(PACKETS), "{masks:x?}");
    });
}
