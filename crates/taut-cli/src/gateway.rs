//! `taut gateway`: a gateway that runs by itself, and its operator's commands.

mod operator;
mod which;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use taut_runner::service::{self, GATEWAY_SAMPLE, GatewayFile};

use crate::exit::Failure;
use crate::terminal;
use which::Which;

pub(crate) use which::failure;

/// Run a gateway by itself, look at it and act on it while it trades.
///
/// Strategies attach and leave at any time, over shared memory: `taut strategy`, or a program of
/// your own with `taut::runner::service::Attach`. A gateway ends at Ctrl-C, SIGTERM or `taut
/// gateway stop`: open orders are cancelled and the session logged out.
#[derive(Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Gateway {
    /// The gateway's settings; `taut gateway sample` prints such a file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Subcommand, Clone, Debug)]
enum Verb {
    /// Check a file of settings and explain it; nothing is started
    Check {
        /// The file
        file: PathBuf,
    },
    /// Print a file of settings with every key
    Sample,
    /// How the gateway is: sessions, books, strategies, what it counted
    Status(Which),
    /// Where the time of a tick goes, stage by stage, since the gateway began
    Stages(Which),
    /// The open orders
    Orders(Which),
    /// What is held
    Positions(Which),
    /// Let no new order pass until `revive`, and cancel the open ones
    Kill(Which),
    /// Let new orders pass again
    Revive(Which),
    /// Cancel the open orders, of one strategy or of all
    CancelAll {
        #[command(flatten)]
        which: Which,
        /// Those of this strategy
        #[arg(long, value_name = "NAME")]
        strategy: Option<String>,
    },
    /// End a strategy's attachment and cancel its orders
    Drop {
        #[command(flatten)]
        which: Which,
        /// The strategy
        strategy: String,
    },
    /// End the gateway: cancel the open orders, log out
    Stop(Which),
}

/// Runs the gateway, or what its operator asks.
pub fn run(gateway: &Gateway) -> Result<(), Failure> {
    match (&gateway.verb, &gateway.config) {
        (Some(verb), _) => verb.run(),
        (None, Some(path)) => {
            let file = GatewayFile::read(path).map_err(failure)?;
            service::serve(&file, |what| terminal::tell(what)).map_err(failure)
        }
        (None, None) => Err(Failure::Usage(
            "--config FILE names the gateway's settings; `taut gateway sample` prints such a file"
                .to_owned(),
        )),
    }
}

impl Verb {
    fn run(&self) -> Result<(), Failure> {
        match self {
            Self::Check { file } => check(file),
            Self::Sample => terminal::print(GATEWAY_SAMPLE.trim_end()),
            Self::Status(which) => operator::status(which),
            Self::Stages(which) => operator::stages(which),
            Self::Orders(which) => operator::orders(which),
            Self::Positions(which) => operator::positions(which),
            Self::Kill(which) => operator::act(which, &service::ControlRequest::Kill),
            Self::Revive(which) => operator::act(which, &service::ControlRequest::Revive),
            Self::Stop(which) => operator::act(which, &service::ControlRequest::Stop),
            Self::CancelAll { which, strategy } => {
                let strategy = strategy.clone();
                operator::act(which, &service::ControlRequest::CancelAll { strategy })
            }
            Self::Drop { which, strategy } => {
                let strategy = strategy.clone();
                operator::act(which, &service::ControlRequest::Drop { strategy })
            }
        }
    }
}

/// Explains a file.
fn check(path: &std::path::Path) -> Result<(), Failure> {
    let file = GatewayFile::read(path).map_err(failure)?;
    let venue = &file.venue;
    terminal::print(format_args!("gateway '{}'", file.name))?;
    terminal::print(format_args!("  control socket   {}", file.control_path().display()))?;
    terminal::print(format_args!(
        "  orders           FIX 4.4 at {} as {}",
        venue.orders, venue.sender_comp_id
    ))?;
    terminal::print(format_args!(
        "  market data      line A {}, snapshots {}",
        venue.incremental, venue.snapshot
    ))?;
    match venue.incremental_b {
        Some(line) => terminal::print(format_args!("                   line B {line}"))?,
        None => {
            terminal::print("                   no line B: what line A loses, a snapshot replaces")?
        }
    }
    for (number, instrument) in file.instruments().map_err(failure)?.iter().enumerate() {
        let (symbol, tick) = (instrument.symbol(), instrument.tick());
        let lot = instrument.lot();
        terminal::print(format_args!("  instrument {number:<5} {symbol}, tick {tick}, lot {lot}"))?;
    }
    match &file.journal {
        Some(journal) => terminal::print(format_args!(
            "  journal          {}, durability {}",
            journal.folder.display(),
            journal.durability.name()
        ))?,
        None => terminal::print(
            "  journal          none: a gateway that is killed forgets its orders and positions",
        )?,
    }
    if file.strategies.is_empty() {
        terminal::print(format_args!("  strategies       none may attach: add [[strategies]]"))?;
    }
    for strategy in &file.strategies {
        let (user, number) = (strategy.user, strategy.number);
        terminal::print(format_args!(
            "  strategy         {}, user {user}, number {number}",
            strategy.name
        ))?;
    }
    Ok(())
}
