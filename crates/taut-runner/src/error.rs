//! Why a run did not come about, or did not end well.

use std::fmt;
use std::process::ExitCode;

/// Why a run failed, in words for its user.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunnerError {
    /// The settings are wrong, and nothing was started. Exit code 2.
    Settings(String),
    /// The run failed; all its processes have ended. Exit code 1.
    Run(String),
}

impl RunnerError {
    /// A failure of the run, of this thing by this cause.
    pub(crate) fn run(what: impl fmt::Display, cause: impl fmt::Display) -> Self {
        Self::Run(format!("{what}: {cause}"))
    }

    /// A setting whose value cannot be.
    pub(crate) fn setting(key: &str, value: impl fmt::Display, must_be: impl fmt::Display) -> Self {
        Self::Settings(format!("{key} = {value}: must be {must_be}"))
    }

    /// The exit code of a program that ends with it.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code())
    }

    pub(crate) const fn code(&self) -> u8 {
        match self {
            Self::Settings(_) => 2,
            Self::Run(_) => 1,
        }
    }
}

impl fmt::Display for RunnerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings(text) | Self::Run(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for RunnerError {}
