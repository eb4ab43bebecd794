//! What the processes that run by themselves have in common: a file of settings, and its failures.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use taut_runner::RunnerError;

use crate::exit::Failure;
use crate::terminal;

/// The file that says everything.
#[derive(Args, Clone, Debug)]
pub struct ConfigFile {
    /// The file of settings; `sample` prints such a file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl ConfigFile {
    /// Whether it is named.
    pub const fn is_named(&self) -> bool {
        self.config.is_some()
    }

    /// The file, which must be named.
    pub fn path(&self, process: &str) -> Result<&Path, Failure> {
        self.config.as_deref().ok_or_else(|| {
            Failure::Usage(format!(
                "--config FILE names the {process}'s settings; `taut {process} sample` prints such \
                 a file"
            ))
        })
    }
}

/// What can be done with such a file besides running by it.
#[derive(Subcommand, Clone, Debug)]
pub enum FileVerb {
    /// Check a file of settings and explain it; nothing is started
    Check {
        /// The file
        file: PathBuf,
    },
    /// Print a file of settings with every key
    Sample,
}

impl FileVerb {
    /// Checks a file, or prints the sample.
    pub fn run(
        &self,
        sample: &str,
        explain: impl FnOnce(&Path) -> Result<Vec<String>, RunnerError>,
    ) -> Result<(), Failure> {
        match self {
            Self::Check { file } => {
                explain(file).map_err(failure)?.iter().try_for_each(terminal::print)
            }
            Self::Sample => terminal::print(sample.trim_end()),
        }
    }
}

/// A failure of the library in the words of the program.
pub fn failure(error: RunnerError) -> Failure {
    match error {
        RunnerError::Settings(text) => Failure::Usage(text),
        other => Failure::Run(other.to_string()),
    }
}
