//! Parts of taut, measured on this machine. `peers/` holds what they are measured against.
#![forbid(unsafe_code)]
// They panic when their stream is closed or full: `terminal` does not.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod cpus;
mod event_loop;
mod fix;
mod floor;
mod inputs;
mod ipc;
mod ipc_kill;
mod load;
mod log;
mod ping_pong;
mod timing;
mod venue;
mod ws;

use clap::Parser;
use taut_report::Failure;

/// Measure a part of taut on this machine, with the floor of the machine beside it.
#[derive(Parser, Debug)]
#[command(name = "taut-bench", version, arg_required_else_help = true)]
enum Bench {
    /// Orders and reports over FIX: the codec, and round trips over loopback TCP.
    Fix(fix::Arguments),
    /// Entries into a recording, a million a second, beside a copy of the same bytes.
    Inputs(inputs::Arguments),
    /// Shared memory between two processes, beside the bare cache line.
    Ipc(ipc::Arguments),
    /// Writers and readers of shared memory killed at random times under full load.
    IpcKill(ipc_kill::Arguments),
    /// A message with a code into a log's ring.
    Log(log::Arguments),
    /// Send timed messages on many TCP connections, open loop.
    LoopServer(event_loop::server::Arguments),
    /// Receive them through the loop (or `--bare`) and report latency and system calls.
    LoopClient(event_loop::client::Arguments),
    /// Run both over rates, connections and peers, turn by turn, and write the table and a plot.
    LoopMatrix(event_loop::matrix::Arguments),
    /// A venue with and without a journal, from an order to its answer.
    Venue(venue::Arguments),
    /// A text over WebSocket: frames, and round trips over loopback TCP.
    Ws(ws::Arguments),
}

fn main() -> std::process::ExitCode {
    let measured = match Bench::parse() {
        Bench::Fix(arguments) => fix::run(&arguments),
        Bench::Inputs(arguments) => inputs::run(&arguments),
        Bench::Ipc(arguments) => ipc::run(&arguments),
        Bench::IpcKill(arguments) => ipc_kill::run(&arguments),
        Bench::Log(arguments) => log::run(&arguments),
        Bench::LoopServer(arguments) => event_loop::server::run(&arguments),
        Bench::LoopClient(arguments) => event_loop::client::run(&arguments),
        Bench::LoopMatrix(arguments) => event_loop::matrix::run(&arguments),
        Bench::Venue(arguments) => venue::run(&arguments),
        Bench::Ws(arguments) => ws::run(&arguments),
    };
    Failure::exit_code("taut-bench", measured)
}
