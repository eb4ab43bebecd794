//! Captured frames: the venue's decoder reads them, a line at a time.

use std::path::Path;
use std::rc::Rc;

use taut_market_data::MarketDataError;
use taut_market_data::binance::BinanceJson;
use taut_market_data::deribit::DeribitJson;
use taut_market_data::okx::OkxJson;
use taut_types::Nanos;

use super::events::EventRows;
use super::files::{Files, ReadOptions};
use crate::FileError;
use crate::capture::{is_about_connection, split};
use crate::rows::{ReadRows, Reading, Row};
use crate::text::TextFile;

/// A frame, when it was received, and where what it says goes.
trait Decode: FnMut(Nanos, &[u8], &mut EventRows) -> Result<(), MarketDataError> {}

impl<F: FnMut(Nanos, &[u8], &mut EventRows) -> Result<(), MarketDataError>> Decode for F {}

/// Frames of Binance's JSON streams, spot or futures.
pub(super) fn binance(
    files: Files,
    options: &ReadOptions,
) -> Result<impl ReadRows + use<>, FileError> {
    let mut decoder = BinanceJson::default();
    Captures::open(files, options, move |received: Nanos, frame: &[u8], rows: &mut EventRows| {
        decoder.decode(received, frame, rows).map(drop)
    })
}

/// Frames of Deribit's WebSocket.
pub(super) fn deribit(
    files: Files,
    options: &ReadOptions,
) -> Result<impl ReadRows + use<>, FileError> {
    let mut decoder = DeribitJson::default();
    Captures::open(files, options, move |received: Nanos, frame: &[u8], rows: &mut EventRows| {
        decoder.decode(received, frame, rows).map(drop)
    })
}

/// Frames of OKX's WebSocket.
pub(super) fn okx(files: Files, options: &ReadOptions) -> Result<impl ReadRows + use<>, FileError> {
    let mut decoder = OkxJson::default();
    Captures::open(files, options, move |received: Nanos, frame: &[u8], rows: &mut EventRows| {
        decoder.decode(received, frame, rows).map(drop)
    })
}

struct Captures<D> {
    files: Files,
    file: TextFile,
    rows: EventRows,
    decode: D,
}

impl<D: Decode> Captures<D> {
    fn open(mut files: Files, options: &ReadOptions, decode: D) -> Result<Self, FileError> {
        let file = files.open_next(open)?.ok_or_else(Files::none)?;
        let rows = EventRows::new(files.reading(), options);
        Ok(Self { files, file, rows, decode })
    }
}

fn open(path: &Path, reading: &Rc<Reading>) -> Result<TextFile, FileError> {
    TextFile::open(path, reading)
}

impl<D: Decode> ReadRows for Captures<D> {
    fn next_row(&mut self) -> Result<Option<Row>, FileError> {
        loop {
            if let Some(row) = self.rows.pop() {
                return Ok(Some(row));
            }
            if !self.file.advance()? {
                let Some(next) = self.files.open_next(open)? else {
                    self.rows.end();
                    return Ok(self.rows.pop());
                };
                self.file = next;
                continue;
            }
            let line = self.file.line();
            if line.is_empty() || is_about_connection(line) {
                continue;
            }
            let (received, frame) = split(line).map_err(|what| self.file.wrong(what))?;
            (self.decode)(received, frame, &mut self.rows)
                .map_err(|error| self.file.wrong(error.to_string()))?;
            if let Some(what) = self.rows.wrong() {
                return Err(self.file.wrong(what));
            }
        }
    }
}
