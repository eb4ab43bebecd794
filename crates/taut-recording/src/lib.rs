//! Recorded market data: what files of others hold, read and checked.
//!
//! | module | format |
//! |---|---|
//! | [`lobster`] | LOBSTER: order events of NASDAQ, and the book after each |
//! | [`dbn`] | Databento's DBN: market by order |
//! | [`capture`] | frames of a venue, one a line after its receive time; gzip or plain |
//! | [`pcap`] | classic pcap: UDP datagrams |
//! | [`pcapng`] | packets and frames, written for Wireshark |
//! | [`packets`] | IP, TCP and UDP headers before what sockets said |
//! | [`npz`] | numpy's npz: structured arrays |
//! | [`hft`] | hftbacktest's event and latency files, which are npz |
//! | [`hlog`] | HdrHistogram's logs: how often each latency was |
//! | [`rows`] | what all of them come to, one after the other |
//!
//! [`convert`] reads one format and writes another, in bounded memory; [`Recorded`] packs any of
//! them for a backtest.
//!
//! What is wrong with a file is a [`FileError`]: one line that names the file, the place, the value
//! and what to do.
#![forbid(unsafe_code)]

pub mod align;
pub mod capture;
mod convert;
pub mod dbn;
mod error;
mod float;
pub mod hft;
pub mod hlog;
pub mod lobster;
pub mod npz;
pub mod packets;
pub mod pcap;
pub mod pcapng;
mod read;
mod recorded;
pub mod rows;
mod text;
mod write;
mod zstd;

pub use convert::{Conversion, ConvertError, Converted, Output, Step, convert};
pub use error::FileError;
pub use float::DECIMALS_MAX;
pub use read::{ReadOptions, Source, midnight, open_rows};
pub use recorded::{Recorded, record_npz};
pub use write::{ParquetTable, ParquetType, ParquetValue, Target, latency_file};

/// The lines of a text, from 1, without their ends; one empty line of an empty text.
fn lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let body = text.strip_suffix(b"\n").unwrap_or(text);
    (1..)
        .zip(body.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)))
}
