//! The session layer (FIX 4.4 volume 2, "FIX Session Protocol").
//!
//! `table` says what happens, `machine` carries it out; `receive` turns bytes into the table's
//! inputs, `recovery` does what a sequence number demands, `send` writes.

pub mod config;
pub mod event;
mod inbound;
pub mod machine;
mod outbound;
mod queue;
mod receive;
mod recovery;
pub mod send;
pub mod table;
