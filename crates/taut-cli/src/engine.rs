//! `taut engine`: the matching engine on an order flow from a file.

mod correctness;
mod handoff;
mod input;
mod latency;
mod outcome;
mod report;
mod throughput;

use std::num::NonZeroUsize;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use taut_engine::{Engine, EngineConfig};
use taut_types::Nanos;

use crate::exit::{Failure, catch_stop_signals};
use crate::progress::Progress;
use crate::report::Watch;
use input::Input;
use outcome::Outcome;
use throughput::{Snapshots, Timing};

/// The matching engine on an order flow from a file.
#[derive(Subcommand, Debug)]
pub enum EngineVerb {
    /// Run an order flow through the engine: its reports as hashes, its speed and its latency.
    ///
    /// One pass on a fresh book is hashed; then one warm book is filled, run against the clock and
    /// emptied until a second has been timed; then each command is timed alone, gross of the timer.
    Replay(Replay),
}

/// What to run.
#[derive(Args, Debug)]
pub struct Replay {
    /// The order flow: a file of bookgen ("BMX1") or of the neutral referee's generator
    #[arg(long)]
    input: PathBuf,
    /// Write the reports here, one a line: the text that the SHA-256 covers
    #[arg(long)]
    reports: Option<PathBuf>,
    /// Hand every report to a consumer thread through a ring, inside the timed window
    #[arg(long)]
    handoff: bool,
    /// Take a snapshot of the whole engine after so many commands, inside the timed window; in the
    /// pass that is hashed, go on with an engine restored from it
    #[arg(long, value_name = "COMMANDS")]
    snapshot_every: Option<NonZeroUsize>,
    /// How much to time at least, in milliseconds; the same again for the latencies
    #[arg(long, value_name = "MS", default_value_t = 1_000)]
    timed_ms: u32,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs `taut engine`.
pub fn run(EngineVerb::Replay(replay): &EngineVerb) -> Result<(), Failure> {
    refuse_to_overwrite(replay)?;
    let input = Input::read(&replay.input)?;
    // Interrupted, it leaves no half of the reports.
    catch_stop_signals()?;
    let mut progress = Progress::start();
    progress.tell("correctness pass");
    let known = correctness::pass(&input, replay.reports.as_deref(), replay.snapshot_every)?;

    // Enough for what has rested at once, and half as much again.
    let config = EngineConfig {
        order_capacity: (known.peak_resting + known.peak_resting / 2).max(1 << 10),
        level_capacity: (known.peak_levels + known.peak_levels / 2).max(1 << 8),
    };
    let mut engine = Engine::new(config);
    let watch = Watch::start();
    let mut snapshots = Snapshots { every: replay.snapshot_every, words: Vec::new() };
    let enough = Nanos::from_millis(replay.timed_ms.into());
    let timing = Timing { enough, expected: known.checksum };
    progress.tell("throughput");
    let timed = if replay.handoff {
        handoff::measure(&mut engine, &input, timing, &mut snapshots)?
    } else {
        throughput::measure(&mut engine, &input, timing, &mut snapshots)?
    };
    progress.tell("latency");
    let latency = latency::measure(&mut engine, &input, enough)?;
    Outcome::new(&known, timed, latency, watch.finish()).print(replay.json)
}

/// The reports must not replace the order flow that they are of.
fn refuse_to_overwrite(replay: &Replay) -> Result<(), Failure> {
    let Some(reports) = &replay.reports else { return Ok(()) };
    let identity = |path: &Path| path.metadata().map(|found| (found.dev(), found.ino())).ok();
    match (identity(&replay.input), identity(reports)) {
        (Some(input), Some(reports_to)) if input == reports_to => Err(Failure::Usage(format!(
            "--reports {}: is the --input; name another file",
            reports.display()
        ))),
        _ => Ok(()),
    }
}
