//! `taut bench`: what the parts cost on this machine.

mod fix;

use clap::{Args, Subcommand};

use crate::exit::Failure;

/// The arguments of `taut bench`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Subcommand, Debug)]
enum Bench {
    /// Orders and reports over FIX: the codec, and round trips over loopback TCP.
    Fix(fix::Arguments),
}

/// Runs a benchmark.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.bench {
        Bench::Fix(arguments) => fix::run(arguments),
    }
}
