//! Databento's DBN as rows: market by order, trades, and the best levels after each change.
//!
//! A cancel of a part is a modification; a cancel, a fill or a change of what is left of an order
//! that was never added is left out. With the flag of a price level a record is about the level.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::BufReader;
use std::path::Path;
use std::rc::Rc;

use dbn::decode::{DbnDecoder, DbnMetadata, DecodeRecordRef};
use dbn::enums::Action;
use dbn::{
    BidAskPair, MboMsg, Mbp10Msg, TradeMsg, UNDEF_PRICE, UNDEF_TIMESTAMP, VersionUpgradePolicy,
    flags,
};
use taut_types::{Nanos, Price, Qty, Side};

use super::files::Files;
use crate::FileError;
use crate::rows::{Kind, ReadRows, Reading, Row, Seen};
use crate::text::Counted;
use crate::zstd::{self, Unpacked};

pub(super) struct DbnRows {
    files: Files,
    file: File,
    books: Books,
}

struct File {
    name: String,
    decoder: DbnDecoder<Unpacked<BufReader<Counted>>>,
    records: u64,
}

impl DbnRows {
    pub(super) fn open(mut files: Files) -> Result<Self, FileError> {
        let file = files.open_next(open)?.ok_or_else(Files::none)?;
        Ok(Self { files, file, books: Books::default() })
    }
}

fn open(path: &Path, reading: &Rc<Reading>) -> Result<File, FileError> {
    let name = path.display().to_string();
    let file = BufReader::with_capacity(1 << 16, Counted::open(path, reading)?);
    let file = zstd::unpacked(file).map_err(|error| FileError::unreadable(path, &error))?;
    // Records by order are the same in all versions; to upgrade others trusts their lengths.
    let decoder = DbnDecoder::with_upgrade_policy(file, VersionUpgradePolicy::AsIs);
    let decoder = decoder.map_err(|error| {
        FileError::whole(&name, format!("it is no DBN file ({error}); check --from"))
    })?;
    for mapping in &decoder.metadata().mappings {
        let ids = mapping.intervals.iter().filter_map(|interval| interval.symbol.parse().ok());
        ids.for_each(|id| reading.call(id, mapping.raw_symbol.as_bytes()));
    }
    Ok(File { name, decoder, records: 0 })
}

impl ReadRows for DbnRows {
    fn next_row(&mut self) -> Result<Option<Row>, FileError> {
        loop {
            if let Some(row) = self.books.rows.pop_front() {
                return Ok(Some(row));
            }
            let File { name, decoder, records } = &mut self.file;
            let at = *records;
            let wrong = |what: String| FileError::whole(name, format!("record {at}: {what}"));
            let record = decoder.decode_record_ref();
            let record = record.map_err(|error| wrong(format!("cannot be decoded ({error})")))?;
            let Some(record) = record else {
                let Some(next) = self.files.open_next(open)? else { return Ok(None) };
                self.file = next;
                continue;
            };
            *records += 1;
            let is_known = if record.has::<MboMsg>() {
                let order = record.try_get::<MboMsg>().map_err(|error| wrong(error.to_string()))?;
                self.books.order(order)
            } else if record.has::<TradeMsg>() {
                let trade = record.try_get::<TradeMsg>();
                self.books.trade(trade.map_err(|error| wrong(error.to_string()))?)
            } else if record.has::<Mbp10Msg>() {
                let best = record.try_get::<Mbp10Msg>();
                let Mbp10Msg { hd, ts_recv, action, side, price, size, levels, .. } =
                    best.map_err(|error| wrong(error.to_string()))?;
                let times = (hd.ts_event, *ts_recv);
                let traded = (*action as u8 == b'T').then_some((*side as u8, *price, *size));
                self.books.best(hd.instrument_id, times, traded, levels)
            } else {
                None
            };
            if is_known.is_none() {
                self.files.reading().leave_out(1);
            }
        }
    }
}

/// An order that rests.
struct Resting {
    side: Option<Side>,
    price: Price,
    size: u32,
}

/// What the records said so far, and the rows that they come to.
#[derive(Default)]
struct Books {
    rows: VecDeque<Row>,
    /// By instrument and order.
    orders: HashMap<(u32, u64), Resting>,
    /// By instrument and whether it is the offers: the best levels as they were last.
    shown: HashMap<(u32, bool), Vec<(i64, u32)>>,
    /// Instruments within a run of records with the snapshot flag.
    in_snapshot: HashSet<u32>,
}

impl Books {
    /// A record by order; nothing when no row can say it.
    fn order(&mut self, record: &MboMsg) -> Option<()> {
        let has = |flag| record.flags.raw() & flag != 0;
        let instrument = record.hd.instrument_id;
        let price = Price(if record.price == UNDEF_PRICE { 0 } else { record.price });
        let order_id = record.order_id;
        let times = times(record.hd.ts_event, record.ts_recv)?;
        let row =
            Row { side: side(record.side().ok()?), price, order_id, ..row(instrument, times) };
        let action = record.action().ok()?;
        let begins = has(flags::SNAPSHOT) && self.in_snapshot.insert(instrument);
        if !has(flags::SNAPSHOT) {
            self.in_snapshot.remove(&instrument);
        }
        if action == Action::Clear || begins {
            self.orders.retain(|(of, _), _| *of != instrument);
            let price = Price(0);
            let order_id = 0;
            self.rows.push_back(Row { kind: Kind::Clear, side: None, price, order_id, ..row });
        }
        let qty = Qty::whole(record.size.into());
        let level = |kind, qty| Row { kind, qty, order_id: 0, ..row };
        let level_kind = if has(flags::SNAPSHOT) { Kind::Snapshot } else { Kind::Level };
        match action {
            Action::Clear => {}
            Action::Trade => self.rows.push_back(Row { kind: Kind::Trade, qty, ..row }),
            Action::Add | Action::Modify if has(flags::TOB) => {
                self.rows.push_back(level(Kind::Best, qty));
            }
            Action::Add | Action::Modify if has(flags::MBP) => {
                self.rows.push_back(level(level_kind, qty));
            }
            Action::Cancel if has(flags::MBP) => self.rows.push_back(level(Kind::Level, Qty::ZERO)),
            Action::Add | Action::Modify => self.stands(&row, record.size),
            Action::Cancel => self.cancel(&row, record.size)?,
            Action::Fill => {
                let side = self.orders.get(&(instrument, order_id))?.side;
                self.rows.push_back(Row { kind: Kind::Fill, side, qty, ..row });
            }
            _ => return None,
        }
        Some(())
    }

    /// An order has this price and size now.
    fn stands(&mut self, row: &Row, size: u32) {
        let resting = Resting { side: row.side, price: row.price, size };
        let old = self.orders.insert((row.instrument, row.order_id), resting);
        let kind = if old.is_some() { Kind::Modify } else { Kind::Add };
        self.rows.push_back(Row { kind, qty: Qty::whole(size.into()), ..*row });
    }

    /// An order is smaller, or gone.
    fn cancel(&mut self, row: &Row, size: u32) -> Option<()> {
        let key = (row.instrument, row.order_id);
        let order = self.orders.get_mut(&key)?;
        order.size = order.size.saturating_sub(size);
        let Resting { side, price, size } = *order;
        let qty = Qty::whole(size.into());
        let kind = if size > 0 { Kind::Modify } else { Kind::Cancel };
        if size == 0 {
            self.orders.remove(&key);
        }
        self.rows.push_back(Row { kind, side, price, qty, ..*row });
        Some(())
    }

    /// A trade, or the best levels as they are now: what is different from before.
    fn best(
        &mut self,
        instrument: u32,
        (event, received): (u64, u64),
        traded: Option<(u8, i64, u32)>,
        levels: &[BidAskPair],
    ) -> Option<()> {
        let row = row(instrument, times(event, received)?);
        if let Some((side, price, size)) = traded {
            let (side, qty) = (side_of(side), Qty::whole(size.into()));
            self.rows.push_back(Row { kind: Kind::Trade, side, price: Price(price), qty, ..row });
        }
        for side in Side::BOTH {
            let level = |pair: &BidAskPair| match side {
                Side::Buy => (pair.bid_px, pair.bid_sz),
                Side::Sell => (pair.ask_px, pair.ask_sz),
            };
            let now: Vec<_> =
                levels.iter().map(level).filter(|(price, _)| *price != UNDEF_PRICE).collect();
            let before = self.shown.entry((instrument, side == Side::Sell)).or_default();
            let is_gone = |(price, _): &&(i64, u32)| !now.iter().any(|(other, _)| other == price);
            let gone = before.iter().filter(is_gone).map(|(price, _)| (*price, 0));
            let other = now.iter().filter(|level| !before.contains(level)).copied();
            for (price, size) in gone.chain(other) {
                let (side, price, qty) = (Some(side), Price(price), Qty::whole(size.into()));
                self.rows.push_back(Row { side, price, qty, ..row });
            }
            *before = now;
        }
        Some(())
    }

    fn trade(&mut self, record: &TradeMsg) -> Option<()> {
        let times = times(record.hd.ts_event, record.ts_recv)?;
        let (side, price) = (side(record.side().ok()?), Price(record.price));
        let qty = Qty::whole(record.size.into());
        let row = row(record.hd.instrument_id, times);
        self.rows.push_back(Row { kind: Kind::Trade, side, price, qty, ..row });
        Some(())
    }
}

/// Which side a letter of a record is.
const fn side_of(letter: u8) -> Option<Side> {
    match letter {
        b'B' => Some(Side::Buy),
        b'A' => Some(Side::Sell),
        _ => None,
    }
}

const fn row(instrument: u32, (exchange_at, local_at): (Nanos, Nanos)) -> Row {
    Row {
        exchange_at,
        local_at,
        seen: Seen::Both,
        kind: Kind::Level,
        side: None,
        price: Price(0),
        qty: Qty::ZERO,
        order_id: 0,
        instrument,
    }
}

/// The exchange's and the local time; one that is not said is the other.
fn times(event: u64, received: u64) -> Option<(Nanos, Nanos)> {
    let said = |time: u64| (time != UNDEF_TIMESTAMP).then_some(time);
    let (event, received) = (said(event), said(received));
    let nanos = |time: Option<u64>| i64::try_from(time?).ok().map(Nanos);
    Some((nanos(event.or(received))?, nanos(received.or(event))?))
}

const fn side(side: dbn::Side) -> Option<Side> {
    match side {
        dbn::Side::Bid => Some(Side::Buy),
        dbn::Side::Ask => Some(Side::Sell),
        dbn::Side::None => None,
    }
}

#[cfg(test)]
mod tests;
