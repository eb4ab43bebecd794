//! The sockets that exchange messages with their peers: REQ, REP, DEALER, ROUTER, PAIR, and PUSH
//! and PULL.

pub mod config;
pub mod envelope;
pub mod inbox;
pub mod link;
pub mod machine;
pub mod message;
pub mod rules;
