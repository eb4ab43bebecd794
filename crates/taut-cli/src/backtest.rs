//! `taut backtest`: a strategy over recorded market data, in the gateway's own code.

mod compare;
mod csv;
mod input;
mod page;
mod parquet;
mod report;
mod sweep;

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use taut_gateway::TouchStrategy;
use taut_report::run::directory;
use taut_report::{Progress, files};
use taut_runner::backtest::{
    BACKTEST_SAMPLE, BacktestEnd, BacktestFile, BacktestOutcome, SWEEP_SAMPLE, run as run_over,
};
use taut_sys::stop_requests;
use taut_types::Nanos;

use crate::config_file::{ConfigFile, failure};
use crate::exit::{Failure, catch_stop_signals};
use crate::strategy::Parameters;
use crate::terminal;
use input::{OwnStrategy, load};
use report::Report;

/// Run a strategy over recorded market data against a simulated exchange.
///
/// The strategy runs in the code of a gateway that is live, with its books, pre-trade checks, order
/// table and positions; its orders go to a simulated exchange over the same recording, with latency
/// in both directions. Time is the recording's, and the same input gives the same output. Ctrl-C
/// ends it early and tells what it came to so far. A strategy of your own runs with
/// `taut::runner::backtest`: see docs/backtest.md.
#[derive(Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(flatten)]
    config: ConfigFile,
    /// The recordings, in the place of `[data]` in the file: what `taut import` reads, in the order
    /// of their times; where there are several instruments as SYMBOL=FILE
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "config")]
    data: Vec<String>,
    /// Which strategy; its `[parameters]` are those of `taut strategy`
    #[arg(long, value_name = "STRATEGY", value_enum, default_value_t, requires = "config")]
    strategy: OwnStrategy,
    /// Write orders, fills, positions and equity as CSV and Parquet, backtest.json and
    /// backtest.html to this directory
    #[arg(long, value_name = "DIR", requires = "config")]
    out: Option<PathBuf>,
    /// Replace the files of another run in that directory
    #[arg(long, requires = "out")]
    overwrite: bool,
    /// Print one line of JSON
    #[arg(long, requires = "config")]
    json: bool,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Subcommand, Clone, Debug)]
enum Verb {
    Compare(compare::Arguments),
    /// Print a file of settings with every key
    Sample {
        /// Print a file of what a sweep goes through
        #[arg(long)]
        sweep: bool,
    },
    Sweep(Box<sweep::Arguments>),
}

/// What is written.
const FILES: [&str; 9] = [
    "backtest.html",
    "backtest.json",
    "orders.csv",
    "fills.csv",
    "equity.csv",
    "orders.parquet",
    "fills.parquet",
    "positions.parquet",
    "equity.parquet",
];

/// Runs it.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.verb {
        Some(Verb::Sample { sweep }) => {
            let sample = if *sweep { SWEEP_SAMPLE } else { BACKTEST_SAMPLE };
            return terminal::print(sample.trim_end());
        }
        Some(Verb::Sweep(arguments)) => return sweep::run(arguments),
        Some(Verb::Compare(arguments)) => return compare::run(arguments),
        None => {}
    }
    let path = arguments.config.path("backtest")?;
    let mut file = BacktestFile::<Parameters>::read(path).map_err(failure)?;
    if !arguments.data.is_empty() {
        file.set_data(arguments.data.iter().map(String::as_str)).map_err(failure)?;
    }
    if let Some(out) = &arguments.out {
        directory::check_for(out, &FILES, arguments.overwrite)?;
    }
    catch_stop_signals()?;
    let outcome = run_file(&file, arguments.strategy)?;
    let report = Report::new(&outcome, &file, "touch");
    if let Some(out) = &arguments.out {
        write(out, &outcome, &report)?;
    }
    if arguments.json {
        terminal::print_json(&report)?;
    } else {
        terminal::print(page::text(&report))?;
    }
    match outcome.end {
        BacktestEnd::Exchange(error) => Err(Failure::Run(format!("it ended early: {error}"))),
        _ => Ok(()),
    }
}

/// Reads the recordings and runs over them.
fn run_file(
    file: &BacktestFile<Parameters>,
    strategy: OwnStrategy,
) -> Result<BacktestOutcome, Failure> {
    let mut progress = Progress::start();
    let recordings = load(file, &mut progress)?;
    let markets = file.markets(&recordings).map_err(failure)?;
    let times =
        || recordings.iter().flat_map(|it| it.rows().first().into_iter().chain(it.rows().last()));
    let start = times().map(|row| row.exchange_at()).min().unwrap_or(0);
    let end = times().map(|row| row.local_at()).max().unwrap_or(0);
    let mut go_on = |now: Nanos| {
        let (passed, all) = ((now.0 - start) as f64 / 1e9, (end - start) as f64 / 1e9);
        progress.tell(&format!("{passed:.0} of {all:.0} s of the recording"));
        stop_requests() == 0 && !progress.is_abandoned()
    };
    let OwnStrategy::Touch = strategy;
    let config = file.parameters.config();
    let make = |now| TouchStrategy::new(config, now);
    run_over(markets, &file.settings().map_err(failure)?, make, &mut go_on).map_err(failure)
}

/// Writes the page, the JSON and the tables.
fn write(out: &Path, outcome: &BacktestOutcome, report: &Report) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::run(&out.display().to_string(), error);
    let json = serde_json::to_string(report).map_err(|error| failed(&error))? + "\n";
    let table = |table: io::Result<Vec<u8>>| table.map_err(|error| failed(&error));
    let contents = [
        page::html(report, outcome).into_bytes(),
        json.into_bytes(),
        csv::orders(outcome).into_bytes(),
        csv::fills(outcome).into_bytes(),
        csv::equity(outcome).into_bytes(),
        table(parquet::orders(outcome))?,
        table(parquet::fills(outcome))?,
        table(parquet::positions(outcome))?,
        table(parquet::equity(outcome))?,
    ];
    let named: Vec<_> = FILES.into_iter().zip(contents).collect();
    files::write_all(out, &named).map_err(|error| failed(&error))?;
    terminal::tell(format_args!("report: {}", out.join("backtest.html").display()));
    Ok(())
}
