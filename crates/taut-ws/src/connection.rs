//! One connection to a peer.

mod incoming;
pub mod machine;
pub mod outbox;
mod outgoing;
pub mod table;
