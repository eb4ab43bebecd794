//! All checks of a machine, and how they are told.

use std::fmt;

use serde::Serialize;

use crate::check::Severity;
use crate::checks::checks;
use crate::finding::Verdict;
use crate::judged::{Judged, judge};
use crate::machine::Machine;
use crate::script::script;

/// What is known of a machine. It is printed for people, and serialised with the keys of its
/// fields.
#[derive(Clone, Debug, Serialize)]
pub struct Diagnosis {
    /// The CPUs that were judged, as a list.
    pub cpus: String,
    /// The interfaces that were judged.
    pub interfaces: Vec<String>,
    /// Whether a hypervisor runs the machine.
    pub virtual_machine: bool,
    /// What made the container that this ran in.
    pub container: Option<String>,
    /// The checks, by group.
    pub checks: Vec<Judged>,
    /// How many are as they should be.
    pub ok: usize,
    /// How many are not.
    pub wrong: WrongCounts,
    /// How many cannot be seen from here.
    pub unseen: usize,
}

/// How many checks are wrong, by severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "each is what it is in `Severity`")]
pub struct WrongCounts {
    pub minor: usize,
    pub important: usize,
    pub critical: usize,
}

impl Diagnosis {
    /// Makes every check.
    #[must_use]
    pub fn of(machine: &Machine) -> Self {
        let judged: Vec<Judged> = checks().map(|check| judge(check, machine)).collect();
        let count = |verdict: Verdict| judged.iter().filter(|it| it.verdict == verdict).count();
        let wrong = |severity: Severity| {
            let is_it = |it: &&Judged| it.verdict == Verdict::Wrong && it.severity == severity;
            judged.iter().filter(is_it).count()
        };
        Self {
            cpus: machine.cpus().to_string(),
            interfaces: machine.interfaces().to_vec(),
            virtual_machine: machine.is_virtual(),
            container: machine.container().map(str::to_owned),
            ok: count(Verdict::Ok),
            unseen: count(Verdict::Unseen),
            wrong: WrongCounts {
                minor: wrong(Severity::Minor),
                important: wrong(Severity::Important),
                critical: wrong(Severity::Critical),
            },
            checks: judged,
        }
    }

    /// Whether a check of this severity or a greater one is wrong.
    #[must_use]
    pub fn is_wrong_from(&self, severity: Severity) -> bool {
        self.checks.iter().any(|it| it.verdict == Verdict::Wrong && it.severity >= severity)
    }

    /// The check of this name.
    #[must_use]
    pub fn check(&self, name: &str) -> Option<&Judged> {
        self.checks.iter().find(|it| it.name == name)
    }

    /// A shell script that mends what a command can mend. It says what it costs, and what is left
    /// to people.
    #[must_use]
    pub fn script(&self) -> String {
        script(&self.checks, self.container.as_deref())
    }

    /// What the machine is, and how many checks ended how.
    fn summary(&self) -> String {
        let WrongCounts { minor, important, critical } = self.wrong;
        let interfaces = match self.interfaces.as_slice() {
            [] => "no interface but loopback".to_owned(),
            names => format!("interfaces {}", names.join(", ")),
        };
        let place = match (self.virtual_machine, &self.container) {
            (true, Some(name)) => format!(" in a {name} container in a virtual machine"),
            (false, Some(name)) => format!(" in a {name} container"),
            (true, None) => " in a virtual machine".to_owned(),
            (false, None) => String::new(),
        };
        format!(
            "{} checks of CPUs {} and {interfaces}{place}: {} ok, {critical} critical, {important} \
             important and {minor} minor are not as they should be, {} cannot be seen here",
            self.checks.len(),
            self.cpus,
            self.ok,
            self.unseen
        )
    }
}

/// A line for each check; below it, where it is wrong, what should be, why, and what mends it.
impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut group = None;
        for it in &self.checks {
            if group != Some(it.group) {
                let gap = if group.is_some() { "\n" } else { "" };
                writeln!(f, "{gap}{}", it.group.name())?;
                group = Some(it.group);
            }
            let word = match it.verdict {
                Verdict::Ok => "ok",
                Verdict::Wrong => it.severity.name(),
                Verdict::Unseen => "unseen",
            };
            writeln!(f, "  {word:<9} {:<22} {}", it.name, it.found)?;
            let Some(fix) = &it.fix else { continue };
            for (what, text) in [
                ("should be", it.wanted),
                ("because", it.why),
                ("mended by", &fix.to_string()),
                ("costs", it.cost),
            ] {
                writeln!(f, "  {:<9} {:<22} {what}: {text}", "", "")?;
            }
        }
        write!(f, "\n{}", self.summary())
    }
}
