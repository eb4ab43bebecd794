//! Rings and cells over slices of atomics that they are given.
//!
//! The memory is the caller's: a `Vec` of atomics between two threads, a shared mapping between two
//! processes, loom's atomics under the model checker. The code is the same for all three.
//!
//! | structure | writers, readers | when a reader is slow |
//! |---|---|---|
//! | [`spsc`] | one, one | the writer is told that the ring is full |
//! | [`mpsc`] | many, one | the writers are told that the ring is full |
//! | [`mailbox`] | any number, one that may sleep | the writers are told that it is full |
//! | [`broadcast`] | one, any number | the writer waits, drops or evicts it, by [`Policy`] |
//! | [`log`] | the same, messages of any size | the same |
//! | [`cell`](mod@cell) | one, any number | the reader sees the newest value only |
//!
//! A reader of a broadcast ring or a log that does not register is overtaken, and learns what it
//! lost.
//!
//! A message of fixed size is a [`Payload`] of seven words; with its sequence word it fills one
//! 64-byte cache line, so that a message costs one cache-line transfer between two cores, which is
//! the floor. Words are written and read one by one with relaxed atomic operations (a plain copy
//! that races with a writer would be undefined behaviour) and ordered by the sequence word.
//!
//! A writer may be killed at any instruction. What it had committed stays; what it had not is never
//! seen; the next one goes on in place (`resume`).
#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

#[cfg(test)]
extern crate std;

mod bell;
pub mod broadcast;
mod bytes;
pub mod cell;
mod control;
mod error;
mod gate;
pub mod log;
pub mod mailbox;
pub mod mpsc;
mod slot;
pub mod spsc;

pub use bell::Bell;
pub use bytes::{load_bytes, store_bytes};
pub use control::{Control, Counters, ReaderView, control_words};
pub use error::RingError;
pub use gate::{Full, Policy};
pub use slot::{PAYLOAD_WORDS, Payload, SLOT_WORDS};
