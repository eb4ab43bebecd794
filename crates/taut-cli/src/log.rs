//! Where the messages of a process go that runs by itself.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;

use clap::{Args, ValueEnum};
use taut_log::{Entry, Message};
use taut_runner::RunnerError;
use taut_sys::{LocalDatagram, utc};

use crate::exit::Failure;
use crate::terminal;

/// Where systemd's journal takes messages with their fields (its native protocol).
const JOURNAL: &str = "/run/systemd/journal/socket";

/// How messages are written.
#[derive(Args, Clone, Debug)]
pub struct LogArguments {
    /// How messages are written [default: journald where systemd takes standard error to its
    /// journal, otherwise stderr]; `taut explain CODE` tells more of a message
    #[arg(long, value_name = "HOW", value_enum)]
    log: Option<LogFormat>,
}

impl LogArguments {
    /// Whether anything is said about it.
    pub const fn is_given(&self) -> bool {
        self.log.is_some()
    }
}

/// A way to write messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    /// A line of `key=value` on standard error (logfmt)
    Stderr,
    /// A line of JSON on standard error
    Json,
    /// To systemd's journal with their fields, such as `TAUT_CODE`
    Journald,
}

/// Writes messages.
#[derive(Debug)]
pub struct Log {
    format: LogFormat,
    journal: Option<LocalDatagram>,
}

impl Log {
    /// As asked, or as who started this process reads it. Where the journal cannot be reached,
    /// messages go to standard error.
    pub fn open(arguments: &LogArguments) -> Self {
        let is_read = || {
            let stream = std::env::var("JOURNAL_STREAM").ok();
            stream.is_some_and(|stream| Some(stream) == standard_error())
        };
        let format = arguments.log.unwrap_or_else(|| match is_read() {
            true => LogFormat::Journald,
            false => LogFormat::Stderr,
        });
        let journal = match format {
            LogFormat::Journald => LocalDatagram::to(OsStr::new(JOURNAL)).ok(),
            _ => None,
        };
        Self { format, journal }
    }

    /// Writes one.
    pub fn write(&self, entry: &Entry) {
        if let Some(journal) = &self.journal
            && journal.send(&entry.journal("taut")).is_ok()
        {
            return;
        }
        match self.format {
            LogFormat::Json => terminal::tell(entry.json()),
            _ => terminal::tell(entry.logfmt()),
        }
    }
}

impl Log {
    /// A failure of what says its messages here, as a message; wrong settings are told as of any
    /// command.
    pub fn failure<M: Message>(&self, message: &M, error: RunnerError) -> Failure {
        match error {
            RunnerError::Settings(text) => Failure::Usage(text),
            other => {
                self.write(&Entry::new(message, utc(), other.to_string()));
                Failure::Told
            }
        }
    }
}

/// The device and the number of the file that standard error is, as `$JOURNAL_STREAM` has them.
fn standard_error() -> Option<String> {
    let file = std::fs::metadata("/proc/self/fd/2").ok()?;
    Some(format!("{}:{}", file.dev(), file.ino()))
}
