//! What can go wrong.

use core::fmt;

/// Why a recording, a setting or a command was refused, or a run cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BacktestError {
    /// The recording has no row.
    Empty,
    /// A row's price, quantity or number of orders does not fit a compact row. Rows count from 0.
    TooLarge {
        /// Which row.
        row: usize,
    },
    /// A row is earlier than the one before it, for the exchange or for us.
    OutOfOrder {
        /// Which row.
        row: usize,
    },
    /// The prices of the recording span more ticks than a book may have
    /// ([`FlatBook::TICKS_MAX`](crate::FlatBook::TICKS_MAX)).
    TooWide {
        /// How many ticks they span.
        ticks: u64,
    },
    /// Measured latencies are none, do not rise in time, or are negative. Rows count from 0.
    BadLatency {
        /// Which row.
        row: usize,
    },
    /// A command's price or quantity is none.
    BadCommand,
    /// An order with this id is there already.
    OrderExists(u64),
    /// No order has this id.
    UnknownOrder(u64),
    /// An earlier request about the order has no answer yet, or the order is done.
    NotNow(u64),
    /// hftbacktest's error 14: an order that was filled to the last lot is filled again
    /// ([`Compat::keeps_exact_fills`](crate::Compat::keeps_exact_fills)).
    FilledTwice(u64),
    /// An engine needs a market's orders one by one, and a row is about a level
    /// ([`EngineExchange`](crate::EngineExchange)). Rows count from 0.
    NeedsOrders {
        /// Which row.
        row: usize,
    },
    /// The recording has an order rest where an engine would have it trade
    /// ([`EngineExchange`](crate::EngineExchange)). Rows count from 0.
    Crosses {
        /// Which row.
        row: usize,
    },
    /// An engine's book is full: 4,096 orders of ours, or 65,536 of the market's that ours keep
    /// waiting ([`EngineExchange`](crate::EngineExchange)).
    NoRoom,
}

impl fmt::Display for BacktestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the recording has no row"),
            Self::TooLarge { row } => {
                write!(
                    f,
                    "row {row}: price, quantity or order do not fit; choose a larger tick or lot"
                )
            }
            Self::OutOfOrder { row } => {
                write!(f, "row {row} is earlier than the one before; sort the recording by time")
            }
            Self::TooWide { ticks } => {
                write!(f, "prices span {ticks} ticks; leave far rows out or choose a larger tick")
            }
            Self::BadLatency { row } => {
                write!(f, "latency row {row}: times must rise, and answers follow requests")
            }
            Self::BadCommand => f.write_str("an order needs a price within range and a quantity"),
            Self::OrderExists(id) => write!(f, "order {id} exists already; number orders anew"),
            Self::UnknownOrder(id) => write!(f, "there is no order {id}"),
            Self::NotNow(id) => write!(f, "order {id} is done, or a request about it is under way"),
            Self::FilledTwice(id) => {
                write!(f, "order {id} was filled before; hftbacktest ends here with error 14")
            }
            Self::NeedsOrders { row } => {
                write!(
                    f,
                    "row {row} is about a level, and an engine needs each order; record orders, or \
                     choose an exchange that models queues"
                )
            }
            Self::Crosses { row } => {
                write!(
                    f,
                    "row {row} has an order rest across the other side, where an engine trades; \
                     leave rows of auctions out"
                )
            }
            Self::NoRoom => f.write_str("the engine's book is full; cancel orders of yours"),
        }
    }
}

impl core::error::Error for BacktestError {}
