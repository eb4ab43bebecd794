//! `taut venue`: a venue simulator that runs by itself.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use taut_log::Entry;
use taut_log::messages::VenueFailed;
use taut_runner::service::{
    BINANCE_VENUE_SAMPLE, BinanceVenueFile, Captive, DERIBIT_VENUE_SAMPLE, DeribitVenueFile,
    RecordingSeen, VENUE_SAMPLE, VenueFile, bust_venue_trade, promote_venue, run_venue_crowd,
    serve_binance_venue, serve_captive_binance, serve_captive_deribit, serve_deribit_venue,
    serve_venue, set_member_killed, set_venue_halted, set_venue_phase, stand_by_venue,
    venue_faults, venue_state,
};

use taut_report::utc_text;
use taut_venue::flow::ReplayFormat;

use crate::config_file::{ConfigFile, FileVerb, failure};
use crate::exit::Failure;
use crate::log::{Log, LogArguments};
use crate::terminal;

/// Run a venue simulator by itself.
///
/// FIX 4.4 for orders, market data by multicast on loopback, and a crowd that trades; or the same
/// exchange with the web interface of a venue that clients know. It ends at Ctrl-C.
#[derive(Args, Clone, Debug)]
pub struct Venue {
    #[command(flatten)]
    config: ConfigFile,
    /// Whose interface it speaks
    #[arg(long = "as", value_name = "VENUE", value_enum, default_value_t, global = true)]
    dialect: Dialect,
    /// What goes wrong on purpose, of a thousand messages or requests: `disconnect=1,drop=5,
    /// duplicate=5,reorder=5,mute=1,sequence=5,reject=5,rate-limit=1,unknown=5,expire=1,stall=1,
    /// strange=5,torn=1,cross=1,stale=5,delay=20,skew=500,seed=7` (delay and skew in ms), and
    /// `maintenance`, `restart`, `delist`, `retick`
    #[arg(long, value_name = "FAULTS", requires = "config")]
    fault: Option<String>,
    /// Run this program with its arguments, and end with it: it finds the venue at the real one's
    /// names and ports, over TLS that it trusts, in a network that has nothing else. Comes last:
    /// `--captive python3 bot.py --dry-run`
    #[arg(long, value_name = "COMMAND", requires = "config", num_args = 1..,
        allow_hyphen_values = true)]
    captive: Vec<OsString>,
    /// A file of certificates that the program brings along, such as certifi's cacert.pem: it finds
    /// there the system's and the venue's instead
    #[arg(long, value_name = "FILE", requires = "captive")]
    trust: Vec<PathBuf>,
    /// Follow the venue of the same file, which runs in another process, by its journal, and take
    /// its place when it ends
    #[arg(long, requires = "config")]
    standby: bool,
    #[command(flatten)]
    log: LogArguments,
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// What can be done besides running one.
#[derive(Subcommand, Clone, Debug)]
enum Verb {
    #[command(flatten)]
    File(FileVerb),
    /// Show what goes wrong on purpose at a venue that runs, or change it
    Faults {
        /// The venue: `name` in its file, or the path of its socket
        name: String,
        /// What is to go wrong from now on, as `--fault` takes it; `none` for a good day
        faults: Option<String>,
    },
    /// Show what the books of a venue that runs come to: best prices, orders, hashes
    State {
        /// The venue: `name` in its file, or the path of its socket
        name: String,
        /// As one line of JSON
        #[arg(long)]
        json: bool,
    },
    /// Have the crowd of a venue that runs trade, or rest; its orders stay
    Crowd {
        /// The venue: `name` in its file, or the path of its socket
        name: String,
        /// What it does from now on
        what: CrowdVerb,
    },
    /// Halt an instrument of a venue that runs, taut's own or one as Deribit: it takes no new
    /// order, as its feed says
    Halt(OfVenue),
    /// Have it trade again
    Resume(OfVenue),
    /// Make a standby the venue that copies the journal of a venue on another machine: that one is
    /// gone, or is cut off from its clients
    Promote {
        /// The standby: `name` in its file, or the path of its socket
        name: String,
    },
    /// Bring an instrument of a venue that runs to a phase, until the next one of its schedule
    Phase {
        #[command(flatten)]
        of: OfVenue,
        /// Orders are collected in the first two and in closing-auction
        phase: PhaseName,
    },
    /// Stop a member of a venue that runs: its orders are cancelled, and it enters none
    Kill(OfMember),
    /// Have it enter orders again
    Allow(OfMember),
    /// Take back a trade of a venue that runs: both sides hear it, and hold what they held before
    Bust {
        /// The venue: `name` in its file, or the path of its socket
        name: String,
        /// ExecID (17) of one of the trade's reports
        exec_id: u64,
    },
}

/// What a crowd does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CrowdVerb {
    /// It trades
    Go,
    /// It rests
    Stop,
}

/// A phase of a trading day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PhaseName {
    /// Orders are collected
    PreOpen,
    /// They are collected, and `taut venue state` tells what they come to
    Auction,
    /// Orders trade at once; what was collected trades first, at one price
    Continuous,
    /// Orders can be cancelled
    Halt,
    /// As auction, with the orders that are meant for the close
    ClosingAuction,
    /// What was collected trades, and orders for a day expire
    Closed,
}

/// An instrument of a venue that runs.
#[derive(Args, Clone, Debug)]
struct OfVenue {
    /// The venue: `name` in its file, or the path of its socket
    name: String,
    /// The instrument
    symbol: String,
}

/// A member of a venue that runs.
#[derive(Args, Clone, Debug)]
struct OfMember {
    /// The venue: `name` in its file, or the path of its socket
    name: String,
    /// Its CompID
    member: String,
}

/// Whose interface a venue speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Dialect {
    /// taut's own: FIX 4.4 and SBE over multicast
    #[default]
    Taut,
    /// Deribit's: JSON-RPC over WebSocket and HTTP
    Deribit,
    /// Binance's spot market: REST, streams and the WebSocket API
    Binance,
}

impl Dialect {
    /// As `--as` takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Taut => "taut",
            Self::Deribit => "deribit",
            Self::Binance => "binance",
        }
    }
}

impl Venue {
    /// That what a venue runs by is not given to a verb, which runs none: `--as` alone goes with
    /// both.
    fn check_verb(&self) -> Result<(), Failure> {
        let options = [
            (self.config.is_named(), "--config"),
            (self.fault.is_some(), "--fault"),
            (!self.captive.is_empty(), "--captive"),
            (self.standby, "--standby"),
            (self.log.is_given(), "--log"),
        ];
        match options.into_iter().find(|(is_given, _)| *is_given) {
            Some((_, name)) if self.verb.is_some() => Err(Failure::Usage(format!(
                "{name} is for running a venue: `taut venue --config FILE`; a verb takes its own \
                 options, and --as"
            ))),
            _ => Ok(()),
        }
    }

    /// The program that finds it in the place of the real one.
    fn captive(&self) -> Option<Captive> {
        let mut captive = Captive::new(self.captive.clone());
        captive.trust.clone_from(&self.trust);
        (!captive.command.is_empty()).then_some(captive)
    }
}

/// What a program's code comes to.
const fn code(ended: u8) -> Result<(), Failure> {
    match ended {
        0 => Ok(()),
        code => Err(Failure::Code(code)),
    }
}

/// Runs it.
pub fn run(venue: &Venue) -> Result<(), Failure> {
    venue.check_verb()?;
    match &venue.verb {
        Some(Verb::Faults { name, faults }) => return show_faults(name, faults.as_deref()),
        Some(Verb::State { name, json }) => {
            return terminal::print_report(&venue_state(name).map_err(failure)?, *json);
        }
        Some(Verb::Crowd { name, what }) => {
            return run_venue_crowd(name, *what == CrowdVerb::Go).map_err(failure);
        }
        Some(Verb::Halt(of)) => return set_halted(of, true),
        Some(Verb::Resume(of)) => return set_halted(of, false),
        Some(Verb::Promote { name }) => return promote_venue(name).map_err(failure),
        Some(Verb::Phase { of, phase }) => return set_phase(of, *phase),
        Some(Verb::Kill(of)) => return set_killed(of, true),
        Some(Verb::Allow(of)) => return set_killed(of, false),
        Some(Verb::Bust { name, exec_id }) => return bust(name, *exec_id),
        Some(Verb::File(_)) | None => {}
    }
    match venue.dialect {
        Dialect::Deribit | Dialect::Binance if venue.standby => {
            let text = "--standby is for taut's own venue: web venues have no journal";
            Err(Failure::Usage(text.to_owned()))
        }
        Dialect::Taut if venue.fault.is_some() => {
            Err(Failure::Usage("--fault goes with `--as deribit` and `--as binance`".to_owned()))
        }
        Dialect::Taut if !venue.captive.is_empty() => {
            Err(Failure::Usage("--captive goes with `--as deribit` and `--as binance`".to_owned()))
        }
        Dialect::Taut => run_own(venue),
        Dialect::Deribit => run_deribit(venue),
        Dialect::Binance => run_binance(venue),
    }
}

fn run_deribit(venue: &Venue) -> Result<(), Failure> {
    if let Some(Verb::File(verb)) = &venue.verb {
        return verb.run(DERIBIT_VENUE_SAMPLE, |path| {
            let file = DeribitVenueFile::read(path)?;
            let (count, accounts) = (file.instruments.len(), file.accounts.len());
            let venue = format!("a venue as deribit: {count} instruments, {accounts} accounts");
            Ok(with_recordings(venue, &file.look_at_recordings()?))
        });
    }
    let path = venue.config.path("venue --as deribit")?;
    let mut file = DeribitVenueFile::read(path).map_err(failure)?;
    if let Some(faults) = &venue.fault {
        file.set_faults(faults).map_err(failure)?;
    }
    let log = Log::open(&venue.log);
    let heard = |entry: &Entry| log.write(entry);
    let failed = |error| log.failure(&VenueFailed {}, error);
    match venue.captive() {
        None => serve_deribit_venue(&file, heard).map_err(failed),
        Some(captive) => {
            let ended = serve_captive_deribit(&file, &captive, heard);
            code(ended.map_err(failure)?)
        }
    }
}

fn run_binance(venue: &Venue) -> Result<(), Failure> {
    if let Some(Verb::File(verb)) = &venue.verb {
        return verb.run(BINANCE_VENUE_SAMPLE, |path| {
            let file = BinanceVenueFile::read(path)?;
            let (count, accounts) = (file.instruments.len(), file.accounts.len());
            let venue = format!("a venue as binance: {count} instruments, {accounts} accounts");
            Ok(with_recordings(venue, &file.look_at_recordings()?))
        });
    }
    let path = venue.config.path("venue --as binance")?;
    let mut file = BinanceVenueFile::read(path).map_err(failure)?;
    if let Some(faults) = &venue.fault {
        file.set_faults(faults).map_err(failure)?;
    }
    let log = Log::open(&venue.log);
    let heard = |entry: &Entry| log.write(entry);
    let failed = |error| log.failure(&VenueFailed {}, error);
    match venue.captive() {
        None => serve_binance_venue(&file, heard).map_err(failed),
        Some(captive) => {
            let ended = serve_captive_binance(&file, &captive, heard);
            code(ended.map_err(failure)?)
        }
    }
}

fn run_own(venue: &Venue) -> Result<(), Failure> {
    if let Some(Verb::File(verb)) = &venue.verb {
        return verb.run(VENUE_SAMPLE, |path| {
            let file = VenueFile::read(path)?;
            let (name, count, orders) = (&file.comp_id, file.instruments.len(), file.orders);
            let venue = format!("venue '{name}': {count} instruments, orders at {orders}");
            Ok(with_recordings(venue, &file.look_at_recordings()?))
        });
    }
    let file = VenueFile::read(venue.config.path("venue")?).map_err(failure)?;
    let log = Log::open(&venue.log);
    let heard = |entry: &Entry| log.write(entry);
    let served = match venue.standby {
        false => serve_venue(&file, heard),
        true => stand_by_venue(&file, heard),
    };
    served.map_err(|error| log.failure(&VenueFailed {}, error))
}

/// What a venue is, and a line for each recording that is a market there.
fn with_recordings(venue: String, seen: &[RecordingSeen]) -> Vec<String> {
    std::iter::once(venue).chain(seen.iter().map(recording_line)).collect()
}

fn recording_line(seen: &RecordingSeen) -> String {
    let RecordingSeen { instrument, file, head } = seen;
    let first = match head.format {
        ReplayFormat::Lobster => {
            let seconds = head.first.0 / 1_000_000_000;
            let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
            format!("{hours:02}:{minutes:02}:{:02} of its day", seconds % 60)
        }
        ReplayFormat::Binance | ReplayFormat::Deribit => utc_text(head.first.0),
    };
    let lines = match (head.is_all, head.lines) {
        (true, lines) => format!("all of its {lines} lines were read"),
        (false, lines) => format!("its first {lines} lines were read"),
    };
    let book = if head.has_book { "" } else { ", in which there is no book yet" };
    format!(
        "{instrument}: a recording, {}: {}, from {first}; {lines}{book}",
        file.display(),
        head.format
    )
}

/// Changes a venue's faults, where any are named, and prints those that hold.
fn show_faults(name: &str, words: Option<&str>) -> Result<(), Failure> {
    let report = venue_faults(name, words).map_err(failure)?;
    terminal::print(report)
}

/// Brings an instrument to a phase, and prints which.
fn set_phase(of: &OfVenue, phase: PhaseName) -> Result<(), Failure> {
    let OfVenue { name, symbol } = of;
    let value = phase.to_possible_value();
    let phase = value.as_ref().map_or("", |value| value.get_name());
    let is_new = set_venue_phase(name, symbol, phase).map_err(failure)?;
    let before = if is_new { "" } else { ", as before" };
    terminal::print(format!("{symbol}: {phase}{before}"))
}

/// Takes a trade back, and prints that it is.
fn bust(name: &str, exec_id: u64) -> Result<(), Failure> {
    let is_new = bust_venue_trade(name, exec_id).map_err(failure)?;
    let before = if is_new { "" } else { ", as before" };
    terminal::print(format!("the trade of {exec_id} is taken back{before}"))
}

/// Stops a member, or has it enter orders again, and prints how it is.
fn set_killed(of: &OfMember, is_killed: bool) -> Result<(), Failure> {
    let OfMember { name, member } = of;
    let is_new = set_member_killed(name, member, is_killed).map_err(failure)?;
    let state = if is_killed { "is stopped" } else { "may trade" };
    let before = if is_new { "" } else { ", as before" };
    terminal::print(format!("{member} {state}{before}"))
}

/// Halts an instrument, or has it trade again, and prints how it is.
fn set_halted(of: &OfVenue, is_halted: bool) -> Result<(), Failure> {
    let OfVenue { name, symbol } = of;
    let is_new = set_venue_halted(name, symbol, is_halted).map_err(failure)?;
    let state = if is_halted { "is halted" } else { "trades" };
    let before = if is_new { "" } else { ", as before" };
    terminal::print(format!("{symbol} {state}{before}"))
}
