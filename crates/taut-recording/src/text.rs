//! Text files, plain or gzip, a line at a time.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::Path;
use std::rc::Rc;

use flate2::read::MultiGzDecoder;

use crate::FileError;
use crate::rows::Reading;

/// What a file in gzip begins with.
const GZIP: &[u8] = &[0x1f, 0x8b];
/// Longer than any frame of a venue.
const LINE_BYTES_MAX: u64 = 1 << 26;

/// A file whose bytes are counted.
#[derive(Debug)]
pub(crate) struct Counted {
    file: File,
    reading: Rc<Reading>,
}

impl Counted {
    /// Opens a file that is no folder.
    pub(crate) fn open(path: &Path, reading: &Rc<Reading>) -> Result<Self, FileError> {
        let unreadable = |error: &io::Error| FileError::unreadable(path, error);
        let file = File::open(path).map_err(|error| unreadable(&error))?;
        if file.metadata().map_err(|error| unreadable(&error))?.is_dir() {
            return Err(unreadable(&ErrorKind::IsADirectory.into()));
        }
        Ok(Self { file, reading: Rc::clone(reading) })
    }
}

impl Read for Counted {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(to)?;
        self.reading.count_bytes(read);
        Ok(read)
    }
}

impl io::Seek for Counted {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// The lines of a file.
pub(crate) struct TextFile {
    name: String,
    text: BufReader<Box<dyn Read>>,
    is_packed: bool,
    line: Vec<u8>,
    number: usize,
}

impl TextFile {
    /// Opens a file before its first line.
    pub(crate) fn open(path: &Path, reading: &Rc<Reading>) -> Result<Self, FileError> {
        let mut file = BufReader::with_capacity(1 << 16, Counted::open(path, reading)?);
        let begin = file.fill_buf().map_err(|error| FileError::unreadable(path, &error))?;
        let is_packed = begin.starts_with(GZIP);
        let text: Box<dyn Read> =
            if is_packed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
        let text = BufReader::with_capacity(1 << 16, text);
        let name = path.display().to_string();
        Ok(Self { name, text, is_packed, line: Vec::new(), number: 0 })
    }

    /// What the text begins with, before its first line is read.
    pub(crate) fn begin(&mut self) -> Result<&[u8], FileError> {
        let Self { name, text, .. } = self;
        text.fill_buf()
            .map_err(|error| FileError::whole(name, format!("it cannot be read ({error})")))
    }

    /// Goes to the next line; false at the end.
    pub(crate) fn advance(&mut self) -> Result<bool, FileError> {
        self.line.clear();
        let read = self.text.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut self.line);
        let read = read.map_err(|error| {
            let why = if self.is_packed { "its gzip breaks" } else { "it cannot be read" };
            FileError::at_line(&self.name, self.number + 1, format!("{why} ({error})"))
        })?;
        if read == 0 {
            return Ok(false);
        }
        self.number += 1;
        match self.line.strip_suffix(b"\n").map(<[u8]>::len) {
            Some(len) => self.line.truncate(len),
            None if read as u64 == LINE_BYTES_MAX => {
                return Err(self.wrong("it is longer than 64 MiB; is this a text file?"));
            }
            None => {}
        }
        if self.line.last() == Some(&b'\r') {
            self.line.pop();
        }
        Ok(true)
    }

    /// The line, without its end.
    pub(crate) fn line(&self) -> &[u8] {
        &self.line
    }

    /// Its number, from 1; 0 before the first.
    pub(crate) const fn number(&self) -> usize {
        self.number
    }

    /// The file's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Something about the line.
    pub(crate) fn wrong(&self, what: impl Into<String>) -> FileError {
        FileError::at_line(&self.name, self.number, what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn lines_are_the_same_from_a_plain_and_a_packed_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = b"one\r\n\ntwo";
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(text).expect("bytes");
        let packed = packed.finish().expect("bytes");
        for bytes in [&text[..], &packed] {
            let path = folder.path().join("x");
            std::fs::write(&path, bytes).expect("a file");
            let reading = Reading::new();
            let mut file = TextFile::open(&path, &reading).expect("a file");
            for (number, line) in [(1, &b"one"[..]), (2, b""), (3, b"two")] {
                assert_eq!(file.advance(), Ok(true));
                assert_eq!((file.number(), file.line()), (number, line));
            }
            assert_eq!(file.advance(), Ok(false));
            assert_eq!(reading.bytes(), bytes.len() as u64);
        }
        let path = folder.path().join("torn");
        std::fs::write(&path, &packed[..packed.len() - 9]).expect("a file");
        let mut file = TextFile::open(&path, &Reading::new()).expect("a file");
        let told = loop {
            match file.advance() {
                Ok(true) => {}
                Ok(false) => panic!("a torn file is no whole one"),
                Err(told) => break told.to_string(),
            }
        };
        assert!(told.contains("torn:") && told.contains("its gzip breaks"), "{told}");
        let told = TextFile::open(folder.path(), &Reading::new()).map(drop).expect_err("a folder");
        assert!(told.to_string().contains("cannot read it"), "{told}");
    }
}
