//! How a command fails: what it says, and its exit code.

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

/// A failed command.
#[derive(Debug)]
pub enum Failure {
    /// The user asked for something that cannot be: a bad flag, a bad file. Exit code 2.
    Usage(String),
    /// It was right to ask, but it did not work out. Exit code 1.
    Run(String),
    /// Somebody else has said it already. Exit code 1.
    Told,
}

impl Failure {
    /// A failure of the run, of this thing by this cause.
    pub fn run(what: &str, cause: impl fmt::Display) -> Self {
        Self::Run(format!("{what}: {cause}"))
    }

    /// A file that cannot be read.
    pub fn unreadable(path: &Path, cause: impl fmt::Display) -> Self {
        Self::Usage(format!("{}: cannot read it ({cause}); check the path", path.display()))
    }

    /// Its exit code.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage(_) => ExitCode::from(2),
            Self::Run(_) | Self::Told => ExitCode::from(1),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Run(text) => f.write_str(text),
            Self::Told => Ok(()),
        }
    }
}
