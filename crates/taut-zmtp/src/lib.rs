//! ZMTP 3.1, ZeroMQ's wire: PUB, SUB, XPUB, XSUB, PUSH and PULL with NULL, PLAIN and CURVE.
//!
//! The crate is pure: bytes, time and randomness go in, events and bytes come out. Three levels,
//! each usable without the ones above it:
//!
//! - [`Connection`]: greeting, handshake, frames, commands and heartbeats of one peer, a table of
//!   states and inputs. Peers of ZMTP 3.0 are spoken to in their form; older ones are refused.
//! - [`Publisher`]: one socket that sends to many. Each message is encoded once, into a ring that
//!   all peers share; what waits for a peer is a list of ranges of it, so that a run of messages
//!   goes out as one slice. Prefix subscriptions are held in a trie.
//! - [`Subscriber`]: one socket that receives from many. Messages borrow from the driver's buffer.
//!
//! A driver owns the transports. It hands over what it received, sends what is polled, and says
//! what time it is:
//!
//! ```
//! # use taut_zmtp::{LinkId, Subscriber, SubscriberEvent};
//! # use taut_types::Nanos;
//! # fn driver(socket: &mut Subscriber, link: LinkId, now: Nanos, received: &[u8]) -> usize {
//! let mut at = 0;
//! loop {
//!     let handled = socket.handle_bytes(link, now, &received[at..]);
//!     at += handled.consumed;
//!     match handled.event {
//!         Some(SubscriberEvent::Message { part, more }) => { /* ... */ }
//!         Some(SubscriberEvent::Closed(_)) => break, // send what is polled, then close
//!         Some(_) => {}
//!         None if handled.consumed == 0 => break, // keep received[at..] until more arrives
//!         None => {}
//!     }
//! }
//! let _to_send = socket.poll_transmit(link);
//! # at
//! # }
//! ```
//!
//! **The high-water mark** ([`PublisherConfig::hwm`]) is per peer, and [`OnFull`] says what happens
//! beyond it: block, drop the newest, drop the oldest, or conflate. Every drop is counted for its
//! peer ([`PeerCounters::dropped`]). A peer that falls behind the ring by its whole length takes
//! copies of its messages along, in memory of its own, once; the others do not notice.
//!
//! **Slow joiners**: a PUB socket sends to whom it knows, so what is published before a
//! subscription has arrived is not received. Two barriers close the gap. A subscriber sends a PING
//! behind its subscriptions and reports [`SubscriberEvent::Active`] with the answer: what a
//! publisher of this crate offers from then on arrives. A publisher waits until
//! [`Publisher::subscription_count`] is what it expects. Or it keeps the last message of each topic
//! ([`PublisherConfig::last_value`]) and sends it to who comes late.
//!
//! **Strangers**: before its handshake is over a peer can make us keep one frame of 4 KiB
//! ([`HANDSHAKE_FRAME_BYTES_MAX`]) and has five seconds. Later its subscriptions are bounded in
//! number and length, and what waits for it in messages and bytes. Keys are wiped, never printed.
//!
//! Memory is allocated when a socket is built, a peer is added or a subscription is new; messages
//! allocate nothing. Sources: RFC 23 (ZMTP 3.0), 37 (ZMTP 3.1), 24 (PLAIN), 25 and 26 (CURVE), 28
//! and 29 (patterns), 32 (Z85) of ZeroMQ; RFC 27 (ZAP) is not implemented, accounts and keys are
//! listed in [`Security`] instead.
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
