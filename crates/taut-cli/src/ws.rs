//! `taut ws`: tools for people who make WebSocket clients and servers.

mod autobahn;
mod connect;
mod dial;
mod echo;
mod words;

use clap::Subcommand;

use crate::exit::Failure;

/// Talk WebSocket: echo, connect, and play the cases of Autobahn.
#[derive(Subcommand, Debug)]
pub enum Ws {
    /// Accept WebSockets and send every message back.
    Echo(echo::Arguments),
    /// Connect, send what is to be subscribed, and print what comes.
    Connect(connect::Arguments),
    /// Play the client of Autobahn's fuzzing server through all its cases.
    Autobahn(autobahn::Arguments),
}

/// Runs a tool.
pub fn run(tool: &Ws) -> Result<(), Failure> {
    match tool {
        Ws::Echo(arguments) => echo::run(arguments),
        Ws::Connect(arguments) => connect::run(arguments),
        Ws::Autobahn(arguments) => autobahn::run(arguments),
    }
}
