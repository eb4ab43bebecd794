//! Matching engine: commands in, events out.
//!
//! One [`Engine`] keeps one instrument's book and matches by price, then time. It reads no clock,
//! allocates nothing after [`Engine::new`], and the same commands always yield the same events:
//! a journal of its commands is a copy of it.
//!
//! The events of one command come in this order:
//!
//! 1. the answer: [`Accepted`](Event::Accepted) or [`Rejected`](Event::Rejected) to a new order;
//!    [`Cancelled`](Event::Cancelled), [`Reduced`](Event::Reduced) or
//!    [`CancelRejected`](Event::CancelRejected) to the others;
//! 2. the [`Trade`](Event::Trade)s at the makers' prices, best price first, oldest maker first;
//! 3. the fate of what is left of an accepted order: [`Rested`](Event::Rested) or
//!    [`Cancelled`](Event::Cancelled), and neither when nothing is left;
//! 4. one [`Level`](Event::Level) for each price level whose total changed, with its final state:
//!    the increments of a market-by-price feed.
//!
//! A refused command leaves the engine as it was. In particular an order that could not rest is
//! refused before it trades: see [`RejectReason::BookFull`].
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod admission;
mod allocation;
mod codec;
mod command;
mod engine;
mod event;
mod journal;
#[cfg(any(test, feature = "oracle"))]
pub mod oracle;
mod order;
mod rules;
mod terms;
#[cfg(test)]
mod tests;

pub use allocation::{Allocation, MakerShare};
pub use command::{Command, MassCancel, Phase, ReplaceMode};
pub use engine::{Engine, EngineConfig, SnapshotError};
pub use event::{CancelReason, Event, EventSink, HeldUntil, RejectReason};
pub use journal::{JOURNAL_RECORD_BYTES, JournalError};
pub use order::NewOrder;
pub use rules::Rules;
pub use terms::{AuctionOnly, Peg, PostOnly, SelfTrade, Terms, Trigger};
