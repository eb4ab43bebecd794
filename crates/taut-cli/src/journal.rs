//! `taut journal`: what an order journal holds, and whether all of it can be believed.
//!
//! It reads the files and changes nothing; the gateway that writes them may go on.

mod json;
pub mod latencies;
mod reading;
mod show;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use taut_journal::writing_process;

use crate::exit::Failure;
use crate::terminal::print;
use reading::read_all;

/// Look at an order journal, and check it.
#[derive(Subcommand, Debug)]
pub enum JournalVerb {
    /// Show what a journal comes to: open orders, positions, kill switch; or its entries.
    Show(Show),
    /// Read and check all of a journal; exit code 1 when something in it cannot be believed.
    Check(Check),
    Latencies(latencies::Arguments),
}

/// A journal, in detail.
#[derive(Args, Debug)]
pub struct Show {
    /// The folder with the segments, such as state/journal.
    folder: PathBuf,
    /// Print every entry instead, a line each.
    #[arg(long)]
    entries: bool,
    /// Print JSON: one line, or with --entries a line for each.
    #[arg(long)]
    json: bool,
}

/// A journal, checked.
#[derive(Args, Debug)]
pub struct Check {
    /// The folder with the segments, such as state/journal.
    folder: PathBuf,
    /// Print one line of JSON.
    #[arg(long)]
    json: bool,
}

/// Does it.
pub fn run(what: &JournalVerb) -> Result<(), Failure> {
    match what {
        JournalVerb::Show(show) if show.entries => entries(show),
        JournalVerb::Show(Show { folder, json, .. }) => {
            let found = read_all(folder, &mut |_| ())?;
            let writer = writing_process(folder);
            if *json {
                print(json::state(&found, writer))
            } else {
                print(show::state(&found, writer).trim_end())
            }
        }
        JournalVerb::Check(Check { folder, json }) => check(folder, *json),
        JournalVerb::Latencies(arguments) => latencies::run(arguments),
    }
}

fn entries(arguments: &Show) -> Result<(), Failure> {
    let mut printed = Ok(());
    // Those that were printed are not printed again when the journal grows meanwhile.
    let mut last = 0;
    read_all(&arguments.folder, &mut |shown| {
        if printed.is_ok() && shown.sequence > last {
            last = shown.sequence;
            printed =
                if arguments.json { print(json::entry(shown)) } else { print(show::entry(shown)) };
        }
    })?;
    printed
}

fn check(folder: &Path, is_json: bool) -> Result<(), Failure> {
    let found = read_all(folder, &mut |_| ())?;
    let writer = writing_process(folder);
    if is_json {
        print(json::check(&found, writer))
    } else {
        print(show::check(&found, writer).trim_end())
    }
}
