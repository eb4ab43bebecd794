//! `taut record`: what a recording of a run holds, whether all of it can be believed, and parts of
//! it. What makes one is `taut demo --record DIR`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde::Serialize;
use taut_journal::{Copied, InputSettings, JournalError, copy_inputs};
use taut_runner::{Build, Held, Recording};

use crate::demo;
use crate::exit::Failure;
use crate::progress::Progress;
use crate::terminal::{print, print_json};

/// Look at a recorded run, check it, cut it.
#[derive(Subcommand, Debug)]
pub enum Record {
    /// Say what a recording holds; exit code 1 when something in it cannot be believed.
    Info(Info),
    /// Copy a recording up to an entry into a new one: a run that ends there.
    Cut(Cut),
    /// Copy what can be believed of a damaged recording into a new one.
    Repair(Repair),
}

/// A recording.
#[derive(Args, Debug)]
pub struct Info {
    /// The folder of the recording.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Print one line of JSON.
    #[arg(long)]
    json: bool,
}

/// A part of a recording.
#[derive(Args, Debug)]
pub struct Cut {
    /// The folder of the recording.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The last entry of the new one.
    #[arg(long, value_name = "ENTRY", value_parser = clap::value_parser!(u64).range(2..))]
    to: u64,
    /// The new folder.
    #[arg(short, long, value_name = "NEW")]
    out: PathBuf,
}

/// What can be believed of a recording.
#[derive(Args, Debug)]
pub struct Repair {
    /// The folder of the recording.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The new folder.
    #[arg(short, long, value_name = "NEW")]
    out: PathBuf,
}

/// Does it.
pub fn run(what: &Record) -> Result<(), Failure> {
    match what {
        Record::Info(Info { folder, json }) => info(folder, *json),
        Record::Cut(Cut { folder, to, out }) => {
            let copied = copy(folder, out, Some(*to))?;
            if let Some(damage) = copied.damage {
                let (folder, frames) = (folder.display(), copied.frames);
                let said = format!("{folder}: {damage}; the {frames} entries before it are copied");
                return Err(Failure::Run(said));
            }
            if copied.frames < *to {
                return print(format!("{} entries: the recording has no more", copied.frames));
            }
            print(format!("{} entries", copied.frames))
        }
        Record::Repair(Repair { folder, out }) => {
            let copied = copy(folder, out, None)?;
            print(match copied.damage {
                None => format!("{} entries: nothing is damaged", copied.frames),
                Some(damage) => format!("{} entries; behind them: {damage}", copied.frames),
            })
        }
    }
}

/// Opens a recording, and tells how far it is when it takes long.
pub fn open(folder: &Path) -> Result<Recording, Failure> {
    let recording = Recording::open(folder).map_err(demo::failure)?;
    let mut progress = Progress::start();
    Ok(recording.progress(move |held| {
        let (seconds, entries) = (held.span.0 as f64 / 1e9, held.entries);
        progress.tell(&format!("{seconds:.1} s of the run, {entries} entries"));
    }))
}

fn copy(from: &Path, to: &Path, last: Option<u64>) -> Result<Copied, Failure> {
    // What is no recording is told before anything is made.
    open(from)?;
    let settings = InputSettings::default();
    let mut progress = Progress::start();
    let mut tell = |entries| progress.tell(&format!("{entries} entries"));
    copy_inputs(from, to, last, settings, &mut tell).map_err(|error| match error {
        JournalError::Folder(error) => Failure::Usage(format!(
            "--out {}: {error}; name a new folder: nothing is overwritten",
            to.display()
        )),
        error => Failure::run(&from.display().to_string(), error),
    })
}

/// What a recording holds, as `--json` prints it.
#[derive(Serialize)]
pub struct Contents {
    gateway: Option<String>,
    mode: &'static str,
    seconds: f64,
    entries: u64,
    turns: u64,
    housekeeping: u64,
    commands: u64,
    states: u64,
    dropped: u64,
    bytes: u64,
    unfinished: bool,
}

impl Contents {
    pub fn of(held: &Held) -> Self {
        let Held { entries, turns, rounds, commands, states, .. } = *held;
        let Held { dropped, bytes, unfinished, .. } = *held;
        Self {
            gateway: held.gateway.clone(),
            mode: held.mode.name(),
            seconds: held.span.0 as f64 / 1e9,
            entries,
            turns,
            housekeeping: rounds,
            commands,
            states,
            dropped,
            bytes,
            unfinished,
        }
    }
}

#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    build: &'a Build,
    #[serde(flatten)]
    contents: Contents,
}

fn info(folder: &Path, is_json: bool) -> Result<(), Failure> {
    let recording = open(folder)?;
    let build = recording.build().clone();
    let held = recording.look().map_err(demo::failure)?;
    if is_json {
        return print_json(&Report { build: &build, contents: Contents::of(&held) });
    }
    print(format!("{held}\nwritten by {build}"))
}
