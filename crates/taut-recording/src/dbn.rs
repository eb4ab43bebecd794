//! Databento's DBN: market-by-order books out of its files.
//!
//! [`MboBooks`] reads files, one [`MboBook`] for each instrument of each publisher.
//!
//! Actions (Databento, "MBO schema", `action`): Add, Cancel (of `size`, in part or in full), Modify
//! (price or size; the place in the queue is lost by a new price or a larger size), cleaR; Trade,
//! Fill and None do not change the book, whose changes follow as Cancel. A run of records with the
//! snapshot flag is a book of its own: it replaces what was there. So does a second one right
//! behind it, which begins with a file or with the first order of the run, added again. A record
//! with the top-of-book flag replaces its side.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::path::Path;

use dbn::decode::{DbnDecoder, DbnMetadata, DecodeRecordRef};
use dbn::enums::Action;
use dbn::{MboMsg, UNDEF_PRICE, VersionUpgradePolicy, flags};
use serde::Serialize;
use taut_book::{BookError, BookLimit, Order, OrderBook};
use taut_types::{HalfTicks, Lots, OrderId, Side};

use crate::{FileError, zstd};

/// All books of some files.
#[derive(Debug, Default)]
pub struct MboBooks {
    /// By publisher and instrument.
    pub books: BTreeMap<(u16, u32), MboBook>,
    /// The names of instruments.
    pub symbols: BTreeMap<u32, String>,
    /// Market-by-order records.
    pub records: u64,
    /// Records of other kinds, which were passed over.
    pub other_records: u64,
    /// How many records did not fit the book they found, by reason.
    pub faults: BTreeMap<Fault, u64>,
}

impl MboBooks {
    /// Applies the records of a file, which may be compressed with zstd; `progress` hears now and
    /// then how many there have been.
    ///
    /// # Errors
    /// For a file that cannot be read or is no DBN.
    pub fn read(&mut self, path: &Path, progress: &mut impl FnMut(u64)) -> Result<(), FileError> {
        let unread = |error| FileError::unreadable(path, &error);
        let wrong = |what: String| FileError::whole(&path.display().to_string(), what);
        let file = File::open(path).map_err(unread)?;
        // A directory can be opened, and says at the first read what it is.
        if file.metadata().map_err(unread)?.is_dir() {
            return Err(unread(ErrorKind::IsADirectory.into()));
        }
        // Records by order are the same in all versions; to upgrade others trusts their lengths.
        let policy = VersionUpgradePolicy::AsIs;
        let file = zstd::unpacked(BufReader::with_capacity(1 << 16, file)).map_err(unread)?;
        let mut decoder = DbnDecoder::with_upgrade_policy(file, policy)
            .map_err(|error| wrong(format!("it is no DBN file ({error})")))?;
        for mapping in &decoder.metadata().mappings {
            let ids = mapping.intervals.iter().filter_map(|interval| interval.symbol.parse().ok());
            self.symbols.extend(ids.map(|id| (id, mapping.raw_symbol.clone())));
        }
        self.books.values_mut().for_each(MboBook::end_snapshot);
        loop {
            let at = self.records + self.other_records;
            let record = decoder.decode_record_ref();
            let record = record
                .map_err(|error| wrong(format!("record {at}: cannot be decoded ({error})")))?;
            let Some(record) = record else { return Ok(()) };
            if record.has::<MboMsg>() {
                let record = record.try_get::<MboMsg>();
                self.apply(record.map_err(|error| wrong(format!("record {at}: {error}")))?);
            } else {
                self.other_records += 1;
            }
            if at.is_multiple_of(1 << 20) {
                progress(at);
            }
        }
    }

    fn apply(&mut self, record: &MboMsg) {
        self.records += 1;
        let key = (record.hd.publisher_id, record.hd.instrument_id);
        if let Err(fault) = self.books.entry(key).or_default().apply(record) {
            *self.faults.entry(fault).or_default() += 1;
        }
    }
}

/// Why a record did not fit the book.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// An added id is in the book already.
    DuplicateOrder,
    /// A cancelled id is not in the book.
    UnknownOrder,
    /// A size of zero, or levels beyond every number.
    BadSize,
    /// An action or a side that means nothing.
    BadRecord,
}

impl Fault {
    /// In words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DuplicateOrder => "an added order was in the book",
            Self::UnknownOrder => "a cancelled order was not in the book",
            Self::BadSize => "a size was out of range",
            Self::BadRecord => "an action or a side was unknown",
        }
    }
}

/// Orders and levels a side that a book begins with.
const CAPACITY: (usize, usize) = (1 << 10, 1 << 8);

/// A book that is fed by records.
#[derive(Debug)]
pub struct MboBook {
    book: OrderBook,
    /// Within a run of records with the snapshot flag.
    in_snapshot: bool,
    /// The first order of that run.
    snapshot_begin: Option<u64>,
}

impl Default for MboBook {
    fn default() -> Self {
        let (orders, levels) = CAPACITY;
        let book = OrderBook::with_capacity(orders, levels);
        Self { book, in_snapshot: false, snapshot_begin: None }
    }
}

impl MboBook {
    /// The book; its prices are units of 1e-9.
    #[must_use]
    pub const fn book(&self) -> &OrderBook {
        &self.book
    }

    /// Applies a record.
    ///
    /// # Errors
    /// When the record does not fit the book, which is as it was.
    pub fn apply(&mut self, record: &MboMsg) -> Result<(), Fault> {
        let has = |flag| record.flags.raw() & flag != 0;
        if has(flags::SNAPSHOT) {
            self.follow_snapshot(record);
        } else {
            self.end_snapshot();
        }
        let action = record.action().map_err(|_| Fault::BadRecord)?;
        match action {
            Action::Clear => self.book.clear(),
            Action::Add | Action::Modify if has(flags::TOB) => return self.replace_side(record),
            Action::Add => return self.add(order_of(record)?),
            Action::Modify => return self.modify(order_of(record)?),
            Action::Cancel => return self.cancel(record),
            _ => {}
        }
        Ok(())
    }

    /// What comes next with the snapshot flag begins a snapshot.
    const fn end_snapshot(&mut self) {
        (self.in_snapshot, self.snapshot_begin) = (false, None);
    }

    /// Empties the book where a snapshot begins.
    fn follow_snapshot(&mut self, record: &MboMsg) {
        let is_added = record.action().is_ok_and(|action| action == Action::Add);
        let added = is_added.then_some(record.order_id);
        let begins_again = is_added && added == self.snapshot_begin;
        if begins_again || !self.in_snapshot {
            self.book.clear();
        }
        self.in_snapshot = true;
        self.snapshot_begin = self.snapshot_begin.or(added);
    }

    fn add(&mut self, order: Order) -> Result<(), Fault> {
        loop {
            return match self.book.add(order) {
                Ok(_) => Ok(()),
                Err(BookError::DuplicateOrder) => Err(Fault::DuplicateOrder),
                Err(BookError::Limit(BookLimit::Orders | BookLimit::Levels)) if self.grow() => {
                    continue;
                }
                Err(_) => Err(Fault::BadSize),
            };
        }
    }

    fn modify(&mut self, order: Order) -> Result<(), Fault> {
        let Some(old) = self.book.order(order.id) else { return self.add(order) };
        if order.lots <= Lots::ZERO {
            return Err(Fault::BadSize);
        }
        let keeps_place =
            old.side == order.side && old.price == order.price && order.lots <= old.lots;
        if !keeps_place {
            let _ = self.book.remove(order.id);
            return self.add(order);
        }
        if order.lots < old.lots {
            let _ = self.book.reduce(order.id, Lots(old.lots.0 - order.lots.0));
        }
        Ok(())
    }

    fn cancel(&mut self, record: &MboMsg) -> Result<(), Fault> {
        let by = Lots(record.size.into());
        match self.book.reduce(OrderId(record.order_id), by) {
            Ok(_) => Ok(()),
            Err(BookError::UnknownOrder) => Err(Fault::UnknownOrder),
            Err(_) => Err(Fault::BadSize),
        }
    }

    fn replace_side(&mut self, record: &MboMsg) -> Result<(), Fault> {
        let side = side_of(record)?;
        while let Some(order) = self.book.best_order(side) {
            let _ = self.book.remove(order.id);
        }
        if record.price == UNDEF_PRICE { Ok(()) } else { self.add(order_of(record)?) }
    }

    /// Doubles a full book; false at its limit.
    fn grow(&mut self) -> bool {
        let book = &self.book;
        let mut larger =
            OrderBook::with_capacity(book.order_capacity() * 2, book.level_capacity() * 2);
        if larger.order_capacity() == book.order_capacity() {
            return false;
        }
        for side in Side::BOTH {
            for order in book.orders(side) {
                let _ = larger.add(order);
            }
        }
        self.book = larger;
        true
    }
}

fn side_of(record: &MboMsg) -> Result<Side, Fault> {
    match record.side().map_err(|_| Fault::BadRecord)? {
        dbn::Side::Bid => Ok(Side::Buy),
        dbn::Side::Ask => Ok(Side::Sell),
        dbn::Side::None => Err(Fault::BadRecord),
    }
}

fn order_of(record: &MboMsg) -> Result<Order, Fault> {
    Ok(Order {
        id: OrderId(record.order_id),
        owner: 0,
        side: side_of(record)?,
        price: HalfTicks(record.price),
        lots: Lots(record.size.into()),
    })
}

#[cfg(test)]
mod tests;
