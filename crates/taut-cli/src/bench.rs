//! `taut bench`: the experiments behind the figures.

mod loop_bare;
mod loop_client;
mod loop_matrix;
mod loop_message;
mod loop_meter;
mod loop_plot;
mod loop_server;

use clap::{Args, Subcommand};

use crate::exit::Failure;

/// The arguments of `taut bench`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    experiment: Experiment,
}

#[derive(Subcommand, Debug)]
enum Experiment {
    /// Send timed messages on many TCP connections, open loop.
    #[command(name = "loop-server")]
    Sender(loop_server::Arguments),
    /// Receive them through the loop (or `--bare`) and report latency and system calls.
    #[command(name = "loop-client")]
    Receiver(loop_client::Arguments),
    /// Run both over rates, connections and peers, turn by turn, and write the table and a plot.
    #[command(name = "loop-matrix")]
    Matrix(loop_matrix::Arguments),
}

/// Runs an experiment.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.experiment {
        Experiment::Sender(arguments) => loop_server::run(arguments),
        Experiment::Receiver(arguments) => loop_client::run(arguments),
        Experiment::Matrix(arguments) => loop_matrix::run(arguments),
    }
}
