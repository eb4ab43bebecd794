//! Lines for people. Either stream may be closed, or its disk full: that is no reason to panic.

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;

/// Says a line on standard error, if somebody listens.
pub fn tell(line: impl fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Prints a line on standard output. A reader who has read enough, as in `| head -1`, is not a
/// failure.
///
/// # Errors
/// What else keeps the line from being printed, such as a full disk.
pub fn print(line: impl fmt::Display) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        printed => printed,
    }
}

/// Whether nobody can read what would be printed any more: the pipe's other end is gone, and most
/// likely whoever started this.
pub fn is_abandoned() -> bool {
    taut_sys::peer_is_gone(io::stdout().as_fd())
}
