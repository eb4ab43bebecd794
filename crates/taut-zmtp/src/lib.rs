//! ZMTP 3.1.
#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(
    test,
    allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod backoff;
mod command;
mod connection;
mod curve;
mod error;
mod frame;
mod greeting;
mod metadata;
mod publisher;
mod socket_type;
mod subscriber;
mod subscriptions;
mod trie;

pub use backoff::Backoff;
pub use connection::config::{Account, ConnectionConfig, Heartbeat, Security};
pub use connection::event::{ConnectionCounters, Event, Handled, Peer};
pub use connection::machine::{Connection, HANDSHAKE_FRAME_BYTES_MAX};
pub use curve::keys::{PublicKey, SEED_BYTES, SecretKey, Seed};
pub use error::{CloseReason, ErrorText, Limit, Misuse, Violation, ZmtpError};
pub use publisher::config::{
    LastValueConfig, LastValueKey, OnFull, PeerCounters, PublisherConfig, PublisherCounters,
};
pub use publisher::peer::PeerId;
pub use publisher::socket::{Publisher, PublisherEvent, PublisherHandled, Refusal};
pub use socket_type::SocketType;
pub use subscriber::{LinkId, Subscriber, SubscriberCounters, SubscriberEvent, SubscriberHandled};
