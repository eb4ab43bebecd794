//! Recorded files as rows.

mod captures;
mod csv;
mod dbn;
mod detect;
mod events;
mod files;
mod lobster;
mod npz;
mod tardis;

use std::path::PathBuf;
use std::rc::Rc;

use serde::Deserialize;

use crate::FileError;
use crate::rows::{ReadRows, Reading};
use files::Files;
pub use files::ReadOptions;
pub use lobster::midnight;

/// What recorded files are; in settings, by its name in small letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// hftbacktest's events, as `taut export` and `taut import` have them.
    Npz,
    /// The text files that `taut export` writes.
    Csv,
    /// A LOBSTER message file.
    Lobster,
    /// Databento's DBN: market by order, and trades.
    Dbn,
    /// Captured frames of Binance.
    Binance,
    /// Captured frames of Deribit.
    Deribit,
    /// Captured frames of OKX.
    Okx,
    /// Tardis: `incremental_book_L2` and `trades`, merged by their local times.
    Tardis,
}

impl Source {
    /// Each by its name.
    pub const NAMED: [(&'static str, Self); 8] = [
        ("npz", Self::Npz),
        ("csv", Self::Csv),
        ("lobster", Self::Lobster),
        ("dbn", Self::Dbn),
        ("binance", Self::Binance),
        ("deribit", Self::Deribit),
        ("okx", Self::Okx),
        ("tardis", Self::Tardis),
    ];
}

/// Opens files, which are read one after the other or merged, as their format wants it.
///
/// # Errors
/// When the first of them cannot be read, or is of another format.
pub fn open_rows(
    source: Source,
    files: &[PathBuf],
    options: &ReadOptions,
    reading: &Rc<Reading>,
) -> Result<Box<dyn ReadRows>, FileError> {
    let mut files = Files::new(files, reading);
    if let (Source::Npz, Some(symbol)) = (source, &options.symbol) {
        reading.call(npz::INSTRUMENT, symbol.as_bytes());
    }
    Ok(match source {
        Source::Npz => Box::new(npz::NpzRows::open(files)?),
        Source::Csv => Box::new(csv::CsvRows::open(files)?),
        Source::Lobster => Box::new(lobster::LobsterRows::open(files, options)?),
        Source::Dbn => Box::new(dbn::DbnRows::open(files)?),
        Source::Binance => Box::new(captures::binance(files, options)?),
        Source::Deribit => Box::new(captures::deribit(files, options)?),
        Source::Okx => Box::new(captures::okx(files, options)?),
        Source::Tardis => Box::new(tardis::TardisRows::open(&mut files)?),
    })
}
