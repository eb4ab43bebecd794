//! Why a dictionary cannot be read.

use std::fmt;

/// Why a dictionary cannot be read, and where.
#[derive(Debug)]
#[non_exhaustive]
pub enum DictionaryError {
    /// The file cannot be read.
    Read(std::io::Error),
    /// It is no XML, or no dictionary.
    Wrong {
        /// The line, from 1.
        line: u32,
        /// What is wrong there.
        what: String,
    },
}

impl DictionaryError {
    pub(crate) const fn wrong(line: u32, what: String) -> Self {
        Self::Wrong { line, what }
    }
}

impl fmt::Display for DictionaryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => write!(f, "cannot read the dictionary ({error}); check the path"),
            Self::Wrong { line, what } => write!(f, "line {line} of the dictionary: {what}"),
        }
    }
}

impl std::error::Error for DictionaryError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read(error) => Some(error),
            Self::Wrong { .. } => None,
        }
    }
}
