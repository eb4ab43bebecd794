//! Which gateway is meant.

use clap::Args;
use taut_runner::RunnerError;

use crate::exit::Failure;

/// Which gateway.
#[derive(Args, Clone, Debug)]
pub struct Which {
    /// The gateway's name, or the path of its control socket
    #[arg(long, value_name = "NAME", default_value = "taut")]
    pub gateway: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// A failure of the library in the words of the program.
pub fn failure(error: RunnerError) -> Failure {
    match error {
        RunnerError::Settings(text) => Failure::Usage(text),
        other => Failure::Run(other.to_string()),
    }
}
