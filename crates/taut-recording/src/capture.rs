//! Captures of frames: a line each, the receive time in nanoseconds, a space, the frame.
//!
//! Read are, too, lines as cryptofeed writes them: the receive time in seconds, a colon, a space,
//! the frame. Between them stand lines about the connection, which are left out: `URL <-> TIME`
//! when it is made, and `URL <- TIME: FRAME` for what the client sent. So are empty lines at the
//! end.

use std::fmt;
use std::io::{BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use taut_types::{Nanos, parse_decimal};

use crate::{FileError, lines};

/// What a file in gzip begins with.
const GZIP: &[u8] = &[0x1f, 0x8b];

/// A capture, in memory.
#[derive(Clone, Debug)]
pub struct Capture {
    file: String,
    text: Vec<u8>,
}

/// A frame as it was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Its line in the file, from 1.
    pub line: usize,
    /// When it was received: nanoseconds since 1970.
    pub received: Nanos,
    /// What was received.
    pub bytes: &'a [u8],
}

impl Capture {
    /// Reads a file, which may be gzip.
    ///
    /// # Errors
    /// For a file that cannot be read or unpacked.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let bytes = std::fs::read(path).map_err(|error| FileError::unreadable(path, &error))?;
        let file = path.display().to_string();
        if !bytes.starts_with(GZIP) {
            return Ok(Self::of(file, bytes));
        }
        let mut text = Vec::new();
        let unpacked = MultiGzDecoder::new(&bytes[..]).read_to_end(&mut text);
        let at = text.len();
        match unpacked {
            Ok(_) => Ok(Self::of(file, text)),
            Err(error) => Err(torn(&file, at, &error)),
        }
    }

    /// Reads the first lines of a file, which may be gzip, up to so many bytes of its text: of a
    /// longer one the lines that end there. Whether that is all of it.
    ///
    /// # Errors
    /// For a file that cannot be read or unpacked so far.
    pub fn read_head(path: &Path, bytes_max: usize) -> Result<(Self, bool), FileError> {
        let unreadable = |error: &std::io::Error| FileError::unreadable(path, error);
        let opened = || std::fs::File::open(path).map(BufReader::new);
        let mut start = Vec::new();
        opened()
            .and_then(|file| file.take(2).read_to_end(&mut start))
            .map_err(|error| unreadable(&error))?;
        let file = opened().map_err(|error| unreadable(&error))?;
        let one_more = (bytes_max as u64).saturating_add(1);
        let mut text = Vec::new();
        let read = match start.as_slice() {
            GZIP => MultiGzDecoder::new(file).take(one_more).read_to_end(&mut text),
            _ => file.take(one_more).read_to_end(&mut text),
        };
        let name = path.display().to_string();
        if let Err(error) = read {
            return Err(match start.as_slice() {
                GZIP => torn(&name, text.len(), &error),
                _ => unreadable(&error),
            });
        }
        let is_all = text.len() <= bytes_max;
        if !is_all {
            text.truncate(bytes_max);
            let end = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
            text.truncate(end);
        }
        Ok((Self::of(name, text), is_all))
    }

    /// The text of a file of this name.
    pub fn of(file: impl Into<String>, text: impl Into<Vec<u8>>) -> Self {
        Self { file: file.into(), text: text.into() }
    }

    /// The file's name.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// All of its text, unpacked.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// The frames in their order, or what is wrong with a line.
    pub fn frames(&self) -> impl Iterator<Item = Result<Frame<'_>, FileError>> {
        let is_text = |byte: &u8| !matches!(byte, b'\r' | b'\n');
        let end = self.text.iter().rposition(is_text).map_or(0, |at| at + 1);
        let text = self.text.get(..end).unwrap_or_default();
        let count = if text.is_empty() { 0 } else { usize::MAX };
        let frames = lines(text).take(count).filter(|(_, row)| !is_about_connection(row));
        frames.map(|(line, row)| {
            let (received, bytes) = split(row).map_err(|what| self.error(line, what))?;
            Ok(Frame { line, received, bytes })
        })
    }

    /// What somebody else finds wrong with a line, or with the whole capture.
    #[must_use]
    pub fn error(&self, line: impl Into<Option<usize>>, what: impl fmt::Display) -> FileError {
        match line.into() {
            Some(line) => FileError::at_line(&self.file, line, what.to_string()),
            None => FileError::whole(&self.file, what.to_string()),
        }
    }
}

/// A file whose gzip breaks off.
fn torn(file: &str, at: usize, error: &std::io::Error) -> FileError {
    FileError::whole(file, format!("its gzip breaks after {at} bytes of text ({error})"))
}

/// The receive time and the frame of a line.
pub(crate) fn split(line: &[u8]) -> Result<(Nanos, &[u8]), &'static str> {
    let mut parts = line.splitn(2, |&byte| byte == b' ');
    let (Some(time), Some(frame)) = (parts.next(), parts.next()) else {
        return Err("expected a receive time, a space and JSON");
    };
    let time = match time.strip_suffix(b":") {
        Some(seconds) => parse_decimal(seconds, 9).ok(),
        None => std::str::from_utf8(time).ok().and_then(|text| text.parse::<i64>().ok()),
    };
    match time.filter(|time| *time >= 0) {
        Some(time) => Ok((Nanos(time), frame)),
        None => Err("expected a receive time in nanoseconds before the JSON"),
    }
}

/// Whether a line says that a connection was made, or what the client sent.
pub(crate) fn is_about_connection(line: &[u8]) -> bool {
    let mut words = line.split(|&byte| byte == b' ');
    let (url, arrow) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    url.starts_with(b"ws") && matches!(arrow, b"<->" | b"<-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_a_line_and_what_is_none_is_named() {
        let capture = Capture::of("f", "17 {\"a\": 1}\r\n18 \nx {}\n19\n");
        let frames: Vec<_> = capture.frames().collect();
        let received = Nanos(17);
        assert_eq!(frames[0], Ok(Frame { line: 1, received, bytes: b"{\"a\": 1}" }));
        assert_eq!(frames[1].as_ref().map(|frame| frame.bytes), Ok(&b""[..]));
        for (at, line) in [(2, 3), (3, 4)] {
            let told = frames[at].as_ref().map_err(ToString::to_string).expect_err("no frame");
            assert!(told.starts_with(&format!("f:{line}: expected a receive time")), "{told}");
        }
        assert_eq!(Capture::of("f", "").frames().count(), 0);
    }

    #[test]
    fn seconds_with_a_colon_are_a_time_and_lines_about_the_connection_no_frames() {
        let text = "wss://x/ws <-> 1.5\nwss://x/ws <- 1.6: {\"id\":1}\n\
            1626993723.7145221: {\"a\": 1}\n-2.5: {}\n1.0000000001: {}\n\n";
        let capture = Capture::of("f", text);
        let frames: Vec<_> = capture.frames().collect();
        let received = Nanos(1_626_993_723_714_522_100);
        assert_eq!(frames[0], Ok(Frame { line: 3, received, bytes: b"{\"a\": 1}" }));
        let lines = frames[1..].iter().map(|wrong| wrong.as_ref().map_err(FileError::line));
        assert_eq!(lines.collect::<Vec<_>>(), [Err(Some(4)), Err(Some(5))]);
        assert_eq!((capture.file(), capture.text()), ("f", text.as_bytes()));
    }

    #[test]
    fn gzip_is_unpacked_and_a_torn_one_refused() {
        use std::io::Write;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.gz");
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(b"1 {}\n2 []\n").unwrap();
        let packed = packed.finish().unwrap();
        std::fs::write(&path, &packed).unwrap();
        assert_eq!(Capture::read(&path).unwrap().frames().count(), 2);
        for (bytes_max, lines, is_all) in [(10, 2, true), (9, 1, false), (4, 0, false)] {
            let (head, is_whole) = Capture::read_head(&path, bytes_max).unwrap();
            assert_eq!((head.frames().count(), is_whole), (lines, is_all), "{bytes_max}");
        }
        std::fs::write(&path, &packed[..packed.len() - 9]).unwrap();
        let told = Capture::read(&path).expect_err("torn").to_string();
        assert!(told.contains("x.gz: its gzip breaks after"), "{told}");
        let told = Capture::read_head(&path, 1_000).expect_err("torn").to_string();
        assert!(told.contains("x.gz: its gzip breaks after"), "{told}");
        std::fs::write(&path, "1 {}\n2 []").unwrap();
        assert_eq!(Capture::read_head(&path, 9).unwrap().0.frames().count(), 2);
        let told = Capture::read_head(&folder.path().join("y"), 9).expect_err("none").to_string();
        assert!(told.contains("y: cannot read it"), "{told}");
    }
}
