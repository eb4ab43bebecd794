//! hftbacktest's event files: an npz with one array, `data`, of 64-byte rows.
//!
//! How many rows there are stands in the array's header, and is known at the end. So the header is
//! a block of its own that is stored, at the beginning of the packed bytes (RFC 1951, section
//! 3.2.4), and is set right when all rows are packed behind it.

use std::io::{self, Seek, SeekFrom, Write};

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use taut_backtest::LatencyRow;
use taut_types::{Price, Side};

use crate::float;
use crate::hft::{BUY, EVENT_FIELDS, EXCHANGE, HftRow, LOCAL, SELL};
use crate::npz::{FieldType, zip};
use crate::rows::{Row, WriteError, WriteRows};

const NAME: &[u8] = b"data.npy";
/// Rows of this dtype have a header of so many bytes, whatever their number; a multiple of 64.
const HEADER_BYTES: usize = 256;
/// The level of the compression: higher ones take twice as long for a tenth of the bytes.
const LEVEL: u32 = 4;
/// Bytes that are packed at once.
const BLOCK: usize = 1 << 16;

pub(super) struct NpzWriter<W: Write> {
    packed: DeflateEncoder<W>,
    crc: Crc,
    rows: u64,
    block: Vec<u8>,
    /// Where the archive begins in the output, and where the array's bytes do.
    start: u64,
    data_at: u64,
}

impl<W: Write + Seek> NpzWriter<W> {
    pub(super) fn begin(mut out: W) -> Result<Self, WriteError> {
        let start = out.stream_position().map_err(|_| {
            let what = "an npz file is set right at its end: name a plain file, not a pipe";
            WriteError::Unfit(what.to_owned())
        })?;
        out.write_all(&zip::local(NAME, &zip::Sizes::default()))?;
        let data_at = out.stream_position()?;
        out.write_all(&stored(&header(EVENT_FIELDS, 0)))?;
        let packed = DeflateEncoder::new(out, Compression::new(LEVEL));
        Ok(Self { packed, crc: Crc::new(), rows: 0, block: Vec::new(), start, data_at })
    }

    fn pack(&mut self) -> Result<(), WriteError> {
        self.crc.update(&self.block);
        self.packed.write_all(&self.block)?;
        self.block.clear();
        Ok(())
    }
}

impl<W: Write + Seek> WriteRows for NpzWriter<W> {
    fn write_row(&mut self, row: &Row) -> Result<(), WriteError> {
        self.rows += 1;
        self.block.extend_from_slice(&hft_row(row).to_bytes());
        if self.block.len() >= BLOCK { self.pack() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<(), WriteError> {
        self.pack()?;
        let Self { packed, crc: rows_crc, rows, start, data_at, .. } = *self;
        let mut out = packed.finish()?;
        let end = out.stream_position()?;
        let header = header(EVENT_FIELDS, rows);
        let mut crc = Crc::new();
        crc.update(&header);
        crc.combine(&rows_crc);
        let bytes = header.len() as u64 + rows * size_of::<[u64; EVENT_FIELDS.len()]>() as u64;
        let sizes = zip::Sizes { crc: crc.sum(), packed: end - data_at, bytes };
        out.write_all(&zip::directory(NAME, &sizes, end - start))?;
        let end = out.stream_position()?;
        out.seek(SeekFrom::Start(start))?;
        out.write_all(&zip::local(NAME, &sizes))?;
        out.write_all(&stored(&header))?;
        out.seek(SeekFrom::Start(end))?;
        out.flush()?;
        Ok(())
    }
}

/// The row as the file has it: floats next to the decimals.
fn hft_row(row: &Row) -> HftRow {
    let side = match row.side {
        Some(Side::Buy) => BUY,
        Some(Side::Sell) => SELL,
        None => 0,
    };
    let exchange = if row.is_at_exchange() { EXCHANGE } else { 0 };
    let local = if row.is_local() { LOCAL } else { 0 };
    HftRow {
        ev: row.kind as u64 | side | exchange | local,
        exch_ts: row.exchange_at.0,
        local_ts: row.local_at.0,
        px: float::of_decimal(row.price.0, Price::DECIMALS),
        qty: float::of_decimal(row.qty.mantissa, row.qty.decimals),
        order_id: row.order_id,
        ival: 0,
        fval: 0.0,
    }
}

/// An npz file of measured order latencies, as hftbacktest has them and [`read_latencies`] reads
/// them: three times and a field that is free, 32 bytes a row.
///
/// [`read_latencies`]: crate::hft::read_latencies
///
/// # Errors
/// None of what is written to memory.
pub fn latency_file(rows: &[LatencyRow]) -> io::Result<Vec<u8>> {
    let fields = ["req_ts", "exch_ts", "resp_ts", "_padding"].map(|name| (name, FieldType::Signed));
    let mut array = header(fields, rows.len() as u64);
    for row in rows {
        for time in [row.request_at, row.exchange_at, row.response_at, 0] {
            array.extend_from_slice(&time.to_le_bytes());
        }
    }
    let mut packed = DeflateEncoder::new(Vec::new(), Compression::new(LEVEL));
    packed.write_all(&array)?;
    let packed = packed.finish()?;
    let mut crc = Crc::new();
    crc.update(&array);
    let sizes =
        zip::Sizes { crc: crc.sum(), packed: packed.len() as u64, bytes: array.len() as u64 };
    let mut file = zip::local(NAME, &sizes);
    file.extend_from_slice(&packed);
    let directory = zip::directory(NAME, &sizes, file.len() as u64);
    file.extend_from_slice(&directory);
    Ok(file)
}

/// The npy header of so many rows (numpy's `lib/format.py`, version 1).
fn header<const N: usize>(fields: [(&str, FieldType); N], rows: u64) -> Vec<u8> {
    let fields = fields.map(|(name, kind)| {
        let kind = match kind {
            FieldType::Unsigned => "<u8",
            FieldType::Signed => "<i8",
            FieldType::Float => "<f8",
        };
        format!("('{name}', '{kind}')")
    });
    let descr = fields.join(", ");
    let text = format!("{{'descr': [{descr}], 'fortran_order': False, 'shape': ({rows},), }}");
    let begin = b"\x93NUMPY\x01\x00";
    let len = HEADER_BYTES - begin.len() - 2;
    let mut header = begin.to_vec();
    header.extend_from_slice(&u16::try_from(len).unwrap_or(u16::MAX).to_le_bytes());
    header.extend_from_slice(text.as_bytes());
    header.resize(HEADER_BYTES - 1, b' ');
    header.push(b'\n');
    header
}

/// Bytes as a block of deflate that is not the last one.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let len = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
    [&[0], &len.to_le_bytes()[..], &(!len).to_le_bytes(), bytes].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.npz");
        let row = |at| LatencyRow { request_at: at, exchange_at: at + 1, response_at: at + 9 };
        let rows: Vec<_> = (0..9).map(row).collect();
        std::fs::write(&path, latency_file(&rows).expect("bytes")).expect("a file");
        assert_eq!(crate::hft::read_latencies(&path), Ok(rows));
    }

    #[test]
    fn the_header_has_room_for_every_number_of_rows() {
        for rows in [0, 1, 491_973, u64::MAX] {
            let header = header(EVENT_FIELDS, rows);
            let text = String::from_utf8_lossy(&header);
            assert_eq!(header.len() % 64, 0);
            assert!(text.contains(&format!("({rows},), }}")) && text.ends_with('\n'), "{text}");
        }
    }
}
