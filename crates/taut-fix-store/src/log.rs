//! The log: every message with its time and direction, secrets blotted out.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use taut_types::Nanos;

const SOH: u8 = 1;
/// RawData, Password, NewPassword: what a log must not hold.
const SECRETS: [&[u8]; 3] = [b"96=", b"554=", b"925="];
/// RawDataLength: the value behind it may hold delimiters.
const RAW_DATA_LENGTH: &[u8] = b"95=";

/// Which way a message went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the peer.
    In,
    /// To the peer.
    Out,
}

/// A file of lines: UTC nanoseconds, direction (`<` in, `>` out), the message with its own
/// delimiters.
#[derive(Debug)]
pub struct MessageLog {
    file: File,
    line: Vec<u8>,
}

impl MessageLog {
    /// Opens or makes the file; what is in it stays.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        Ok(Self { file, line: Vec::with_capacity(4096) })
    }

    /// Adds a message. Cost: one system call.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&mut self, utc: Nanos, direction: Direction, message: &[u8]) -> io::Result<()> {
        let arrow = if direction == Direction::In { '<' } else { '>' };
        self.line.clear();
        write!(self.line, "{} {arrow} ", utc.0)?;
        let start = self.line.len();
        self.line.extend_from_slice(message);
        blot_secrets(self.line.get_mut(start..).unwrap_or_default());
        self.line.push(b'\n');
        self.file.write_all(&self.line)
    }
}

/// Overwrites the values of RawData (96), Password (554) and NewPassword (925) with `*`; lengths
/// stay as they are. RawData is taken by its length (95), delimiters included.
pub fn blot_secrets(message: &mut [u8]) {
    let mut at = 0;
    let mut raw_bytes = None;
    while let Some(rest) = message.get_mut(at..).filter(|rest| !rest.is_empty()) {
        let end = rest.iter().position(|byte| *byte == SOH).unwrap_or(rest.len());
        let secret = SECRETS.iter().find(|secret| rest.starts_with(secret));
        let Some(secret) = secret else {
            let field = rest.get(..end).unwrap_or_default();
            let length = field.strip_prefix(RAW_DATA_LENGTH).map(std::str::from_utf8);
            raw_bytes = length.and_then(|text| text.ok()?.parse::<usize>().ok());
            at += end + 1;
            continue;
        };
        let start = secret.len();
        // The longer of both: a length that lies must not show a secret.
        let announced = raw_bytes.take().filter(|_| *secret == b"96=");
        let end = end.max(start.saturating_add(announced.unwrap_or(0))).min(rest.len());
        rest.get_mut(start..end).unwrap_or_default().fill(b'*');
        at += end + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::{Direction, MessageLog, blot_secrets};
    use taut_types::Nanos;

    fn blotted(text: &str) -> String {
        let mut bytes = text.replace('|', "\x01").into_bytes();
        blot_secrets(&mut bytes);
        String::from_utf8(bytes).expect("text").replace('\x01', "|")
    }

    #[test]
    fn secrets_are_blotted_and_nothing_else() {
        assert_eq!(
            blotted("35=A|95=5|96=a|b=c|553=me|554=pass|925=next|58=96=x|"),
            "35=A|95=5|96=*****|553=me|554=****|925=****|58=96=x|"
        );
        assert_eq!(blotted("96=abc|1554=x|554=|"), "96=***|1554=x|554=|");
        assert_eq!(blotted("95=99|96=abc"), "95=99|96=***");
        assert_eq!(blotted("95=1|96=abc|58=x|"), "95=1|96=***|58=x|");
        assert_eq!(blotted("554=unfinished"), "554=**********");
    }

    #[test]
    fn lines_hold_time_direction_and_message() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        for _ in 0..2 {
            let mut log = MessageLog::open(&path).expect("the log");
            log.write(Nanos(7), Direction::In, b"35=0\x01").expect("room");
            log.write(Nanos(8), Direction::Out, b"554=x\x01").expect("room");
        }
        let text = std::fs::read_to_string(&path).expect("the log");
        assert_eq!(text, "7 < 35=0\x01\n8 > 554=*\x01\n".repeat(2));
    }
}
