//! `taut bench`: parts of taut, measured on this machine.

mod cpus;
mod fix;
mod floor;
mod ipc;
mod ipc_kill;
mod load;
mod loop_bare;
mod loop_client;
mod loop_matrix;
mod loop_message;
mod loop_meter;
mod loop_plot;
mod loop_server;
mod loop_verdict;
mod ping_pong;
pub mod spread;
mod waits;
mod ws;

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
    /// Send timed messages on many TCP connections, open loop.
    LoopServer(loop_server::Arguments),
    /// Receive them through the loop (or `--bare`) and report latency and system calls.
    LoopClient(loop_client::Arguments),
    /// Run both over rates, connections and peers, turn by turn, and write the table and a plot.
    LoopMatrix(loop_matrix::Arguments),
    /// Send and receive over every wait strategy, pinned and not.
    Waits(waits::Arguments),
    /// A text over WebSocket: frames, and round trips over loopback TCP.
    Ws(ws::Arguments),
}

/// Measures it.
pub fn run(what: &Bench) -> Result<(), Failure> {
    match what {
        Bench::Fix(arguments) => fix::run(arguments),
        Bench::Ipc(arguments) => ipc::run(arguments),
        Bench::IpcKill(arguments) => ipc_kill::run(arguments),
        Bench::LoopServer(arguments) => loop_server::run(arguments),
        Bench::LoopClient(arguments) => loop_client::run(arguments),
        Bench::LoopMatrix(arguments) => loop_matrix::run(arguments),
        Bench::Waits(arguments) => waits::run(arguments),
        Bench::Ws(arguments) => ws::run(arguments),
    }
}
