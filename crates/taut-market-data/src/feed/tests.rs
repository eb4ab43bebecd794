//! The sequencer: every state with every event, single stories, and whole runs over a bad link.

mod arbiter;
mod restart;
mod retransmit;
mod runs;
mod stories;
mod table;
mod wild;

use std::vec::Vec;

use taut_types::{Nanos, SequenceNumber};

use crate::event::{Soundness, Staleness};
use crate::feed::*;

const STREAM: u32 = 7;

/// Room for four packets and four parts of eight bytes.
fn small() -> Sequencer {
    Sequencer::new(FeedConfig {
        packet_count: 4,
        snapshot_packet_count: 4,
        packet_bytes: 8,
        ..FeedConfig::default()
    })
}

fn packet(feed: &mut Sequencer, sequence: u64) -> Verdict {
    feed.handle_packet(STREAM, SequenceNumber(sequence), &sequence.to_le_bytes())
}

fn begin(feed: &mut Sequencer, id: u32, last_sequence: u64, units: u64) -> SnapshotVerdict {
    let head = SnapshotHead { id, last_sequence: SequenceNumber(last_sequence), units };
    feed.handle_snapshot_begin(STREAM, head, b"begin")
}

fn part(feed: &mut Sequencer, id: u32, index: u32, units: u64) -> SnapshotVerdict {
    feed.handle_snapshot_part(STREAM, id, index, units, &index.to_le_bytes())
}

/// What a replay said, without the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Reset(u64),
    Begin,
    Part(u32),
    Packet(u64),
}

/// Drains the replay and checks that the packets are the ones that were put in.
fn drain(feed: &mut Sequencer) -> Vec<Step> {
    let mut steps = Vec::new();
    while let Some(replay) = feed.poll_replay() {
        steps.push(match replay {
            Replay::Reset { last_sequence } => Step::Reset(last_sequence.0),
            Replay::SnapshotPart(b"begin") => Step::Begin,
            Replay::SnapshotPart(bytes) => {
                Step::Part(u32::from_le_bytes(bytes.try_into().unwrap()))
            }
            Replay::Packet { sequence, bytes } => {
                assert_eq!(bytes, sequence.0.to_le_bytes());
                Step::Packet(sequence.0)
            }
        });
    }
    steps
}

/// A feed that is live, with everything up to `last_sequence` covered by a snapshot.
fn live_at(last_sequence: u64) -> Sequencer {
    let mut feed = small();
    assert_eq!(begin(&mut feed, 0, last_sequence, 0), SnapshotVerdict::Complete);
    assert_eq!(drain(&mut feed), [Step::Reset(last_sequence), Step::Begin]);
    assert!(feed.is_live());
    feed
}

fn is_exact(feed: &Sequencer, final_sequence: u64) -> bool {
    let counters = feed.counters();
    counters.applied + counters.recovered + feed.lost(SequenceNumber(final_sequence))
        == final_sequence
}
