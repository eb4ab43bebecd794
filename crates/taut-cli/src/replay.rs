//! `taut replay`: a recorded run once more, held against itself.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use taut_runner::Replayed;
use taut_sys::monotonic;

use crate::again::{again, open};
use crate::demo;
use crate::exit::Failure;
use crate::record::Contents;
use crate::terminal::{print, print_json, tell};

/// Do a recorded run once more and compare all that the gateway sends and comes to.
///
/// `taut demo --record DIR` and `taut gateway --record DIR` write down what the gateway hears:
/// packets, answers, times, commands, the requests of strategies in other processes. Here the same
/// gateway is given the same, without a network and without a clock. The exit code is 1 when
/// anything that it sends, tells a strategy or comes to differs from what was recorded; the first
/// difference is shown.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// The folder of the recording.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Compare with what was recorded: what happens without the flag, too.
    #[arg(long)]
    verify: bool,
    /// Judge each request by the limits in this file, too, and say which would have been refused:
    /// `[risk]`, `[[symbols]]`, `[[users]]`, `[[accounts]]` as a gateway's file has them
    #[arg(long, value_name = "FILE")]
    limits: Option<PathBuf>,
    /// Of a gateway with `--fused`: the strategy's file that it was given, too
    #[arg(long, value_name = "FILE")]
    strategy: Option<PathBuf>,
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
    dropped_after: Option<u64>,
    what_if: Option<WhatIf>,
}

/// What other limits say.
#[derive(Serialize)]
struct WhatIf {
    requests: u64,
    refused: u64,
    reasons: Vec<Reason>,
    first: Vec<String>,
}

#[derive(Serialize)]
struct Reason {
    reason: String,
    requests: u64,
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
    let mut recording = open(&arguments.folder)?;
    if let Some(file) = &arguments.limits {
        recording = recording.judged_by(file).map_err(demo::failure)?;
    }
    if let Some(other) = recording.other_build() {
        tell(format!("{other}: it may decide otherwise"));
    }
    let start = monotonic();
    let found = again(recording, arguments.strategy.as_deref())?;
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
        dropped_after: found.gap,
        what_if: found.what_if.as_ref().map(|judged| WhatIf {
            requests: judged.judged,
            refused: judged.refused_in_all(),
            reasons: judged
                .refused
                .iter()
                .map(|(reason, requests)| Reason { reason: reason.clone(), requests: *requests })
                .collect(),
            first: judged.first.clone(),
        }),
    }
}
