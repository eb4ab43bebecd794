//! `taut feed`: market data from a recording, as it came.

mod pace;
mod publish;
mod replay;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use taut_channel::ChannelUri;

use crate::exit::Failure;

/// The arguments of `taut feed`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// Play recorded frames through the venue's decoder and the book that they make.
    Replay(Replay),
}

#[derive(Args, Debug)]
struct Replay {
    /// Whose frames they are
    #[arg(long)]
    format: Format,
    /// A capture: one frame a line after its receive time in nanoseconds; gzip or plain
    #[arg(long)]
    capture: PathBuf,
    /// How fast: 1 as it was received, 2 twice as fast, or max for as fast as it goes
    #[arg(long, default_value = "max", value_parser = parse_speed)]
    speed: Speed,
    /// Publish the book's levels and the trades as taut's own market data (SBE packets and, in
    /// between, snapshots) on this channel, for example ipc:NAME
    #[arg(long, value_name = "CHANNEL")]
    publish: Option<ChannelUri>,
    /// With --publish: begin when the channel has a subscriber
    #[arg(long, requires = "publish")]
    await_subscriber: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Binance,
}

/// How fast a recording is played.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Speed {
    Max,
    /// Times the speed at which it was received.
    Times(f64),
}

fn parse_speed(text: &str) -> Result<Speed, String> {
    if text == "max" {
        return Ok(Speed::Max);
    }
    match text.parse::<f64>() {
        Ok(times) if times.is_finite() && times > 0.0 => Ok(Speed::Times(times)),
        _ => Err(format!("{text} is neither max nor a number above zero, such as 1 or 0.5")),
    }
}

/// Runs `taut feed`.
///
/// # Errors
/// [`Failure`]: a capture or a channel that cannot be used, or a publication that broke.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Verb::Replay(replay) = &arguments.verb;
    let Format::Binance = replay.format;
    replay::run(replay)
}
