//! What a run will be: everything checked before any process starts.

use std::path::{Path, PathBuf};

use taut_sys::available_cpus;
use taut_types::{Instrument, InstrumentId, Nanos, Price, Qty, Symbol};
use taut_venue::flow::{LobsterFlow, LobsterSummary};

use crate::demo::arguments::{Arguments, Mode};
use crate::demo::control::{FlowSetup, Pace};
use crate::demo::directory;
use crate::demo::placement::Placement;
use crate::exit::Failure;

/// The longest run that makes sense: the time axis and the sequence numbers hold far more, but a
/// slip of the keyboard should not start a year.
const SECONDS_MAX: f64 = 7.0 * 86_400.0;

/// A checked run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// As the user gave them.
    pub arguments: Arguments,
    /// Who runs where.
    pub placement: Placement,
    /// The book's source.
    pub flow: FlowSetup,
    /// What is traded.
    pub instrument: Instrument,
    /// How long, unless the recording ends first.
    pub duration: Option<Nanos>,
    /// What the report should say about the source.
    pub source: String,
}

impl Plan {
    /// Checks the arguments; reads and validates the data file.
    pub fn new(arguments: &Arguments) -> Result<Self, Failure> {
        let cpus = available_cpus().map_err(|error| Failure::run("CPUs", error))?;
        let (mode, wait) = (arguments.mode, arguments.wait);
        let placement = Placement::choose(mode, arguments.cpus.as_deref(), wait, &cpus)?;
        let seconds = match arguments.seconds {
            Some(seconds) if seconds > 0.0 && seconds <= SECONDS_MAX => Some(seconds),
            Some(seconds) => {
                return Err(Failure::Usage(format!(
                    "--seconds {seconds}: must be above 0 and at most {SECONDS_MAX}"
                )));
            }
            None => arguments.data.is_none().then_some(10.0),
        };
        let source = Source::of(arguments)?;
        directory::check(arguments.out.as_deref())?;
        Ok(Self {
            arguments: arguments.clone(),
            placement,
            flow: source.flow,
            instrument: instrument(source.symbol, source.tick)?,
            duration: seconds.map(|seconds| Nanos((seconds * 1e9) as i64)),
            source: source.description,
        })
    }

    /// Whether gateway and strategy are one process.
    pub fn is_fused(&self) -> bool {
        self.arguments.mode == Mode::Fused
    }
}

/// The instrument of a run: whole shares.
pub fn instrument(symbol: Symbol, tick: Price) -> Result<Instrument, Failure> {
    let lot = Qty { mantissa: 1, decimals: 0 };
    Instrument::new(InstrumentId(1), symbol, tick, lot)
        .map_err(|error| Failure::Run(format!("instrument {symbol}: {error}")))
}

struct Source {
    flow: FlowSetup,
    symbol: Symbol,
    tick: Price,
    description: String,
}

impl Source {
    fn of(arguments: &Arguments) -> Result<Self, Failure> {
        match (&arguments.data, &arguments.speed) {
            (Some(file), speed) => Self::recorded(file, speed.as_deref().unwrap_or("1")),
            (None, None) => Self::synthetic(arguments),
            (None, Some(speed)) => Err(Failure::Usage(format!(
                "--speed {speed}: is the pace of a recording, which --data FILE names; the pace of \
                 the synthetic flow is --ticks HZ"
            ))),
        }
    }

    fn synthetic(arguments: &Arguments) -> Result<Self, Failure> {
        let Arguments { seed, ticks, levels, .. } = *arguments;
        let symbol = Symbol::new(b"TAUT").ok_or_else(|| Failure::Run("symbol".to_owned()))?;
        Ok(Self {
            flow: FlowSetup::Synthetic { seed, ticks_hz: ticks, level_count: levels as usize },
            symbol,
            tick: LobsterFlow::TICK,
            description: format!(
                "synthetic flow, seed {seed}, {ticks} commands/s, {levels} levels a side"
            ),
        })
    }

    fn recorded(file: &Path, speed: &str) -> Result<Self, Failure> {
        let pace = parse_speed(speed)?;
        let full = std::path::absolute(file)
            .map_err(|error| Failure::Usage(format!("--data {}: {error}", file.display())))?;
        check_data(&full)?;
        let flow = LobsterFlow::read(file).map_err(|error| Failure::Usage(error.to_string()))?;
        Ok(Self {
            symbol: symbol_of(&full),
            tick: LobsterFlow::TICK,
            description: describe(&full, speed, flow.summary(), flow.initial_orders().len()),
            flow: FlowSetup::Recorded { file: full, pace },
        })
    }
}

/// The venue reads the file again: a pipe would be empty by then, and the name travels as text.
fn check_data(file: &Path) -> Result<(), Failure> {
    let problem = if file.exists() && !file.is_file() {
        "is not a regular file; name a LOBSTER message file"
    } else if file.to_str().is_none() {
        "has a name that is not valid UTF-8; rename it"
    } else {
        return Ok(());
    };
    Err(Failure::Usage(format!("--data {}: {problem}", file.display())))
}

fn describe(file: &Path, speed: &str, summary: &LobsterSummary, initial: usize) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    format!(
        "recording {name}, speed {speed}: {} rows, {initial} orders inferred to rest before it",
        summary.rows
    )
}

fn parse_speed(speed: &str) -> Result<Pace, Failure> {
    if speed == "max" {
        return Ok(Pace::Max);
    }
    match speed.parse::<f64>() {
        Ok(factor) if factor > 0.0 && factor <= 1e6 => Ok(Pace::Factor(factor)),
        _ => Err(Failure::Usage(format!(
            "--speed '{speed}': must be `max` or a number above 0 and at most 1000000"
        ))),
    }
}

/// LOBSTER names its files by the ticker, then an underscore.
fn symbol_of(file: &Path) -> Symbol {
    let name: PathBuf = file.file_name().map(PathBuf::from).unwrap_or_default();
    let name = name.to_string_lossy();
    let ticker = name.split('_').next().unwrap_or_default();
    let fallback = || Symbol::new(b"RECORDED");
    match Symbol::new(ticker.as_bytes()).or_else(fallback) {
        Some(symbol) => symbol,
        None => unreachable!("a constant name of eight letters"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_is_max_or_a_positive_number() {
        assert_eq!(parse_speed("max").ok(), Some(Pace::Max));
        assert_eq!(parse_speed("2.5").ok(), Some(Pace::Factor(2.5)));
        for bad in ["0", "-1", "fast", "", "NaN", "inf"] {
            assert!(parse_speed(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_ticker_is_what_stands_before_the_first_underscore() {
        let symbol = symbol_of(Path::new("/x/AAPL_2012-06-21_message_50.csv"));
        assert_eq!(symbol.as_str(), "AAPL");
        assert_eq!(symbol_of(Path::new("a very long file name.csv")).as_str(), "RECORDED");
    }
}
