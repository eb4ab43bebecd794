//! Market-data sequencing: two lines, gap detection, retransmission and snapshot recovery.
//!
//! A feed has two channels. The **incremental** channel numbers its packets 1, 2, 3... and loses,
//! duplicates and reorders some on the way; a heartbeat repeats the last number sent. The
//! **snapshot** channel repeats, as a cycle of packets, the whole state as of some number of the
//! incremental channel. [`Sequencer`] decides for every packet what becomes of it, and brings a
//! consumer that joined late or lost packets back to where the publisher is:
//!
//! - **live**: the next packet in line is applied at once; one that is behind is a duplicate; one
//!   that is ahead reveals a gap and is stored;
//! - **recovering**: packets ahead are stored. Late packets may close the gap; otherwise a snapshot
//!   is collected, and when it is complete, [`Sequencer::poll_replay`] hands out its parts in order
//!   and then the stored packets behind it.
//!
//! [`Arbiter`] puts two lines and time around it: the first line to bring a packet wins, a gap that
//! both lines have is asked for ([`RetransmitRequest`], answered by a [`RetransmitServer`]), left
//! to the snapshot cycle or given up ([`Recovery`]), and [`Arbiter::soundness`] says from the first
//! sign of a gap, of silence or of a restart that the book is stale, and why. A venue that restarts
//! under the same stream is noticed by lines that repeat themselves; the sequencer alone, which
//! knows neither lines nor time, takes its packets for duplicates.
//!
//! Packets are bytes to it: the caller reads sequence numbers and snapshot headers out of them, so
//! any format works. Every sequence number is counted exactly once, as applied, recovered (covered
//! by a snapshot without having been applied) or lost: [`Counters`]. All memory is taken when the
//! sequencer is built.
//!
//! ```
//! use taut_market_data::feed::{FeedConfig, FeedState, Replay, Sequencer};
//! use taut_market_data::feed::{SnapshotHead, SnapshotVerdict, Verdict};
//! use taut_types::SequenceNumber;
//!
//! let mut feed = Sequencer::new(FeedConfig::default());
//! // The packet is ahead of a consumer that knows nothing yet: it is kept.
//! assert_eq!(feed.handle_packet(7, SequenceNumber(42), b"a tick"), Verdict::Stored);
//! // A snapshot of one entry arrives, in two packets.
//! let head = SnapshotHead { id: 1, last_sequence: SequenceNumber(41), units: 1 };
//! assert_eq!(feed.handle_snapshot_begin(7, head, b"begin"), SnapshotVerdict::Stored);
//! assert_eq!(feed.handle_snapshot_part(7, 1, 1, 1, b"level"), SnapshotVerdict::Complete);
//! let mut replayed = 0;
//! while let Some(replay) = feed.poll_replay() {
//!     replayed += 1; // Reset the book, decode a part, or apply a packet.
//! #   let _: Replay<'_> = replay;
//! }
//! assert_eq!(replayed, 4);
//! assert_eq!(feed.state(), FeedState::Live { next: SequenceNumber(43) });
//! assert_eq!((feed.counters().recovered, feed.counters().applied), (41, 1));
//! ```

mod arbiter;
mod counters;
mod line;
mod request;
mod restart;
mod retransmit;
mod sequencer;
mod slots;
mod snapshot;
mod streams;
#[cfg(test)]
mod tests;

pub use arbiter::{Arbiter, ArbiterConfig, Recovery};
pub use counters::Counters;
pub use line::{Line, LineCounters};
pub use request::RetransmitRequest;
pub use retransmit::{RetransmitConfig, RetransmitCounters, RetransmitServer};
pub use sequencer::{FeedConfig, FeedState, Replay, Sequencer, SnapshotVerdict, Verdict};
pub use snapshot::SnapshotHead;
