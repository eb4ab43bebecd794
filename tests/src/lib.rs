//! Helpers that the scenarios share.
//!
//! A scenario is a file in `tests/`, named by what it shows. It builds its parts with [`setup`]
//! and lets them run in one of two ways: [`live`] is real time and a thread per part, as in a demo;
//! [`lockstep`] is one thread and a clock that the test turns, so that as little as possible is
//! left to chance.
#![forbid(unsafe_code)]

pub mod books;
pub mod data;
pub mod ledger;
pub mod live;
pub mod lockstep;
pub mod lossy_link;
pub mod recording;
pub mod setup;
pub mod top_state;
pub mod venue_message;
