//! Recorded order flow: LOBSTER message files.
//!
//! A row is `time,type,order id,size,price,direction`: seconds after midnight, what happened, to
//! which order, shares, dollars at 1e-4, and the side of the resting order (1 buy, -1 sell).
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

mod error;
mod event;
mod rebuild;
mod recorded;
mod row;

use std::path::Path;

use taut_types::Price;

use crate::flow::command::InitialOrder;
use rebuild::{Rebuilt, rebuild};
use row::parse_rows;

pub use error::LobsterError;
pub use event::{FlowEvent, LobsterSummary, TimedEvent};

/// A recorded flow, validated and ready to run.
#[derive(Clone, Debug)]
pub struct LobsterFlow {
    rebuilt: Rebuilt,
}

impl LobsterFlow {
    /// The tick: one cent. Only prints stand between two ticks, as midpoint executions do.
    pub const TICK: Price = Price(10_000_000);

    /// Reads and validates a file.
    ///
    /// # Errors
    /// When the file cannot be read or a row is wrong. The error prints as one line that names the
    /// file, the line, the field, the value and what to do.
    pub fn read(path: &Path) -> Result<Self, LobsterError> {
        let file = path.display().to_string();
        match std::fs::read(path) {
            Ok(text) => Self::parse(&file, &text),
            Err(error) => Err(LobsterError::unreadable(&file, &error)),
        }
    }

    /// Validates the text of a file of this name.
    ///
    /// # Errors
    /// When a row is wrong.
    pub fn parse(file: &str, text: &[u8]) -> Result<Self, LobsterError> {
        Ok(Self { rebuilt: rebuild(file, &parse_rows(file, text)?)? })
    }

    /// The orders that rest before the first event.
    #[must_use]
    pub fn initial_orders(&self) -> &[InitialOrder] {
        &self.rebuilt.initial_orders
    }

    /// The events in order.
    #[must_use]
    pub fn events(&self) -> &[TimedEvent] {
        &self.rebuilt.events
    }

    /// What the file holds.
    #[must_use]
    pub const fn summary(&self) -> &LobsterSummary {
        &self.rebuilt.summary
    }
}
