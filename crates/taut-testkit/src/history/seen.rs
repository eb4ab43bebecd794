//! What a client asks and hears.

use taut_types::Side;

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
