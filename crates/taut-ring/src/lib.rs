//! Rings and cells over slices of atomics that they are given.
//!
//! The memory is the caller's: a `Vec` of atomics between two threads, a shared mapping between two
//! processes, loom's atomics under the model checker. The code is the same for all three.
//!
//! | structure | writers, readers | when the reader is slow |
//! |---|---|---|
//! | [`spsc`] | one, one | the writer is told that the ring is full |
//! | [`broadcast`] | one, any number | the reader is told how many messages it lost |
//! | [`cell`](mod@cell) | one, any number | the reader sees the newest value only |
//!
//! A message is a [`Payload`] of seven words; with its sequence word it fills one 64-byte cache
//! line, so that a message costs one cache-line transfer between two cores, which is the floor.
//! The words are written and read one by one with relaxed atomic operations (a plain copy that
//! races with a writer would be undefined behaviour) and ordered by the sequence word.
#![no_std]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

#[cfg(test)]
extern crate std;

pub mod broadcast;
pub mod cell;
mod slot;
pub mod spsc;

pub use slot::{PAYLOAD_WORDS, Payload, RingError, SLOT_WORDS};
