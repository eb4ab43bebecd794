//! Whether an order explains what clients of an exchange saw: a checker of linearizability.
//!
//! A [`History`] is what several clients asked and heard, with times: new orders, cancels,
//! replacements, questions, their answers, and trades. [`History::explain`] looks for one order of
//! the requests in which a plain book by price and time ([`Book`]) gives these answers and these
//! trades, each request between the moment it was sent and the moment that somebody first heard of
//! what it did, and those of one client in the order in which it sent them. Where there is none, an
//! order that was acknowledged was lost, a trade happened twice, or an answer was stale.
//!
//! The search is that of Wing and Gong ("Testing and verifying concurrent objects", 1993) with
//! Lowe's memory of what has failed ("Testing for linearizability", 2017). Histories of different
//! instruments are checked each by itself: linearizability is local.

mod book;
mod search;
#[cfg(test)]
mod tests;

use std::fmt;

use taut_types::Side;

pub use book::{Book, Resting};

/// An order, by a number that no other order of the history has.
pub type Order = u64;

/// What a client asks for. Prices and quantities are whole numbers of any unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// A limit order, which stays.
    New {
        /// Its number.
        order: Order,
        /// Whether it buys.
        side: Side,
        /// Its limit.
        price: i64,
        /// How much.
        qty: i64,
    },
    /// The end of an order.
    Cancel(Order),
    /// Another limit, another quantity in all.
    Replace {
        /// Of which order.
        order: Order,
        /// The limit from here on.
        price: i64,
        /// How much in all, with what has traded.
        qty: i64,
    },
    /// How an order stands.
    Status(Order),
}

/// What a client is told. Trades are told by themselves: [`Trade`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The order is taken, or replaced.
    Taken,
    /// The order is over, at its owner's wish.
    Cancelled,
    /// The order is over already.
    Refused,
    /// What of it has traded, and what is left.
    Standing {
        /// What has traded.
        traded: i64,
        /// What is left; 0 of one that is over.
        open: i64,
    },
}

/// A request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Who asks.
    pub client: usize,
    /// What for.
    pub ask: Ask,
    /// When it was sent.
    pub asked: u64,
    /// When it was answered, and how; nothing where it never was: it may have been executed.
    pub answered: Option<(u64, Answer)>,
    /// Where the exchange says that it stood, such as the number of its execution. The search tries
    /// it first, and believes nothing of it.
    pub hint: u64,
}

/// What an order traded, as its owner heard it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trade {
    /// Which order.
    pub order: Order,
    /// At which price.
    pub price: i64,
    /// How much.
    pub qty: i64,
    /// When that was heard.
    pub heard: u64,
}

/// What all clients of one instrument asked and heard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Of each client in the order in which it sent them.
    pub requests: Vec<Request>,
    /// Of each order in the order in which they were told.
    pub trades: Vec<Trade>,
}

/// No order explains a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unexplained {
    /// The longest beginning that can be explained, as places in [`History::requests`].
    pub explained: Vec<usize>,
    /// Why none of the next requests comes behind it, in words.
    pub why: Vec<String>,
}

impl History {
    /// An order that explains the history, as places in [`History::requests`]. The book is empty
    /// before.
    ///
    /// # Errors
    /// There is none.
    pub fn explain(&self) -> Result<Vec<usize>, Unexplained> {
        search::explain(self)
    }
}

impl fmt::Display for Unexplained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no order of the requests explains what was heard: ")?;
        write!(f, "behind {} requests none comes next: ", self.explained.len())?;
        write!(f, "{}", self.why.join("; "))
    }
}

impl std::error::Error for Unexplained {}
