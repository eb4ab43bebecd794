//! `taut fix`: tools for people who make FIX clients and servers.

mod acceptance;
mod acceptor;
mod decode;
mod echo;
mod messages;

use std::net::SocketAddrV4;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::exit::Failure;

/// The arguments of `taut fix`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    tool: Tool,
}

#[derive(Subcommand, Debug)]
enum Tool {
    /// Accept FIX sessions and send application messages back.
    Echo(EchoArguments),
    /// Print messages with the names of their fields and values.
    Decode(decode::DecodeArguments),
    /// Hold messages against a dictionary; exit code 1 when one is wrong.
    Check(decode::CheckArguments),
}

#[derive(Args, Debug)]
struct EchoArguments {
    /// Where to listen, as ADDRESS:PORT; port 0 lets the kernel choose.
    #[arg(long, value_name = "HOST:PORT")]
    listen: SocketAddrV4,
    /// Behave as the QuickFIX acceptance suite expects.
    #[arg(long, requires = "dictionaries")]
    acceptance: bool,
    /// The folder with the dictionaries (FIX44.xml and so on).
    #[arg(long, value_name = "DIR")]
    dictionaries: Option<PathBuf>,
}

/// Runs a tool.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.tool {
        Tool::Echo(arguments) => echo(arguments),
        Tool::Decode(arguments) => decode::decode(arguments),
        Tool::Check(arguments) => decode::check(arguments),
    }
}

fn echo(arguments: &EchoArguments) -> Result<(), Failure> {
    let Some(folder) = arguments.dictionaries.as_ref().filter(|_| arguments.acceptance) else {
        return Err(Failure::Usage(String::from("give --acceptance --dictionaries DIR")));
    };
    let sessions = acceptance::sessions(folder)?;
    acceptor::run(arguments.listen, sessions)
}
