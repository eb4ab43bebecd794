//! A check: a row of the table.

use serde::Serialize;

use crate::finding::{Finding, Unseen};
use crate::machine::Machine;

/// What a check is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// Who else runs on the CPUs.
    Isolation,
    /// The kernel's own work, and its clock.
    Kernel,
    /// Clock rates and idle states.
    Power,
    /// Pages, swap, shared memory.
    Memory,
    /// Sockets, protocols and interfaces.
    Network,
    /// What this user and this process may.
    Limits,
    /// Containers, virtual machines, quotas.
    Environment,
}

impl Group {
    /// In lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Isolation => "isolation",
            Self::Kernel => "kernel",
            Self::Power => "power",
            Self::Memory => "memory",
            Self::Network => "network",
            Self::Limits => "limits",
            Self::Environment => "environment",
        }
    }
}

/// How much it matters when a check fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Microseconds now and then, or a matter of taste.
    Minor,
    /// The tail of the latency: p99 and beyond.
    Important,
    /// No figure of this machine means anything, or something will not work at all.
    Critical,
}

impl Severity {
    /// In lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Minor => "minor",
            Self::Important => "important",
            Self::Critical => "critical",
        }
    }
}

/// A row of the table: everything but what it finds is the same on every machine.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Its name, by which nothing else is called.
    pub name: &'static str,
    /// What it is about.
    pub group: Group,
    /// How much it matters.
    pub severity: Severity,
    /// Where it looks.
    pub reads: &'static str,
    /// What should be there.
    pub wanted: &'static str,
    /// Why, in a line.
    pub why: &'static str,
    /// What it costs to have it so.
    pub cost: &'static str,
    pub(crate) look: fn(&Machine) -> Result<Finding, Unseen>,
}
