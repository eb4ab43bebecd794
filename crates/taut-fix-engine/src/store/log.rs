//! The log: every message with its time and direction, secrets blotted out.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use taut_types::Nanos;

use crate::owner_only::OWNER_ONLY;

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

/// How long a log may become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// A file is left for a new one before it becomes larger.
    pub bytes: u64,
    /// So many files that were left are kept: `NAME.1` is the youngest.
    pub files: u32,
}

impl Default for Rotation {
    fn default() -> Self {
        Self { bytes: 256 << 20, files: 8 }
    }
}

/// A file of lines: UTC nanoseconds, direction (`<` in, `>` out), the message with its own
/// delimiters.
#[derive(Debug)]
pub struct MessageLog {
    file: File,
    path: PathBuf,
    bytes: u64,
    rotation: Rotation,
    line: Vec<u8>,
}

impl MessageLog {
    /// Opens or makes the file; what is in it stays.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(path: &Path, rotation: Rotation) -> io::Result<Self> {
        let file = append_to(path)?;
        let bytes = file.metadata()?.len();
        let line = Vec::with_capacity(4096);
        Ok(Self { file, path: path.to_owned(), bytes, rotation, line })
    }

    /// Adds a message. Cost: one system call, and some more when the file is full.
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
        let bytes = self.line.len() as u64;
        if self.bytes > 0 && self.bytes + bytes > self.rotation.bytes {
            self.rotate()?;
        }
        self.bytes += bytes;
        self.file.write_all(&self.line)
    }

    /// Every file becomes one older, and the oldest goes.
    fn rotate(&mut self) -> io::Result<()> {
        let aged = |age: u32| {
            let mut name = self.path.as_os_str().to_owned();
            if age > 0 {
                name.push(format!(".{age}"));
            }
            PathBuf::from(name)
        };
        if self.rotation.files == 0 {
            self.file.set_len(0)?;
        } else {
            for age in (0..self.rotation.files).rev() {
                match fs::rename(aged(age), aged(age + 1)) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
            self.file = append_to(&self.path)?;
        }
        self.bytes = 0;
        Ok(())
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(OWNER_ONLY).open(path)
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
    use super::{Direction, MessageLog, Rotation, blot_secrets};
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
            let mut log = MessageLog::open(&path, Rotation::default()).expect("it");
            log.write(Nanos(7), Direction::In, b"35=0\x01").expect("room");
            log.write(Nanos(8), Direction::Out, b"554=x\x01").expect("room");
        }
        let text = std::fs::read_to_string(&path).expect("the log");
        assert_eq!(text, "7 < 35=0\x01\n8 > 554=*\x01\n".repeat(2));
    }

    #[test]
    fn a_full_log_is_left_for_a_new_one_and_the_oldest_goes() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let rotation = Rotation { bytes: 24, files: 2 };
        let mut log = MessageLog::open(&path, rotation).expect("the log");
        // Ten bytes each: two to a file.
        for at in 0..9 {
            log.write(Nanos(at), Direction::In, b"35=0\x01").expect("room");
        }
        let text = |name: &str| {
            let text = std::fs::read_to_string(folder.path().join(name)).expect("a file");
            text.lines().map(|line| line[..1].to_owned()).collect::<String>()
        };
        assert_eq!([text("log"), text("log.1"), text("log.2")], ["8", "67", "45"]);
        assert!(!folder.path().join("log.3").exists());
        // Another process goes on where it is.
        drop(log);
        let mut log = MessageLog::open(&path, rotation).expect("the log");
        for at in 1..3 {
            log.write(Nanos(at), Direction::In, b"35=0\x01").expect("room");
        }
        assert_eq!([text("log"), text("log.1"), text("log.2")], ["2", "81", "67"]);
    }
}
