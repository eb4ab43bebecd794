//! `taut feed`: market data from a recording, as it came.

mod pace;
mod publish;
mod replay;

use clap::Subcommand;

use crate::exit::Failure;

/// Market data from a recording, as it came.
#[derive(Subcommand, Debug)]
pub enum Feed {
    /// Play recorded frames through the venue's decoder and the book that they make.
    Replay(replay::Replay),
}

/// Runs `taut feed`.
///
/// # Errors
/// [`Failure`]: a capture or a channel that cannot be used, or a publication that broke.
pub fn run(Feed::Replay(replay): &Feed) -> Result<(), Failure> {
    replay::run(replay)
}
