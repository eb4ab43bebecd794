//! Rows: what every recorded format comes to, between those who read files and those who write.
//!
//! `taut_market_data::Event` is the language of what runs; a file says other things: who learns of
//! a row, a clear up to a price, a fill whose rest is said later. A [`Row`] has all of them, exact.

mod names;

use std::fmt;
use std::io;

pub use names::{Reading, SYMBOL_BYTES_MAX};
pub use taut_backtest::Seen;
use taut_types::{Nanos, Price, Qty, Side};

use crate::FileError;

/// What a row says; the numbers are hftbacktest's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// A price level now has this quantity; none deletes it.
    Level = 1,
    /// A trade; the side is the aggressor's.
    Trade = 2,
    /// The levels of a side from the best to the price are gone; without a side all levels and
    /// orders are.
    Clear = 3,
    /// A price level of a snapshot.
    Snapshot = 4,
    /// The best price of a side, of a stream that says nothing else; no quantity: nobody is there.
    Best = 5,
    /// An order was added.
    Add = 10,
    /// An order left.
    Cancel = 11,
    /// An order has this price and quantity now.
    Modify = 12,
    /// An order that rests was traded; what is left of it, a row after this says.
    Fill = 13,
}

impl Kind {
    /// All of them, with their names in files.
    pub const ALL: [(Self, &'static str); 9] = [
        (Self::Level, "level"),
        (Self::Trade, "trade"),
        (Self::Clear, "clear"),
        (Self::Snapshot, "snapshot"),
        (Self::Best, "best"),
        (Self::Add, "add"),
        (Self::Cancel, "cancel"),
        (Self::Modify, "modify"),
        (Self::Fill, "fill"),
    ];

    /// Its name in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Level => "level",
            Self::Trade => "trade",
            Self::Clear => "clear",
            Self::Snapshot => "snapshot",
            Self::Best => "best",
            Self::Add => "add",
            Self::Cancel => "cancel",
            Self::Modify => "modify",
            Self::Fill => "fill",
        }
    }

    /// The one with this number.
    #[must_use]
    pub fn of_number(number: u64) -> Option<Self> {
        Self::ALL.iter().map(|(kind, _)| *kind).find(|kind| *kind as u64 == number)
    }

    /// The one with this name.
    #[must_use]
    pub fn of_name(name: &[u8]) -> Option<Self> {
        Self::ALL.iter().find(|(_, own)| own.as_bytes() == name).map(|(kind, _)| *kind)
    }
}

/// Something that a recording says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// When it happened at the exchange, nanoseconds since 1970, UTC.
    pub exchange_at: Nanos,
    /// When it was received, on the clock of who recorded it.
    pub local_at: Nanos,
    /// Who learns of it.
    pub seen: Seen,
    /// What happened.
    pub kind: Kind,
    /// Of the level or the order; the aggressor's of a trade.
    pub side: Option<Side>,
    /// Its price.
    pub price: Price,
    /// Its quantity, not below zero.
    pub qty: Qty,
    /// The order, where rows are about orders.
    pub order_id: u64,
    /// The number of its instrument ([`Reading::symbol`] has its name).
    pub instrument: u32,
}

impl Row {
    /// Whether the exchange's side learns of it.
    #[must_use]
    pub const fn is_at_exchange(&self) -> bool {
        !matches!(self.seen, Seen::Local)
    }

    /// Whether our side learns of it.
    #[must_use]
    pub const fn is_local(&self) -> bool {
        !matches!(self.seen, Seen::Exchange)
    }
}

/// The columns of a text file of rows.
pub(crate) const CSV_COLUMNS: [&str; 9] =
    ["exch_ts", "local_ts", "seen", "kind", "side", "px", "qty", "order_id", "symbol"];

/// Where rows come from.
pub trait ReadRows {
    /// The next row, in the order of the files; none at the end.
    ///
    /// # Errors
    /// What is wrong with a file, and where.
    fn next_row(&mut self) -> Result<Option<Row>, FileError>;
}

impl ReadRows for Box<dyn ReadRows> {
    fn next_row(&mut self) -> Result<Option<Row>, FileError> {
        (**self).next_row()
    }
}

/// Where rows go to.
pub(crate) trait WriteRows {
    /// Takes a row.
    ///
    /// # Errors
    /// When it cannot be written, or the format cannot say it.
    fn write_row(&mut self, row: &Row) -> Result<(), WriteError>;

    /// Writes what belongs to the end.
    ///
    /// # Errors
    /// When it cannot be written.
    fn finish(self: Box<Self>) -> Result<(), WriteError>;

    /// Rows that the format has no place for, and that were left out.
    fn left_out(&self) -> u64 {
        0
    }
}

/// Why rows were not written.
#[derive(Debug)]
pub(crate) enum WriteError {
    /// The output refused bytes.
    Io(io::Error),
    /// The format cannot hold a row: what of it, and what to do.
    Unfit(String),
}

impl WriteError {
    pub fn unfit(row: &Row, what: impl fmt::Display) -> Self {
        let Row { kind, local_at, price, qty, .. } = row;
        let (name, time) = (kind.name(), local_at.0);
        Self::Unfit(format!("the {name} of {qty} at {price} received at {time} ns: {what}"))
    }
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "cannot write it ({error})"),
            Self::Unfit(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for WriteError {}

/// A quantity as a mantissa with so many decimals.
pub(crate) fn mantissa(row: &Row, decimals: u8) -> Result<i64, WriteError> {
    row.qty.with_decimals(decimals).map(|qty| qty.mantissa).ok_or_else(|| {
        WriteError::unfit(
            row,
            format_args!(
                "its quantity is no 64-bit number of units of 1e-{decimals}; choose others with \
                 --quantity-decimals"
            ),
        )
    })
}

/// How many decimals a quantity needs.
pub(crate) const fn decimals_of(qty: Qty) -> u8 {
    let Qty { mut mantissa, mut decimals } = qty;
    if mantissa == 0 {
        return 0;
    }
    while decimals > 0 && mantissa % 10 == 0 {
        mantissa /= 10;
        decimals -= 1;
    }
    decimals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_one_name_and_one_number() {
        for (kind, name) in Kind::ALL {
            assert_eq!((kind.name(), Kind::of_name(name.as_bytes())), (name, Some(kind)));
            assert_eq!(Kind::of_number(kind as u64), Some(kind));
        }
        assert_eq!((Kind::of_number(6), Kind::of_name(b"other")), (None, None));
    }

    #[test]
    fn a_quantity_needs_the_decimals_up_to_its_last_digit() {
        for (text, decimals) in [("0.000", 0), ("1200", 0), ("1.50", 1), ("-0.025", 3)] {
            let qty = Qty::parse(text.as_bytes()).expect("a decimal");
            assert_eq!(decimals_of(qty.with_decimals(8).expect("more decimals")), decimals);
        }
    }
}
