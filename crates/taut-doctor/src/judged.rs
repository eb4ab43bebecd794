//! A check of a machine, made.

use serde::Serialize;

use crate::check::{Check, Group, Severity};
use crate::finding::{Finding, Fix, Unseen, Verdict};
use crate::machine::Machine;

/// A check and what it found.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "each is what it is in `Check` and `Finding`")]
pub struct Judged {
    pub name: &'static str,
    pub group: Group,
    pub severity: Severity,
    pub verdict: Verdict,
    /// What is, or why it cannot be seen.
    pub found: String,
    pub wanted: &'static str,
    pub why: &'static str,
    pub fix: Option<Fix>,
    pub cost: &'static str,
    pub reads: &'static str,
}

/// Makes a check.
pub fn judge(check: &Check, machine: &Machine) -> Judged {
    let (verdict, found, fix) = match (check.look)(machine) {
        Ok(Finding { verdict, found, fix }) => (verdict, found, fix),
        Err(Unseen(why)) => (Verdict::Unseen, why, None),
    };
    let Check { name, group, severity, reads, wanted, why, cost, .. } = *check;
    Judged { name, group, severity, verdict, found, wanted, why, fix, cost, reads }
}
