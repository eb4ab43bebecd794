//! Rows as files that others read.

mod csv;
mod dbn;
mod npz;
mod parquet;

use std::io::{Seek, Write};
use std::rc::Rc;

use crate::rows::{Reading, WriteError, WriteRows};
pub use npz::latency_file;
pub use parquet::{ParquetTable, ParquetType, ParquetValue};

/// What rows become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// hftbacktest's events: one array of 64-byte rows, in the order of both clocks.
    Npz,
    /// Parquet: a column for each field, zstd, row groups of 131,072 rows.
    Parquet,
    /// Databento's DBN, market by order.
    Dbn,
    /// Text, a line for each row.
    Csv,
    /// The same, packed with gzip.
    CsvGzip,
}

/// Begins a file. `quantity_decimals` is the scale of formats that have one for a whole file, and
/// `span` the first and the last local time, where they are known.
///
/// # Errors
/// When the output refuses its first bytes.
pub(crate) fn begin<'w, W: Write + Seek + 'w>(
    to: Target,
    out: W,
    quantity_decimals: u8,
    span: Option<(i64, i64)>,
    reading: &Rc<Reading>,
) -> Result<Box<dyn WriteRows + 'w>, WriteError> {
    Ok(match to {
        Target::Npz => Box::new(npz::NpzWriter::begin(out)?),
        Target::Parquet => {
            Box::new(parquet::ParquetWriter::begin(out, quantity_decimals, reading)?)
        }
        Target::Dbn => Box::new(dbn::DbnWriter::begin(out, quantity_decimals, span, reading)?),
        Target::Csv => Box::new(csv::CsvWriter::begin(out, reading)),
        Target::CsvGzip => Box::new(csv::CsvWriter::begin(csv::packed(out), reading)),
    })
}
