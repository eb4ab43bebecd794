//! LOBSTER's orderbook file: the book after each message.
//!
//! A row is `ask price, ask size, bid price, bid size` of the best level, then of the next one;
//! prices in 1e-4 dollars. A level that is not there has size 0 and an unreal price.

use std::path::Path;

use taut_book::{Level, OrderBook};
use taut_types::{HalfTicks, Side};

use crate::{FileError, lines};

/// Columns of a level.
const COLUMNS: usize = 4;
/// What LOBSTER writes as the ask of a level that is not there; the bid has the other sign.
const NO_PRICE: i64 = 9_999_999_999;
/// More levels than any file has.
const LEVELS_MAX: usize = 1_000;

/// The file's 1e-4 dollars in a half tick of [`LobsterFlow`](super::LobsterFlow).
pub const UNIT: i64 = 50;

/// An orderbook file.
#[derive(Clone, Debug)]
pub struct Orderbook {
    columns: usize,
    values: Vec<i64>,
}

impl Orderbook {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, or a row is wrong.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let text = std::fs::read(path).map_err(|error| FileError::unreadable(path, &error))?;
        Self::parse(&path.display().to_string(), &text)
    }

    /// Reads the text of a file of this name.
    ///
    /// # Errors
    /// When a row is wrong.
    pub fn parse(file: &str, text: &[u8]) -> Result<Self, FileError> {
        let mut book = Self { columns: 0, values: Vec::new() };
        for (line, row) in lines(text) {
            let wrong = |what: String| FileError::at_line(file, line, what);
            let before = book.values.len();
            for field in row.split(|&byte| byte == b',') {
                let value = std::str::from_utf8(field).ok().and_then(|text| text.parse().ok());
                book.values.push(value.ok_or_else(|| {
                    let value: String = field.escape_ascii().to_string().chars().take(40).collect();
                    let column = book.values.len() - before + 1;
                    wrong(format!("column {column} is \"{value}\"; expected an integer"))
                })?);
            }
            let columns = book.values.len() - before;
            if line == 1 {
                book.columns = columns;
            }
            if columns != book.columns {
                let expected = book.columns;
                return Err(wrong(format!("it has {columns} columns, line 1 {expected}")));
            }
            if !columns.is_multiple_of(COLUMNS) || columns > LEVELS_MAX * COLUMNS {
                return Err(wrong(format!("it has {columns} columns; a level is four")));
            }
        }
        Ok(book)
    }

    /// Levels of a side.
    #[must_use]
    pub fn level_count(&self) -> usize {
        self.columns / COLUMNS
    }

    /// How many rows.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.values.len() / self.columns
    }

    /// The rows, the first first.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[i64]> {
        self.values.chunks_exact(self.columns)
    }
}

/// What a book whose prices are multiples of `unit` (1e-4 dollars) shows in so many levels, as a
/// row of the truth.
#[must_use]
pub fn state_of(book: &OrderBook, level_count: usize, unit: i64) -> Vec<i64> {
    let mut state = Vec::with_capacity(level_count * COLUMNS);
    let (mut asks, mut bids) = (book.levels(Side::Sell), book.levels(Side::Buy));
    for _ in 0..level_count {
        for (level, none) in [(asks.next(), NO_PRICE), (bids.next(), -NO_PRICE)] {
            let (price, lots) = level.map_or((none, 0), |Level { price, lots, .. }| {
                (price.0.saturating_mul(unit), lots.0)
            });
            state.extend([price, lots]);
        }
    }
    state
}

/// The levels of a side in a row: price and size.
pub fn levels_of(row: &[i64], side: Side) -> impl Iterator<Item = (HalfTicks, i64)> {
    let first = if side == Side::Sell { 0 } else { 2 };
    row.chunks_exact(COLUMNS)
        .filter_map(move |level| Some((HalfTicks(*level.get(first)?), *level.get(first + 1)?)))
        .filter(|&(_, size)| size > 0)
}

/// A row for a reader: the first level in which it differs from the other row.
#[must_use]
pub fn show_row(row: &[i64], other: &[i64]) -> String {
    let mut levels = row.chunks_exact(COLUMNS).zip(other.chunks_exact(COLUMNS));
    let depth = levels.position(|(level, other)| level != other).unwrap_or(0);
    match row.chunks_exact(COLUMNS).nth(depth) {
        Some([ask, ask_size, bid, bid_size]) => {
            format!("level {}: {bid_size}@{bid} / {ask_size}@{ask}", depth + 1)
        }
        _ => "nothing".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_tell_the_levels() {
        let truth = Orderbook::parse("t", b"10,1,9,2,11,3,8,4\r\n10,1,9,2,11,3,8,5\n").unwrap();
        assert_eq!((truth.level_count(), truth.row_count()), (2, 2));
        let row = truth.rows().next().unwrap();
        let bids: Vec<_> = levels_of(row, Side::Buy).collect();
        assert_eq!(bids, [(HalfTicks(9), 2), (HalfTicks(8), 4)]);
    }

    #[test]
    fn names_the_line_and_the_column_of_what_is_wrong() {
        for (text, what) in [
            (&b""[..], "t:1: column 1"),
            (b"1,2,3\n", "t:1: it has 3 columns"),
            (b"1,2,3,4\n1,2,3\n", "t:2: it has 3 columns, line 1 4"),
            (b"1,2,3,4\n1,2,x\xff,4\n", "t:2: column 3 is \"x\\xff\""),
            (b"1,2,3,99999999999999999999\n", "t:1: column 4"),
            (b"1,2,3,4\n\n\n", "t:2: column 1"),
        ] {
            let told = Orderbook::parse("t", text).expect_err("accepted").to_string();
            assert!(told.starts_with(what), "{told}");
        }
    }
}
