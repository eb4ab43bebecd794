//! Whether the figures of a run can be trusted: what else the machine did while it was measured.
//!
//! A [`Watch`] begins and ends with the run, and adds nothing to what is measured in between. It
//! knows three things: what other programs had of the CPUs, what the hypervisor took of them, and
//! how long a fixed piece of work takes that needs nothing but a CPU, before the run and behind it
//! (the *floor*: it rises when the clock rate falls or a neighbour shares the core). A run is
//! **quiet** when
//!
//! - other programs had less than [`FOREIGN_CPUS_MAX`] of one CPU on average,
//! - less than [`STOLEN_PERCENT_MAX`] of the CPUs' time was stolen,
//! - the two floors differ by less than [`FLOOR_PERCENT_MAX`],
//!
//! and whoever measures has nothing else to say against it. Otherwise it is **disturbed**, with all
//! that is against it; what cannot be known is against it, too.

use std::fmt;
use std::hint::black_box;

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};
use taut_sys::{CpuTotals, family_cpu, machine_times, monotonic};
use taut_types::Nanos;

use crate::units::human_ns;

/// From here on other programs disturb a run: so much of one CPU.
pub const FOREIGN_CPUS_MAX: f64 = 0.1;
/// From here on the hypervisor does: this percentage of the CPUs' time.
pub const STOLEN_PERCENT_MAX: f64 = 0.5;
/// From here on the CPU itself has changed: the longer floor exceeds the other by this percentage.
pub const FLOOR_PERCENT_MAX: f64 = 10.0;

/// Steps of the fixed piece of work, each of which needs the one before: some 50 microseconds.
const FLOOR_STEPS: u64 = 40_000;
/// The best of so many counts: a scheduler's tick in between is not the CPU's doing.
const FLOOR_ROUNDS: usize = 32;

/// A run that is being watched.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    at: Nanos,
    machine: Option<CpuTotals>,
    own: Nanos,
    floor: Nanos,
}

/// What the machine did meanwhile, and the verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Conditions {
    /// CPUs that other programs had on average; `None` where the system does not say.
    pub foreign_cpus: Option<f64>,
    /// The percentage of all CPUs' time that the hypervisor took.
    pub stolen_percent: Option<f64>,
    /// How long the fixed piece of work took before the run and behind it.
    pub floors: [Nanos; 2],
    /// What is against the run, a phrase each; nothing for a quiet one.
    pub because: Vec<String>,
}

impl Watch {
    /// The run begins. Cost: two milliseconds.
    #[must_use]
    pub fn start() -> Self {
        let floor = floor();
        Self { floor, machine: machine_times(), own: family_cpu(), at: monotonic() }
    }

    /// The run has ended, and its processes have been waited for. Cost: two milliseconds.
    #[must_use]
    pub fn finish(&self) -> Conditions {
        let (at, own, machine) = (monotonic(), family_cpu(), machine_times());
        let seconds = (at.since(self.at).0 as f64 / 1e9).max(1e-9);
        let spent = self.machine.zip(machine).map(|(before, after)| after.since(before));
        let own = own.since(self.own);
        Conditions::judge(
            spent.map(|spent| spent.busy().since(own).0 as f64 / 1e9 / seconds),
            spent.map(|spent| 100.0 * spent.stolen.0 as f64 / spent.all().0.max(1) as f64),
            [self.floor, floor()],
        )
    }
}

impl Conditions {
    /// Applies the rule.
    #[must_use]
    pub fn judge(
        foreign_cpus: Option<f64>,
        stolen_percent: Option<f64>,
        floors: [Nanos; 2],
    ) -> Self {
        let mut because = Vec::new();
        match (foreign_cpus, stolen_percent) {
            (Some(foreign), Some(stolen)) => {
                if foreign >= FOREIGN_CPUS_MAX {
                    because.push(format!("other programs had {foreign:.2} CPUs"));
                }
                if stolen >= STOLEN_PERCENT_MAX {
                    because.push(format!("the hypervisor took {stolen:.1}% of the CPUs' time"));
                }
            }
            _ => because.push("/proc/stat does not say what else ran".to_owned()),
        }
        let [before, after] = floors.map(|floor| floor.0.max(1) as f64);
        if (before / after).max(after / before) >= 1.0 + FLOOR_PERCENT_MAX / 100.0 {
            let [before, after] = floors.map(|floor| human_ns(floor.0.unsigned_abs()));
            because.push(format!(
                "the same work took the CPU {before} before the run and {after} behind it"
            ));
        }
        Self { foreign_cpus, stolen_percent, floors, because }
    }

    /// The same with something else against it.
    #[must_use]
    pub fn and_because(mut self, reason: String) -> Self {
        self.because.push(reason);
        self
    }

    /// Whether the figures can be trusted.
    #[must_use]
    pub const fn is_quiet(&self) -> bool {
        self.because.is_empty()
    }

    /// `quiet` or `disturbed`.
    #[must_use]
    pub const fn verdict(&self) -> &'static str {
        if self.is_quiet() { "quiet" } else { "disturbed" }
    }
}

/// `quiet`, or `disturbed, because other programs had 0.31 CPUs`, and the figures.
impl fmt::Display for Conditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.verdict())?;
        if !self.is_quiet() {
            write!(f, ", because {}", self.because.join(", and "))?;
        }
        if let (Some(foreign), Some(stolen)) = (self.foreign_cpus, self.stolen_percent) {
            write!(f, " (other programs {foreign:.2} CPUs, stolen {stolen:.1}%")?;
            let [before, after] = self.floors.map(|floor| human_ns(floor.0.unsigned_abs()));
            write!(f, ", floor {before} before and {after} behind)")?;
        }
        Ok(())
    }
}

/// The order of the fields is the order of the keys, and part of the interface.
impl Serialize for Conditions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rounded = |value: Option<f64>| value.map(|value| (value * 1e3).round() / 1e3);
        let mut object = serializer.serialize_struct("Conditions", 5)?;
        object.serialize_field("verdict", self.verdict())?;
        object.serialize_field("because", &self.because)?;
        object.serialize_field("foreign_cpus", &rounded(self.foreign_cpus))?;
        object.serialize_field("stolen_percent", &rounded(self.stolen_percent))?;
        object.serialize_field("floors_ns", &self.floors.map(|floor| floor.0))?;
        object.end()
    }
}

/// How long the fixed piece of work takes at best.
fn floor() -> Nanos {
    let round = |_| {
        let start = monotonic();
        let mut value = black_box(1_u64);
        for step in 0..FLOOR_STEPS {
            // Each step waits for the one before, and no compiler knows the last one.
            value = value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(step);
        }
        black_box(value);
        monotonic().since(start)
    };
    (0..FLOOR_ROUNDS).map(round).min().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use taut_testkit::{DEADLINE, Process, until};

    const EVEN: [Nanos; 2] = [Nanos(50_000), Nanos(50_400)];

    #[test]
    fn a_run_that_had_the_machine_to_itself_is_quiet() {
        let quiet = Conditions::judge(Some(0.03), Some(0.1), EVEN);
        assert!(quiet.is_quiet());
        let said = quiet.to_string();
        assert!(
            said.starts_with("quiet (other programs 0.03 CPUs, stolen 0.1%, floor 50.0"),
            "{said}"
        );
        let json = serde_json::to_string(&quiet).expect("JSON");
        let keys = [
            r#"{"verdict":"quiet","because":[],"foreign_cpus":0.03,"#,
            r#""stolen_percent":0.1,"floors_ns":[50000,50400]}"#,
        ];
        assert_eq!(json, keys.concat());
    }

    #[test]
    fn each_of_the_three_disturbs_by_itself_and_is_named() {
        for (foreign, stolen, floors, words) in [
            (0.1, 0.0, EVEN, "other programs had 0.10 CPUs"),
            (0.0, 0.5, EVEN, "the hypervisor took 0.5% of the CPUs' time"),
            (
                0.0,
                0.0,
                [Nanos(50_000), Nanos(55_100)],
                "took the CPU 50.0 µs before the run and 55.1",
            ),
            (
                0.0,
                0.0,
                [Nanos(55_100), Nanos(50_000)],
                "took the CPU 55.1 µs before the run and 50.0",
            ),
        ] {
            let disturbed = Conditions::judge(Some(foreign), Some(stolen), floors);
            assert_eq!((disturbed.verdict(), disturbed.because.len()), ("disturbed", 1), "{words}");
            let said = disturbed.to_string();
            assert!(said.starts_with("disturbed, because ") && said.contains(words), "{said}");
        }
        let both = Conditions::judge(Some(1.0), Some(2.0), EVEN);
        assert_eq!(both.because.len(), 2);
        assert!(both.to_string().contains("CPUs, and the hypervisor"));
    }

    #[test]
    fn what_is_not_known_and_what_the_measurer_says_are_against_it() {
        assert!(!Conditions::judge(None, None, EVEN).is_quiet());
        let quiet = Conditions::judge(Some(0.0), Some(0.0), EVEN);
        assert!(!quiet.and_because("the sender was late".to_owned()).is_quiet());
    }

    /// Who has a child work counts it as its own once it has waited for it; until then it is one
    /// of the others.
    #[test]
    fn a_watch_tells_own_work_from_that_of_others() {
        let (watch, own) = (Watch::start(), family_cpu());
        let mut child = Process::start(Command::new("sh").args(["-c", "while :; do :; done"]));
        let fifth = Nanos::from_millis(200);
        until("the child has worked for a fifth of a second", DEADLINE, || {
            child.cpu_time() >= fifth
        });
        let conditions = watch.finish();
        let seconds = monotonic().since(watch.at).0 as f64 / 1e9;
        child.kill();
        let foreign = conditions.foreign_cpus.expect("the system says");
        assert!(foreign * seconds > 0.1, "{foreign} CPUs in {seconds} s");
        assert!(conditions.floors.iter().all(|floor| *floor > Nanos::ZERO));
        let own = family_cpu().since(own);
        assert!(own >= fifth, "{own:?} with that of the child");
    }
}
