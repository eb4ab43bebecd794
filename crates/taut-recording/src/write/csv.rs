//! Rows as text: decimals as they are, names instead of numbers.

use std::io::{self, Write};
use std::rc::Rc;

use flate2::Compression;
use flate2::write::GzEncoder;
use taut_types::Side;

use crate::rows::{CSV_COLUMNS, Reading, Row, Seen, WriteError, WriteRows};

/// Bytes that are written at once.
const BLOCK: usize = 1 << 16;

/// gzip, whose end is written when it is flushed.
pub(super) struct Packed<W: Write>(GzEncoder<W>);

pub(super) fn packed<W: Write>(out: W) -> Packed<W> {
    Packed(GzEncoder::new(out, Compression::default()))
}

impl<W: Write> Write for Packed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    /// At the end of the file alone.
    fn flush(&mut self) -> io::Result<()> {
        self.0.try_finish()?;
        self.0.get_mut().flush()
    }
}

pub(super) struct CsvWriter<W> {
    out: W,
    reading: Rc<Reading>,
    text: Vec<u8>,
}

impl<W: Write> CsvWriter<W> {
    pub(super) fn begin(out: W, reading: &Rc<Reading>) -> Self {
        let mut text = CSV_COLUMNS.join(",").into_bytes();
        text.push(b'\n');
        Self { out, reading: Rc::clone(reading), text }
    }
}

impl<W: Write> WriteRows for CsvWriter<W> {
    fn write_row(&mut self, row: &Row) -> Result<(), WriteError> {
        let Row { exchange_at, local_at, price, qty, order_id, .. } = row;
        let (kind, symbol) = (row.kind.name(), self.reading.symbol(row.instrument));
        let seen = match row.seen {
            Seen::Both => "both",
            Seen::Exchange => "exchange",
            Seen::Local => "local",
        };
        let side = match row.side {
            Some(Side::Buy) => "buy",
            Some(Side::Sell) => "sell",
            None => "",
        };
        writeln!(
            self.text,
            "{},{},{seen},{kind},{side},{price},{qty},{order_id},{symbol}",
            exchange_at.0, local_at.0
        )?;
        if self.text.len() >= BLOCK {
            self.out.write_all(&self.text)?;
            self.text.clear();
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), WriteError> {
        self.out.write_all(&self.text)?;
        self.out.flush()?;
        Ok(())
    }
}
