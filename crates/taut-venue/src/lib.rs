//! An exchange on one thread: matching engine, FIX order entry, SBE multicast.
//!
//! A [`Venue`] is one state object. [`Venue::poll`] does everything that is due and never blocks;
//! [`Venue::wait`] sleeps until there is something again. It reads no clock: the caller says what
//! time it is.
//!
//! - **Order entry** is FIX 4.2, 4.4 or 5.0 SP2 over TCP ([`VenueConfig::fix_versions`]), up to 64
//!   clients, each in the version of its Logon. A client names itself by its
//!   SenderCompID; the same name twice is refused. Every request gets exactly one answer: a
//!   NewOrderSingle an ExecutionReport New or Rejected, an OrderCancelRequest an ExecutionReport
//!   Canceled or an OrderCancelReject, an OrderCancelReplaceRequest an ExecutionReport Replaced (or
//!   Canceled, when the new total has traded already) or an OrderCancelReject. Stops (OrdType 3 and
//!   4), icebergs (MaxFloor), post-only orders (ExecInst 6), status requests of one order or of all
//!   and mass cancels are taken, too, and so are requests for positions: what a client's trades
//!   have made of each Account (1). Of a client's positions 4,096 are told apart by account; beyond
//!   them a trade under a further account counts under none. ClOrdIDs are unique in a session, for
//!   all requests together; a request names an order by its last ClOrdID. What is left of an
//!   immediate-or-cancel, fill-or-kill or market order is reported as Expired, never as Canceled.
//!   OrderID (37) is the order id of the feed.
//! - **TLS**: [`Venue::listen_tls`] takes the same orders over TLS at an address of its own.
//! - **Sessions** begin anew with every Logon, or last ([`VenueConfig::reset_on_logon`]): then what
//!   a client has missed is sent again when it asks for it. Its orders are its own over all of its
//!   connections, if they stay ([`VenueConfig::cancel_on_disconnect`]).
//! - **Market data** is SBE over UDP. Every command that changes the book is one transaction of one
//!   or more packets, numbered from 1 without a hole; the last one is flagged. Within it: trades,
//!   each with what it does to the resting order, then what joins or leaves, then the new state of
//!   each level. Trades of hidden orders are packets of their own, with order id 0. The packets go
//!   out on two lines, A and then B; what both have lost can be asked for, within bounds
//!   ([`taut_market_data::feed::RetransmitServer`]). Snapshots of levels and orders go round all
//!   instruments on another channel.
//! - **Instruments**: any number, each with an engine of its own; an order finds its by the symbol.
//! - **Reports go first**: a command's execution reports are handed to the kernel before its
//!   packets.
//! - **The flow** is the venue's own crowd, synthetic or recorded: see [`flow`].
//!
//! It runs on any kernel of `taut-io` ([`Venue::on_kernel`]), and an [`Observer`] may have sources
//! of its own on its loop.
#![forbid(unsafe_code)]

mod amend;
mod bands;
mod book_state;
mod channel;
mod clients;
mod config;
mod connection;
mod counters;
mod entry;
mod error;
mod exchange;
mod farewell;
pub mod flow;
mod holdings;
mod identity;
mod ids;
mod journal;
mod lines;
mod listing;
mod members;
mod observer;
mod orders;
mod pacing;
mod parked;
mod phases;
mod positions;
mod publisher;
mod reports;
mod snapshot;
mod stream;
mod trades;
mod venue;
mod version;

#[cfg(test)]
mod tests;

pub use bands::PriceBands;
pub use book_state::BookState;
pub use config::VenueConfig;
pub use counters::VenueCounters;
pub use error::{NotTaken, VenueError};
pub use journal::{
    ACK_BYTES, Acknowledge, Copying, CopyingEnd, GREETING_BYTES, JournalCopy, JournalFollower,
    JournalKeeper, JournalSettings, Recovered, Replication, Serving, ServingEnd, ServingTerms,
    ShipError, Shipment, VenueJournal, Waiting, Whereabouts,
};
pub use lines::FeedLoss;
pub use members::{Member, MemberState, Protection};
pub use observer::{FIRST_DOOR_ORDER, FIRST_DOOR_OWNER, Observer};
pub use orders::SESSIONS_MAX;
pub use pacing::{Flow, Speed};
pub use phases::ScheduledPhase;
pub use taut_engine::{Phase, PostOnly};
pub use taut_fix::Now;
pub use taut_journal::FolderLock;
pub use taut_net::TlsServerConfig;
pub use venue::standby::{Followed, Standby};
pub use venue::{FeedOutput, Venue, VenueSockets};
pub use version::{Answer, Dialect, FixVersion, InVersion};
