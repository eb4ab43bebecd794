//! The `taut` command.
//!
//! `taut demo` runs the tick-to-trade path in three processes of this one binary and reports it;
//! `taut fix` talks FIX.
#![forbid(unsafe_code)]
// They panic when their stream is closed or full: `terminal` does not.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod bench;
mod book;
mod channel;
mod config_file;
mod demo;
mod doctor;
mod engine;
mod event_loop;
mod feed;
mod fix;
mod gateway;
mod input;
mod ipc;
mod jitter;
mod journal;
mod listen;
mod receive;
mod relay;
mod saturate;
mod sbe;
mod send;
mod strategy;
mod tell_few;
mod venue;
mod ws;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use taut_report::{self as report, Failure, exit, progress, terminal};

/// The tick-to-trade path as one library and one binary, measured.
#[derive(Parser, Debug)]
#[command(name = "taut", version, about, arg_required_else_help = true)]
struct Command {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// Books rebuilt from recorded market data.
    #[command(subcommand)]
    Book(book::Book),
    /// Run a venue, a gateway and a strategy on this machine and report every stage.
    Demo(Box<demo::Arguments>),
    // A comment here would take the place of the longer one of its arguments.
    Doctor(doctor::Arguments),
    /// Run a gateway by itself, look at it and act on it while it trades.
    Gateway(Box<gateway::Gateway>),
    /// Run a venue simulator by itself.
    Venue(venue::Venue),
    /// Attach one of taut's own strategies to a running gateway.
    #[command(subcommand)]
    Strategy(strategy::Strategy),
    /// Measure a part of taut on this machine, with the floor of the machine beside it.
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Talk FIX: echo, decode and check messages.
    #[command(subcommand)]
    Fix(fix::Fix),
    /// Look at the shared-memory channels of this machine.
    #[command(subcommand)]
    Ipc(ipc::Ipc),
    // As for `Doctor`.
    Jitter(jitter::Arguments),
    /// Look at an order journal, and check it.
    #[command(subcommand)]
    Journal(journal::JournalVerb),
    /// Market data from a recording, as it came.
    #[command(subcommand)]
    Feed(feed::Feed),
    /// Work with SBE schemas and messages.
    #[command(subcommand)]
    Sbe(sbe::Sbe),
    /// The matching engine on an order flow from a file.
    #[command(subcommand)]
    Engine(engine::EngineVerb),
    /// Receive messages from any channel, with latency and losses.
    Receive(Box<receive::Arguments>),
    /// Pass messages on from one channel to another.
    Relay(relay::Arguments),
    /// Raise the rate of a channel until latency or loss gives way; draw the curves.
    Saturate(saturate::Arguments),
    /// Send timed messages into any channel.
    Send(Box<send::Arguments>),
    /// Talk WebSocket: echo, connect, and play the cases of Autobahn.
    #[command(subcommand)]
    Ws(ws::Ws),
}

fn main() -> std::process::ExitCode {
    let matches = with_negative_numbers(Command::command()).get_matches();
    let command = Command::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let result = match command.verb {
        Verb::Book(what) => book::run(&what),
        Verb::Demo(arguments) => demo::run(&arguments),
        Verb::Doctor(arguments) => doctor::run(&arguments),
        Verb::Gateway(gateway) => gateway::run(&gateway),
        Verb::Venue(venue) => venue::run(&venue),
        Verb::Strategy(strategy) => strategy::run(&strategy),
        Verb::Bench(what) => bench::run(&what),
        Verb::Ipc(what) => ipc::run(&what),
        Verb::Jitter(arguments) => jitter::run(&arguments),
        Verb::Journal(what) => journal::run(&what),
        Verb::Fix(what) => fix::run(&what),
        Verb::Feed(what) => feed::run(&what),
        Verb::Sbe(what) => sbe::run(&what),
        Verb::Engine(what) => engine::run(&what),
        Verb::Receive(arguments) => receive::run(&arguments),
        Verb::Relay(arguments) => relay::run(&arguments),
        Verb::Saturate(arguments) => saturate::run(&arguments),
        Verb::Send(arguments) => send::run(&arguments),
        Verb::Ws(what) => ws::run(&what),
    };
    Failure::exit_code("taut", result)
}

/// Lets `-1` be a wrong value of the flag before it, and not a flag that nobody knows.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    command
        .mut_args(|arg| {
            let takes_values = arg.get_action().takes_values();
            arg.allow_negative_numbers(takes_values)
        })
        .mut_subcommands(with_negative_numbers)
}
