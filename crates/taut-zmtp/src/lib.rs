//! ZMTP 3.1, ZeroMQ's wire: every stable type of socket, with NULL, PLAIN and CURVE.
//!
//! The crate is pure: bytes, time and randomness go in, events and bytes come out. A connection,
//! and three sockets over it:
//!
//! - [`Connection`]: greeting, handshake, frames, commands and heartbeats of one peer, a table of
//!   states and inputs. Peers of ZMTP 3.0 are spoken to in their form; older ones are refused.
//! - [`Publisher`]: one socket that sends to many. Each message is encoded once, into a ring that
//!   all peers share; what waits for a peer is a list of ranges of it, so that a run of messages
//!   goes out as one slice. Prefix subscriptions are held in a trie.
//! - [`Subscriber`]: one socket that receives from many. Messages borrow from the driver's buffer.
//! - [`Socket`]: REQ, REP, DEALER, ROUTER, PAIR, PUSH and PULL, which exchange messages with peers.
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
//! **Sockets that exchange messages**: whom a message goes to, from whom one is taken, and what is
//! added to it is a row of a table for each type.
//!
//! | socket | a message goes to | without room or a peer | taken from | with it |
//! |---|---|---|---|---|
//! | REQ | one peer in turn | try again | the peer that was asked | an empty part |
//! | REP | who asked | dropped, counted | all in turn | the asker's envelope |
//! | DEALER | one peer in turn | try again | all in turn | |
//! | ROUTER | the peer that its first part names | dropped, counted | all in turn | who sent it |
//! | PUSH | one peer in turn | try again | | |
//! | PULL | | | all in turn | |
//! | PAIR | the one peer | try again | the one peer | |
//!
//! A ROUTER that is mandatory has an error instead of a drop. REQ and REP take turns: a question,
//! an answer ([`Misuse::Turn`] otherwise). Only peers whose handshake is over are sent to, as with
//! libzmq's `ZMQ_IMMEDIATE`. Two things differ: a ROUTER closes the second connection of a routing
//! id, where libzmq leaves it open and deaf, so that its peer tries again; and a REQ whose answerer
//! has left says so ([`Socket::is_answer_lost`]).
//!
//! **Strangers**: before its handshake is over a peer can make us keep one frame of 4 KiB
//! ([`HANDSHAKE_FRAME_BYTES_MAX`]) and has five seconds. Later its subscriptions are bounded in
//! number and length, and what waits for it in messages and bytes. Keys are wiped, never printed.
//!
//! Memory is allocated when a socket is built, a peer is added or a subscription is new; messages
//! allocate nothing. Sources: RFC 23 (ZMTP 3.0), 37 (ZMTP 3.1), 24 (PLAIN), 25 and 26 (CURVE), 28
//! to 31 (patterns), 32 (Z85) of ZeroMQ; RFC 27 (ZAP) is not implemented, accounts and keys are
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
mod link_id;
mod metadata;
mod publisher;
mod socket;
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
pub use link_id::LinkId;
pub use publisher::config::{
    LastValueConfig, LastValueKey, OnFull, PeerCounters, PublisherConfig, PublisherCounters,
};
pub use publisher::peer::PeerId;
pub use publisher::socket::{Publisher, PublisherEvent, PublisherHandled, Refusal};
pub use socket::config::{SocketConfig, SocketCounters};
pub use socket::machine::{Socket, SocketEvent, SocketHandled};
pub use socket::message::SocketMessage;
pub use socket_type::SocketType;
pub use subscriber::{Subscriber, SubscriberCounters, SubscriberEvent, SubscriberHandled};
