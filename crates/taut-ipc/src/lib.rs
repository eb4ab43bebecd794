//! Shared memory between processes: publications and subscriptions by name, and plain segments.
//!
//! A [`Channel`] is named memory (`ipc:market-data`) with [streams](Stream) in it. There is no
//! daemon and nothing to clean up: the first process creates it, the last one removes it, and
//! memory that a killed process left is used again. A stream has one writer at a time, which holds
//! a lock that the kernel releases with the process; the next writer continues in place, with a new
//! epoch. Readers [register](Join), and the writer waits for them by its policy; or they only read,
//! also through a read-only mapping.
//!
//! Permissions decide what a reader can do. A reader that may read the file of a channel but not
//! write it ([`ChannelOptions::mode`] 0640 and its group) maps it read-only: it can change nothing,
//! shrink nothing, register nowhere and delay nobody. A process that may write the file is trusted
//! with its contents and its size: Linux seals anonymous memory only, and a channel has a name, so
//! that the next writer can repair it when no other process is left.
//!
//! A [`Segment`] is anonymous shared memory with a few [regions](Region) of words: one process
//! creates it and passes its descriptor on, and when the last of them is gone so is the memory. It
//! is sealed against shrinking.
//!
//! This crate is the only one that turns mapped bytes into the slices of atomics that the rings
//! work over; from there on a ring cannot tell shared memory from its own process's.

mod bell;
mod cell;
mod channel;
mod error;
mod header;
mod idle;
mod monitor;
mod owned;
mod place;
mod publication;
mod requests;
mod segment;
mod stream;
mod subscription;
mod typed;

pub use cell::CellPublication;
pub use channel::{Channel, ChannelOptions, Writer, channels, is_used, prune};
pub use error::IpcError;
pub use header::REGIONS_MAX;
pub use monitor::{ReaderStatus, StreamStatus};
pub use owned::{OwnedLogPublication, OwnedLogSubscription};
pub use publication::{LogPublication, TickPublication};
pub use requests::{RequestPublication, Requests};
pub use segment::{Region, Segment};
pub use stream::{Stream, StreamKind, layout_hash};
pub use subscription::{Join, LogSubscription, TickSubscription};
pub use taut_ring::Payload;
#[doc(hidden)]
pub use typed::payload_of;
pub use typed::{Field, TickLayout};
