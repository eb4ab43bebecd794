//! hftbacktest's event files as rows.

use std::path::Path;
use std::rc::Rc;

use taut_types::{Nanos, Price, Qty, Side};

use super::files::Files;
use crate::hft::{BUY, EVENT_FIELDS, EXCHANGE, LOCAL, SELL};
use crate::npz::TableReader;
use crate::rows::{Kind, ReadRows, Reading, Row, Seen};
use crate::text::Counted;
use crate::{FileError, float};

/// The instrument of a file, which does not name it.
pub(super) const INSTRUMENT: u32 = 1;

pub(super) struct NpzRows {
    files: Files,
    table: Table,
}

struct Table {
    rows: TableReader<Counted>,
    places: [usize; EVENT_FIELDS.len()],
}

impl NpzRows {
    pub(super) fn open(mut files: Files) -> Result<Self, FileError> {
        let table = files.open_next(open)?.ok_or_else(Files::none)?;
        Ok(Self { files, table })
    }
}

fn open(path: &Path, reading: &Rc<Reading>) -> Result<Table, FileError> {
    let file = path.display().to_string();
    let rows = TableReader::open(&file, Counted::open(path, reading)?, "data")?;
    let places = rows.places(EVENT_FIELDS)?;
    Ok(Table { rows, places })
}

impl ReadRows for NpzRows {
    fn next_row(&mut self) -> Result<Option<Row>, FileError> {
        loop {
            let Some(fields) = self.table.rows.next_row(&self.table.places)? else {
                let Some(next) = self.files.open_next(open)? else { return Ok(None) };
                self.table = next;
                continue;
            };
            let row = row(&fields).map_err(|what| {
                let Table { rows, .. } = &self.table;
                FileError::whole(rows.file(), format!("row {}: {what}", rows.at()))
            })?;
            match row {
                Some(row) => return Ok(Some(row)),
                None => self.files.reading().leave_out(1),
            }
        }
    }
}

/// What the fields of a row say; nothing of kinds that are the user's, and of what nobody sees.
fn row(fields: &[u64; EVENT_FIELDS.len()]) -> Result<Option<Row>, String> {
    let [ev, exchange_at, local_at, px, qty, order_id, ..] = *fields;
    let Some(kind) = Kind::of_number(ev & 0xff) else { return Ok(None) };
    let seen = match (ev & EXCHANGE != 0, ev & LOCAL != 0) {
        (true, true) => Seen::Both,
        (true, false) => Seen::Exchange,
        (false, true) => Seen::Local,
        (false, false) => return Ok(None),
    };
    let side = match (ev & BUY != 0, ev & SELL != 0) {
        (true, _) => Some(Side::Buy),
        (false, true) => Some(Side::Sell),
        (false, false) => None,
    };
    let (px, qty) = (f64::from_bits(px), f64::from_bits(qty));
    // A clear has no quantity, and one of both sides no price: what stands there is free.
    let price = match (kind, side) {
        (Kind::Clear, None) => Price(0),
        _ => float::price(px).ok_or_else(|| {
            format!("its px is {px}; expected a price of at most 9 decimals below 9.2 billion")
        })?,
    };
    let qty = match kind {
        Kind::Clear => Qty::ZERO,
        _ => float::decimal(qty).filter(|found| found.mantissa >= 0).ok_or_else(|| {
            format!("its qty is {qty}; expected a decimal of at most 18 digits, not below 0")
        })?,
    };
    let [exchange_at, local_at] = [exchange_at, local_at].map(|time| Nanos(time.cast_signed()));
    let instrument = INSTRUMENT;
    Ok(Some(Row { exchange_at, local_at, seen, kind, side, price, qty, order_id, instrument }))
}
