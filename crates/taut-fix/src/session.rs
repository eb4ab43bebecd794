//! The session layer (FIX 4.4 volume 2, "FIX Session Protocol") of any version and dialect.
//!
//! `table` says what happens, `machine` carries it out; `receive` turns bytes into the table's
//! inputs, `logon`, `sequence` and `resend` do what a Logon and a number demand, `transmit` writes.

pub mod config;
pub mod counters;
pub mod disconnect;
pub mod event;
mod gap;
mod head;
mod held;
mod logon;
pub mod machine;
mod message;
pub mod now;
mod outgoing;
pub mod peek;
mod preamble;
mod receive;
mod resend;
pub mod route;
mod send_queue;
mod sequence;
pub mod table;
pub mod transmit;
mod typed;
