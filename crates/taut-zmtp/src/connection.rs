//! One connection: greeting, handshake, frames, heartbeats.

pub mod config;
pub mod event;
pub mod handshake;
pub mod machine;
pub mod outgoing;
pub mod table;
