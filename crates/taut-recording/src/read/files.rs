//! Which files are read, and how.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use taut_types::Nanos;

use crate::FileError;
use crate::rows::Reading;

/// How files are read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The only instrument that is wanted; of a file that names none, its name.
    pub symbol: Option<String>,
    /// Midnight of the day that a LOBSTER file is of; told by its name when nothing is said.
    pub midnight: Option<Nanos>,
    /// The latency of files that have one time.
    pub latency: Nanos,
    /// Whether best prices of streams that say nothing else are rows, too.
    pub has_best: bool,
}

/// Files that are read one after the other.
pub(super) struct Files {
    rest: std::vec::IntoIter<PathBuf>,
    reading: Rc<Reading>,
}

impl Files {
    /// These.
    pub fn new(files: &[PathBuf], reading: &Rc<Reading>) -> Self {
        let rest = files.to_vec();
        Self { rest: rest.into_iter(), reading: Rc::clone(reading) }
    }

    /// The next one.
    pub fn next(&mut self) -> Option<PathBuf> {
        self.rest.next()
    }

    pub fn reading(&self) -> &Rc<Reading> {
        &self.reading
    }

    /// No file at all.
    pub fn none() -> FileError {
        FileError::whole("-", "no file was named; name one")
    }

    /// Opens the next one, if there is one.
    pub fn open_next<T>(
        &mut self,
        open: impl Fn(&Path, &Rc<Reading>) -> Result<T, FileError>,
    ) -> Result<Option<T>, FileError> {
        self.next().map(|path| open(&path, &self.reading)).transpose()
    }
}
