//! `--format dbn`: market-by-order books out of Databento's DBN files.
//!
//! There is no second opinion in such a file, so the books at its end are printed.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::Serialize;
use taut_recording::dbn::{Fault, MboBook, MboBooks};
use taut_types::{HalfTicks, Price, Side};

use crate::exit::Failure;
use crate::progress::Progress;
use crate::terminal;

/// All books of some files.
#[derive(Debug, Serialize)]
pub struct Books {
    /// Market-by-order records.
    records: u64,
    /// Records of other kinds, which were passed over.
    other_records: u64,
    /// How many records did not fit the book they found, by reason.
    faults: BTreeMap<Fault, u64>,
    books: Vec<Summary>,
}

/// A book at the end of the files.
#[derive(Debug, Serialize)]
struct Summary {
    publisher_id: u16,
    instrument_id: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    symbol: Option<String>,
    bid_levels: usize,
    ask_levels: usize,
    /// Decimals in text: JSON numbers are floats.
    best_bid: Option<String>,
    best_ask: Option<String>,
    bid_size: i64,
    ask_size: i64,
    live_orders: usize,
    state_hash: String,
}

/// Rebuilds the books of these files, one after the other.
///
/// # Errors
/// [`Failure::Usage`] for a file that cannot be read or is no DBN.
pub fn rebuild(paths: &[PathBuf]) -> Result<Books, Failure> {
    let mut all = MboBooks::default();
    for path in paths {
        let mut progress = Progress::start();
        let mut tell = |at| progress.tell(&format!("{}: {at} records", path.display()));
        all.read(path, &mut tell).map_err(Failure::usage)?;
    }
    let MboBooks { books, symbols, records, other_records, faults } = all;
    let books = books
        .iter()
        .map(|(&(publisher_id, instrument_id), book)| {
            summary(publisher_id, instrument_id, book, symbols.get(&instrument_id).cloned())
        })
        .collect();
    Ok(Books { records, other_records, faults, books })
}

fn summary(
    publisher_id: u16,
    instrument_id: u32,
    book: &MboBook,
    symbol: Option<String>,
) -> Summary {
    let book = book.book();
    let top = book.top();
    let price = |price: HalfTicks| Price(price.0).to_string();
    Summary {
        publisher_id,
        instrument_id,
        symbol,
        bid_levels: book.level_count(Side::Buy),
        ask_levels: book.level_count(Side::Sell),
        best_bid: top.bid.map(|level| price(level.price)),
        best_ask: top.ask.map(|level| price(level.price)),
        bid_size: top.bid.map_or(0, |level| level.lots.0),
        ask_size: top.ask.map_or(0, |level| level.lots.0),
        live_orders: book.order_count(),
        state_hash: format!("{:016x}", book.state_hash()),
    }
}

impl Books {
    /// Prints them.
    ///
    /// # Errors
    /// [`Failure::Run`] when there was no record to build a book of, or none that fitted; when
    /// standard output takes nothing more.
    pub fn print(&self, json: bool) -> Result<(), Failure> {
        terminal::print_report(self, json)?;
        if self.records == 0 {
            let what = "nothing was verified: there are no market-by-order records";
            return Err(Failure::Run(String::from(what)));
        }
        if self.faults.values().sum::<u64>() == self.records {
            let what = "nothing was verified: no record fitted the book that it found";
            return Err(Failure::Run(String::from(what)));
        }
        Ok(())
    }
}

impl fmt::Display for Books {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} market-by-order records, {} others", self.records, self.other_records)?;
        for (fault, count) in &self.faults {
            write!(f, "\n{count} did not fit: {}", fault.as_str())?;
        }
        for book in &self.books {
            let Summary { publisher_id, instrument_id, live_orders, .. } = book;
            let symbol = book.symbol.as_deref().unwrap_or("-");
            let best = |price: &Option<String>| price.clone().unwrap_or_else(|| "none".to_owned());
            write!(
                f,
                "\npublisher {publisher_id} instrument {instrument_id} ({symbol}): {live_orders} \
                 live orders"
            )?;
            let (price, size) = (best(&book.best_bid), book.bid_size);
            write!(f, "\n  {} bid levels, best {price} x {size}", book.bid_levels)?;
            let (price, size) = (best(&book.best_ask), book.ask_size);
            write!(f, "\n  {} ask levels, best {price} x {size}", book.ask_levels)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_without_market_by_order_records_verify_nothing() {
        let books = |records| Books {
            records,
            other_records: 3,
            faults: BTreeMap::new(),
            books: Vec::new(),
        };
        let Err(Failure::Run(told)) = books(0).print(true) else { panic!("it verified something") };
        assert!(told.contains("no market-by-order records"), "{told}");
        assert!(books(2).print(true).is_ok());
        let faults = |count| BTreeMap::from([(Fault::UnknownOrder, count)]);
        let Err(Failure::Run(told)) = (Books { faults: faults(2), ..books(2) }).print(true) else {
            panic!("it verified something")
        };
        assert!(told.contains("no record fitted"), "{told}");
        assert!((Books { faults: faults(1), ..books(2) }).print(true).is_ok());
    }
}
