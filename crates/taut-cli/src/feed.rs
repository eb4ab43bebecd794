//! `taut feed`: market data from a recording, as it came.

mod pace;
mod publish;
mod replay;

use clap::{Args, Subcommand};

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
    Replay(replay::Replay),
}

/// Runs `taut feed`.
///
/// # Errors
/// [`Failure`]: a capture or a channel that cannot be used, or a publication that broke.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Verb::Replay(replay) = &arguments.verb;
    replay::run(replay)
}
