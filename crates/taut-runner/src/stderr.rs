//! Lines on standard error: what a peer or a file says commands no terminal, and a closed standard
//! error is no reason to end.

use std::fmt::Display;
use std::io::{self, Write};

use taut_sys::visible;

use crate::role::program_name;

/// Says a line.
pub fn tell(line: &str) {
    let _ = write_line(&mut io::stderr().lock(), line);
}

/// Says why this program ends.
pub fn tell_failure(failure: &dyn Display) {
    tell(&format!("{}: {failure}", program_name()));
}

fn write_line(to: &mut impl Write, line: &str) -> io::Result<()> {
    writeln!(to, "{}", visible(line))
}

#[cfg(test)]
mod tests {
    use super::write_line;

    #[test]
    fn a_line_commands_no_terminal() {
        let mut written = Vec::new();
        write_line(&mut written, "drop copy: \u{1b}[2J\u{202e}x").expect("room");
        assert_eq!(written, b"drop copy: \\u001b[2J\\u202ex\n");
    }
}
