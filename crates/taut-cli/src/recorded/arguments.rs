//! The arguments of `taut import` and `taut export`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use taut_recording::{Conversion, DECIMALS_MAX, ReadOptions, Source, Target, midnight};
use taut_types::Nanos;

use crate::demo::{Choices, one_of};
use crate::exit::Failure;

/// Make of somebody else's recording one that a backtest reads.
///
/// The result is an npz file with hftbacktest's 64-byte rows, in the order of both clocks. The
/// files are read twice: once to know how the clocks differ, once to write. See docs/export.md.
#[derive(Args, Debug)]
pub struct Import {
    /// What the files are [default: as the first of them looks]
    #[arg(long, value_name = "FORMAT", value_parser = one_of(SOURCES))]
    from: Option<Files>,
    /// The files, in the order of their times; plain, gzip, or zstd where it is DBN
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The npz file to write
    #[arg(short, long, value_name = "FILE")]
    pub out: PathBuf,
    #[command(flatten)]
    reading: Reading,
    /// Replace the file if it is there
    #[arg(short, long)]
    pub force: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Write a recording as a file that others read.
///
/// Columns, flags, and how each format is opened in Python: docs/export.md.
#[derive(Args, Debug)]
pub struct Export {
    /// The recording; several are put together, in the order of their times
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// What the files are
    #[arg(long, value_name = "FORMAT", default_value = "npz", value_parser = one_of(FILES))]
    pub from: Files,
    /// What to write: parquet, npz, dbn and csv of a recording (a name that ends in .gz packs the
    /// text); pcapng of pcap files or of the frames of a capture
    #[arg(long, value_name = "FORMAT")]
    to: ExportFormat,
    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    pub out: PathBuf,
    /// Decimals of quantities in parquet and dbn [default: as few as hold them all]
    #[arg(long, value_name = "N",
          value_parser = clap::value_parser!(u8).range(..=i64::from(DECIMALS_MAX)))]
    quantity_decimals: Option<u8>,
    #[command(flatten)]
    reading: Reading,
    /// Replace the file if it is there
    #[arg(short, long)]
    pub force: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// How files are read.
#[derive(Args, Debug)]
struct Reading {
    /// The only instrument that is wanted; of an npz file, which names none, its name
    #[arg(long, value_name = "SYMBOL")]
    symbol: Option<String>,
    /// The day of a LOBSTER file, such as 2012-06-21 [default: as its name says]
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = day)]
    date: Option<Nanos>,
    /// What a LOBSTER file's rows take to us, in nanoseconds: they have one time
    #[arg(long, value_name = "NS", default_value_t = 0,
          value_parser = clap::value_parser!(i64).range(0..=1_000_000_000_000))]
    latency_ns: i64,
    /// The smallest latency in an npz file after clocks that disagree were set right, in
    /// nanoseconds
    #[arg(long, value_name = "NS", default_value_t = 0,
          value_parser = clap::value_parser!(i64).range(0..=1_000_000_000_000))]
    base_latency_ns: i64,
    /// Have best prices of streams that say nothing else, such as bookTicker, as rows, too
    #[arg(long)]
    best: bool,
}

/// What files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Files {
    /// Rows.
    Rows(Source),
    /// Packets, for pcapng alone.
    Packets,
}

/// What an import reads.
const SOURCES: &Choices<Files> = FILES.split_at(FILES.len() - 1).0;
/// What an export reads.
const FILES: &Choices<Files> = &[
    ("npz", Files::Rows(Source::Npz), "hftbacktest's events, as `taut import` makes them"),
    ("csv", Files::Rows(Source::Csv), "The text that `taut export --to csv` writes"),
    ("lobster", Files::Rows(Source::Lobster), "A LOBSTER message file"),
    ("dbn", Files::Rows(Source::Dbn), "Databento's mbo, trades and mbp-10"),
    (
        "binance",
        Files::Rows(Source::Binance),
        "Captured frames of Binance's JSON streams, a line each after its receive time",
    ),
    ("deribit", Files::Rows(Source::Deribit), "Captured frames of Deribit"),
    ("okx", Files::Rows(Source::Okx), "Captured frames of OKX"),
    (
        "tardis",
        Files::Rows(Source::Tardis),
        "Tardis: incremental_book_L2 and trades as CSV, merged by their local times",
    ),
    ("pcap", Files::Packets, "Packets, for pcapng alone"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    Parquet,
    Npz,
    Dbn,
    Csv,
    Pcapng,
}

impl Import {
    pub fn conversion(&self) -> Result<Conversion, Failure> {
        let from = match (self.from, self.files.first()) {
            (Some(Files::Rows(from)), _) => from,
            (Some(Files::Packets), _) => return Err(packets_alone()),
            (None, Some(first)) => Source::of(first)
                .map_err(|error| Failure::Usage(format!("{error} (--from says what it is)")))?,
            (None, None) => Source::Npz,
        };
        self.reading.conversion(from, &self.files, Target::Npz, None)
    }
}

impl Export {
    /// What to convert; nothing when it is packets.
    pub fn conversion(&self) -> Result<Option<Conversion>, Failure> {
        match (self.from, target(self.to, &self.out)) {
            (Files::Rows(from), Some(target)) => {
                let decimals = self.quantity_decimals;
                self.reading.conversion(from, &self.files, target, decimals).map(Some)
            }
            (Files::Packets, Some(_)) => Err(packets_alone()),
            (Files::Packets, None)
            | (Files::Rows(Source::Binance | Source::Deribit | Source::Okx), None) => Ok(None),
            (Files::Rows(_), None) => Err(Failure::Usage(
                "--to pcapng: it is of packets or frames; say what the files are with --from \
                 pcap, binance, deribit or okx"
                    .to_owned(),
            )),
        }
    }
}

fn packets_alone() -> Failure {
    Failure::Usage("--from pcap: packets are exported --to pcapng alone".to_owned())
}

impl Reading {
    fn conversion(
        &self,
        from: Source,
        files: &[PathBuf],
        to: Target,
        quantity_decimals: Option<u8>,
    ) -> Result<Conversion, Failure> {
        let is_lobster = from == Source::Lobster;
        if !is_lobster && (self.date.is_some() || self.latency_ns != 0) {
            let flag = if self.date.is_some() { "--date" } else { "--latency-ns" };
            let what = format!("{flag}: belongs to --from lobster; leave it out");
            return Err(Failure::Usage(what));
        }
        Ok(Conversion {
            from,
            files: files.to_vec(),
            to,
            reading: ReadOptions {
                symbol: self.symbol.clone(),
                midnight: self.date,
                latency: Nanos(self.latency_ns),
                has_best: self.best,
            },
            quantity_decimals,
            base_latency: self.base_latency_ns,
        })
    }
}

/// What an export becomes, by its name and the format.
fn target(format: ExportFormat, out: &Path) -> Option<Target> {
    let is_gzip = out.extension().is_some_and(|extension| extension == "gz");
    Some(match format {
        ExportFormat::Parquet => Target::Parquet,
        ExportFormat::Npz => Target::Npz,
        ExportFormat::Dbn => Target::Dbn,
        ExportFormat::Csv if is_gzip => Target::CsvGzip,
        ExportFormat::Csv => Target::Csv,
        ExportFormat::Pcapng => return None,
    })
}

fn day(text: &str) -> Result<Nanos, String> {
    midnight(text).ok_or_else(|| "expected a day of the calendar, such as 2012-06-21".to_owned())
}
