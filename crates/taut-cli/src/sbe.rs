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

pub use arguments::Sbe;

/// Does what the user asks for.
pub fn run(what: &Sbe) -> Result<(), Failure> {
    match what {
        Sbe::Generate(arguments) => generate::run(arguments),
        Sbe::Decode(arguments) => decode::run(arguments),
        Sbe::Encode(arguments) => encode::run(arguments),
        Sbe::Show(arguments) => show::run(arguments),
    }
}
