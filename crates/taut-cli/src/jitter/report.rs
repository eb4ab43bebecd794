//! The report of a run, as JSON.

use serde::Serialize;
use taut_doctor::InterruptCount;
use taut_doctor::jitter::{ABOVE, Cause, CpuJitter, GAP_MIN, Gap, Jitter};
use taut_report::{Conditions, Figures, Machine};
use taut_types::Nanos;

/// A run. The order of the fields is the order of the keys, and part of the interface.
#[derive(Debug, Serialize)]
pub struct Report<'a> {
    started_utc_ns: i64,
    seconds: f64,
    interrupted: bool,
    threshold_ns: i64,
    cpus: Vec<Row<'a>>,
    machine: Machine,
    conditions: Conditions,
}

/// A CPU.
#[derive(Debug, Serialize)]
struct Row<'a> {
    cpu: usize,
    hiccups_ns: Figures,
    above: Vec<Above>,
    causes: Vec<Causes>,
    voluntary_switches: u64,
    involuntary_switches: u64,
    page_faults: u64,
    stolen_ns: Option<i64>,
    interrupts: &'a [InterruptCount],
    worst: Vec<Worst>,
    #[serde(skip)]
    seen: &'a CpuJitter,
}

/// How many hiccups are so long or longer.
#[derive(Debug, Serialize)]
struct Above {
    ns: i64,
    count: u64,
}

/// How many hiccups have a cause, and how long they are together.
#[derive(Debug, Serialize)]
struct Causes {
    cause: Cause,
    count: u64,
    sum_ns: i64,
}

/// One of the longest.
#[derive(Debug, Serialize)]
struct Worst {
    at_ns: i64,
    length_ns: i64,
    cause: Cause,
}

impl<'a> Report<'a> {
    pub fn new(jitter: &'a Jitter, interrupted: bool, conditions: Conditions) -> Self {
        Self {
            started_utc_ns: jitter.started_utc.0,
            seconds: (jitter.span.0 as f64 / 1e6).round() / 1e3,
            interrupted,
            threshold_ns: GAP_MIN.0,
            cpus: jitter.cpus.iter().map(Row::new).collect(),
            machine: Machine::read(),
            conditions,
        }
    }

    pub fn cpus(&self) -> impl Iterator<Item = &'a CpuJitter> + '_ {
        self.cpus.iter().map(|row| row.seen)
    }

    pub const fn started_utc(&self) -> Nanos {
        Nanos(self.started_utc_ns)
    }

    pub const fn seconds(&self) -> f64 {
        self.seconds
    }

    pub const fn interrupted(&self) -> bool {
        self.interrupted
    }

    pub const fn machine(&self) -> &Machine {
        &self.machine
    }

    pub const fn conditions(&self) -> &Conditions {
        &self.conditions
    }
}

impl<'a> Row<'a> {
    fn new(seen: &'a CpuJitter) -> Self {
        let gaps = &seen.gaps;
        let above = ABOVE.iter().zip(gaps.above());
        let causes = Cause::ALL.map(|cause| (cause, gaps.by_cause(cause)));
        let worst =
            |gap: &Gap| Worst { at_ns: gap.at.0, length_ns: gap.length.0, cause: gap.cause };
        Self {
            cpu: seen.cpu,
            hiccups_ns: gaps.histogram().summary().into(),
            above: above.map(|(length, count)| Above { ns: length.0, count }).collect(),
            causes: causes
                .map(|(cause, (count, sum))| Causes { cause, count, sum_ns: sum.0 })
                .into(),
            voluntary_switches: seen.switches.0,
            involuntary_switches: seen.switches.1,
            page_faults: seen.page_faults,
            stolen_ns: seen.stolen.map(|span| span.0),
            interrupts: &seen.interrupts,
            worst: gaps.worst().iter().map(worst).collect(),
            seen,
        }
    }
}
