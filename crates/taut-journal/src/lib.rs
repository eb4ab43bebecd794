//! The order journal: what leaves a gateway is written down before it leaves, and what the venue
//! says is written down when it is heard, so that after a crash open orders, positions and numbers
//! are what they were.
//!
//! A journal is a folder of *segments*: files of a fixed size that are made, filled with zeros and
//! mapped ahead of time, `0000000001.journal` and so on. A segment is a header, a checkpoint (what
//! all entries before came to) and records, each with a sequence number, a time and a salted
//! CRC-32C. The layouts stand at the top of `header.rs`, `record.rs` and `pack.rs`.
//!
//! There are entries of two sorts under one sequence: those about orders, and those of a
//! *recording*: everything that a gateway's thread has heard from outside, turn by turn, with what
//! went out, enough to do all of it again. A journal has either or both.
//!
//! - [`Writer::append`] and [`Writer::record`] store a record in the mapping, its first word last.
//!   They make no system call, allocate nothing and wait for nobody: what they returned from
//!   survives `kill -9`. What survives a power cut, [`Durability`] says.
//! - [`Housekeeper::turn`] does the rest, on another thread or in a quiet moment: it makes the next
//!   segment, synchronises, keeps pages writable, and removes old segments. It reads what was
//!   appended out of the same mapping and folds entries about orders into the next checkpoint.
//! - [`Journal::open`] reads an order journal, checks everything, and gives [`Recovered`].
//!   [`Journal::begin`] begins a recording in a new folder, [`Journal::record`] one in which the
//!   orders of a journal stand from there on.
//! - [`Follower`] reads a journal behind the process that writes it.
//! - [`Reader`] gives the entries in their order. A time table beside the segments leads to a time
//!   without reading all before it.
//!
//! # What is believed
//! A record with a right sum and the number that is due. A record that was never finished has 0 as
//! its first word, and ends a segment ([`Tail`]). Whatever else is wrong ends a segment too when
//! nothing right stands behind it, and is told as damage; with right records or segments behind it,
//! it is refused, with file, byte and reason: [`Damage`]. A tail that was finished and fails its
//! check may have left: [`Recovered::requests_lost_max`] numbers of each owner are not used again.
//!
//! # When something fails
//! A segment that cannot be made (no room on the disk) is tried again at each turn; the writer goes
//! on as long as its segment has room, and then [`JournalError::Full`] comes back until there is
//! one. What cannot be synchronised poisons the journal until it is opened again. [`OnFailure`]
//! says what may leave then.
//!
//! ```
//! use taut_journal::{Entry, Journal, Settings};
//! use taut_types::{ClientOrderId, InstrumentId, Lots, Nanos, OrderTerms, Price, Side};
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let folder = folder.path();
//! let settings = Settings { segment_bytes: 1 << 20, ..Settings::default() };
//! let Journal { mut writer, mut housekeeper, recovered } = Journal::open(folder, settings)?;
//! assert!(recovered.state.orders.is_empty());
//! let order = ClientOrderId(1);
//! let terms = OrderTerms::limit(InstrumentId(3), Side::Buy, Price(585_330_000_000), Lots(5));
//! writer.admit(Nanos(1), &Entry::Create { order, tag: 7, terms })?; // it may leave now
//! housekeeper.turn()?;
//! drop((writer, housekeeper)); // a crash
//!
//! let again = Journal::open(folder, settings)?;
//! assert_eq!(again.recovered.state.orders[&order].order.terms, terms);
//! # Ok::<(), taut_journal::JournalError>(())
//! ```
//!
//! A recording:
//!
//! ```
//! use taut_journal::{Journal, Reader, Settings, TURN};
//! use taut_types::Nanos;
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let folder = folder.path().join("run");
//! let settings = Settings { segment_bytes: 1 << 20, ..Settings::of_recording() };
//! let Journal { mut writer, mut housekeeper, .. } = Journal::begin(&folder, settings, None)?;
//! housekeeper.turn()?;
//! writer.record(TURN, Nanos(1), b"what was heard")?;
//! drop(writer);
//! housekeeper.finish()?;
//!
//! let mut reader = Reader::open(&folder)?;
//! let frame = reader.next_frame()?.expect("an entry");
//! assert_eq!((frame.sequence, frame.time, frame.bytes), (1, Nanos(1), &b"what was heard"[..]));
//! assert!(reader.next_frame()?.is_none());
//! # Ok::<(), taut_journal::JournalError>(())
//! ```
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(
    test,
    allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

mod copy;
mod entry;
mod error;
mod fault;
mod follow;
mod header;
mod home;
mod housekeeper;
mod journal;
mod kind;
mod lock;
mod mapped;
mod pack;
mod reader;
mod record;
mod recovery;
mod scan;
mod segment;
mod settings;
mod state;
mod times;
mod writer;

pub use copy::{Copied, copy};
pub use entry::{Asked, Entry, Fill, LOT_VALUE, OrderRecord, VenueId};
pub use error::{Damage, JournalError, What, segment_name};
pub use follow::Follower;
pub use home::{orders_in, read};
pub use housekeeper::{Housekeeper, Turn};
pub use journal::Journal;
pub use kind::{ATTENTION, COMMAND, GAP, HOUSEKEEPING, RECOVERED, RUN, STATE, TURN};
pub use lock::{FolderLock, writing_process};
pub use reader::{Frame, Reader};
pub use recovery::{Recovered, SegmentReport};
pub use scan::{Scanned, Shown, Tail, TailKind, scan};
pub use segment::sync_folder;
pub use settings::{Durability, OnFailure, Settings};
pub use state::{OpenOrder, State, Unanswered};
pub use writer::Writer;
