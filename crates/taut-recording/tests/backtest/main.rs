//! Every case of the backtest referee, row for row: what hftbacktest's exchange answered to
//! recorded requests, the positions and the money, with [`Compat::HFTBACKTEST`].
//!
//! [`Compat::HFTBACKTEST`]: taut_backtest::Compat::HFTBACKTEST

mod case;
mod convert;
mod engine;
mod grid;
mod replay;

use std::path::{Path, PathBuf};

use taut_backtest::{
    Chance, Compat, ConstantLatency, Exchange, InterpolatedLatency, Latency, LevelExchange,
    OrderExchange, Probability, Recording, RiskAverse,
};
use taut_recording::hft;

use case::Case;

/// The workload, where it is.
fn workload(what: &str) -> Option<PathBuf> {
    let shared = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared");
    let path = Path::new(shared).join(what);
    if !path.exists() {
        println!("skipped: no ../shared/{what} beside the repository");
        return None;
    }
    Some(path)
}

/// What a case is done with, whatever its exchange is made of.
trait Check {
    fn check<X: Exchange>(&self, case: &Case, recording: &Recording, exchange: X);
}

fn with_latency<L: Latency>(case: &Case, recording: &Recording, latency: L, check: &impl Check) {
    let (fills, compat) = (case.fills, Compat::HFTBACKTEST);
    let chance = match case.queue.as_str() {
        "l3_fifo" => {
            let exchange = OrderExchange::new(recording, latency, fills, compat);
            return check.check(case, recording, exchange.expect("an exchange"));
        }
        "risk_adverse" => {
            let exchange = LevelExchange::new(recording, RiskAverse, latency, fills, compat);
            return check.check(case, recording, exchange.expect("an exchange"));
        }
        "power" => Chance::Power(case.exponent),
        "power2" => Chance::Power2(case.exponent),
        "power3" => Chance::Power3(case.exponent),
        "log" => Chance::Log,
        "log2" => Chance::Log2,
        other => panic!("{}: no queue {other}", case.name),
    };
    let queue = Probability::new(chance, case.instrument.lot());
    let exchange = LevelExchange::new(recording, queue, latency, fills, compat);
    check.check(case, recording, exchange.expect("an exchange"));
}

/// Runs a check over a case, unless something of it is not there.
fn run(name: &str, check: &impl Check) {
    if let Some(folder) = workload("workloads/backtest") {
        run_in(&folder, name, check);
    }
}

fn run_in(folder: &Path, name: &str, check: &impl Check) {
    let case = Case::read(folder, name);
    let Some(rows) = case.events(folder) else { return };
    let recording = hft::recording(&rows, case.instrument.tick(), case.instrument.lot());
    let recording = recording.unwrap_or_else(|error| panic!("{name}: {error}"));
    drop(rows);
    match &case.latency_file {
        None => {
            let (entry, response) = case.latency;
            with_latency(&case, &recording, ConstantLatency { entry, response }, check);
        }
        Some(file) => {
            let rows = hft::read_latencies(&folder.join("events").join(file)).expect("latencies");
            let latency = InterpolatedLatency::new(rows).expect("latencies that rise");
            with_latency(&case, &recording, latency, check);
        }
    }
}

macro_rules! cases {
    ($($test:ident: $name:literal, $check:expr;)*) => {$(
        #[test]
        fn $test() {
            run($name, &$check);
        }
    )*};
}

cases! {
    risk_averse_grid_is_answered_alike: "btc-grid", replay::Replay;
    power3_with_measured_latencies_is_answered_alike: "btc-power3-intp", replay::Replay;
    power2_with_modifications_is_answered_alike: "btc-fuzz-power2", replay::Replay;
    log2_with_partial_fills_is_answered_alike: "btc-fuzz-log2-partial", replay::Replay;
    own_orders_in_market_queues_are_answered_alike: "aapl-fuzz-l3", replay::Replay;
    the_whole_capture_is_answered_alike: "full-btc-grid", replay::Replay;
    the_whole_message_file_is_answered_alike: "full-aapl-fuzz-l3", replay::Replay;
    a_grid_decides_alike: "btc-grid", grid::Decides;
    a_grid_with_measured_latencies_decides_alike: "btc-power3-intp", grid::Decides;
    a_grid_over_the_whole_capture_decides_alike: "full-btc-grid", grid::Decides;
}

/// Other cases than those of the workload, in a folder that is laid out like it.
#[test]
#[ignore = "needs TAUT_BACKTEST_CASES=FOLDER"]
fn cases_of_a_folder_are_answered_alike() {
    let folder = std::env::var("TAUT_BACKTEST_CASES").expect("TAUT_BACKTEST_CASES=FOLDER");
    let folder = Path::new(&folder);
    let cases = std::fs::read_dir(folder.join("cases")).expect("cases");
    let mut names: Vec<_> = cases.map(|case| case.expect("a file").path()).collect();
    names.sort();
    assert!(!names.is_empty(), "no cases");
    for path in names {
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
        run_in(folder, name, &replay::Replay);
    }
}
