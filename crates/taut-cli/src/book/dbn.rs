//! `--format dbn`: market-by-order books out of Databento's DBN files.
//!
//! There is no second opinion in such a file, so the books at its end are printed. What a record
//! does to its book is in [`market`].

mod market;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, ErrorKind};
use std::path::{Path, PathBuf};

use dbn::decode::{DbnMetadata, DecodeRecordRef, DynDecoder};
use dbn::{MboMsg, VersionUpgradePolicy};
use serde::Serialize;
use taut_types::{HalfTicks, Price, Side};

use crate::exit::Failure;
use crate::progress::Progress;
use crate::terminal;
use market::{Fault, Market};

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
    let mut markets: BTreeMap<(u16, u32), Market> = BTreeMap::new();
    let mut symbols = BTreeMap::new();
    let mut books =
        Books { records: 0, other_records: 0, faults: BTreeMap::new(), books: Vec::new() };
    for path in paths {
        read(path, &mut books, &mut markets, &mut symbols)?;
    }
    books.books = markets
        .iter()
        .map(|(&(publisher_id, instrument_id), market)| {
            summary(publisher_id, instrument_id, market, symbols.get(&instrument_id).cloned())
        })
        .collect();
    Ok(books)
}

fn read(
    path: &Path,
    books: &mut Books,
    markets: &mut BTreeMap<(u16, u32), Market>,
    symbols: &mut BTreeMap<u32, String>,
) -> Result<(), Failure> {
    let shown = path.display();
    let unread = |error: io::Error| Failure::unreadable(path, error);
    let file = File::open(path).map_err(unread)?;
    // A directory can be opened, and says at the first read what it is.
    if file.metadata().map_err(unread)?.is_dir() {
        return Err(unread(ErrorKind::IsADirectory.into()));
    }
    let policy = VersionUpgradePolicy::UpgradeToV3;
    let mut decoder = DynDecoder::inferred_with_buffer(BufReader::new(file), policy)
        .map_err(|error| Failure::Usage(format!("{shown}: it is no DBN file ({error})")))?;
    for mapping in &decoder.metadata().mappings {
        for interval in &mapping.intervals {
            if let Ok(id) = interval.symbol.parse() {
                symbols.insert(id, mapping.raw_symbol.clone());
            }
        }
    }
    let mut progress = Progress::start();
    loop {
        let at = books.records + books.other_records;
        let record = decoder.decode_record_ref().map_err(|error| {
            Failure::Usage(format!("{shown}: record {at}: cannot be decoded ({error})"))
        })?;
        let Some(record) = record else { return Ok(()) };
        let Some(record) = record.get::<MboMsg>() else {
            books.other_records += 1;
            continue;
        };
        books.records += 1;
        let key = (record.hd.publisher_id, record.hd.instrument_id);
        if let Err(fault) = markets.entry(key).or_insert_with(Market::new).apply(record) {
            *books.faults.entry(fault).or_default() += 1;
        }
        if at.is_multiple_of(1 << 20) {
            progress.tell(&format!("{shown}: {at} records"));
        }
    }
}

fn summary(
    publisher_id: u16,
    instrument_id: u32,
    market: &Market,
    symbol: Option<String>,
) -> Summary {
    let book = market.book();
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
    /// When standard output takes nothing more.
    pub fn print(&self, json: bool) -> Result<(), Failure> {
        terminal::print_report(self, json)
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
mod tests;
