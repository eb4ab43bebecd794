//! `taut replay`: a recorded run once more, held against itself.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use taut_runner::Replayed;
use taut_sys::monotonic;

use crate::demo;
use crate::exit::Failure;
use crate::record::{self, Contents};
use crate::terminal::{print, print_json};

/// Do a recorded run once more and compare all that the gateway sends and comes to.
///
/// `taut demo --record DIR` writes down what the gateway hears: packets, answers, times, the
/// requests of a strategy in another process. Here the same gateway is given the same, without a
/// network and without a clock. The exit code is 1 when anything that it sends, tells a strategy or
/// comes to differs from what was recorded; the first difference is shown.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// The folder of the recording.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Compare with what was recorded: what happens without the flag, too.
    #[arg(long)]
    verify: bool,
    /// Print one line of JSON.
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    contents: Contents,
    ticks: u64,
    orders: u64,
    requests_compared: Option<u64>,
    replayed_in_seconds: f64,
    difference: Option<Difference>,
}

#[derive(Serialize)]
struct Difference {
    entry: u64,
    seconds: f64,
    doing: &'static str,
    what: String,
}

/// Does it.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let recording = record::open(&arguments.folder)?;
    let start = monotonic();
    let found = recording.verify(demo::strategy).map_err(demo::failure)?;
    let seconds = monotonic().since(start).0 as f64 / 1e9;
    if arguments.json {
        print_json(&report(&found, seconds))?;
    } else {
        print(format!("{found}\nreplayed in {seconds:.3} s"))?;
    }
    match found.divergence {
        None => Ok(()),
        Some(divergence) => Err(Failure::Run(format!("the replay differs: {divergence}"))),
    }
}

fn report(found: &Replayed, seconds: f64) -> Report {
    Report {
        contents: Contents::of(&found.held),
        ticks: found.counters.ticks,
        orders: found.counters.orders,
        requests_compared: found.requests_compared,
        replayed_in_seconds: seconds,
        difference: found.divergence.as_ref().map(|divergence| Difference {
            entry: divergence.entry,
            seconds: divergence.at.0 as f64 / 1e9,
            doing: divergence.doing,
            what: divergence.what.clone(),
        }),
    }
}
