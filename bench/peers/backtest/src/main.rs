//! `backtest-peer FILE [--tiles N] [--rounds N] [--lot LOT] [--tick TICK]`: taut's backtest and
//! hftbacktest over the same rows, turn by turn; medians in million rows a second.
//!
//! FILE is an npz of hftbacktest's events, a capture of Binance's futures in gzip, or a message
//! file of LOBSTER, which are converted as the referee of taut's backtest converts them.

// The conversion is that of the referee's test, and has more than this program needs.
#[allow(dead_code)]
#[path = "../../../../crates/taut-recording/tests/backtest/convert.rs"]
mod convert;
mod grid;
mod ours;
#[cfg(feature = "hftbacktest")]
mod theirs;

use std::path::PathBuf;
use std::time::Instant;

use taut_backtest::Recording;
use taut_recording::hft::{self, HftRow};
use taut_types::{Price, Qty};

/// What is measured, and what it came to.
struct Row {
    name: &'static str,
    run: Box<dyn Fn() -> String>,
    speeds: Vec<f64>,
    outcome: String,
}

impl Row {
    fn new(name: &'static str, run: impl Fn() -> String + 'static) -> Self {
        Self { name, run: Box::new(run), speeds: Vec::new(), outcome: String::new() }
    }
}

/// The steps of an instrument, in both languages.
#[derive(Clone, Copy)]
struct Steps {
    tick: Qty,
    lot: Qty,
}

impl Steps {
    /// Tick and lot as floats.
    #[cfg(feature = "hftbacktest")]
    fn units(self) -> (f64, f64) {
        let units = |of: Qty| of.mantissa as f64 / 10f64.powi(i32::from(of.decimals));
        (units(self.tick), units(self.lot))
    }
}

struct Arguments {
    file: PathBuf,
    tiles: i64,
    rounds: usize,
    steps: Steps,
}

fn main() {
    let Arguments { file, tiles, rounds, steps } = match arguments() {
        Ok(arguments) => arguments,
        Err(wrong) => {
            eprintln!("{wrong}");
            eprintln!(
                "usage: backtest-peer FILE [--tiles N] [--rounds N] [--tick TICK] [--lot LOT]"
            );
            std::process::exit(2);
        }
    };
    let rows = match file.extension().and_then(|extension| extension.to_str()) {
        Some("npz") => hft::read_rows(&file).unwrap_or_else(|error| panic!("{error}")),
        Some("csv") => convert::lobster(&file),
        _ => convert::binance(&file),
    };
    let rows = tiled(&rows, tiles);
    let tick = steps.tick.with_decimals(Price::DECIMALS).expect("a tick of at most nine decimals");
    let recording = hft::recording(&rows, Price(tick.mantissa), steps.lot).expect("rows in order");
    let recording: &'static Recording = Box::leak(Box::new(recording));
    let count = recording.rows().len();
    println!("{}: {count} rows, {tiles} tiles, {rounds} rounds", file.display());
    let mut measured = ours::measured(recording);
    #[cfg(feature = "hftbacktest")]
    measured.extend(theirs::measured(&rows, recording, steps));
    drop(rows);
    for round in 0..rounds {
        for row in &mut measured {
            eprint!("round {} of {rounds}: {}        \r", round + 1, row.name);
            let started = Instant::now();
            row.outcome = (row.run)();
            row.speeds.push(count as f64 / started.elapsed().as_secs_f64() / 1e6);
        }
    }
    eprintln!();
    print(&mut measured);
}

fn print(rows: &mut [Row]) {
    rows.iter_mut().for_each(|row| row.speeds.sort_by(f64::total_cmp));
    let median = |row: &Row| row.speeds[row.speeds.len() / 2];
    println!("| what | M rows/s, median | least to most | came to |\n|---|---|---|---|");
    for row in rows.iter() {
        let (least, most) = (row.speeds[0], row.speeds[row.speeds.len() - 1]);
        println!(
            "| {} | {:.1} | {least:.1} to {most:.1} | {} |",
            row.name,
            median(row),
            row.outcome
        );
    }
    for prefix in ["", "grid: "] {
        let of = |whose: &str| {
            let whose = format!("{prefix}{whose}");
            rows.iter().filter(move |row| row.name.starts_with(&whose))
        };
        for (ours, theirs) in
            of("taut").flat_map(|ours| of("hftbacktest").map(move |it| (ours, it)))
        {
            println!("{} is {:.2} times {}", ours.name, median(ours) / median(theirs), theirs.name);
        }
    }
}

/// The rows so many times, one after the other. Orders have ids of their own each time, and what
/// is left of the time before is cleared.
fn tiled(rows: &[HftRow], tiles: i64) -> Vec<HftRow> {
    let times = || rows.iter().flat_map(|row| [row.exch_ts, row.local_ts]);
    let span = times().max().unwrap_or(0) - times().min().unwrap_or(0) + 1;
    let has_orders = rows.iter().any(|row| (10..=13).contains(&(row.ev & 0xff)));
    let clear = rows.first().filter(|_| has_orders).map(|first| HftRow {
        ev: 3 | hft::EXCHANGE | hft::LOCAL,
        px: 0.0,
        qty: 0.0,
        order_id: 0,
        ..*first
    });
    let shifted = |tile: i64| {
        clear.iter().chain(rows).map(move |row| HftRow {
            exch_ts: row.exch_ts + tile * span,
            local_ts: row.local_ts + tile * span,
            order_id: row.order_id + (tile.cast_unsigned() << 48),
            ..*row
        })
    };
    (0..tiles).flat_map(shifted).collect()
}

fn arguments() -> Result<Arguments, String> {
    let decimal =
        |text: &str| Qty::parse(text.as_bytes()).map_err(|error| format!("{text}: {error}"));
    let steps = Steps { tick: decimal("0.1")?, lot: decimal("0.001")? };
    let mut found = Arguments { file: PathBuf::new(), tiles: 10, rounds: 5, steps };
    let mut given = std::env::args().skip(1);
    while let Some(argument) = given.next() {
        if !argument.starts_with("--") {
            found.file = argument.into();
            continue;
        }
        let value = given.next().ok_or(format!("{argument} needs a value"))?;
        let number = || value.parse::<u32>().ok().filter(|number| *number > 0);
        let number = || number().ok_or(format!("{argument} {value}: not a number above 0"));
        match argument.as_str() {
            "--tiles" => found.tiles = number()?.into(),
            "--rounds" => found.rounds = number()? as usize,
            "--tick" => found.steps.tick = decimal(&value)?,
            "--lot" => found.steps.lot = decimal(&value)?,
            _ => return Err(format!("{argument} is unknown")),
        }
    }
    if found.file.as_os_str().is_empty() { Err("FILE is missing".into()) } else { Ok(found) }
}
