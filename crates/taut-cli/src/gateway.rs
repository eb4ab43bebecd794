//! `taut gateway`: a gateway that runs by itself, and its operator's commands.

mod meant;
mod operator;
mod outliers;
mod which;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use taut_gateway::TouchStrategy;
use taut_log::Entry;
use taut_log::messages::Failed;
use taut_runner::service::{
    self, BINANCE_GATEWAY_SAMPLE, DERIBIT_GATEWAY_SAMPLE, GATEWAY_SAMPLE, GatewayFile,
    OKX_GATEWAY_SAMPLE,
};
use taut_types::Nanos;

use crate::config_file::{ConfigFile, failure};
use crate::exit::Failure;
use crate::log::{Log, LogArguments};
use crate::strategy::fused_touch;
use crate::terminal;
use meant::{Filter, Scope};
use which::Which;

/// Run a gateway by itself, look at it and act on it while it trades.
///
/// Strategies attach and leave at any time, over shared memory: `taut strategy`, or a program of
/// your own with `taut::runner::service::Attach`. A gateway ends at Ctrl-C, SIGTERM or `taut
/// gateway stop`: open orders are cancelled and the session logged out. SIGHUP is `taut gateway
/// reload`, SIGUSR1 is `taut gateway kill`.
#[derive(Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Gateway {
    #[command(flatten)]
    config: ConfigFile,
    /// Trade on paper: market data are the venue's, orders go to a matching engine within this
    /// process, and none leaves; needs no key where the venue's market data need none
    #[arg(long, requires = "config")]
    paper: bool,
    /// Trade with this strategy of taut's own in the gateway's thread, where nobody else attaches;
    /// a strategy of your own runs so with `taut::runner::service::serve_fused`
    #[arg(long, value_name = "STRATEGY", value_enum, requires = "config")]
    fused: Option<FusedStrategy>,
    /// The strategy's file: its name in `[[strategies]]` and its parameters
    #[arg(long, value_name = "FILE", requires = "fused")]
    strategy: Option<PathBuf>,
    /// Write down all that the gateway hears in this folder, which is new: `taut replay` does it
    /// again. The file's key is `[record]`
    #[arg(long, value_name = "DIR", requires = "config")]
    record: Option<PathBuf>,
    #[command(flatten)]
    log: LogArguments,
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// A strategy of taut's own that can trade in a gateway's thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FusedStrategy {
    /// `taut strategy touch`
    Touch,
}

/// Whose venue a sample is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum SampleVenue {
    /// taut's own: every key there is
    #[default]
    Taut,
    /// Deribit
    Deribit,
    /// Binance's spot market
    Binance,
    /// OKX
    Okx,
}

#[derive(Subcommand, Clone, Debug)]
enum Verb {
    /// Check a file of settings and explain it; nothing is started
    Check {
        /// The file
        file: PathBuf,
        /// Connect to the venue, log on, follow the books, and say what came of it; no order is
        /// sent
        #[arg(long)]
        live: bool,
        /// For trading on paper: orders would go to an engine within the process
        #[arg(long)]
        paper: bool,
        /// How long that may take until all is up
        #[arg(long, value_name = "SECONDS", default_value_t = 20, requires = "live",
              value_parser = clap::value_parser!(u32).range(1..=3600))]
        patience: u32,
    },
    /// Print a file of settings
    Sample {
        /// For a gateway at this venue
        #[arg(long, value_name = "VENUE", value_enum, default_value_t)]
        venue: SampleVenue,
    },
    /// How the gateway is: sessions, books, strategies, what it counted
    Status(Which),
    /// Where the time of a tick goes, stage by stage, since the gateway began
    Stages(Which),
    /// The orders that took longest since the gateway began, stage by stage, and why
    Outliers {
        #[command(flatten)]
        which: Which,
        /// Only those of so long until now, such as 30s or 5m; at most 10m
        #[arg(long, value_name = "TIME", value_parser = crate::duration::parse)]
        since: Option<Nanos>,
        /// Write them as a trace, too, for ui.perfetto.dev (Chrome's trace event format)
        #[arg(long, value_name = "FILE")]
        perfetto: Option<PathBuf>,
        /// Replace the file
        #[arg(short, long, requires = "perfetto")]
        force: bool,
    },
    /// The open orders
    Orders(Which),
    /// What is held
    Positions(Which),
    /// All that the gateway has at this moment, as JSON: positions, orders, balances, kills
    Snapshot {
        #[command(flatten)]
        which: Which,
        /// Where it is written, whole or not at all; printed without this
        file: Option<PathBuf>,
    },
    /// End the day: settle positions, count profit, fees and losses from 0
    Roll(Which),
    /// The limits that hold, and how much of them is used
    Limits(Which),
    /// Read the settings again and take their limits and new instruments while orders go on; SIGHUP
    /// does it too
    Reload(Which),
    /// Let no new order pass until `revive`, and cancel the open ones; SIGUSR1 does it to all
    Kill {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        scope: Scope,
    },
    /// Let new orders pass again
    Revive {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        scope: Scope,
    },
    /// Say that the operator is there, where the gateway is killed otherwise
    Alive(Which),
    /// Cancel the open orders that have all of this, or all of them
    CancelAll {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        filter: Filter,
    },
    /// End a strategy's attachment and cancel its orders
    Drop {
        #[command(flatten)]
        which: Which,
        /// The strategy
        strategy: String,
    },
    /// Make the open orders of a strategy that is not attached another one's
    HandOver {
        #[command(flatten)]
        which: Which,
        /// The strategy that has them
        from: String,
        /// The strategy that gets them, now or when it attaches
        to: String,
    },
    /// End the gateway: cancel the open orders, log out
    Stop(Which),
}

/// Runs the gateway, or what its operator asks.
pub fn run(gateway: &Gateway) -> Result<(), Failure> {
    if let Some(verb) = &gateway.verb {
        return verb.run();
    }
    let path = gateway.config.path("gateway")?;
    let mut file = read(path, gateway.paper)?;
    if let Some(folder) = &gateway.record {
        file = file.recorded_in(folder);
        file.check().map_err(failure)?;
    }
    let log = Log::open(&gateway.log);
    let heard = |entry: &Entry| log.write(entry);
    let Some(FusedStrategy::Touch) = gateway.fused else {
        return service::serve(&file, heard).map_err(|error| log.failure(&Failed {}, error));
    };
    let (name, config) = fused_touch(gateway.strategy.as_deref())?;
    let make = |now| TouchStrategy::new(config, now);
    let served = service::serve_fused(&file, &name, make, heard);
    served.map_err(|error| log.failure(&Failed {}, error))
}

fn read(path: &Path, paper: bool) -> Result<GatewayFile, Failure> {
    let file = if paper { GatewayFile::read_on_paper(path) } else { GatewayFile::read(path) };
    file.map_err(failure)
}

impl Verb {
    fn run(&self) -> Result<(), Failure> {
        match self {
            Self::Check { file, live, paper, patience } => {
                let file = read(file, *paper)?;
                let lines = file.explain().map_err(failure)?;
                lines.iter().try_for_each(terminal::print)?;
                if !live {
                    return Ok(());
                }
                let patience = Nanos::from_secs((*patience).into());
                service::check_live(&file, patience, |what| terminal::tell(what)).map_err(failure)
            }
            Self::Sample { venue } => terminal::print(match venue {
                SampleVenue::Taut => GATEWAY_SAMPLE.trim_end(),
                SampleVenue::Deribit => DERIBIT_GATEWAY_SAMPLE.trim_end(),
                SampleVenue::Binance => BINANCE_GATEWAY_SAMPLE.trim_end(),
                SampleVenue::Okx => OKX_GATEWAY_SAMPLE.trim_end(),
            }),
            Self::Status(which) => operator::status(which),
            Self::Stages(which) => operator::stages(which),
            Self::Outliers { which, since, perfetto, force } => {
                outliers::show(which, *since, perfetto.as_deref(), *force)
            }
            Self::Orders(which) => operator::orders(which),
            Self::Positions(which) => operator::positions(which),
            Self::Snapshot { which, file } => operator::snapshot(which, file.as_deref()),
            Self::Roll(which) => operator::act(which, &service::ControlRequest::Roll),
            Self::Limits(which) => operator::limits(which),
            Self::Reload(which) => operator::reload(which),
            Self::Kill { which, scope } => {
                operator::act(which, &service::ControlRequest::Kill { scope: scope.name() })
            }
            Self::Revive { which, scope } => {
                operator::act(which, &service::ControlRequest::Revive { scope: scope.name() })
            }
            Self::Alive(which) => operator::act(which, &service::ControlRequest::Alive),
            Self::Stop(which) => operator::act(which, &service::ControlRequest::Stop),
            Self::CancelAll { which, filter } => {
                let filter = filter.names();
                operator::act(which, &service::ControlRequest::CancelAll { filter })
            }
            Self::HandOver { which, from, to } => {
                let (from, to) = (from.clone(), to.clone());
                operator::act(which, &service::ControlRequest::HandOver { from, to })
            }
            Self::Drop { which, strategy } => {
                let strategy = strategy.clone();
                operator::act(which, &service::ControlRequest::Drop { strategy })
            }
        }
    }
}
