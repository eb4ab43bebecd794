//! Lines for people. Either stream may be closed, or its disk full: that is no reason to panic.
//! None holds what a terminal would obey: see [`visible`].

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;

use serde::Serialize;

use crate::exit::Failure;
use taut_sys::visible;

/// Says a line on standard error, if somebody listens.
pub fn tell(line: impl fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "{}", visible(&line.to_string()));
}

/// Prints a line on standard output. A reader who has read enough, as in `| head -1`, is not a
/// failure.
///
/// # Errors
/// [`Failure::Run`] with what else keeps the line from being printed, such as a full disk.
pub fn print(line: impl fmt::Display) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{}", visible(&line.to_string())).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::run("standard output", error))
        }
        _ => Ok(()),
    }
}

/// Prints a report as one line of JSON, or for people.
///
/// # Errors
/// As [`print()`].
pub fn print_report(report: &(impl Serialize + fmt::Display), json: bool) -> Result<(), Failure> {
    if json { print_json(report) } else { print(report) }
}

/// Prints a value as one line of JSON.
///
/// # Errors
/// As [`print()`].
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    print(serde_json::to_string(value).map_err(|error| Failure::run("JSON", error))?)
}

/// Whether nobody can read what would be printed any more: the pipe's other end is gone, and most
/// likely whoever started this.
#[must_use]
pub fn is_abandoned() -> bool {
    taut_sys::peer_is_gone(io::stdout().as_fd())
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn what_was_json_still_is_and_says_the_same() {
        let text = "a\u{1b}]0;title\u{7}\r\u{9b}2J\u{7f}\u{202e}b\n\tc";
        let json = serde_json::to_string(text).expect("JSON");
        let read: String = serde_json::from_str(&visible(&json)).expect("JSON");
        assert_eq!(read, text);
    }
}
