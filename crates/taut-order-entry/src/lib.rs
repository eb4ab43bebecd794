//! Venues' own order protocols, beside FIX: who asks, and what is asked for.
//!
//! - [`sign`]: keys for HMAC-SHA256 and Ed25519.
//! - [`deribit`]: JSON-RPC requests, and the signatures of a connection and of HTTP requests.
//! - [`binance`]: what is signed in a REST request, a request of the WebSocket API and a Logon.
//! - [`okx`]: requests over WebSocket, questions over HTTP, and their signatures.
//!
//! Everything is written into the caller's room, nothing is read from a clock and nothing
//! allocates: time stamps and nonces are arguments. Keys do not show in `Debug`.
//!
//! ```
//! use taut_order_entry::deribit::client_signature;
//! use taut_order_entry::sign::HmacKey;
//!
//! // The example in the venue's document.
//! let key = HmacKey::new(b"ABCD");
//! let signature = client_signature(&key, 1_554_883_365_000, b"fdbmmz79", b"");
//! assert!(signature.starts_with(b"e20c9cd5639d41f8"));
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(
    test,
    allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

#[cfg(test)]
extern crate std;

pub mod binance;
pub mod deribit;
mod json;
pub mod okx;
pub mod sign;
mod text;
