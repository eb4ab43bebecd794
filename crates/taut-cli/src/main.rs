//! The `taut` command.
//!
//! `taut demo` runs the tick-to-trade path in three processes of this one binary and reports it.
#![forbid(unsafe_code)]

mod bench;
mod demo;
mod exit;
mod report;
mod terminal;

use clap::{Parser, Subcommand};

use crate::exit::Failure;

/// The tick-to-trade path as one library and one binary, measured.
#[derive(Parser, Debug)]
#[command(name = "taut", version, about, arg_required_else_help = true)]
struct Command {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// Run a venue, a gateway and a strategy on this machine and report every stage.
    Demo(Box<demo::Arguments>),
    /// Run one of the experiments behind the figures.
    Bench(bench::Arguments),
    /// A process of a demo; started by `taut demo`, never by hand.
    #[command(hide = true)]
    DemoRole {
        /// Which part it plays.
        role: demo::Role,
    },
}

fn main() -> std::process::ExitCode {
    let command = Command::parse();
    let result = match command.verb {
        Verb::Demo(arguments) => demo::run(&arguments),
        Verb::Bench(arguments) => bench::run(&arguments),
        Verb::DemoRole { role } => demo::play(role),
    };
    match result {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

impl Failure {
    /// Says what went wrong on standard error and returns the exit code for it.
    fn report(&self) -> std::process::ExitCode {
        if !matches!(self, Self::Told) {
            terminal::tell(format_args!("taut: {self}"));
        }
        self.exit_code()
    }
}
