//! `taut bench`: this machine, measured by the tools themselves.

mod waits;

use clap::Subcommand;

use crate::exit::Failure;

/// Measure a part of taut on this machine, with the floor of the machine beside it.
#[derive(Subcommand, Debug)]
pub enum Bench {
    Waits(waits::Arguments),
}

/// Measures it.
pub fn run(Bench::Waits(arguments): &Bench) -> Result<(), Failure> {
    waits::run(arguments)
}
