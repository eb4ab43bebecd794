//! The venue's journal: every input in one order, written down before anybody hears of it.
//!
//! An input is all that changes a venue's books, orders, sessions or feed: a client's logon,
//! message or leave, a command of the flow or of an observer, a print, a halt. The venue executes
//! one after the other; each is appended to the journal with its time, and with the numbers that
//! its reports have, before a report or a packet of it leaves the process. A venue that takes up a
//! journal executes the same inputs once more, which gives the same orders, reports and packets
//! under the same numbers: what was acknowledged is there, and nothing twice.
//!
//! The folder has a folder for each start, `epoch-00000001` and so on: a recording
//! ([`taut_journal::Journal::begin`]) whose first frames are the image of the venue at the start.
//! The one before is kept until the image of the next is whole.
//!
//! A standby ([`crate::Standby`]) reads the same journal behind the venue that writes it, and
//! executes the same inputs. Whoever has the lock of the folder is the venue: the kernel gives the
//! lock to the standby when the venue ends, however that ends.

mod bytes;
mod copying;
mod follower;
mod input;
mod recovery;
mod replication;
mod sequencer;
mod serving;
mod ship;

pub(crate) use bytes::{Put, Take};
pub use copying::{Copying, CopyingEnd};
pub use follower::JournalFollower;
#[cfg(test)]
pub(crate) use input::IMAGE_END;
pub(crate) use input::{Input, Told};
pub use recovery::{Acknowledge, JournalSettings, Recovered, VenueJournal};
pub use replication::{Replication, Waiting};
pub use sequencer::JournalKeeper;
pub(crate) use sequencer::Sequencer;
pub use serving::{Serving, ServingEnd, ServingTerms};
pub use ship::{ACK_BYTES, GREETING_BYTES, JournalCopy, ShipError, Shipment, Whereabouts};
