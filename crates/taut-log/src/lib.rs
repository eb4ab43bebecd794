//! Messages with codes: a thread that trades says something for the price of a cache line, and
//! another thread makes a line of text of it.
//!
//! A [`Message`] is a type: its code, its level and what it is about stand in one table
//! ([`messages`]), which `taut explain` and `docs/codes.md` print. [`LogWriter::say`] writes the
//! message's values as words into a ring that the caller owns ([`LogMemory`]); it reads no clock
//! (the time is the turn's), takes no lock, makes no system call and allocates nothing. The
//! [`LogReader`] on the other side makes an [`Entry`] of it, which is written as
//! [logfmt](Entry::logfmt), as [JSON](Entry::json) or for [systemd's journal](Entry::journal).
//!
//! # Rate
//! Each message has so many lines a second ([`LINES_A_SECOND`]), whoever says it: what is more is
//! counted, and the next line says `repeated=N`. Where the ring is full, what is lost is counted,
//! and told by a message of its own (`LG-0001`).
//!
//! It is a crate of its own, since what says something (the gateway) is a layer below what decides
//! where it goes (the runner), and since it has no need of either's dependencies.
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod code;
mod entry;
mod field;
mod lines;
mod memory;
pub mod messages;
mod reader;
mod record;
mod sites;
mod table;
mod writer;

pub use code::{Code, Level, Message};
pub use entry::{Entry, Value};
pub use field::{Field, Kind};
pub use memory::LogMemory;
pub use reader::LogReader;
pub use record::{TEXT_BYTES_MAX, VALUES_MAX};
pub use sites::LINES_A_SECOND;
pub use table::{code, codes_markdown};
pub use writer::LogWriter;

#[cfg(test)]
mod tests;
