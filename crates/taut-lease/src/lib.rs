//! Leases: typed publish and subscribe over UDP, without a broker.
//!
//! A subscriber asks the publisher for a lease and renews it; what it asked for comes in numbered
//! datagrams until the lease runs out. Nothing is repaired: what is missing, late or twice is
//! reported. A datagram begins with the [header](Header):
//!
//! | bytes | what |
//! |---|---|
//! | 0..4 | magic, `taul` |
//! | 4 | version, 1 |
//! | 5 | kind |
//! | 6..8 | the message's type, of its application |
//! | 8..16 | the publisher's session, random; 0 where it is not known yet |
//! | 16..24 | sequence of a message, from 0; of a control datagram what its kind says |
//! | 24..32 | when it was sent, nanoseconds on the sender's clock |
//!
//! All little endian; then the payload; then, where both ends have a key, a tag of 16 bytes
//! (SipHash-2-4-128 of everything before it).
//!
//! | kind | from | sequence | payload |
//! |---|---|---|---|
//! | 1 ask | subscriber | its nonce | cookie, or zeroes |
//! | 2 challenge | publisher | the nonce | cookie |
//! | 3 grant | publisher | the next message's | nonce, lease in nanoseconds |
//! | 4 message | publisher | its own | the message |
//! | 5 leave | subscriber | its nonce | cookie |
//! | 6 end | publisher | how many there were | none |
//! | 7 heartbeat | publisher | the next message's | none |
//! | 8 refusal | publisher | the nonce | zeroes: no room for one more |
//!
//! No address gets anything but answers, each no longer than what was asked, until it has shown
//! the cookie that was sent to it: a forged question is amplified at most once. The cookie is a
//! keyed hash of the address, so that a question costs the publisher no memory.
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

mod cookie;
mod header;
mod publisher;
mod seal;
mod state;
mod subscriber;
#[cfg(test)]
mod tests;
mod typed;
mod window;

pub use header::{CONTROL_BYTES, HEADER_BYTES, Header, Kind};
pub use publisher::{LeasePublisher, LeaseTerms, PublisherEvent, PublisherTally};
pub use seal::{Key, TAG_BYTES};
pub use subscriber::{
    Incoming, LeaseSubscriber, SubscriberEvent, SubscriberTally, SubscriberTerms,
};
pub use typed::{TypedMessage, check_fits, payload_bytes_max};
