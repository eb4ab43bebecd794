//! Matching engine: commands in, events out.
//!
//! One [`Engine`] keeps the books of one instrument; an [`Exchange`] is several of them. It reads
//! no clock, allocates nothing after it is built, and the same commands always yield the same
//! events: a journal of its commands is a copy of it, and so is a [snapshot](Engine::snapshot).
//!
//! An order is a limit or a market order; all else it asks for, from stops to pegs, are its
//! [`Terms`], which combine. What the exchange decides, from allocation to price bands, are the
//! engine's [`Rules`]. An order without terms under plain rules pays for none of them.
//!
//! The events of one command come in this order:
//!
//! 1. the answer: [`Accepted`](Event::Accepted) or [`Rejected`](Event::Rejected) to a new order;
//!    [`Cancelled`](Event::Cancelled), [`Reduced`](Event::Reduced), [`Replaced`](Event::Replaced)
//!    or a refusal, and so on, to the others;
//! 2. the [`Trade`](Event::Trade)s at the makers' prices, best price first, oldest maker first;
//! 3. the fate of what is left of an accepted order: [`Rested`](Event::Rested),
//!    [`Held`](Event::Held) or [`Cancelled`](Event::Cancelled), and none when nothing is left;
//! 4. what follows: the orders that those trades have triggered, each as from 2, and pegged
//!    orders that follow the market;
//! 5. one [`Level`](Event::Level) for each displayed price level whose total changed, with its
//!    final state: the increments of a market-by-price feed.
//!
//! A refused command leaves the engine as it was. In particular an order that could not rest is
//! refused before it trades: see [`RejectReason::BookFull`].
//!
//! ```
//! use taut_engine::{Command, Engine, EngineConfig, Event, NewOrder};
//! use taut_types::{HalfTicks, Lots, OrderId, Side};
//!
//! let mut engine = Engine::new(EngineConfig { order_capacity: 1024, level_capacity: 256 });
//! let order = |id, side, ticks: i64, lots| {
//!     NewOrder::limit(OrderId(id), 7, side, HalfTicks(2 * ticks), Lots(lots))
//! };
//! let mut told = Vec::new();
//! // Ten lots of which three are shown, and an order that sweeps through what is shown.
//! let iceberg = order(1, Side::Sell, 101, 10).iceberg(Lots(3));
//! for order in [iceberg, order(2, Side::Buy, 102, 5)] {
//!     engine.execute(Command::New(order), &mut |event: Event| told.push(event));
//! }
//! let traded = told.iter().filter_map(|event| match event {
//!     Event::Trade { price, lots, .. } => Some((price.0, lots.0)),
//!     _ => None,
//! });
//! assert_eq!(traded.collect::<Vec<_>>(), [(202, 3), (202, 2)], "at the maker's price");
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod admission;
mod allocation;
mod codec;
mod command;
mod counters;
mod engine;
mod event;
mod exchange;
mod journal;
mod market_data;
#[cfg(any(test, feature = "oracle"))]
pub mod oracle;
mod order;
mod rules;
mod terms;
#[cfg(test)]
mod tests;

pub use allocation::{Allocation, MakerShare};
pub use command::{Command, MassCancel, Phase, ReplaceMode};
pub use counters::{Counted, Counters, EVENT_KINDS, EVENT_NAMES, event_kind};
pub use engine::{Engine, EngineConfig, SnapshotError};
pub use event::{CancelReason, Event, EventSink, HeldUntil, RejectReason};
pub use exchange::Exchange;
pub use journal::{JOURNAL_RECORD_BYTES, JournalError};
pub use market_data::{Increment, MarketData};
pub use order::NewOrder;
pub use rules::Rules;
pub use terms::{AuctionOnly, Peg, PostOnly, SelfTrade, Terms, Trigger};
