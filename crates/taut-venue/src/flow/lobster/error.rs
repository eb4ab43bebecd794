//! What is wrong with a file, in one line.

use std::fmt;

/// Why a message file was refused: the file, the line, the field, its value, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LobsterError {
    file: String,
    at: Option<Place>,
    problem: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    line: usize,
    field: &'static str,
    value: String,
}

impl LobsterError {
    /// A file that cannot be read at all.
    pub(super) fn unreadable(file: &str, error: &std::io::Error) -> Self {
        let problem = format!("cannot read it ({error}); check the path and its permissions");
        Self { file: file.to_owned(), at: None, problem }
    }

    /// A file without a row.
    pub(super) fn empty(file: &str) -> Self {
        let problem = "it has no rows; expected LOBSTER messages: time,type,order id,size,price,\
                       direction"
            .to_owned();
        Self { file: file.to_owned(), at: None, problem }
    }

    /// A field of a row. `problem` says what is wrong with it and what to do.
    pub(super) fn field(
        file: &str,
        line: usize,
        field: &'static str,
        value: impl fmt::Display,
        problem: impl Into<String>,
    ) -> Self {
        // A binary file must not fill the terminal.
        let value: String =
            value.to_string().chars().take(40).flat_map(char::escape_default).collect();
        let at = Some(Place { line, field, value });
        Self { file: file.to_owned(), at, problem: problem.into() }
    }

    /// The line, from 1, when the error is about one.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.at.as_ref().map(|at| at.line)
    }

    /// The field's name, when the error is about one.
    #[must_use]
    pub fn field_name(&self) -> Option<&'static str> {
        self.at.as_ref().map(|at| at.field)
    }
}

impl fmt::Display for LobsterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, problem, .. } = self;
        match &self.at {
            None => write!(f, "{file}: {problem}"),
            Some(Place { line, field, value }) => {
                write!(f, "{file}:{line}: field `{field}` is \"{value}\": {problem}")
            }
        }
    }
}

impl std::error::Error for LobsterError {}
