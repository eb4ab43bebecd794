//! What a FIX session must remember, in files.
//!
//! - [`FileStore`]: the two sequence numbers and the messages that may have to be sent again, in
//!   one append-only file. It survives `kill -9` always, and a power cut as of its last
//!   synchronisation ([`Sync`]); it recovers by itself from a torn tail and from damage in the
//!   middle: the outgoing number is raised by what a torn tail may have said, and what is lost
//!   becomes a gap fill. Old messages are let go ([`Retention`]).
//! - [`MessageLog`]: every message with its time, in both directions, secrets blotted out, in files
//!   of a bounded size ([`Rotation`]).
//!
//! # What may go back
//! An outgoing number is not used twice, except after a power cut with [`Sync::Never`]: what the
//! kernel had not written leaves no trace in the file. The number that is expected is raised by
//! nothing but a right record, for a number too high would be a message that nobody ever asks for
//! again. So it goes back when the last records are torn or rotten, or were not synchronised when
//! the power failed (a message is acted on before the next [`FileStore::commit`]): the session asks
//! again for messages that it had, and they come with PossDupFlag (43) = Y. Who must not act twice
//! looks at the flag and at ids of its own.

mod file_store;
mod log;
mod places;
mod record;
mod recovery;

pub use file_store::{FileStore, Retention, Sync};
pub use log::{Direction, MessageLog, Rotation, blot_secrets};
