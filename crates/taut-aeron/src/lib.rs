//! Aeron's wire protocol without a driver: reliable, ordered streams of messages over UDP.
//!
//! A [`Publication`] is the sending side of one stream and a [`Subscription`] the receiving side,
//! with an image for each publication that it hears. Both are pure: the caller owns the sockets
//! and the clock, hands datagrams and `now` in, and sends what comes out. On the wire they are
//! peers of Aeron's own media drivers (frames DATA, PAD, SETUP, SM, NAK, RTTM, ERR).
//!
//! What differs inside the same wire:
//! - every gap gets its own NAK, all in one round, again after one measured round trip; a gap that
//!   only reordering made is given the time that reordering was seen to take;
//! - a heartbeat follows one round trip after the last data, so that a lost tail shows soon;
//! - however many receivers ask, a gap is repaired once per round trip, and repairs take at most a
//!   quarter of what is sent (and 16 datagrams per round trip);
//! - `reliable=false` passes gaps at once and reports them;
//! - a source must echo a random value before memory is taken for it, and a receiver must name the
//!   session before data goes to an address that it gave;
//! - an application without a tether is passed when it is a window behind, and told so;
//! - a publication holds one term, an image its window and one message.
//!
//! # Sending
//! [`Publication::offer`] writes a message into the log. [`Publication::next_run`] gives runs of
//! datagrams of one length, which one system call can send (segmentation offload), and
//! [`Publication::poll_transmit`] the control frames.
//!
//! # Receiving
//! [`Subscription::handle_bytes`] takes datagrams, [`Subscription::poll`] hands out messages in
//! order, [`Subscription::poll_transmit`] gives the answers to be sent.
//!
//! ```
//! use core::net::SocketAddr;
//! use taut_aeron::{Publication, PublicationConfig, Subscription, SubscriptionConfig};
//! use taut_types::Nanos;
//!
//! let mut publication = Publication::new(PublicationConfig::default()).unwrap();
//! let mut subscription = Subscription::new(SubscriptionConfig::default()).unwrap();
//! let (here, there): (SocketAddr, SocketAddr) =
//!     ("10.0.0.1:40123".parse().unwrap(), "10.0.0.2:40456".parse().unwrap());
//! let (mut frame, mut now) = ([0; 2048], Nanos(1));
//! let mut got = Vec::new();
//! for _ in 0..20 {
//!     now = now + Nanos::from_millis(10);
//!     while let Some(sent) = publication.poll_transmit(now, &mut frame) {
//!         subscription.handle_bytes(now, here, &frame[..sent.bytes]);
//!     }
//!     let _ = publication.offer(b"a tick"); // Not connected at first.
//!     while let Some(run) = publication.next_run(now) {
//!         subscription.handle_bytes(now, here, publication.run_bytes(&run));
//!         publication.run_sent(now, &run);
//!     }
//!     while let Some(sent) = subscription.poll_transmit(now, &mut frame) {
//!         publication.handle_bytes(now, there, &frame[..sent.bytes]);
//!     }
//!     publication.handle_timeout(now);
//!     subscription.handle_timeout(now);
//!     subscription.poll(100, |message| got.push(message.bytes.to_vec()));
//! }
//! assert!(got.len() > 10 && got.iter().all(|message| message == b"a tick"));
//! ```
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

mod allowance;
mod assembly;
mod config;
mod congestion;
mod counters;
mod destinations;
mod error;
mod flow;
pub mod frame;
mod gaps;
mod image;
mod log;
mod message;
mod publication;
mod random;
mod repair;
mod rtt;
mod run;
mod sessions;
mod subscription;
mod terms;
mod transmit;
mod window;

pub use config::{CongestionControl, MTU_MAX, PublicationConfig, SubscriptionConfig, Tether};
pub use counters::{PublicationCounters, SubscriptionCounters};
pub use destinations::{DestinationMode, Target};
pub use error::{Error, OfferError, Parameter};
pub use flow::{FlowControl, ReceiverStatus};
pub use message::{Action, ImageEnd, Message, SubscriptionEvent};
pub use publication::{Claim, Publication, PublicationEvent, PublicationState};
pub use run::Run;
pub use subscription::Subscription;
pub use terms::{FRAME_ALIGNMENT, MESSAGE_BYTES_MAX, TERM_LENGTH_MAX, TERM_LENGTH_MIN, Terms};
pub use transmit::Transmit;
