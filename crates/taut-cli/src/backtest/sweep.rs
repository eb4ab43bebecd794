//! `taut backtest sweep`: the same recordings with many settings.

mod page;
mod results;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use taut_backtest::Recording;
use taut_gateway::TouchStrategy;
use taut_report::Progress;
use taut_report::run::directory;
use taut_runner::RunnerError;
use taut_runner::backtest::{BacktestOutcome, Sweep, SweepPoint, run_points};
use taut_sys::stop_requests;

use super::input::{OwnStrategy, load};
use super::report::Report;
use crate::config_file::{ConfigFile, failure};
use crate::exit::{Failure, catch_stop_signals};
use crate::strategy::Parameters;
use crate::terminal;
use results::{Head, Results};

/// Run a strategy over the same recordings with many settings, on all processors.
///
/// What is gone through has the shape of the backtest's file, with lists and ranges where that has
/// values; every value meets every other one. The recordings are read once. With --out each result
/// is in sweep.jsonl as soon as it is there: after Ctrl-C or a kill the same command goes on with
/// what is missing. The results do not depend on the number of threads.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    #[command(flatten)]
    config: ConfigFile,
    /// What is gone through; `taut backtest sample --sweep` prints such a file [default: the
    /// `[sweep]` of the settings]
    #[arg(long, value_name = "FILE")]
    over: Option<PathBuf>,
    /// The recordings, as of `taut backtest`
    #[arg(long, value_name = "FILE", num_args = 1..)]
    data: Vec<String>,
    /// Which strategy
    #[arg(long, value_name = "STRATEGY", value_enum, default_value_t)]
    strategy: OwnStrategy,
    /// Keep the results in this directory, as sweep.jsonl and sweep.html, and go on with those that
    /// are there
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Begin anew where that directory has results
    #[arg(long, requires = "out")]
    overwrite: bool,
    /// The figure that the best are told by: a key of `taut backtest --json`, such as sharpe or
    /// orders.fill_rate
    #[arg(long, value_name = "KEY", default_value = "profit")]
    by: String,
    /// The lowest figures are the best
    #[arg(long)]
    lowest: bool,
    /// How many of the best are told
    #[arg(long, value_name = "N", default_value = "10")]
    top: NonZeroUsize,
    /// Threads [default: one for each processor]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// What is told at the end. The order of the fields is the order of the keys.
#[derive(Serialize)]
struct Told<'a> {
    sweep: &'a Head,
    done: usize,
    by: &'a str,
    best: Vec<&'a serde_json::value::RawValue>,
}

/// Runs it.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let path = arguments.config.path("backtest")?;
    let over = arguments.over.as_deref();
    let mut sweep = Sweep::<Parameters>::read(path, over).map_err(failure)?;
    if !arguments.data.is_empty() {
        sweep.set_data(arguments.data.iter().map(String::as_str)).map_err(failure)?;
    }
    check_figure(&arguments.by)?;
    if let Some(out) = &arguments.out {
        directory::check_for(out, &[], true)?;
    }
    catch_stop_signals()?;
    let mut progress = Progress::start();
    let recordings = load(&sweep.file, &mut progress)?;
    for point in &sweep.points {
        point.file.check(&recordings).map_err(failure)?;
    }
    let head = Head {
        identity: identity(&sweep, &recordings)?,
        strategy: "touch".to_owned(),
        keys: sweep.keys.clone(),
        points: sweep.points.len(),
    };
    let mut results = Results::open(arguments.out.as_deref(), head, arguments.overwrite)?;
    run_missing(arguments, &sweep, &recordings, &mut results, &mut progress)?;
    let is_whole = results.is_whole();
    if is_whole {
        results.finish(&page::html(&results, &arguments.by, arguments.lowest))?;
    }
    tell(arguments, &results)?;
    if is_whole { Ok(()) } else { Err(results.interrupted()) }
}

/// Runs what no result is there of.
fn run_missing(
    arguments: &Arguments,
    sweep: &Sweep<Parameters>,
    recordings: &[Recording],
    results: &mut Results,
    progress: &mut Progress,
) -> Result<(), Failure> {
    let OwnStrategy::Touch = arguments.strategy;
    let missing: Vec<_> = sweep.points.iter().filter(|it| !results.has(it.number)).collect();
    let own = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let threads = arguments.threads.unwrap_or(own);
    if missing.len() < sweep.points.len() {
        let (there, all) = (sweep.points.len() - missing.len(), sweep.points.len());
        terminal::tell(format_args!("{there} of {all} results are there already"));
    }
    let mut told = |result: Option<(usize, String)>| {
        if let Some((number, line)) = result {
            results.add(number, line).map_err(|error| RunnerError::Run(error.to_string()))?;
        }
        let (done, all) = (results.done(), results.head().points);
        progress.tell(&format!("{done} of {all} runs"));
        Ok(())
    };
    run_points(
        &missing,
        recordings,
        threads,
        |parameters: &Parameters, now| TouchStrategy::new(parameters.config(), now),
        line,
        || stop_requests() == 0,
        &mut told,
    )
    .map_err(failure)
}

/// What a run came to, as a line of the results.
fn line(point: &SweepPoint<Parameters>, outcome: &BacktestOutcome) -> String {
    #[derive(Serialize)]
    struct Line<'a> {
        point: usize,
        values: &'a [taut_runner::backtest::SweepValue],
        report: Report,
    }
    let report = Report::new(outcome, &point.file, "touch");
    let line = Line { point: point.number, values: &point.values, report };
    serde_json::to_string(&line).unwrap_or_default()
}

/// A figure has to be one before anything runs.
fn check_figure(by: &str) -> Result<(), Failure> {
    let report = serde_json::to_value(Report::default()).unwrap_or_default();
    let found = report.pointer(&results::pointer(by));
    if found.is_some_and(|it| it.is_number() || it.is_null() && by != "currency") {
        return Ok(());
    }
    let mut known = Vec::new();
    figures(&report, "", &mut known);
    Err(Failure::Usage(format!("--by {by}: no such figure; take one of {}", known.join(", "))))
}

/// The numbers of a report by their keys.
fn figures(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(keys) => {
            for (key, value) in keys {
                let dot = if path.is_empty() { "" } else { "." };
                figures(value, &format!("{path}{dot}{key}"), found);
            }
        }
        Value::Number(_) => found.push(path.to_owned()),
        Value::Null if path != "currency" => found.push(path.to_owned()),
        _ => {}
    }
}

/// What a sweep is of: settings, values, recordings, latencies, and what runs them.
fn identity(sweep: &Sweep<Parameters>, recordings: &[Recording]) -> Result<String, Failure> {
    let mut hash = Sha256::new();
    let version = concat!("taut ", env!("CARGO_PKG_VERSION"), " sweep 1\n");
    hash.update(version);
    hash.update(&sweep.text);
    for file in sweep.latency_files() {
        let read = std::fs::read(&file);
        let bytes = read.map_err(|error| {
            Failure::Usage(format!("{}: cannot read it ({error}); check the path", file.display()))
        })?;
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    }
    for recording in recordings {
        hash.update((recording.rows().len() as u64).to_le_bytes());
        for row in recording.rows() {
            let side = row.side().map_or(0, |side| 1 + side as u64);
            let seen = u64::from(row.is_at_exchange()) | u64::from(row.is_local()) << 1;
            let small = row.kind() as u64 | side << 8 | seen << 16;
            let times = [row.exchange_at(), row.local_at(), row.tick(), row.lots()];
            let [exchange, local, tick, lots] = times.map(i64::cast_unsigned);
            let mut bytes = [0; 48];
            let words = [exchange, local, tick, lots, row.order() as u64, small];
            for (to, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
                *to = word.to_le_bytes();
            }
            hash.update(bytes);
        }
    }
    Ok(format!("{:x}", hash.finalize()))
}

/// The best of what is there.
fn tell(arguments: &Arguments, results: &Results) -> Result<(), Failure> {
    let best = results.best(&arguments.by, arguments.lowest);
    let best = &best[..best.len().min(arguments.top.get())];
    if arguments.json {
        let raw = |result: &&results::OneResult| {
            serde_json::value::RawValue::from_string(result.line.clone())
        };
        let lines: Result<Vec<_>, _> = best.iter().map(raw).collect();
        let lines = lines.map_err(|error| Failure::run("the results", error))?;
        let best = lines.iter().map(AsRef::as_ref).collect();
        let (sweep, done, by) = (results.head(), results.done(), arguments.by.as_str());
        return terminal::print_json(&Told { sweep, done, by, best });
    }
    let (done, all) = (results.done(), results.head().points);
    let order = if arguments.lowest { "lowest" } else { "highest" };
    let by = &arguments.by;
    terminal::print(format!("{done} of {all} runs, those with the {order} {by} first\n"))?;
    terminal::print(page::table(results, best, by).markdown())?;
    if let Some(page) = results.page().filter(|_| results.is_whole()) {
        terminal::tell(format_args!("report: {}", page.display()));
    }
    Ok(())
}
