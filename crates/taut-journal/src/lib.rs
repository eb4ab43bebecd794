//! The order journal: what leaves a gateway is written down before it leaves, and what the venue
//! says is written down when it is heard, so that after a crash open orders, positions and numbers
//! are what they were.
//!
//! A journal is a folder of *segments*: files of a fixed size that are made, filled with zeros and
//! mapped ahead of time, `0000000001.journal` and so on. A segment is a header, a checkpoint (what
//! all entries before came to) and records, each with a sequence number, a time and a salted
//! CRC-32C. The layouts stand at the top of `header.rs`, `record.rs` and `pack.rs`.
//!
//! - [`Writer::append`] stores a record in the mapping, its first word last. It makes no system
//!   call, allocates nothing and waits for nobody: what it returned from survives `kill -9`. What
//!   survives a power cut, [`Durability`] says.
//! - [`Housekeeper::turn`] does the rest, on another thread or in a quiet moment: it makes the next
//!   segment, synchronises, keeps pages writable, and removes old segments. It reads what was
//!   appended out of the same mapping and folds it into the next checkpoint.
//! - [`Journal::open`] reads everything, checks everything, and gives [`Recovered`].
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
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(
    test,
    allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

mod entry;
mod error;
mod fault;
mod header;
mod housekeeper;
mod inputs;
mod journal;
mod lock;
mod mapped;
mod pack;
mod record;
mod recovery;
mod scan;
mod segment;
mod settings;
mod state;
mod writer;

pub use entry::{Asked, Entry, Fill, LOT_VALUE, OrderRecord, VenueId};
pub use error::{Damage, JournalError, What, segment_name};
pub use housekeeper::{Housekeeper, Turn};
pub use inputs::{
    ATTENTION, COMMAND, Copied, Frame, GAP, HOUSEKEEPING, InputKeeper, InputPlace, InputReader,
    InputSettings, InputWriter, Inputs, InputsTail, RECOVERED, RUN, STATE, TURN, copy_inputs,
};
pub use journal::Journal;
pub use lock::{FolderLock, writing_process};
pub use recovery::{Recovered, SegmentReport, read};
pub use scan::{Scanned, Shown, Tail, TailKind, scan};
pub use settings::{Durability, OnFailure, Settings};
pub use state::{OpenOrder, State, Unanswered};
pub use writer::Writer;
