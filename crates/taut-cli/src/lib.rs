//! The `taut` command.
//!
//! `taut demo` runs the tick-to-trade path in three processes of this one binary and reports it.
//! Without the feature `full` the command has the verbs of a demo and of a first gateway, and
//! compiles in half the time; [`full`] has the others. Tests have all of them.
#![forbid(unsafe_code)]
// What the verbs share is there for all of them.
#![cfg_attr(not(feature = "full"), allow(dead_code, unused_imports))]
// They panic when their stream is closed or full: `terminal` does not.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod again;
#[cfg(feature = "full")]
mod backtest;
#[cfg(feature = "full")]
mod bench;
#[cfg(feature = "full")]
mod book;
#[cfg(feature = "full")]
mod channel;
mod completions;
mod config;
mod config_file;
mod demo;
#[cfg(feature = "full")]
mod desk;
mod doctor;
mod duration;
#[cfg(feature = "full")]
mod engine;
#[cfg(feature = "full")]
mod event_loop;
mod explain;
#[cfg(feature = "full")]
mod feed;
#[cfg(feature = "full")]
mod fix;
#[cfg(feature = "full")]
mod full;
mod gateway;
#[cfg(feature = "full")]
mod generated;
#[cfg(feature = "full")]
mod input;
#[cfg(feature = "full")]
mod install;
#[cfg(feature = "full")]
mod ipc;
mod jitter;
mod journal;
#[cfg(feature = "full")]
mod listen;
mod log;
#[cfg(feature = "full")]
mod man;
#[cfg(feature = "full")]
mod metrics;
mod observed;
#[cfg(feature = "full")]
mod receive;
mod record;
mod recorded;
#[cfg(feature = "full")]
mod relay;
mod replay;
#[cfg(feature = "full")]
mod saturate;
#[cfg(feature = "full")]
mod sbe;
#[cfg(feature = "full")]
mod send;
mod strategy;
#[cfg(feature = "full")]
mod tell_few;
#[cfg(feature = "full")]
mod top;
mod venue;
#[cfg(feature = "full")]
mod ws;

use clap::error::{ContextKind, ContextValue};
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
    Completions(completions::Arguments),
    #[command(subcommand)]
    Config(config::Config),
    Demo(Box<demo::Arguments>),
    Doctor(doctor::Arguments),
    Explain(explain::Arguments),
    Gateway(Box<gateway::Gateway>),
    Venue(venue::Venue),
    #[command(subcommand)]
    Strategy(strategy::Strategy),
    Jitter(jitter::Arguments),
    #[command(subcommand)]
    Journal(journal::JournalVerb),
    Export(recorded::Export),
    Import(recorded::Import),
    #[command(subcommand)]
    Record(record::Record),
    Replay(replay::Arguments),
    #[cfg(feature = "full")]
    #[command(flatten)]
    Full(full::Verb),
}

/// Does what the program's arguments say.
#[must_use]
pub fn main() -> std::process::ExitCode {
    let matches = match with_negative_numbers(command()).try_get_matches() {
        Ok(matches) => matches,
        Err(error) => match absent(&error) {
            Some(failure) => return Failure::exit_code("taut", Err(failure)),
            None => error.exit(),
        },
    };
    let command = Command::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let result = match command.verb {
        Verb::Completions(arguments) => completions::run(&arguments, Command::command()),
        Verb::Config(what) => config::run(&what),
        Verb::Demo(arguments) => demo::run(&arguments),
        Verb::Doctor(arguments) => doctor::run(&arguments),
        Verb::Explain(arguments) => explain::run(&arguments),
        Verb::Gateway(gateway) => gateway::run(&gateway),
        Verb::Venue(venue) => venue::run(&venue),
        Verb::Strategy(strategy) => strategy::run(&strategy),
        Verb::Jitter(arguments) => jitter::run(&arguments),
        Verb::Journal(what) => journal::run(&what),
        Verb::Export(export) => recorded::export(&export),
        Verb::Import(import) => recorded::import(&import),
        Verb::Record(what) => record::run(&what),
        Verb::Replay(arguments) => replay::run(&arguments),
        #[cfg(feature = "full")]
        Verb::Full(verb) => full::run(verb, Command::command()),
    };
    Failure::exit_code("taut", result)
}

/// The verbs that the feature `full` brings.
const FULL: [&str; 18] = [
    "backtest", "bench", "book", "desk", "engine", "feed", "fix", "install", "ipc", "man",
    "metrics", "receive", "relay", "saturate", "sbe", "send", "top", "ws",
];

/// The command; where verbs are missing it says which, and how one comes to them.
fn command() -> clap::Command {
    let command = Command::command();
    if cfg!(feature = "full") {
        return command;
    }
    command.after_help(format!(
        "With `cargo build --release --features full` there are more verbs: {}",
        FULL.join(", ")
    ))
}

/// What is said of a verb that this build has not.
fn absent(error: &clap::Error) -> Option<Failure> {
    let ContextValue::String(verb) = error.get(ContextKind::InvalidSubcommand)? else {
        return None;
    };
    let is_left_out = !cfg!(feature = "full") && FULL.contains(&verb.as_str());
    is_left_out.then(|| {
        Failure::Usage(format!(
            "'{verb}' is not in this build, which has what a demo and a first gateway need: build \
             all verbs with `cargo build --release --features full`, or install them with `cargo \
             install --path crates/taut-cli --features full`"
        ))
    })
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

#[cfg(all(test, feature = "full"))]
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
    fn the_verbs_of_the_full_build_are_those_that_the_other_one_names() {
        let names: Vec<_> = of_verbs::<full::Verb>("full")
            .get_subcommands()
            .map(|verb| verb.get_name().to_owned())
            .collect();
        assert_eq!(names, FULL);
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
