//! Rows as Databento's DBN, market by order.
//!
//! | row | records |
//! |---|---|
//! | level | Modify with the flag of a price level; Cancel when it is gone |
//! | level of a snapshot | Add with the flags of a price level and of a snapshot |
//! | clear of everything, or before a snapshot | cleaR |
//! | clear of a side | Cancel of each of its levels up to the price |
//! | trade, add, modify, cancel, fill | Trade, Add, Modify, Cancel, Fill |
//!
//! The order id of a level is its price with its side in the highest bit, so that whoever keeps
//! orders has a level as one order. A level that is deleted and never was is left out. Written are
//! the rows that our side learns of, in the order of their local times; the last record of those
//! that have the same times has the flag of the last.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::num::NonZeroU64;
use std::rc::Rc;

use dbn::encode::{DbnEncoder, EncodeRecord};
use dbn::enums::{SType, Schema};
use dbn::{MappingInterval, MboMsg, MetadataBuilder, SymbolMapping, flags};
use taut_types::{Price, Side};
use time::OffsetDateTime;

use crate::rows::{Kind, Reading, Row, WriteError, WriteRows, mantissa};

/// The dataset of what is no dataset of Databento's.
const DATASET: &str = "TAUT.EXPORT";
/// In the order id of a level: it is an offer.
const OFFER: u64 = 1 << 63;

pub(super) struct DbnWriter<W: Write> {
    records: DbnEncoder<W>,
    quantity_decimals: u8,
    /// The last record, whose flag of the last depends on the next row.
    last: Option<MboMsg>,
    /// The row of a clear of one side, which depends on the next row, too.
    clear: Option<Row>,
    /// By instrument and order: what is left of it. Of levels: what stands there, by their prices.
    orders: HashMap<(u32, u64), u32>,
    levels: BTreeMap<(u32, bool, i64), u32>,
    sequence: u32,
    left_out: u64,
}

impl<W: Write> DbnWriter<W> {
    pub(super) fn begin(
        out: W,
        quantity_decimals: u8,
        span: Option<(i64, i64)>,
        reading: &Reading,
    ) -> Result<Self, WriteError> {
        let (start, end) = span.unwrap_or_default();
        let nanos = |time: i64| u64::try_from(time).unwrap_or(0);
        let symbols = reading.symbols();
        let mut metadata = MetadataBuilder::new()
            .dataset(DATASET.to_owned())
            .schema(Some(Schema::Mbo))
            .start(nanos(start))
            .end(NonZeroU64::new(nanos(end).saturating_add(1)))
            .stype_in(Some(SType::RawSymbol))
            .stype_out(SType::InstrumentId)
            .symbols(symbols.iter().map(|(_, name)| name.to_string()).collect())
            .build();
        if let (Some(from), Some(to)) = (date(start), date(end).and_then(|day| day.next_day())) {
            let mapping = |(number, name): &(u32, Rc<str>)| SymbolMapping {
                raw_symbol: name.to_string(),
                intervals: vec![MappingInterval {
                    start_date: from,
                    end_date: to,
                    symbol: number.to_string(),
                }],
            };
            metadata.mappings = symbols.iter().map(mapping).collect();
        }
        let records = DbnEncoder::new(out, &metadata).map_err(failed)?;
        Ok(Self {
            records,
            quantity_decimals,
            last: None,
            clear: None,
            orders: HashMap::new(),
            levels: BTreeMap::new(),
            sequence: 0,
            left_out: 0,
        })
    }

    /// Writes the record before, and keeps this one.
    fn push(&mut self, record: MboMsg) -> Result<(), WriteError> {
        let Some(mut before) = self.last.replace(record) else { return Ok(()) };
        let times = |record: &MboMsg| (record.hd.ts_event, record.ts_recv, record.hd.instrument_id);
        if self.last.as_ref().is_none_or(|record| times(record) != times(&before)) {
            before.flags.set_last();
        }
        self.records.encode_record(&before).map_err(failed)
    }

    fn record(
        &mut self,
        row: &Row,
        action: u8,
        size: u32,
        flags: u8,
    ) -> Result<MboMsg, WriteError> {
        let nanos = |time: i64| {
            u64::try_from(time).map_err(|_| WriteError::unfit(row, "its time is before 1970"))
        };
        let side = match row.side {
            Some(Side::Buy) => b'B',
            Some(Side::Sell) => b'A',
            None => b'N',
        };
        let mut record = MboMsg {
            order_id: row.order_id,
            price: row.price.0,
            size,
            flags: flags.into(),
            channel_id: 0,
            action: action as _,
            side: side as _,
            ts_recv: nanos(row.local_at.0)?,
            sequence: self.sequence,
            ..MboMsg::default()
        };
        record.hd.instrument_id = row.instrument;
        record.hd.ts_event = nanos(row.exchange_at.0)?;
        self.sequence = self.sequence.wrapping_add(1);
        Ok(record)
    }

    fn emit(&mut self, row: &Row, action: u8, size: u32, flags: u8) -> Result<(), WriteError> {
        let record = self.record(row, action, size, flags)?;
        self.push(record)
    }

    /// A clear of one side that no snapshot follows.
    fn clear_side(&mut self, clear: &Row) -> Result<(), WriteError> {
        let is_offer = clear.side == Some(Side::Sell);
        let (instrument, price) = (clear.instrument, clear.price.0);
        let gone = match is_offer {
            false => (instrument, false, price)..=(instrument, false, i64::MAX),
            true => (instrument, true, i64::MIN)..=(instrument, true, price),
        };
        let gone: Vec<_> = self.levels.range(gone).map(|((.., price), _)| Price(*price)).collect();
        for price in gone {
            self.level(&Row { kind: Kind::Level, price, ..*clear }, 0)?;
        }
        Ok(())
    }

    /// A book is empty.
    fn clear_all(&mut self, row: &Row, flags: u8) -> Result<(), WriteError> {
        let instrument = row.instrument;
        let first = (instrument, false, i64::MIN);
        let gone: Vec<_> = self.levels.range(first..).map(|(key, _)| *key).collect();
        for key in gone.into_iter().take_while(|(of, ..)| *of == instrument) {
            self.levels.remove(&key);
        }
        self.orders.retain(|(of, _), _| *of != instrument);
        let row = Row { side: None, price: Price(dbn::UNDEF_PRICE), order_id: 0, ..*row };
        self.emit(&row, b'R', 0, flags)
    }

    fn level(&mut self, row: &Row, size: u32) -> Result<(), WriteError> {
        let is_offer = row.side == Some(Side::Sell);
        let key = (row.instrument, is_offer, row.price.0);
        let order_id = row.price.0.cast_unsigned() ^ if is_offer { OFFER } else { 0 };
        let row = Row { order_id, ..*row };
        let snapshot = if row.kind == Kind::Snapshot { flags::SNAPSHOT } else { 0 };
        let flags = flags::MBP | snapshot;
        if size == 0 {
            // Venues delete levels that they never told, too.
            let Some(stood) = self.levels.remove(&key) else {
                self.left_out += 1;
                return Ok(());
            };
            return self.emit(&row, b'C', stood, flags);
        }
        self.levels.insert(key, size);
        let action = if snapshot == 0 { b'M' } else { b'A' };
        self.emit(&row, action, size, flags)
    }

    fn order(&mut self, row: &Row, size: u32) -> Result<(), WriteError> {
        let key = (row.instrument, row.order_id);
        match row.kind {
            Kind::Add | Kind::Modify => {
                self.orders.insert(key, size);
                self.emit(row, if row.kind == Kind::Add { b'A' } else { b'M' }, size, 0)
            }
            Kind::Cancel => {
                let left = self.orders.remove(&key).unwrap_or(size);
                self.emit(row, b'C', left, 0)
            }
            _ => self.emit(row, b'F', size, 0),
        }
    }

    /// What a clear of one side was, as the row behind it shows: it begins a snapshot, whose second
    /// side is cleared already, or it is one by itself.
    fn resolve_clear(&mut self, next: Option<&Row>) -> Result<(), WriteError> {
        let Some(clear) = self.clear.take() else { return Ok(()) };
        let times = |row: &Row| (row.exchange_at, row.local_at, row.instrument);
        let is_snapshot =
            next.is_some_and(|row| row.kind == Kind::Snapshot && times(row) == times(&clear));
        if !is_snapshot {
            return self.clear_side(&clear);
        }
        let begun = self.last.as_ref().is_some_and(|last| {
            let is_of_it = last.flags.raw() & flags::SNAPSHOT != 0;
            let (event, received) = (last.hd.ts_event, last.ts_recv);
            let nanos = [clear.exchange_at.0, clear.local_at.0].map(|time| time.cast_unsigned());
            is_of_it && [event, received] == nanos && last.hd.instrument_id == clear.instrument
        });
        if begun { Ok(()) } else { self.clear_all(&clear, flags::SNAPSHOT) }
    }
}

impl<W: Write> WriteRows for DbnWriter<W> {
    fn write_row(&mut self, row: &Row) -> Result<(), WriteError> {
        if !row.is_local() || row.kind == Kind::Best {
            self.left_out += 1;
            return Ok(());
        }
        self.resolve_clear(Some(row))?;
        let decimals = self.quantity_decimals;
        let size = u32::try_from(mantissa(row, decimals)?).map_err(|_| {
            WriteError::unfit(
                row,
                format_args!(
                    "its quantity in units of 1e-{decimals} is above the 32 bits of a size in DBN; \
                     choose fewer decimals with --quantity-decimals"
                ),
            )
        })?;
        match row.kind {
            Kind::Clear if row.side.is_none() => self.clear_all(row, 0),
            Kind::Clear => {
                self.clear = Some(*row);
                Ok(())
            }
            Kind::Level | Kind::Snapshot => self.level(row, size),
            Kind::Trade => self.emit(row, b'T', size, 0),
            _ => self.order(row, size),
        }
    }

    fn finish(mut self: Box<Self>) -> Result<(), WriteError> {
        self.resolve_clear(None)?;
        if let Some(mut last) = self.last.take() {
            last.flags.set_last();
            self.records.encode_record(&last).map_err(failed)?;
        }
        self.records.flush().map_err(failed)
    }

    fn left_out(&self) -> u64 {
        self.left_out
    }
}

/// The day of a time.
fn date(nanos: i64) -> Option<time::Date> {
    let seconds = nanos.div_euclid(1_000_000_000);
    OffsetDateTime::from_unix_timestamp(seconds).ok().map(OffsetDateTime::date)
}

fn failed(error: dbn::Error) -> WriteError {
    WriteError::Io(std::io::Error::other(error))
}
