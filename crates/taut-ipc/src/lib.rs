//! Shared-memory segments between processes.
//!
//! A [`Segment`] is anonymous shared memory with a header and a few [regions](Region) of words. It
//! has no name in any directory: one process creates it and passes its descriptor on, and when the
//! last of them is gone, however it ended, so is the memory. Nothing is ever left to clean up.
//!
//! This crate is the only one that turns mapped bytes into the slices of atomics that the rings
//! work over; from there on a ring cannot tell a shared segment from its own process's memory.

mod segment;

pub use segment::{REGIONS_MAX, Region, Segment, SegmentError};
