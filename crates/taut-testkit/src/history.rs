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
mod seen;
#[cfg(test)]
mod tests;

pub use book::{Book, Resting};
pub use search::Unexplained;
pub use seen::{Answer, Ask, Order, Request, Trade};

/// What all clients of one instrument asked and heard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Of each client in the order in which it sent them.
    pub requests: Vec<Request>,
    /// Of each order in the order in which they were told.
    pub trades: Vec<Trade>,
}

impl History {
    /// An order that explains the history, as places in [`History::requests`]. The book is empty
    /// before.
    ///
    /// # Errors
    /// There is none.
    pub fn explain(&self) -> Result<Vec<usize>, Unexplained> {
        search::explain(&self.requests, &self.trades)
    }
}
