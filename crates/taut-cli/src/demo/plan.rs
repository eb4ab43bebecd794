//! What a run will be: everything checked before any process starts.

use std::path::{Path, PathBuf};

use taut_market_data::binance::BinanceJson;
use taut_recording::capture::Capture;
use taut_runner::{
    Cpus, FeedTransport, InstrumentSettings, RunnerError, Settings, Simulator, VenueKind,
};
use taut_sys::available_cpus;
use taut_types::Symbol;
use taut_venue::flow::{BinanceFlow, FileError, LobsterFlow, LobsterSummary};

use crate::demo::arguments::Arguments;
use crate::demo::strategy::ORDERS_PER_SECOND;
use crate::exit::Failure;
use crate::recorded::Output;
use crate::report;

/// The longest run that makes sense: a slip of the keyboard should not start a year.
const SECONDS_MAX: f64 = 7.0 * 86_400.0;

/// A checked run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// As the user gave them.
    pub arguments: Arguments,
    /// The runner's part of them.
    pub settings: Settings,
    /// What the report should say about the source.
    pub source: String,
    /// Where a trace of the worst orders is written.
    pub trace: Option<Output>,
}

impl Plan {
    /// Checks the arguments; reads and validates the data file.
    pub fn new(arguments: &Arguments) -> Result<Self, Failure> {
        let mut settings = Settings::default();
        settings.mode = arguments.mode;
        settings.wait = arguments.wait;
        if let Some(text) = &arguments.cpus {
            let cpus = available_cpus().map_err(|error| Failure::run("CPUs", error))?;
            settings.cpus = parse_cpus(text, &cpus)?;
        }
        settings.seconds = match arguments.seconds {
            Some(seconds) if seconds > 0.0 && seconds <= SECONDS_MAX => Some(seconds),
            Some(seconds) => {
                return Err(Failure::Usage(format!(
                    "--seconds {seconds}: must be above 0 and at most {SECONDS_MAX}"
                )));
            }
            None => arguments.data.is_none().then_some(10.0),
        };
        check_venue(arguments)?;
        let source = Source::of(arguments)?;
        report::run::directory::check(arguments.out.as_deref(), arguments.overwrite)?;
        settings.simulator = Some(source.simulator);
        settings.instruments = source.instruments;
        settings.gateway.keep_warm = !arguments.cold;
        settings.parameters.insert(ORDERS_PER_SECOND.to_owned(), i64::from(arguments.rate).into());
        settings.record = arguments.record.as_deref().map(new_folder).transpose()?;
        if arguments.data.is_some() {
            // A stranger's book may be deeper than the crowd's.
            settings.gateway.levels = settings.gateway.levels.max(1 << 14);
        }
        settings.outliers.above_us = arguments.outliers_above.map(|above| above.0 as f64 / 1e3);
        let read: Vec<_> = arguments.data.iter().cloned().collect();
        let trace = arguments.perfetto.as_deref();
        let trace = trace.map(|file| Output::new(file, arguments.overwrite, &read)).transpose()?;
        Ok(Self { arguments: arguments.clone(), settings, source: source.description, trace })
    }
}

/// Where a recording goes, whichever folder its process is in.
fn new_folder(folder: &Path) -> Result<PathBuf, Failure> {
    let named = |what: &dyn std::fmt::Display| {
        Failure::Usage(format!("--record {}: {what}", folder.display()))
    };
    if std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(named(&"is not empty; name a new folder: nothing is overwritten"));
    }
    if folder.exists() && !folder.is_dir() {
        return Err(named(&"is no folder; name a new one"));
    }
    std::path::absolute(folder).map_err(|error| named(&error))
}

fn parse_cpus(text: &str, cpus: &[usize]) -> Result<Cpus, Failure> {
    let parts: Vec<&str> = text.split(',').collect();
    let [venue, gateway, strategy] = parts.as_slice() else {
        return Err(Failure::Usage(format!(
            "--cpus '{text}': three CPUs are needed (venue,gateway,strategy), such as 0,0,1"
        )));
    };
    let one = |name: &str, part: &str| {
        let cpu = part.trim().parse::<usize>().ok().filter(|cpu| cpus.contains(cpu));
        cpu.map(Some).ok_or_else(|| {
            let have = cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
            Failure::Usage(format!(
                "--cpus '{text}': the {name}'s CPU '{part}' does not exist or may not be used; \
                 this process may use {have}"
            ))
        })
    };
    Ok(Cpus {
        venue: one("venue", venue)?,
        gateway: one("gateway", gateway)?,
        strategy: one("strategy", strategy)?,
    })
}

/// The simulator, and what it trades in ticks of a cent.
struct Source {
    simulator: Simulator,
    instruments: Vec<InstrumentSettings>,
    description: String,
}

impl Source {
    fn of(arguments: &Arguments) -> Result<Self, Failure> {
        match (&arguments.data, &arguments.speed) {
            (Some(file), speed) => Self::recorded(arguments, file, speed.as_deref().unwrap_or("1")),
            (None, None) => Ok(Self::synthetic(arguments)),
            (None, Some(speed)) => Err(Failure::Usage(format!(
                "--speed {speed}: is the pace of a recording, which --data FILE names; the pace of \
                 the synthetic flow is --ticks HZ"
            ))),
        }
    }

    fn synthetic(arguments: &Arguments) -> Self {
        let Arguments { seed, instruments, venue, .. } = *arguments;
        let (ticks, levels) = (arguments.ticks(), arguments.levels());
        let at = match venue {
            VenueKind::Taut => "",
            VenueKind::Deribit => "a venue that speaks as Deribit, ",
            VenueKind::Binance => "a venue that speaks as Binance's spot market, ",
        };
        Self {
            simulator: simulator(arguments),
            instruments: (1..=instruments).map(|number| instrument(venue, number)).collect(),
            description: format!(
                "{at}synthetic flow, seed {seed}, {instruments} instruments, {ticks} commands/s, \
                 {levels} levels a side"
            ),
        }
    }

    fn recorded(arguments: &Arguments, file: &Path, speed: &str) -> Result<Self, Failure> {
        let replay = speed
            .parse()
            .map_err(|error: RunnerError| Failure::Usage(format!("--speed '{speed}': {error}")))?;
        let full = std::path::absolute(file)
            .map_err(|error| Failure::Usage(format!("--data {}: {error}", file.display())))?;
        check_data(&full)?;
        let mut simulator = simulator(arguments);
        simulator.speed = replay;
        simulator.data = Some(full.clone());
        let wrong = |error: FileError| Failure::Usage(error.to_string());
        if simulator.replays_a_stream() {
            return Self::stream(simulator, &full, speed).map_err(wrong);
        }
        let flow = LobsterFlow::read(file).map_err(wrong)?;
        let symbol = symbol_of(&full);
        let description = describe(&full, speed, flow.summary(), flow.initial_orders().len());
        let instrument = InstrumentSettings { symbol, ..InstrumentSettings::default() };
        Ok(Self { simulator, instruments: vec![instrument], description })
    }

    /// A capture of Binance's frames, which are the venue's flow and the gateway's feed.
    fn stream(simulator: Simulator, file: &Path, speed: &str) -> Result<Self, FileError> {
        let capture = Capture::read(file)?;
        let symbol = BinanceFlow::symbol(&capture)
            .ok_or_else(|| capture.error(None, "no frame of Binance's names a symbol"))?;
        let instrument = InstrumentSettings {
            symbol: symbol.as_str().to_owned(),
            lot_decimals: BinanceJson::SIZE_DECIMALS,
            ..InstrumentSettings::default()
        };
        let built = instrument.build().map_err(|error| capture.error(None, error))?;
        let flow = BinanceFlow::of(&capture, built)?;
        let description = format!(
            "recording {}, speed {speed}: Binance's {symbol}, {} frames, which are flow and feed, \
             {} levels before them",
            file.file_name().unwrap_or_default().to_string_lossy(),
            flow.frame_count(),
            flow.initial_orders().len()
        );
        Ok(Self { simulator, instruments: vec![instrument], description })
    }
}

/// What only taut's own venue does, and what only others do.
fn check_venue(arguments: &Arguments) -> Result<(), Failure> {
    let only_taut = [
        ("--data", arguments.data.is_some()),
        ("--feed", arguments.feed != FeedTransport::Auto),
        ("--lose", arguments.lose.is_some()),
        ("--refuse-retransmission", arguments.refuse_retransmission),
        ("--standby", arguments.standby),
    ];
    let only_others = [("--orders", arguments.orders.is_some()), ("--tls", arguments.tls)];
    let venue = arguments.venue;
    let (misplaced, whose) = match venue {
        VenueKind::Taut => (&only_others[..], "a venue that speaks as another"),
        VenueKind::Deribit | VenueKind::Binance => (&only_taut[..], "taut's own venue"),
    };
    match misplaced.iter().find(|(_, is_set)| *is_set) {
        None => Ok(()),
        Some((flag, _)) => Err(Failure::Usage(format!(
            "{flag} is for {whose}; leave it out with --venue {}",
            venue.name()
        ))),
    }
}

/// What is traded at a venue.
fn instrument(venue: VenueKind, number: u32) -> InstrumentSettings {
    let mut traded = InstrumentSettings::default();
    let coin = match number {
        1 => "BTC".to_owned(),
        2 => "ETH".to_owned(),
        3 => "SOL".to_owned(),
        other => format!("X{other}"),
    };
    match venue {
        VenueKind::Taut => traded.symbol = format!("TAUT{number}"),
        VenueKind::Binance => {
            traded.name = Some(format!("{coin}USDT"));
            traded.symbol = coin;
            traded.lot_decimals = 3;
            traded.currency = Some("USDT".to_owned());
        }
        VenueKind::Deribit => {
            // All of them in one currency, so that their profits add up.
            traded.name = Some(format!("{coin}_USDC-PERPETUAL"));
            traded.symbol = coin;
            (traded.tick, traded.lot) = ("0.5".to_owned(), Some("0.001".to_owned()));
            traded.currency = Some("USDC".to_owned());
        }
    }
    traded
}

/// All but the recording.
fn simulator(arguments: &Arguments) -> Simulator {
    let mut simulator = Simulator::default();
    simulator.kind = arguments.venue;
    simulator.orders = arguments.orders;
    simulator.tls = arguments.tls;
    simulator.seed = arguments.seed;
    simulator.commands_per_second = arguments.ticks();
    simulator.levels = arguments.levels();
    simulator.port = arguments.port;
    simulator.feed = arguments.feed;
    simulator.lose_per_mille = arguments.lose.map_or([0; 2], Into::into);
    simulator.refuse_retransmission = arguments.refuse_retransmission;
    simulator.standby = arguments.standby;
    simulator
}

/// The venue reads the file again: a pipe would be empty by then, and the name travels as text.
fn check_data(file: &Path) -> Result<(), Failure> {
    let problem = if file.exists() && !file.is_file() {
        "is not a regular file; name a LOBSTER message file or a capture"
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

/// LOBSTER names its files by the ticker, then an underscore.
fn symbol_of(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let ticker = name.split('_').next().unwrap_or_default();
    let is_symbol = Symbol::new(ticker.as_bytes()).is_some();
    if is_symbol { ticker } else { "RECORDED" }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ticker_is_what_stands_before_the_first_underscore() {
        let symbol = symbol_of(Path::new("/x/AAPL_2012-06-21_message_50.csv"));
        assert_eq!(symbol, "AAPL");
        assert_eq!(symbol_of(Path::new("a very long file name.csv")), "RECORDED");
    }
}
