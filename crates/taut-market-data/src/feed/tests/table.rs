//! The whole transition table.

use super::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing applied up to 10; 13 is stored.
    Joining,
    /// All up to 10 is known.
    Live,
    /// All up to 10 is known, 13 is stored, 11 and 12 are missing.
    Gap,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Packet(u64),
    Heartbeat(u64),
    /// A snapshot that is complete with its first packet.
    Snapshot(u64),
    /// One that is not.
    Begin(u64),
    Invalidate,
    OtherStream,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Verdict(Verdict),
    Snapshot(SnapshotVerdict),
    None,
}

use Event::*;
use State::*;

fn state_of(feed: &Sequencer) -> State {
    match feed.state() {
        FeedState::Live { .. } => Live,
        FeedState::Recovering { has_base: true, .. } => Gap,
        FeedState::Recovering { has_base: false, .. } => Joining,
    }
}

fn feed_in(state: State) -> Sequencer {
    let mut feed = live_at(10);
    if state != Live {
        assert_eq!(packet(&mut feed, 13), Verdict::Stored);
    }
    if state == Joining {
        feed.invalidate();
    }
    assert_eq!(state_of(&feed), state);
    feed
}

fn apply(feed: &mut Sequencer, event: Event) -> Outcome {
    match event {
        Packet(sequence) => Outcome::Verdict(packet(feed, sequence)),
        Heartbeat(last_sequence) => {
            feed.handle_heartbeat(STREAM, SequenceNumber(last_sequence));
            Outcome::None
        }
        Snapshot(last_sequence) => Outcome::Snapshot(begin(feed, 1, last_sequence, 0)),
        Begin(last_sequence) => Outcome::Snapshot(begin(feed, 1, last_sequence, 1)),
        Invalidate => {
            feed.invalidate();
            Outcome::None
        }
        OtherStream => {
            Outcome::Verdict(feed.handle_packet(STREAM + 1, SequenceNumber(11), b"foreign"))
        }
    }
}

#[test]
fn every_event_in_every_state_does_what_the_table_says() {
    const APPLY: Outcome = Outcome::Verdict(Verdict::Apply);
    const DUPLICATE: Outcome = Outcome::Verdict(Verdict::Duplicate);
    const STORED: Outcome = Outcome::Verdict(Verdict::Stored);
    const OTHER: Outcome = Outcome::Verdict(Verdict::OtherStream);
    const NONE: Outcome = Outcome::None;
    const USED: Outcome = Outcome::Snapshot(SnapshotVerdict::Complete);
    const BEGUN: Outcome = Outcome::Snapshot(SnapshotVerdict::Stored);
    const IGNORED: Outcome = Outcome::Snapshot(SnapshotVerdict::Ignored);

    // State, event, outcome, state after draining, the first sequence that is not accounted for.
    let table: &[(State, Event, Outcome, State, u64)] = &[
        (Joining, Packet(10), DUPLICATE, Joining, 11),
        (Joining, Packet(11), STORED, Joining, 11),
        (Joining, Packet(12), STORED, Joining, 11),
        (Joining, Packet(13), DUPLICATE, Joining, 11),
        (Joining, Packet(0), DUPLICATE, Joining, 11),
        (Joining, Packet(u64::MAX), Outcome::Verdict(Verdict::Dropped), Joining, 11),
        (Joining, Heartbeat(10), NONE, Joining, 11),
        (Joining, Heartbeat(20), NONE, Joining, 11),
        (Joining, Snapshot(9), IGNORED, Joining, 11),
        (Joining, Snapshot(10), USED, Gap, 11),
        (Joining, Snapshot(11), USED, Gap, 12),
        (Joining, Snapshot(12), USED, Live, 14),
        (Joining, Snapshot(15), USED, Live, 16),
        (Joining, Snapshot(u64::MAX), IGNORED, Joining, 11),
        (Joining, Begin(12), BEGUN, Joining, 11),
        (Joining, Invalidate, NONE, Joining, 11),
        (Joining, OtherStream, OTHER, Joining, 11),
        (Live, Packet(10), DUPLICATE, Live, 11),
        (Live, Packet(11), APPLY, Live, 12),
        (Live, Packet(12), STORED, Gap, 11),
        (Live, Packet(0), DUPLICATE, Live, 11),
        (Live, Packet(u64::MAX), Outcome::Verdict(Verdict::Dropped), Live, 11),
        (Live, Heartbeat(10), NONE, Live, 11),
        (Live, Heartbeat(11), NONE, Gap, 11),
        (Live, Heartbeat(u64::MAX), NONE, Live, 11),
        (Live, Snapshot(9), IGNORED, Live, 11),
        (Live, Snapshot(10), IGNORED, Live, 11),
        (Live, Snapshot(12), USED, Live, 13),
        (Live, Begin(10), IGNORED, Live, 11),
        (Live, Begin(12), BEGUN, Gap, 11),
        (Live, Invalidate, NONE, Joining, 11),
        (Live, OtherStream, OTHER, Live, 11),
        (Gap, Packet(10), DUPLICATE, Gap, 11),
        (Gap, Packet(11), APPLY, Gap, 12),
        (Gap, Packet(12), STORED, Gap, 11),
        (Gap, Packet(13), DUPLICATE, Gap, 11),
        (Gap, Packet(0), DUPLICATE, Gap, 11),
        (Gap, Heartbeat(10), NONE, Gap, 11),
        (Gap, Heartbeat(20), NONE, Gap, 11),
        (Gap, Snapshot(10), IGNORED, Gap, 11),
        (Gap, Snapshot(11), USED, Gap, 12),
        (Gap, Snapshot(12), USED, Live, 14),
        (Gap, Snapshot(13), USED, Live, 14),
        (Gap, Begin(10), IGNORED, Gap, 11),
        (Gap, Begin(12), BEGUN, Gap, 11),
        (Gap, Invalidate, NONE, Joining, 11),
        (Gap, OtherStream, OTHER, Gap, 11),
    ];
    for &(state, event, outcome, after, next) in table {
        let mut feed = feed_in(state);
        assert_eq!(apply(&mut feed, event), outcome, "{event:?} when {state:?}");
        drain(&mut feed);
        assert_eq!(state_of(&feed), after, "after {event:?} when {state:?}");
        let first = match feed.state() {
            FeedState::Live { next } => next,
            FeedState::Recovering { first_missing, .. } => first_missing,
        };
        assert_eq!(first.0, next, "after {event:?} when {state:?}");
        assert!((next - 1..30).all(|last| is_exact(&feed, last)), "{event:?} when {state:?}");
    }
}
