//! `taut ws`: tools for people who make WebSocket clients and servers.

mod autobahn;
mod connect;
mod dial;
mod echo;
mod stop;
mod words;

use clap::{Args, Subcommand};

use crate::exit::Failure;

/// The arguments of `taut ws`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    tool: Tool,
}

#[derive(Subcommand, Debug)]
enum Tool {
    /// Accept WebSockets and send every message back.
    Echo(echo::Arguments),
    /// Connect, send what is to be subscribed, and print what comes.
    Connect(connect::Arguments),
    /// Play the client of Autobahn's fuzzing server through all its cases.
    Autobahn(autobahn::Arguments),
}

/// Runs a tool.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.tool {
        Tool::Echo(arguments) => echo::run(arguments),
        Tool::Connect(arguments) => connect::run(arguments),
        Tool::Autobahn(arguments) => autobahn::run(arguments),
    }
}
