//! One publisher and one subscriber for every channel, chosen by a URI.
//!
//! A [`Publication`] and a [`Subscription`] are opened from a [`ChannelUri`] and polled by the
//! caller's own thread: there is no daemon and no hidden thread, and time is an argument.
//!
//! ```
//! use taut_channel::{ChannelUri, Closing, Opening, Publication, Subscription};
//! use taut_sys::monotonic;
//!
//! let uri: ChannelUri = "inproc:quotes".parse().expect("a channel");
//! let opening = Opening { now: monotonic(), ..Opening::default() };
//! let mut subscription = Subscription::open(&uri, &opening).expect("subscription");
//! let mut publication = Publication::open(&uri, &opening).expect("publication");
//!
//! publication.offer(monotonic(), b"EURUSD 1.0841").expect("room");
//! publication.work(monotonic());
//! let mut seen = Vec::new();
//! subscription.poll(monotonic(), 10, |message| seen.extend_from_slice(message.payload));
//! assert_eq!(seen, b"EURUSD 1.0841");
//!
//! publication.close(monotonic());
//! while publication.closing() != Closing::Closed {
//!     publication.work(monotonic());
//!     subscription.poll(monotonic(), 10, |_| {});
//! }
//! ```
//!
//! Each of the two has a loop of [taut_io] of its own. [`PublishingEnd`] and [`SubscribingEnd`] are
//! the same on a loop of the caller's: several channels, and whatever else it looks at, in one
//! thread, over epoll, io_uring or the simulated kernel.
//!
//! What a channel guarantees is its own: see the table in [`ChannelUri`]. Shared memory and rings
//! lose nothing and hold the publisher up; leased UDP repairs nothing and waits for nobody. What
//! else happens is an [`Event`] and a [`Counters`] field, never a silence.
//!
//! **Late joiners**: what was published before a subscription arrived is not received. The barrier
//! is [`PublishingEnd::subscriber_count`]: what is offered once it is what you expect reaches them
//! all. A ZMTP publication may keep the last message of each topic for those who come later
//! (`?cache=N`, N topics).
//!
//! [`ZmtpSocket`] is what is no channel, for it has no direction: ZeroMQ's REQ, REP, DEALER, ROUTER
//! and PAIR, and PUSH and PULL besides, at any number of places.
//!
//! [`Publication::spy`] looks on within the process ([`Publication::tethered_spy`] is waited for),
//! and [`SharedPublication`] lets several threads publish into one session. [`Relay`] takes one
//! channel into another, on a thread of its own where you want one. [`Waiter`] waits by a strategy
//! between polls.
#![forbid(unsafe_code)]

mod aeron;
mod alarm;
mod counters;
mod datagrams;
mod driver;
mod error;
mod event;
mod inproc;
mod ipc;
mod lease;
mod loss;
mod message;
mod offer;
mod own_loop;
mod publication;
mod publishing_end;
mod random;
mod reader_slots;
mod relay;
mod shared;
mod spied;
mod subscribing_end;
mod subscription;
mod unconsumed;
mod uri;
mod waiter;
mod zmtp;
mod zmtp_socket;

pub use counters::{Counters, SubscriberCounters};
pub use driver::Opening;
pub use error::ChannelError;
pub use event::{EndReason, Event};
pub use loss::Loss;
pub use message::{Action, Decoder, Message};
pub use offer::{MessageLimit, OfferError};
pub use publication::Publication;
pub use publishing_end::{Claim, Closing, PublishingEnd};
pub use relay::{Relay, RelayThread, Unheard};
pub use shared::SharedPublication;
pub use subscribing_end::SubscribingEnd;
pub use subscription::Subscription;
pub use taut_io::WaitStrategy;
pub use uri::{
    AeronUri, CHANNEL_VARIABLE, ChannelUri, Congestion, ControlMode, Endpoint, FlowControl,
    FlowKind, InprocUri, IpcUri, LeaseUri, OnFull, Pattern, SessionId, UriError, ZmtpAddress,
    ZmtpEnd, ZmtpUri,
};
pub use waiter::Waiter;
pub use zmtp::ZmtpSocketEnd;
pub use zmtp_socket::ZmtpSocket;
