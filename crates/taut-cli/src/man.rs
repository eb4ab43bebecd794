//! `taut man`: manual pages, made by the program that they are about.

use clap::Args;
use clap_mangen::Man;

use crate::exit::Failure;
use crate::generated::Destination;
use crate::terminal;

/// Print the manual page of `taut` or of a verb of it, or write all pages into a folder.
///
/// `taut man gateway reload | man -l -` shows one; `taut man --to DIR/man1` writes taut.1,
/// taut-gateway.1, taut-gateway-reload.1 and so on, for `man -M DIR taut-gateway`.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// The verb, such as `gateway reload`; without one the page of `taut`
    #[arg(value_name = "VERB", conflicts_with = "to")]
    verb: Vec<String>,
    #[command(flatten)]
    into: Destination,
}

/// Prints or writes pages of this command.
pub fn run(arguments: &Arguments, taut: clap::Command) -> Result<(), Failure> {
    let mut taut = taut.disable_help_subcommand(true);
    taut.build();
    let mut pages = Vec::new();
    if arguments.into.is_folder() {
        collect(&taut, &mut pages)?;
        let written = arguments.into.put(&pages)?;
        return terminal::print(format_args!("{} pages", written.len()));
    }
    let mut command = &taut;
    for word in &arguments.verb {
        command = command.find_subcommand(word).ok_or_else(|| {
            let name = arguments.verb.join(" ");
            Failure::Usage(format!("`taut {name}`: there is no such verb; `taut --help` has them"))
        })?;
    }
    pages.push(page(command)?);
    arguments.into.put(&pages).map(drop)
}

/// The pages of a command and of all below it.
fn collect(command: &clap::Command, pages: &mut Vec<(String, String)>) -> Result<(), Failure> {
    pages.push(page(command)?);
    command.get_subcommands().try_for_each(|below| collect(below, pages))
}

/// A page, and the name of its file.
fn page(command: &clap::Command) -> Result<(String, String), Failure> {
    let man = Man::new(command.clone());
    let mut text = Vec::new();
    man.render(&mut text).map_err(|error| Failure::run("the manual", error))?;
    Ok((man.get_filename(), String::from_utf8_lossy(&text).into_owned()))
}
