//! What is wrong with a file, in one line.

use std::fmt;
use std::io;
use std::path::Path;

/// Why a file was refused: the file, the line, the field, its value, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    file: String,
    line: Option<usize>,
    field: Option<(&'static str, String)>,
    problem: String,
}

impl FileError {
    /// A file that cannot be read at all.
    #[must_use]
    pub fn unreadable(path: &Path, error: &io::Error) -> Self {
        let problem = format!("cannot read it ({error}); check the path and its permissions");
        Self::whole(&path.display().to_string(), problem)
    }

    /// Something about the file as a whole.
    #[must_use]
    pub fn whole(file: &str, problem: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: None, field: None, problem: problem.into() }
    }

    /// Something about a line, from 1.
    #[must_use]
    pub fn at_line(file: &str, line: usize, problem: impl Into<String>) -> Self {
        Self { line: Some(line), ..Self::whole(file, problem) }
    }

    /// A field of a line. `problem` says what is wrong with it and what to do.
    pub(crate) fn field(
        file: &str,
        line: usize,
        field: &'static str,
        value: impl fmt::Display,
        problem: impl Into<String>,
    ) -> Self {
        let value = shown(value.to_string().chars());
        Self { field: Some((field, value)), ..Self::at_line(file, line, problem) }
    }

    /// The line, from 1, when the error is about one.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    /// The field's name, when the error is about one.
    #[must_use]
    pub fn field_name(&self) -> Option<&'static str> {
        self.field.as_ref().map(|(name, _)| *name)
    }
}

/// A value for a reader: a binary file must not fill the terminal.
pub(crate) fn shown(value: impl Iterator<Item = char>) -> String {
    value.take(40).flat_map(char::escape_default).collect()
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, field, problem } = self;
        write!(f, "{file}:")?;
        if let Some(line) = line {
            write!(f, "{line}:")?;
        }
        if let Some((name, value)) = field {
            write!(f, " field `{name}` is \"{value}\":")?;
        }
        write!(f, " {problem}")
    }
}

impl std::error::Error for FileError {}
