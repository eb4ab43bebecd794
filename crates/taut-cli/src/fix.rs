//! `taut fix`: tools for people who make FIX clients and servers.

mod acceptance;
mod decode;
mod echo;
mod fields;
mod messages;
mod send;
mod serve;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::exit::Failure;
use crate::terminal::print;

/// The arguments of `taut fix`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    tool: Tool,
}

#[derive(Subcommand, Debug)]
enum Tool {
    /// Accept FIX sessions and send application messages back.
    Echo(serve::EchoArguments),
    /// Log on, send messages from a file, and print what comes back.
    Send(send::SendArguments),
    /// Turn a QuickFIX settings file into ours, on standard output.
    Import(ImportArguments),
    /// Print messages with the names of their fields and values.
    Decode(decode::DecodeArguments),
    /// Hold messages against a dictionary; exit code 1 when one is wrong.
    Check(decode::CheckArguments),
}

#[derive(Args, Debug)]
struct ImportArguments {
    /// A QuickFIX settings file (`[DEFAULT]`, `[SESSION]`), or - for standard input.
    file: PathBuf,
}

/// Runs a tool.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.tool {
        Tool::Echo(arguments) => serve::echo(arguments),
        Tool::Send(arguments) => send::send(arguments),
        Tool::Import(arguments) => import(arguments),
        Tool::Decode(arguments) => decode::decode(arguments),
        Tool::Check(arguments) => decode::check(arguments),
    }
}

fn import(arguments: &ImportArguments) -> Result<(), Failure> {
    let text = String::from_utf8_lossy(&messages::read(&arguments.file)?).into_owned();
    let ours = taut_fix_engine::import_quickfix(&text)
        .map_err(|error| Failure::Usage(format!("{}: {error}", arguments.file.display())))?;
    print(ours.trim_end())
}
