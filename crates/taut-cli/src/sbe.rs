//! `taut sbe`: SBE schemas and messages at the command line.

mod arguments;
mod decode;
mod encode;
mod framing;
mod generate;
mod input;
mod json;
mod show;
#[cfg(test)]
mod tests;

use crate::exit::Failure;
use arguments::Verb;

pub use arguments::Arguments;

/// Does what the user asks for.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.verb {
        Verb::Generate(arguments) => generate::run(arguments),
        Verb::Decode(arguments) => decode::run(arguments),
        Verb::Encode(arguments) => encode::run(arguments),
        Verb::Show(arguments) => show::run(arguments),
    }
}
