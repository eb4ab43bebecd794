//! `taut book`: books rebuilt from recorded market data.

mod binance;
mod dbn;
mod lobster;
mod verdict;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::exit::Failure;

/// Books rebuilt from recorded market data.
#[derive(Subcommand, Debug)]
pub enum Book {
    /// Rebuild a book from recorded market data and compare it with what the recording says.
    ///
    /// Exit code 1 when a difference has no explanation, or when there was nothing to verify.
    /// Differences that the recording itself explains, such as an order that came from outside its
    /// levels, are counted by reason.
    Verify(Verify),
}

/// What to compare.
#[derive(Args, Debug)]
pub struct Verify {
    /// What the recording is: lobster (order events and the book after each), binance (a capture of
    /// depth and bookTicker frames) or dbn (market by order, which has no second opinion: the final
    /// books are printed)
    #[arg(long)]
    format: Format,
    /// LOBSTER's message file
    #[arg(long, required_if_eq("format", "lobster"))]
    messages: Option<PathBuf>,
    /// LOBSTER's orderbook file; its number of levels is told by its columns
    #[arg(long, required_if_eq("format", "lobster"))]
    truth: Option<PathBuf>,
    /// A capture of Binance frames, one a line after its receive time; gzip or plain
    #[arg(long, required_if_eq("format", "binance"))]
    capture: Option<PathBuf>,
    /// The levels a side that the capture's snapshot was asked for: one that has as many lacks
    /// those behind them [default: any number that can be asked for]
    #[arg(long, value_name = "LEVELS")]
    snapshot_limit: Option<usize>,
    /// DBN files, in the order of time; zstd or plain
    #[arg(long, required_if_eq("format", "dbn"), num_args = 1..)]
    file: Vec<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Lobster,
    Binance,
    Dbn,
}

impl Verify {
    /// A file that this format does not read was meant for something.
    fn refuse_other_files(&self) -> Result<(), Failure> {
        let given = [
            ("--messages", self.messages.is_some(), Format::Lobster),
            ("--truth", self.truth.is_some(), Format::Lobster),
            ("--capture", self.capture.is_some(), Format::Binance),
            ("--snapshot-limit", self.snapshot_limit.is_some(), Format::Binance),
            ("--file", !self.file.is_empty(), Format::Dbn),
        ];
        match given.iter().find(|(_, is_given, of)| *is_given && *of != self.format) {
            Some((flag, _, of)) => Err(Failure::Usage(format!(
                "{flag}: belongs to --format {}; leave it out, or choose that format",
                of.name()
            ))),
            None => Ok(()),
        }
    }
}

impl Format {
    const fn name(self) -> &'static str {
        match self {
            Self::Lobster => "lobster",
            Self::Binance => "binance",
            Self::Dbn => "dbn",
        }
    }
}

/// Runs `taut book`.
pub fn run(Book::Verify(verify): &Book) -> Result<(), Failure> {
    verify.refuse_other_files()?;
    match (verify.format, &verify.messages, &verify.truth, &verify.capture) {
        (Format::Lobster, Some(messages), Some(truth), _) => {
            lobster::verify(messages, truth)?.print(verify.json)
        }
        (Format::Binance, _, _, Some(capture)) => {
            binance::verify(capture, verify.snapshot_limit)?.print(verify.json)
        }
        (Format::Dbn, ..) if !verify.file.is_empty() => {
            dbn::rebuild(&verify.file)?.print(verify.json)
        }
        (format, ..) => Err(Failure::Usage(format!("--format {} needs its files", format.name()))),
    }
}
