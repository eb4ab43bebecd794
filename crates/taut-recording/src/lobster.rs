//! LOBSTER: order events of NASDAQ, and the book after each.
//!
//! [`Messages`] and [`Orderbook`] are the two files as they are; [`LobsterFlow`] makes of the
//! messages the commands of an engine. A row of the message file is `time,type,order id,size,price,
//! direction`: seconds after midnight, what happened, to which order, shares, dollars at 1e-4, and
//! the side of the resting order (1 buy, -1 sell).
//!
//! | type | what happened | command |
//! |---|---|---|
//! | 1 | a limit order was added | `New`, good till cancelled |
//! | 2 | a part of an order was cancelled | `Reduce` |
//! | 3 | an order was deleted | `Cancel` |
//! | 4 | a visible order was executed | `New`, immediate or cancel: a taker of that size |
//! | 5, 6 | a hidden order was executed; a cross (auction) traded | none, a trade print |
//! | 7 | trading was halted or resumed | none, noted |
//!
//! The file is read and validated as a whole, before anything runs. What it does not say is
//! inferred from it, and counted in [`LobsterSummary`]:
//!
//! - **Orders that are never added.** An id that is first seen in another row entered before the
//!   file began, or outside the levels that the file covers. Its size is the sum of its rows, a
//!   lower bound when it is never seen to leave. Exchange ids grow with time: with an id below the
//!   first addition's it is an initial order, otherwise it is added just before the first addition
//!   with a larger id; later if it would trade there. Orders without any row cannot be known.
//! - **Orders that jump the queue.** An execution names the order that had priority. Orders that
//!   stand before it in the rebuilt queue are cancelled and added again behind it.
//! - **Orders that have vanished.** Leaving outside the covered levels is not recorded. An order
//!   that no later row names is cancelled before a recorded addition that it would trade with, and
//!   before a recorded execution at a worse price.
//!
//! So every taker hits the order that its row names, and the rebuilt book is the recorded one up to
//! orders that vanished and contradict no row yet; as long as nobody else trades in it.

mod event;
mod flow;
mod messages;
mod orderbook;
mod recorded;
#[cfg(test)]
mod tests;

pub use event::{FlowEvent, LobsterSummary, TimedEvent};
pub use flow::LobsterFlow;
pub(crate) use messages::row_of;
pub use messages::{Messages, Row, RowKind};
pub use orderbook::{Orderbook, UNIT, levels_of, show_row, state_of};
