//! `taut journal`: what an order journal holds, and whether all of it can be believed.
//!
//! It reads the files and changes nothing; the gateway that writes them may go on.

mod json;
mod latencies;
mod show;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use taut_journal::{JournalError, Recovered, Shown, read, writing_process};

use crate::exit::Failure;
use crate::terminal::print;

/// How often a journal is read again that is written meanwhile.
const READS_MAX: u32 = 5;
/// How many executions are remembered, as the gateway does by default.
const EXECUTIONS_MAX: usize = 65_536;

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

/// Reads a journal. While somebody writes it, what looks damaged may be half of what is written
/// at this moment: then it is read again.
fn read_all(folder: &Path, visit: &mut dyn FnMut(&Shown)) -> Result<Recovered, Failure> {
    let is_folder = std::fs::read_dir(folder).map(drop);
    is_folder.map_err(|error| Failure::unreadable(folder, error))?;
    let mut reads = 1;
    loop {
        match read(folder, EXECUTIONS_MAX, visit) {
            Ok(found) if found.segments.is_empty() => {
                let folder = folder.display();
                return Err(Failure::Usage(format!("{folder}: no journal: no segment is there")));
            }
            Ok(found) => return Ok(found),
            Err(JournalError::Damaged(_) | JournalError::File { .. })
                if reads < READS_MAX && writing_process(folder).is_some() =>
            {
                reads += 1;
            }
            Err(error) => return Err(Failure::run(&folder.display().to_string(), error)),
        }
    }
}
