//! `taut record`: what a recording of a run holds, whether all of it can be believed, and parts of
//! it. What makes one is `taut demo --record DIR`, `taut gateway --record DIR` and, of market data
//! alone, `taut record feed`.

mod feed;
mod merge;
mod moment;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use clap::{Args, Subcommand};
use serde::Serialize;
use taut_fix::{Precision, StampCache};
use taut_journal::{Copied, Frame, JournalError, Reader, Settings, segment_name};
use taut_report::files::WholeFile;
use taut_runner::{Build, Held};
use taut_types::Nanos;

use crate::again::{again, open};
use crate::demo;
use crate::exit::{Failure, catch_stop_signals};
use crate::journal::latencies;
use crate::progress::Progress;
use crate::recorded::Output;
use crate::terminal::{print, print_json};
use moment::Moment;

/// Look at a recorded run, check it, cut it; record market data.
#[derive(Subcommand, Debug)]
pub enum Record {
    /// Say what a recording holds; exit code 1 when something in it cannot be believed.
    Info(Info),
    /// Read all of some recordings; exit code 1 when one has something that cannot be believed, or
    /// entries that were dropped.
    Check(Check),
    /// Print the entries of several recordings as one sequence, by their times in UTC: which
    /// gateway did something when another one did.
    Merge(Merge),
    /// Write the market as the recorded gateway followed it to a file of rows: data for a backtest
    /// of another strategy (`taut import FILE --to npz`, `taut backtest --data`).
    Market(Again),
    /// Write what passed on the sockets of the recorded gateway as packets (pcapng), for Wireshark.
    Packets(Again),
    Feed(feed::Feed),
    Latencies(latencies::Arguments),
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
    /// Say which entry was the first from this moment on, and where it is, by the time table:
    /// `12.5s` from the beginning, or UTC such as 20261127-13:05:12.250
    #[arg(long, value_name = "TIME", value_parser = Moment::parse)]
    at: Option<Moment>,
    /// Print one line of JSON.
    #[arg(long)]
    json: bool,
}

/// Some recordings.
#[derive(Args, Debug)]
pub struct Check {
    /// Their folders.
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
}

/// Some recordings, as one sequence.
#[derive(Args, Debug)]
pub struct Merge {
    /// Their folders.
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// Print a line of JSON for each entry.
    #[arg(long)]
    json: bool,
}

/// What is written of a recording while it is done again.
#[derive(Args, Debug)]
pub struct Again {
    /// The folder of the recording.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Of a gateway with `--fused`: the strategy's file that it was given, too
    #[arg(long, value_name = "FILE")]
    strategy: Option<PathBuf>,
    /// The file: of a market, in the columns of `taut export`'s csv.
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// Replace the file if it is there already.
    #[arg(short, long)]
    force: bool,
}

/// The last entry of a part.
#[derive(Clone, Copy, Debug)]
enum End {
    Entry(u64),
    At(Moment),
}

impl End {
    fn parse(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(entry @ 2..) => Ok(Self::Entry(entry)),
            Ok(_) => Err("at least entry 2: the first says what was recorded".to_owned()),
            Err(_) => Moment::parse(text).map(Self::At).map_err(|it| format!("an entry, or {it}")),
        }
    }
}

/// A part of a recording.
#[derive(Args, Debug)]
pub struct Cut {
    /// The folder of the recording.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The last entry of the new one, or its time: `12.5s` from the beginning, or UTC such as
    /// 20261127-13:05:12.250
    #[arg(long, value_name = "ENTRY|TIME", value_parser = End::parse)]
    to: End,
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
        Record::Info(Info { folder, at: Some(at), json }) => at_moment(folder, *at, *json),
        Record::Info(Info { folder, at: None, json }) => info(folder, *json),
        Record::Check(Check { folders }) => check(folders),
        Record::Market(what) => written_again(what, Written::Market),
        Record::Packets(what) => written_again(what, Written::Packets),
        Record::Merge(Merge { folders, json }) => merge::merge(folders, *json),
        Record::Feed(what) => {
            feed::record(what)?;
            info(&what.out, what.json)
        }
        Record::Latencies(what) => latencies::run(what),
        Record::Cut(Cut { folder, to, out }) => {
            let to = &match to {
                End::Entry(entry) => *entry,
                End::At(moment) => last_entry(folder, *moment)?,
            };
            let copied = copy(folder, out, Some(*to))?;
            if let Some(damage) = copied.damage {
                let (folder, entries) = (folder.display(), copied.entries);
                let said =
                    format!("{folder}: {damage}; the {entries} entries before it are copied");
                return Err(Failure::Run(said));
            }
            if copied.last < *to {
                return print(format!("{} entries: the recording has no more", copied.entries));
            }
            print(format!("{} entries", copied.entries))
        }
        Record::Repair(Repair { folder, out }) => {
            let copied = copy(folder, out, None)?;
            print(match copied.damage {
                None => format!("{} entries: nothing is damaged", copied.entries),
                Some(damage) => format!("{} entries; behind them: {damage}", copied.entries),
            })
        }
    }
}

fn copy(from: &Path, to: &Path, last: Option<u64>) -> Result<Copied, Failure> {
    // What is no recording is told before anything is made.
    open(from)?;
    let settings = Settings::of_recording();
    let mut progress = Progress::start();
    let mut tell = |entries| progress.tell(&format!("{entries} entries"));
    taut_journal::copy(from, to, last, settings, &mut tell).map_err(|error| match error {
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
    order_entries: u64,
    dropped: u64,
    bytes: u64,
    unfinished: bool,
}

impl Contents {
    pub fn of(held: &Held) -> Self {
        let Held { entries, turns, rounds, commands, states, .. } = *held;
        let Held { order_entries, dropped, bytes, unfinished, .. } = *held;
        Self {
            gateway: held.gateway.clone(),
            mode: held.mode.name(),
            seconds: held.span.0 as f64 / 1e9,
            entries,
            turns,
            housekeeping: rounds,
            commands,
            states,
            order_entries,
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

/// Where an entry is, as `--json` prints it.
#[derive(Serialize)]
struct Found {
    entry: u64,
    utc_ns: i64,
    seconds: f64,
    segment: u32,
    offset: u64,
}

/// Says which entry was the first from a moment on.
fn at_moment(folder: &Path, at: Moment, is_json: bool) -> Result<(), Failure> {
    let recording = open(folder)?;
    let (time, (began, _)) = (at.of(&recording), recording.began());
    let found = find(folder, time, |frame| frame.time >= time)?;
    let Some((frame, (segment, offset))) = found else {
        let said = format!("{}: it has no entry from then on", folder.display());
        return Err(Failure::Run(said));
    };
    let (entry, time) = frame;
    let (utc, seconds) = (recording.utc_at(time), time.since(began).0 as f64 / 1e9);
    if is_json {
        return print_json(&Found { entry, utc_ns: utc.0, seconds, segment, offset });
    }
    let (stamp, name) = (StampCache::new(Precision::Micros).text(utc), segment_name(segment));
    let stamp = stamp.as_str();
    print(format!("entry {entry}, {stamp} UTC, {seconds:.6} s: {name} at byte {offset}"))
}

/// The last entry at a moment.
fn last_entry(folder: &Path, at: Moment) -> Result<u64, Failure> {
    let time = at.of(&open(folder)?);
    let behind = find(folder, time, |frame| frame.time > time)?;
    match behind {
        Some(((entry, _), _)) if entry > 2 => Ok(entry - 1),
        Some(_) => {
            let said = format!("--to: {} begins later", folder.display());
            Err(Failure::Usage(said))
        }
        None => Ok(u64::MAX),
    }
}

type Place = ((u64, Nanos), (u32, u64));

/// The first entry of which this is so, looked for from a time on: number, time, segment, byte.
fn find(
    folder: &Path,
    time: Nanos,
    is_it: impl Fn(&Frame<'_>) -> bool,
) -> Result<Option<Place>, Failure> {
    let failed = |error| Failure::run(&folder.display().to_string(), error);
    let mut reader = Reader::open_before(folder, time).map_err(failed)?;
    while let Some(frame) = reader.next_frame().map_err(failed)? {
        // Entries about orders have another clock.
        if !frame.is_about_orders() && is_it(&frame) {
            return Ok(Some(((frame.sequence, frame.time), frame.at)));
        }
    }
    Ok(None)
}

/// Has the gateway do it all again, and writes something of that down.
fn written_again(what: &Again, of: Written) -> Result<(), Failure> {
    let Again { folder, strategy, out, force } = what;
    let output = Output::new(out, *force, &[])?;
    let recording = open(folder)?;
    // What was begun is taken away.
    catch_stop_signals()?;
    let file = output.create()?;
    let (file, written) = Shared::new(file);
    let into = BufWriter::new(file);
    let recording = match of {
        Written::Market => recording.writing_market(into),
        Written::Packets => recording.writing_packets(into).map_err(demo::failure)?,
    };
    let found = again(recording, strategy.as_deref())?;
    if let Some(divergence) = found.divergence {
        return Err(Failure::Run(format!("the replay differs, no file: {divergence}")));
    }
    let file = written.lock().ok().and_then(|mut file| file.take());
    let missing = || Failure::Run(format!("{}: it was not written", out.display()));
    let bytes = output.finish(file.ok_or_else(missing)?)?;
    let (count, called) = match of {
        Written::Market => (found.market_rows, "rows"),
        Written::Packets => (found.packets, "packets"),
    };
    let end = found.gap.map_or_else(String::new, |entry| {
        format!("; up to entry {entry}, where some were dropped: nothing behind it is known")
    });
    print(format!("{} {called}, {bytes} bytes{end}", count.unwrap_or_default()))
}

/// What is written.
#[derive(Clone, Copy, Debug)]
enum Written {
    Market,
    Packets,
}

/// A file that is written elsewhere, and put in its place here.
struct Shared(Arc<Mutex<Option<WholeFile>>>);

impl Shared {
    fn new(file: WholeFile) -> (Self, Arc<Mutex<Option<WholeFile>>>) {
        let file = Arc::new(Mutex::new(Some(file)));
        (Self(Arc::clone(&file)), file)
    }

    fn with<T>(&self, act: impl FnOnce(&mut WholeFile) -> io::Result<T>) -> io::Result<T> {
        let mut file = self.0.lock().map_err(|_| io::Error::other("it is lost"))?;
        act(file.as_mut().ok_or_else(|| io::Error::other("it is finished"))?)
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.with(|file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.with(io::Write::flush)
    }
}

/// Reads all of some recordings.
fn check(folders: &[PathBuf]) -> Result<(), Failure> {
    let mut wrong = Vec::new();
    for folder in folders {
        let path = folder.display();
        match open(folder)?.look() {
            Ok(held) if held.dropped > 0 => {
                wrong.push(format!("{path}: {} entries were dropped", held.dropped));
            }
            Ok(held) => {
                let end =
                    if held.unfinished { ", cut off where its process was killed" } else { "" };
                print(format!("{path}: {} entries are right{end}", held.entries))?;
            }
            Err(error) => wrong.push(error.to_string()),
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(Failure::Run(wrong.join("\n"))) }
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
