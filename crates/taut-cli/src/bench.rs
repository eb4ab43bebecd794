//! `taut bench`: this machine, measured by the tools themselves.

mod waits;

use clap::Subcommand;

use crate::exit::Failure;

/// What to measure.
#[derive(Subcommand, Debug)]
pub enum Bench {
    /// Send and receive over every wait strategy, pinned and not.
    Waits(waits::Arguments),
}

/// Measures it.
pub fn run(Bench::Waits(arguments): &Bench) -> Result<(), Failure> {
    waits::run(arguments)
}
