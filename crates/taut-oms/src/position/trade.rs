//! What traded for whom, and what became of it.

use core::fmt;

use taut_types::{AccountId, InstrumentId, Lots, Price, Side, StrategyId, UserId};

use crate::amount::Amount;

/// Whose position, and in what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PositionKey {
    /// The account.
    pub account: AccountId,
    /// The user.
    pub user: UserId,
    /// The user's strategy.
    pub strategy: StrategyId,
    /// The instrument.
    pub instrument: InstrumentId,
}

/// What traded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trade {
    /// Our side.
    pub side: Side,
    /// How much.
    pub lots: Lots,
    /// At what price.
    pub price: Price,
    /// What it cost besides; negative when it was paid to us.
    pub fee: Amount,
}

/// Why a trade is not in the positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PositionError {
    /// There is no room for one more position.
    Full,
    /// Nobody said what a lot of this instrument is worth.
    UnknownInstrument,
    /// A trade has a positive quantity.
    Quantity,
}

impl fmt::Display for PositionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "no room for one more position: raise the capacity",
            Self::UnknownInstrument => "nobody said what a lot of this instrument is worth",
            Self::Quantity => "a trade has a positive quantity",
        })
    }
}

impl core::error::Error for PositionError {}

/// A position as it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PositionReport {
    /// Whose, and in what.
    pub key: PositionKey,
    /// Bought less sold, with what was carried into the day.
    pub lots: Lots,
    /// Bought since the day began.
    pub bought: Lots,
    /// Sold since the day began.
    pub sold: Lots,
    /// At what price it is carried, rounded to 1e-9; none when it is flat.
    pub average: Option<Price>,
    /// What it is valued at; none before the first mark.
    pub mark: Option<Price>,
    /// Profit of what was closed since the day began, before fees.
    pub realised: Amount,
    /// Profit of what is open, at the mark; nothing before the first one.
    pub unrealised: Amount,
    /// Fees since the day began.
    pub fees: Amount,
}
