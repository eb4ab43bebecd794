//! What a law finds wrong.

/// One violation: where, what, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    path: String,
    line: usize,
    what: String,
    remedy: String,
}

impl Finding {
    /// A finding in line `line` (from 1) of the file at `path`.
    pub fn new(
        path: &str,
        line: usize,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { path: path.into(), line, what: what.into(), remedy: remedy.into() }
    }

    /// The line that the user sees.
    pub fn report(&self, law: &str) -> String {
        let Self { path, line, what, remedy } = self;
        format!("{path}:{line}: {law}: {what}; {remedy}")
    }

    /// Sorts by file, then by line.
    pub fn place(&self) -> (&str, usize) {
        (&self.path, self.line)
    }
}
