//! `taut fix`: tools for people who make FIX clients and servers.

mod acceptance;
mod decode;
mod echo;
mod fields;
mod input;
mod messages;
mod send;
mod serve;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::exit::Failure;
use crate::input::read;
use crate::terminal::print;

/// Talk FIX: echo, decode and check messages.
#[derive(Subcommand, Debug)]
pub enum Fix {
    /// Accept FIX sessions and send application messages back.
    Echo(serve::EchoArguments),
    /// Log on, send messages from a file, and print what comes back.
    Send(send::SendArguments),
    /// Print a file of settings with every key.
    Sample,
    /// Turn a QuickFIX settings file into ours, on standard output.
    Import(ImportArguments),
    /// Print messages with the names of their fields and values.
    Decode(decode::DecodeArguments),
    /// Hold messages against a dictionary; exit code 1 when one is wrong.
    Check(decode::CheckArguments),
}

#[derive(Args, Debug)]
pub struct ImportArguments {
    /// A QuickFIX settings file (`[DEFAULT]`, `[SESSION]`), or - for standard input.
    file: PathBuf,
}

/// Runs a tool.
pub fn run(tool: &Fix) -> Result<(), Failure> {
    match tool {
        Fix::Echo(arguments) => serve::echo(arguments),
        Fix::Send(arguments) => send::send(arguments),
        Fix::Sample => print(taut_fix_engine::SAMPLE.trim_end()),
        Fix::Import(arguments) => import(arguments),
        Fix::Decode(arguments) => decode::decode(arguments),
        Fix::Check(arguments) => decode::check(arguments),
    }
}

fn import(arguments: &ImportArguments) -> Result<(), Failure> {
    let text = String::from_utf8_lossy(&read(&arguments.file)?).into_owned();
    let ours = taut_fix_engine::import_quickfix(&text)
        .map_err(|error| Failure::in_file(&arguments.file, error))?;
    print(ours.trim_end())
}
