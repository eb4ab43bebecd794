//! The `taut` command.
//!
//! `taut demo` runs the tick-to-trade path in three processes of this one binary and reports it;
//! `taut fix` talks FIX.
#![forbid(unsafe_code)]
// They panic when their stream is closed or full: `terminal` does not.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod again;
mod backtest;
mod bench;
mod book;
mod channel;
mod completions;
mod config;
mod config_file;
mod demo;
mod desk;
mod doctor;
mod duration;
mod engine;
mod event_loop;
mod explain;
mod feed;
mod fix;
mod gateway;
mod generated;
mod input;
mod install;
mod ipc;
mod jitter;
mod journal;
mod listen;
mod log;
mod man;
mod metrics;
mod observed;
mod receive;
mod record;
mod recorded;
mod relay;
mod replay;
mod saturate;
mod sbe;
mod send;
mod strategy;
mod tell_few;
mod top;
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

// What each does stands at its own type: a comment here would take the place of that, of the long
// help, too.
#[derive(Subcommand, Debug)]
enum Verb {
    Backtest(backtest::Arguments),
    #[command(subcommand)]
    Book(book::Book),
    Completions(completions::Arguments),
    #[command(subcommand)]
    Config(config::Config),
    Demo(Box<demo::Arguments>),
    Desk(desk::Arguments),
    Doctor(doctor::Arguments),
    Explain(explain::Arguments),
    Gateway(Box<gateway::Gateway>),
    Venue(venue::Venue),
    #[command(subcommand)]
    Strategy(strategy::Strategy),
    #[command(subcommand)]
    Bench(bench::Bench),
    #[command(subcommand)]
    Fix(fix::Fix),
    Install(install::Arguments),
    #[command(subcommand)]
    Ipc(ipc::Ipc),
    Jitter(jitter::Arguments),
    #[command(subcommand)]
    Journal(journal::JournalVerb),
    Man(man::Arguments),
    Metrics(metrics::Arguments),
    Export(recorded::Export),
    #[command(subcommand)]
    Feed(feed::Feed),
    Import(recorded::Import),
    #[command(subcommand)]
    Sbe(sbe::Sbe),
    #[command(subcommand)]
    Engine(engine::EngineVerb),
    Receive(Box<receive::Arguments>),
    #[command(subcommand)]
    Record(record::Record),
    Relay(relay::Arguments),
    Replay(replay::Arguments),
    Saturate(saturate::Arguments),
    Send(Box<send::Arguments>),
    Top(top::Arguments),
    #[command(subcommand)]
    Ws(ws::Ws),
}

fn main() -> std::process::ExitCode {
    let matches = with_negative_numbers(Command::command()).get_matches();
    let command = Command::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let result = match command.verb {
        Verb::Backtest(arguments) => backtest::run(&arguments),
        Verb::Book(what) => book::run(&what),
        Verb::Completions(arguments) => completions::run(&arguments, Command::command()),
        Verb::Config(what) => config::run(&what),
        Verb::Demo(arguments) => demo::run(&arguments),
        Verb::Desk(arguments) => desk::run(&arguments),
        Verb::Doctor(arguments) => doctor::run(&arguments),
        Verb::Explain(arguments) => explain::run(&arguments),
        Verb::Gateway(gateway) => gateway::run(&gateway),
        Verb::Venue(venue) => venue::run(&venue),
        Verb::Strategy(strategy) => strategy::run(&strategy),
        Verb::Bench(what) => bench::run(&what),
        Verb::Install(arguments) => install::run(&arguments),
        Verb::Ipc(what) => ipc::run(&what),
        Verb::Jitter(arguments) => jitter::run(&arguments),
        Verb::Journal(what) => journal::run(&what),
        Verb::Man(arguments) => man::run(&arguments, Command::command()),
        Verb::Metrics(arguments) => metrics::run(&arguments),
        Verb::Fix(what) => fix::run(&what),
        Verb::Export(export) => recorded::export(&export),
        Verb::Feed(what) => feed::run(&what),
        Verb::Import(import) => recorded::import(&import),
        Verb::Sbe(what) => sbe::run(&what),
        Verb::Engine(what) => engine::run(&what),
        Verb::Receive(arguments) => receive::run(&arguments),
        Verb::Record(what) => record::run(&what),
        Verb::Relay(arguments) => relay::run(&arguments),
        Verb::Replay(arguments) => replay::run(&arguments),
        Verb::Saturate(arguments) => saturate::run(&arguments),
        Verb::Send(arguments) => send::run(&arguments),
        Verb::Top(arguments) => top::run(&arguments),
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Args;

    use super::*;

    fn of_arguments<A: Args>(name: &'static str) -> clap::Command {
        A::augment_args(clap::Command::new(name))
    }

    fn of_verbs<S: Subcommand>(name: &'static str) -> clap::Command {
        S::augment_subcommands(clap::Command::new(name))
    }

    #[test]
    fn every_commands_help_is_the_one_that_stands_at_its_type() {
        let own = [
            of_arguments::<backtest::Arguments>("backtest"),
            of_verbs::<book::Book>("book"),
            of_arguments::<completions::Arguments>("completions"),
            of_verbs::<config::Config>("config"),
            of_arguments::<demo::Arguments>("demo"),
            of_arguments::<desk::Arguments>("desk"),
            of_arguments::<doctor::Arguments>("doctor"),
            of_arguments::<explain::Arguments>("explain"),
            of_arguments::<gateway::Gateway>("gateway"),
            of_arguments::<venue::Venue>("venue"),
            of_verbs::<strategy::Strategy>("strategy"),
            of_verbs::<bench::Bench>("bench"),
            of_verbs::<fix::Fix>("fix"),
            of_arguments::<install::Arguments>("install"),
            of_verbs::<ipc::Ipc>("ipc"),
            of_arguments::<jitter::Arguments>("jitter"),
            of_verbs::<journal::JournalVerb>("journal"),
            of_arguments::<man::Arguments>("man"),
            of_arguments::<metrics::Arguments>("metrics"),
            of_arguments::<recorded::Export>("export"),
            of_verbs::<feed::Feed>("feed"),
            of_arguments::<recorded::Import>("import"),
            of_verbs::<sbe::Sbe>("sbe"),
            of_verbs::<engine::EngineVerb>("engine"),
            of_arguments::<receive::Arguments>("receive"),
            of_verbs::<record::Record>("record"),
            of_arguments::<relay::Arguments>("relay"),
            of_arguments::<replay::Arguments>("replay"),
            of_arguments::<saturate::Arguments>("saturate"),
            of_arguments::<send::Arguments>("send"),
            of_arguments::<top::Arguments>("top"),
            of_verbs::<ws::Ws>("ws"),
        ];
        let mut taut = Command::command();
        for own in &own {
            let name = own.get_name();
            let command = taut.find_subcommand_mut(name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(command.get_about(), own.get_about(), "{name}");
            assert_eq!(command.get_long_about(), own.get_long_about(), "{name}");
            let first = own.get_long_about().or(own.get_about()).expect(name).to_string();
            let shown = command.render_long_help().to_string();
            assert!(shown.starts_with(first.lines().next().expect(name)), "{name}: {shown}");
        }
        let names: BTreeSet<_> = own.iter().map(clap::Command::get_name).collect();
        assert_eq!(names, taut.get_subcommands().map(clap::Command::get_name).collect());
    }

    #[test]
    fn every_command_and_flag_of_all_depths_says_what_it_is() {
        fn check(command: &clap::Command, path: &str) {
            let path = format!("{path} {}", command.get_name());
            assert!(command.get_about().is_some(), "{path}");
            for argument in command.get_arguments() {
                let is_said = argument.get_help().or(argument.get_long_help()).is_some();
                assert!(is_said, "{path}: {}", argument.get_id());
            }
            command.get_subcommands().for_each(|it| check(it, &path));
        }
        check(&Command::command(), "");
    }
}
