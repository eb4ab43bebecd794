//! The verbs that the feature `full` brings: those with dependencies of their own, and those that
//! neither a demo nor a first gateway needs.

use clap::Subcommand;

use crate::exit::Failure;
use crate::{
    backtest, bench, book, desk, engine, feed, fix, install, ipc, man, metrics, receive, relay,
    saturate, sbe, send, top, ws,
};

// What each does stands at its own type: a comment here would take the place of that, of the long
// help, too.
#[derive(Subcommand, Debug)]
pub enum Verb {
    Backtest(backtest::Arguments),
    #[command(subcommand)]
    Bench(bench::Bench),
    #[command(subcommand)]
    Book(book::Book),
    Desk(desk::Arguments),
    #[command(subcommand)]
    Engine(engine::EngineVerb),
    #[command(subcommand)]
    Feed(feed::Feed),
    #[command(subcommand)]
    Fix(fix::Fix),
    Install(install::Arguments),
    #[command(subcommand)]
    Ipc(ipc::Ipc),
    Man(man::Arguments),
    Metrics(metrics::Arguments),
    Receive(Box<receive::Arguments>),
    Relay(relay::Arguments),
    Saturate(saturate::Arguments),
    #[command(subcommand)]
    Sbe(sbe::Sbe),
    Send(Box<send::Arguments>),
    Top(top::Arguments),
    #[command(subcommand)]
    Ws(ws::Ws),
}

/// Does it. `taut` is the command, for what is told about it.
pub fn run(verb: Verb, taut: clap::Command) -> Result<(), Failure> {
    match verb {
        Verb::Backtest(arguments) => backtest::run(&arguments),
        Verb::Bench(what) => bench::run(&what),
        Verb::Book(what) => book::run(&what),
        Verb::Desk(arguments) => desk::run(&arguments),
        Verb::Engine(what) => engine::run(&what),
        Verb::Feed(what) => feed::run(&what),
        Verb::Fix(what) => fix::run(&what),
        Verb::Install(arguments) => install::run(&arguments),
        Verb::Ipc(what) => ipc::run(&what),
        Verb::Man(arguments) => man::run(&arguments, taut),
        Verb::Metrics(arguments) => metrics::run(&arguments),
        Verb::Receive(arguments) => receive::run(&arguments),
        Verb::Relay(arguments) => relay::run(&arguments),
        Verb::Saturate(arguments) => saturate::run(&arguments),
        Verb::Sbe(what) => sbe::run(&what),
        Verb::Send(arguments) => send::run(&arguments),
        Verb::Top(arguments) => top::run(&arguments),
        Verb::Ws(what) => ws::run(&what),
    }
}
