//! How a command fails: what it says, and its exit code.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use taut_sys::visible;

/// A failed command.
#[derive(Debug)]
pub enum Failure {
    /// The user asked for something that cannot be: a bad flag, a bad file. Exit code 2.
    Usage(String),
    /// It was right to ask, but it did not work out. Exit code 1.
    Run(String),
    /// Somebody else has said it already. Exit code 1.
    Told,
    /// A program that was run ended with this code, and has said why.
    Code(u8),
}

impl Failure {
    /// A failure of the run, of this thing by this cause.
    pub fn run(what: &str, cause: impl fmt::Display) -> Self {
        Self::Run(format!("{what}: {cause}"))
    }

    /// Wrong use, by this cause, which says it all.
    pub fn usage(cause: impl fmt::Display) -> Self {
        Self::Usage(cause.to_string())
    }

    /// Wrong use: what is wrong in a file.
    pub fn in_file(path: &Path, cause: impl fmt::Display) -> Self {
        Self::Usage(format!("{}: {cause}", path.display()))
    }

    /// A file that cannot be read.
    pub fn unreadable(path: &Path, cause: impl fmt::Display) -> Self {
        Self::Usage(format!("{}: cannot read it ({cause}); check the path", path.display()))
    }

    /// Ends a program: says on standard error what went wrong, if anything did.
    #[must_use]
    pub fn exit_code(program: &str, result: Result<(), Self>) -> ExitCode {
        let Err(failure) = result else { return ExitCode::SUCCESS };
        if !matches!(failure, Self::Told | Self::Code(_)) {
            let line = format!("{program}: {failure}");
            let _ = writeln!(io::stderr().lock(), "{}", visible(&line));
        }
        ExitCode::from(match failure {
            Self::Usage(_) => 2,
            Self::Run(_) | Self::Told => 1,
            Self::Code(code) => code,
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Run(text) => f.write_str(text),
            Self::Told => Ok(()),
            Self::Code(code) => write!(f, "exit code {code}"),
        }
    }
}

/// Lets `taut_sys::stop_requests` count the signals that ask the program to stop.
///
/// # Errors
/// [`Failure::Run`] when the kernel refuses.
pub fn catch_stop_signals() -> Result<(), Failure> {
    taut_sys::catch_stop_signals().map_err(|error| Failure::run("signals", error))
}
