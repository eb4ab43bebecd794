//! What a FIX session must remember, in files.
//!
//! - [`FileStore`]: the two sequence numbers and the messages that may have to be sent again, in
//!   one append-only file. It survives `kill -9` always, and a power cut as of its last
//!   synchronisation ([`Sync`]); it recovers by itself, cutting a torn tail.
//! - [`MessageLog`]: every message with its time, in both directions, secrets blotted out.
#![forbid(unsafe_code)]

mod checksum;
mod log;
mod record;
mod store;

pub use log::{Direction, MessageLog, blot_secrets};
pub use store::{FileStore, Sync};
