//! The journal of inputs: everything that a gateway's thread has heard from outside, turn by turn,
//! in the order in which it was taken, with what went out: enough to do all of it again.
//!
//! A journal of inputs is a folder of segments, `0000000001.journal` and so on: files of a fixed
//! size, made, filled with zeros and mapped ahead of time. The first frame says what the run was;
//! the others are turns, whose bytes this crate does not look into. The layouts stand at the top of
//! `header.rs` and `frame.rs` of this folder.
//!
//! - [`InputWriter::append`] checks and copies a frame into the mapping, its first word last: no
//!   system call, no allocation, and what it returned from survives `kill -9`.
//! - [`InputKeeper::turn`], on another thread, makes the next segment and cuts what was left empty
//!   at the end.
//! - [`InputReader`] reads the frames in their order and believes those with a right sum and the
//!   number that is due. A frame that is not right ends the journal, as a process that was killed
//!   or a power cut leaves it; with a right one of a later number behind it, that is rot, and is
//!   told as [`Damage`](crate::Damage) with its file and byte. A time table beside the segments
//!   leads to a time without reading all before it.
//!
//! ```
//! use taut_journal::{InputReader, InputSettings, Inputs, TURN};
//! use taut_types::Nanos;
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let folder = folder.path().join("run");
//! let settings = InputSettings { segment_bytes: 1 << 20 };
//! let Inputs { mut writer, mut keeper } = Inputs::create(&folder, settings)?;
//! keeper.turn()?;
//! writer.append(TURN, Nanos(1), b"what was heard")?;
//! keeper.finish(writer)?;
//!
//! let mut reader = InputReader::open(&folder)?;
//! let frame = reader.next_frame()?.expect("a frame");
//! assert_eq!((frame.sequence, frame.time, frame.bytes), (1, Nanos(1), &b"what was heard"[..]));
//! assert!(reader.next_frame()?.is_none());
//! # Ok::<(), taut_journal::JournalError>(())
//! ```

mod copy;
mod frame;
mod header;
mod reader;
mod segment;
mod times;
mod writer;

pub use copy::{Copied, copy_inputs};
pub use reader::{Frame, InputReader, InputsTail};
pub use times::InputPlace;
pub use writer::{InputKeeper, InputSettings, InputWriter, Inputs};

/// The kind of a frame that says what the run was: the first one.
pub const RUN: u16 = 1;
/// The kind of a frame that is a turn of the gateway's loop.
pub const TURN: u16 = 2;
/// The kind of a frame that is a round of housekeeping.
pub const HOUSEKEEPING: u16 = 3;
/// The kind of a frame that is a command of whoever runs the gateway.
pub const COMMAND: u16 = 4;
/// The kind of a frame that holds what the gateway had come to.
pub const STATE: u16 = 5;
/// The kind of a frame that is a round of all that is done beside the gateway's own housekeeping:
/// commands, signals, dead man's timers.
pub const ATTENTION: u16 = 6;
/// The kind of a frame that holds what the order journal recovered: behind the first one.
pub const RECOVERED: u16 = 7;
/// The kind of a frame that stands where frames were dropped: how many.
pub const GAP: u16 = 8;
