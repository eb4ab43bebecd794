//! `taut completions`: what a shell completes, made by the program that it completes.

use clap::{Args, ValueEnum};
use clap_complete::{Shell as Known, generate};

use crate::exit::Failure;
use crate::terminal;

/// Print what a shell needs to complete `taut`: verbs, flags and their values.
///
/// For bash: `taut completions bash > ~/.local/share/bash-completion/completions/taut`; for zsh
/// into a file `_taut` in a folder of `$fpath`; for fish into
/// `~/.config/fish/completions/taut.fish`.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// The shell
    shell: Shell,
}

/// A shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Shell {
    /// GNU Bash
    Bash,
    /// The Z shell
    Zsh,
    /// fish
    Fish,
}

/// Prints it for this command.
pub fn run(arguments: &Arguments, mut taut: clap::Command) -> Result<(), Failure> {
    let shell = match arguments.shell {
        Shell::Bash => Known::Bash,
        Shell::Zsh => Known::Zsh,
        Shell::Fish => Known::Fish,
    };
    let mut script = Vec::new();
    generate(shell, &mut taut, "taut", &mut script);
    terminal::print(String::from_utf8_lossy(&script).trim_end())
}
