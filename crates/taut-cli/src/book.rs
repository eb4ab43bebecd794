//! `taut book`: books rebuilt from recorded market data.

mod binance;
mod dbn;
mod lobster;
mod verdict;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::exit::Failure;

/// The arguments of `taut book`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// Rebuild a book from recorded market data and compare it with what the recording says.
    Verify(Verify),
}

#[derive(Args, Debug)]
struct Verify {
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

/// Runs `taut book`.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Verb::Verify(verify) = &arguments.verb;
    match (verify.format, &verify.messages, &verify.truth, &verify.capture) {
        (Format::Lobster, Some(messages), Some(truth), _) => {
            lobster::verify(messages, truth)?.print(verify.json)
        }
        (Format::Binance, _, _, Some(capture)) => binance::verify(capture)?.print(verify.json),
        (Format::Dbn, ..) if !verify.file.is_empty() => {
            let books = dbn::rebuild(&verify.file)?;
            books.print(verify.json);
            Ok(())
        }
        (format, ..) => Err(Failure::Usage(format!("--format {format:?} needs its files"))),
    }
}
