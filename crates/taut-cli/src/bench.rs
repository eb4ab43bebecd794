//! `taut bench`: parts of taut, measured on this machine.

mod fix;
mod floor;
mod ipc;
mod ipc_kill;
mod load;
mod spread;

use clap::Subcommand;

use crate::exit::Failure;

/// What to measure.
#[derive(Subcommand, Debug)]
pub enum Bench {
    /// Orders and reports over FIX: the codec, and round trips over loopback TCP.
    Fix(fix::Arguments),
    /// Shared memory between two processes, beside the bare cache line.
    Ipc(ipc::Arguments),
    /// Writers and readers of shared memory killed at random times under full load.
    IpcKill(ipc_kill::Arguments),
}

/// Measures it.
pub fn run(what: &Bench) -> Result<(), Failure> {
    match what {
        Bench::Fix(arguments) => fix::run(arguments),
        Bench::Ipc(arguments) => ipc::run(arguments),
        Bench::IpcKill(arguments) => ipc_kill::run(arguments),
    }
}
