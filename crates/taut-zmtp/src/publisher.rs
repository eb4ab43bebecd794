//! One socket that sends to many peers: PUB, XPUB, PUSH.

pub mod config;
pub mod last_value;
pub mod log;
pub mod offer;
pub mod peer;
pub mod queue;
pub mod socket;
