//! Rows as Parquet (parquet.apache.org, "File format"): a column for each field, integers all.
//!
//! Prices and quantities repeat, so that a dictionary of them takes less room than differences do.
//! What their exponents are stands in the file's metadata.

mod encoding;
mod metadata;
mod pages;
mod table;
mod thrift;

use std::io::Write;
use std::rc::Rc;

use taut_types::{Price, Side};

use crate::rows::{Kind, Reading, Row, WriteError, WriteRows, mantissa};
use encoding::Dictionary;
use metadata::{Column, Group, MAGIC, footer};
use pages::{Pages, ROWS};
pub use table::{ParquetTable, ParquetType, ParquetValue};

/// The exchange's side learns of the row; ours does.
const EXCHANGE: i64 = 1;
const LOCAL: i64 = 2;

static COLUMNS: [Column; 9] = [
    Column::timestamp("exch_ts"),
    Column::timestamp("local_ts"),
    Column::integer("kind", 8, false),
    Column::integer("side", 8, true),
    Column::integer("flags", 8, false),
    Column::integer("px", 64, true),
    Column::integer("qty", 64, true),
    Column::integer("order_id", 64, false),
    Column::integer("instrument", 32, false),
];

pub(super) struct ParquetWriter<W> {
    out: W,
    /// Bytes that were written.
    at: u64,
    quantity_decimals: u8,
    reading: Rc<Reading>,
    /// The rows of the group that is not written yet.
    values: [Vec<i64>; 9],
    groups: Vec<Group>,
    dictionary: Dictionary,
}

impl<W: Write> ParquetWriter<W> {
    pub(super) fn begin(
        mut out: W,
        quantity_decimals: u8,
        reading: &Rc<Reading>,
    ) -> Result<Self, WriteError> {
        out.write_all(MAGIC)?;
        Ok(Self {
            out,
            at: MAGIC.len() as u64,
            quantity_decimals,
            reading: Rc::clone(reading),
            values: Default::default(),
            groups: Vec::new(),
            dictionary: Dictionary::default(),
        })
    }

    fn rows(&self) -> usize {
        self.values.first().map_or(0, Vec::len)
    }

    fn write_group(&mut self) -> Result<(), WriteError> {
        let mut group = Group { rows: self.rows() as u64, chunks: Vec::new() };
        for (column, values) in COLUMNS.iter().zip(&mut self.values) {
            let pages = Pages::of(column, values, None, &[], &mut self.dictionary);
            let chunk = pages.chunk(self.at);
            self.out.write_all(&pages.bytes)?;
            self.at += pages.bytes.len() as u64;
            group.chunks.push(chunk);
            values.clear();
        }
        self.groups.push(group);
        Ok(())
    }

    /// What a reader finds beside the columns.
    fn notes(&self) -> Vec<(String, String)> {
        let kinds = Kind::ALL.map(|(kind, name)| format!("{} {name}", kind as u8)).join(", ");
        let symbols = self.reading.symbols();
        let symbols: Vec<_> =
            symbols.iter().map(|(number, name)| format!("\"{number}\":\"{name}\"")).collect();
        let notes = [
            ("px_exponent", format!("-{}", Price::DECIMALS)),
            ("qty_exponent", format!("-{}", self.quantity_decimals)),
            ("kinds", kinds),
            ("sides", "1 buy, -1 sell, 0 none".to_owned()),
            ("flags", "1 the exchange learns of it at exch_ts, 2 we do at local_ts".to_owned()),
            ("symbols", format!("{{{}}}", symbols.join(","))),
        ];
        notes.map(|(key, value)| (format!("taut.{key}"), value)).into()
    }
}

impl<W: Write> WriteRows for ParquetWriter<W> {
    fn write_row(&mut self, row: &Row) -> Result<(), WriteError> {
        let qty = mantissa(row, self.quantity_decimals)?;
        let side = match row.side {
            Some(Side::Buy) => 1,
            Some(Side::Sell) => -1,
            None => 0,
        };
        let exchange = if row.is_at_exchange() { EXCHANGE } else { 0 };
        let local = if row.is_local() { LOCAL } else { 0 };
        let fields = [
            row.exchange_at.0,
            row.local_at.0,
            row.kind as i64,
            side,
            exchange | local,
            row.price.0,
            qty,
            row.order_id.cast_signed(),
            row.instrument.into(),
        ];
        for (values, field) in self.values.iter_mut().zip(fields) {
            values.push(field);
        }
        if self.rows() == ROWS { self.write_group() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<(), WriteError> {
        if self.rows() > 0 {
            self.write_group()?;
        }
        let footer = footer(&COLUMNS, &self.groups, &self.notes());
        let len = u32::try_from(footer.len()).map_err(|_| {
            WriteError::Unfit("the file's directory is above 4 GiB; write several files".to_owned())
        })?;
        for part in [&footer[..], &len.to_le_bytes(), MAGIC] {
            self.out.write_all(part)?;
        }
        self.out.flush()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
