//! What a FIX session must remember, in files.
//!
//! - [`FileStore`]: the two sequence numbers and the messages that may have to be sent again, in
//!   one append-only file. It survives `kill -9` always, and a power cut as of its last
//!   synchronisation ([`Sync`]); it recovers by itself from a torn tail and from damage in the
//!   middle: the outgoing number is raised by what a torn tail may have said, and what is lost
//!   becomes a gap fill. Old messages are let go ([`Retention`]).
//! - [`MessageLog`]: every message with its time, in both directions, secrets blotted out, in files
//!   of a bounded size ([`Rotation`]).
#![forbid(unsafe_code)]

mod checksum;
mod log;
mod places;
mod record;
mod recovery;
mod store;

pub use log::{Direction, MessageLog, Rotation, blot_secrets};
pub use store::{FileStore, Retention, Sync};
