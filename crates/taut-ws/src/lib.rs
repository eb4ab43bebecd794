//! WebSocket (RFC 6455), client and server: the opening handshake, frames, messages, the closing
//! handshake, keep-alive.
//!
//! The crate is pure: bytes, time and randomness go in, events and bytes come out. A driver owns
//! the transport. It hands over what it received, sends what is polled, and says what time it is:
//!
//! ```
//! # use taut_types::Nanos;
//! # use taut_ws::{Connection, Event};
//! # fn driver(connection: &mut Connection, now: Nanos, received: &[u8]) {
//! let mut rest = received;
//! while !rest.is_empty() {
//!     let handled = connection.handle_bytes(now, rest);
//!     match handled.event {
//!         Some(Event::Requested(_)) => drop(handled.outbox.accept(None, &[])),
//!         Some(Event::Text(text)) => drop(handled.outbox.text(text)), // an echo
//!         Some(Event::Closed(_)) => { /* send what is polled, then end the transport */ }
//!         _ => {}
//!     }
//!     let consumed = handled.consumed;
//!     rest = &rest[consumed..];
//! }
//! let to_send = connection.poll_transmit().len();
//! connection.transmitted(to_send);
//! # }
//! ```
//!
//! **Copies.** A message that lies whole in one frame in what was received is handed out from
//! there when it is not masked, as a server's messages are; with
//! [`Connection::handle_bytes_mut`] masked ones too, unmasked in place. Else it is joined in a
//! buffer of [`WsConfig::message_bytes_max`], each byte copied and unmasked in one pass. A driver
//! keeps no bytes: everything is consumed, wherever it is cut. Nothing allocates once a connection
//! is built, but for what compression takes once.
//!
//! **Masks** come from a secret [`Seed`], by a keyed function of a counter (10.3), so that a frame
//! costs no system call.
//!
//! **Text** is UTF-8, or the connection closes with 1007, with the first byte that cannot be right:
//! also in the middle of a fragment.
//!
//! **Strangers**: before its handshake is over a peer can make us keep one HTTP head
//! ([`WsConfig::head_bytes_max`]) for [`WsConfig::handshake_timeout`]; each byte of it is looked
//! at a bounded number of times. A message that is announced longer than the limit closes with 1009
//! before it comes. Pongs to a peer that does not read are skipped but for the newest.
//!
//! **Compression** (permessage-deflate, RFC 7692) is off unless [`WsConfig::deflate`] says how. A
//! client's offers are tried in order ([`ClientRequest::deflate`]), an answer that is to none of
//! them ends the handshake. What a compressed message says is bounded as any other's: not a byte
//! beyond [`WsConfig::message_bytes_max`] is inflated. Each direction takes its memory with its
//! first compressed message ([`Deflate`]), and allocates nothing after it. A message that stands by
//! itself and becomes no shorter is sent as it is, and so is one below
//! [`Deflate::threshold_bytes`]. The receiving window is 32 KiB in any case: a peer that refers
//! further back than it agreed to is not told apart. Text is checked as it is inflated.
//!
//! **Not here**: other extensions; a frame with a reserved bit closes with 1002. Redirections and
//! HTTP authentication are the caller's: it sees the status, the `Location` and the first bytes of
//! the body ([`Refused`]).
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

mod accept;
mod close;
mod close_frame;
mod config;
mod connection;
mod counters;
mod deflate;
mod error;
mod event;
mod frame;
mod head;
mod message;
mod random;
mod request;
mod response;
mod url;
mod utf8;

pub use close::CloseCode;
pub use close_frame::CloseFrame;
pub use config::{ClientRequest, KeepAlive, Role, WsConfig};
pub use connection::machine::Connection;
pub use connection::outbox::{MessageKind, Outbox};
pub use connection::table::State;
pub use counters::WsCounters;
pub use deflate::settings::{Deflate, DeflateParameters};
pub use error::{HandshakeFault, Limit, Misuse, Violation, WsError};
pub use event::{Closed, Event, Handled};
pub use random::Seed;
pub use request::Request;
pub use response::{Refused, Response};
pub use url::WsUrl;
