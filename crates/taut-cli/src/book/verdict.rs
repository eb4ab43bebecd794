//! What a comparison came to.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::exit::Failure;
use crate::terminal;

/// The reason of a difference that nothing explains. Only these fail the command.
pub const UNEXPLAINED: &str = "unexplained";

/// A comparison of a rebuilt book with the truth.
#[derive(Debug, Serialize)]
pub struct Verdict {
    /// States of the truth that were compared.
    pub states: u64,
    /// Those that the book showed exactly.
    pub equal: u64,
    /// The line of the first difference: of the truth file, or of the capture.
    pub first_mismatch: Option<usize>,
    /// How many of the others have which reason.
    pub reasons: BTreeMap<&'static str, u64>,
    /// The differences, up to [`SHOWN_MAX`].
    pub mismatches: Vec<Mismatch>,
    /// The stricter count, where a format has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within_update: Option<Within>,
    /// What one state is, for a reader.
    #[serde(skip)]
    pub what: &'static str,
}

/// One difference.
#[derive(Clone, Debug, Serialize)]
pub struct Mismatch {
    /// The line of the truth file, or of the capture.
    pub line: usize,
    /// Why.
    pub reason: &'static str,
    /// What the truth shows.
    pub truth: String,
    /// What the book shows.
    pub book: String,
}

/// A count over fewer states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Within {
    /// States.
    pub states: u64,
    /// Those that were equal.
    pub equal: u64,
}

/// Differences that a verdict keeps.
pub const SHOWN_MAX: usize = 100;
/// Differences that are printed as text.
const PRINTED_MAX: usize = 20;

impl Verdict {
    /// Nothing compared yet; a state is a `what`.
    pub fn new(what: &'static str) -> Self {
        Self {
            states: 0,
            equal: 0,
            first_mismatch: None,
            reasons: BTreeMap::new(),
            mismatches: Vec::new(),
            within_update: None,
            what,
        }
    }

    /// A state that the book shows.
    pub fn equal(&mut self) {
        self.states += 1;
        self.equal += 1;
    }

    /// A state that it does not show. Mismatches come in the order of their lines.
    pub fn mismatch(&mut self, mismatch: Mismatch) {
        self.states += 1;
        *self.reasons.entry(mismatch.reason).or_default() += 1;
        self.first_mismatch.get_or_insert(mismatch.line);
        if self.mismatches.len() < SHOWN_MAX {
            self.mismatches.push(mismatch);
        }
    }

    /// Prints it.
    ///
    /// # Errors
    /// [`Failure::Told`] when a difference has no explanation, [`Failure::Run`] when there was
    /// nothing to compare; when standard output takes nothing more.
    pub fn print(&self, json: bool) -> Result<(), Failure> {
        terminal::print_report(self, json)?;
        if self.states == 0 {
            let what = self.what;
            return Err(Failure::Run(format!("nothing was verified: there are no {what}")));
        }
        if self.reasons.contains_key(UNEXPLAINED) { Err(Failure::Told) } else { Ok(()) }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} {} are equal", self.equal, self.states, self.what)?;
        if let Some(Within { states, equal }) = self.within_update {
            write!(f, "\n{equal} of {states} where the truth's number lies within the update's")?;
        }
        for (reason, count) in &self.reasons {
            write!(f, "\n{count} differ: {reason}")?;
        }
        for Mismatch { line, reason, truth, book } in self.mismatches.iter().take(PRINTED_MAX) {
            write!(f, "\nline {line}: truth {truth}, book {book} ({reason})")?;
        }
        let more = (self.states - self.equal).saturating_sub(PRINTED_MAX as u64);
        if more > 0 { write!(f, "\n... and {more} more") } else { Ok(()) }
    }
}
