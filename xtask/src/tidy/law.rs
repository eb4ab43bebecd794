//! What a law is.

use super::finding::Finding;
use super::house::House;

/// A law: checked on the whole house, because some are about files and some about crates.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    /// One word.
    pub name: &'static str,
    /// Why it exists, in one line.
    pub reason: &'static str,
    /// Everything in the house that breaks it.
    pub check: fn(&House<'_>) -> Vec<Finding>,
}

impl Law {
    /// The findings as lines for the user, by file and line.
    pub fn violations(&self, house: &House<'_>) -> Vec<String> {
        let mut findings = (self.check)(house);
        findings.sort_by(|a, b| a.place().cmp(&b.place()));
        findings.dedup();
        findings.iter().map(|finding| finding.report(self.name)).collect()
    }
}
