//! What is wrong with a schema, and where.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A place in a schema file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub(crate) file: Arc<Path>,
    pub(crate) line: u32,
}

impl Place {
    /// The file.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The line, from 1; 0 when it is the file as a whole.
    #[must_use]
    pub const fn line(&self) -> u32 {
        self.line
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}", self.file.display()),
            line => write!(f, "{}:{line}", self.file.display()),
        }
    }
}

/// What is wrong with a schema: `file:line: what`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    /// Where it stands.
    pub place: Place,
    /// What is wrong, with the names and values as the schema has them.
    pub problem: String,
}

impl SchemaError {
    pub(crate) fn new(place: &Place, problem: impl Into<String>) -> Self {
        Self { place: place.clone(), problem: problem.into() }
    }

    pub(crate) fn in_file(file: &Path, problem: impl Into<String>) -> Self {
        let place = Place { file: Arc::from(PathBuf::from(file)), line: 0 };
        Self { place, problem: problem.into() }
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

impl std::error::Error for SchemaError {}
