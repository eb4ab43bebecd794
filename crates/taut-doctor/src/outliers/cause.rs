//! Which cause an order's time has: a table of rules, the first that holds.

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use taut_lat::Stage;

use super::evidence::Evidence;

/// Why an order took long.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cause {
    /// The control group's quota of CPU time was used up.
    Throttled,
    /// Another thread of the run had its CPU.
    NeighbourThread,
    /// Another task had its CPU.
    Descheduled,
    /// The hypervisor had its CPU.
    Stolen,
    /// A page was not there.
    PageFault,
    /// The strategy took long to hear of the tick, or to decide.
    Strategy,
    /// Orders before it had to leave first.
    Burst,
    /// The send call took long.
    SendCall,
    /// More interrupts than usual came to its CPU.
    Interrupts,
    /// Nothing that was looked at is long enough.
    #[default]
    Unknown,
}

/// What a rule looks at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts<'a> {
    /// The stage that took longest beyond its usual time.
    pub stage: Stage,
    /// How far beyond, ns.
    pub excess_ns: u64,
    /// Orders that left between this one's request and its turn.
    pub queued: u32,
    /// What they took of that time, ns.
    pub queued_ns: u64,
    /// Of the thread that had the stage.
    pub evidence: &'a Evidence,
}

/// The longest that a page fault takes which reads no disk, ns: an entry of the page table, or a
/// page of zeros, takes a fraction of that.
const MINOR_FAULT_NS_MAX: u64 = 20_000;
/// So many interrupts beyond twice the usual number are more than chance.
const INTERRUPTS_MIN: u64 = 10;

/// A cause, and whether it is the one.
type Rule = (Cause, fn(&Facts<'_>) -> bool);

/// The first that holds is the cause. What takes the CPU away comes before what a stage does with
/// it: whatever the stage is, it waited.
const RULES: [Rule; 9] = [
    (Cause::Throttled, |it| {
        let Evidence { throttled, throttled_ns, waited_ns, .. } = *it.evidence;
        throttled > 0 && (it.explained_by(throttled_ns) || it.explained_by(waited_ns))
    }),
    (Cause::NeighbourThread, |it| {
        let Evidence { waited_ns, neighbour_ns, .. } = *it.evidence;
        it.explained_by(waited_ns) && neighbour_ns >= waited_ns / 2
    }),
    (Cause::Descheduled, |it| it.explained_by(it.evidence.waited_ns)),
    (Cause::Stolen, |it| it.explained_by(it.evidence.stolen_ns)),
    (Cause::PageFault, |it| {
        let minor_ns = it.evidence.minor_faults.saturating_mul(MINOR_FAULT_NS_MAX);
        it.evidence.major_faults > 0 || it.explained_by(minor_ns)
    }),
    (Cause::Strategy, |it| matches!(it.stage, Stage::ToStrategy | Stage::Strategy)),
    (Cause::Burst, |it| it.queued > 0 && it.explained_by(it.queued_ns)),
    (Cause::SendCall, |it| it.stage == Stage::Send),
    (Cause::Interrupts, |it| {
        let Evidence { interrupts, interrupts_usual, .. } = *it.evidence;
        interrupts > interrupts_usual.saturating_mul(2).saturating_add(INTERRUPTS_MIN)
    }),
];

impl Facts<'_> {
    /// Whether that is long enough for the half of it.
    fn explained_by(&self, ns: u64) -> bool {
        ns > 0 && ns.saturating_mul(2) >= self.excess_ns
    }

    /// The cause.
    pub(super) fn cause(&self) -> Cause {
        let found = RULES.iter().find(|(_, holds)| holds(self));
        found.map_or(Cause::Unknown, |(cause, _)| *cause)
    }

    /// The numbers that show it, in words.
    pub(super) fn why(&self, cause: Cause, thread: &str) -> String {
        let of = self.evidence;
        let [within, waited] = [of.window_ns, of.waited_ns].map(time);
        let (name, taken) = (of.neighbour.as_deref(), of.involuntary_switches);
        match cause {
            Cause::Throttled => {
                let (times, long) = (of.throttled, time(of.throttled_ns));
                format!("its control group was stopped {times} times, {long} within {within}")
            }
            Cause::NeighbourThread | Cause::Descheduled => {
                let by = name.filter(|_| cause == Cause::NeighbourThread);
                let by = by.map_or_else(|| "another task".to_owned(), |by| format!("the {by}"));
                format!(
                    "the {thread} waited {waited} within {within} for its CPU, which {by} had; \
                     taken {taken} times"
                )
            }
            Cause::Stolen => {
                let [stolen, within] = [of.stolen_ns, of.machine_window_ns].map(time);
                format!("the hypervisor had its CPU {stolen} within {within}")
            }
            Cause::PageFault => {
                let (minor, major) = (of.minor_faults, of.major_faults);
                format!("{minor} page faults within {within}, {major} more from a disk")
            }
            Cause::Strategy => {
                let mut text = format!("{} beyond the usual", time(self.excess_ns));
                if of.window_ns > 0 {
                    let _ =
                        write!(text, "; it slept {} times within {within}", of.voluntary_switches);
                }
                text
            }
            Cause::Burst => {
                format!("{} orders left before it, {}", self.queued, time(self.queued_ns))
            }
            Cause::SendCall => {
                format!("the call took {} beyond the usual", time(self.excess_ns))
            }
            Cause::Interrupts => {
                let (count, usual) = (of.interrupts, of.interrupts_usual);
                let within = time(of.machine_window_ns);
                format!("{count} interrupts within {within}, {usual} are usual")
            }
            Cause::Unknown if of.window_ns == 0 => "nobody looked then".to_owned(),
            Cause::Unknown => format!(
                "within {within} waited {waited} for its CPU, {} page faults, {} interrupts",
                of.minor_faults, of.interrupts
            ),
        }
    }
}

impl Cause {
    /// What so many orders of this cause did: `were descheduled`. `by` is the thread that had their
    /// CPU, where that is the cause.
    #[must_use]
    pub fn words(self, by: Option<&str>, count: u64) -> String {
        let neighbour;
        let words = match self {
            Self::Throttled => "were stopped by the quota of their control group",
            Self::NeighbourThread => {
                let by = by.unwrap_or("neighbour");
                neighbour = format!("waited for the {by}'s thread, which had their CPU");
                neighbour.as_str()
            }
            Self::Descheduled => "were descheduled",
            Self::Stolen => "lost their CPU to the hypervisor",
            Self::PageFault => "missed a page",
            Self::Strategy => "waited for the strategy",
            Self::Burst => "were queued behind others",
            Self::SendCall => "waited in the send call",
            Self::Interrupts => "had more interrupts than usual",
            Self::Unknown => "are not explained",
        };
        if count != 1 {
            return words.to_owned();
        }
        let one = words.replacen("were ", "was ", 1).replacen("are ", "is ", 1);
        one.replace("their ", "its ")
    }
}

/// A time for people.
pub(super) fn time(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{:.1} µs", ns as f64 / 1e3),
        _ => format!("{:.1} ms", ns as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: u64 = 1_000_000;

    fn judged(stage: Stage, evidence: Evidence) -> Cause {
        Facts { stage, excess_ns: LONG, queued: 0, queued_ns: 0, evidence: &evidence }.cause()
    }

    #[test]
    fn each_cause_is_named_by_what_shows_it() {
        let nothing = || Evidence { window_ns: 5_000_000, ..Evidence::default() };
        let waited = || Evidence { waited_ns: 900_000, ..nothing() };
        let venue = || Some("venue".to_owned());
        let table = [
            (Stage::Decode, nothing(), Cause::Unknown),
            (Stage::Decode, waited(), Cause::Descheduled),
            // The same wait is too short for the half of it.
            (Stage::Decode, Evidence { waited_ns: 499_999, ..nothing() }, Cause::Unknown),
            (
                Stage::Send,
                Evidence { neighbour: venue(), neighbour_ns: 880_000, ..waited() },
                Cause::NeighbourThread,
            ),
            (
                Stage::Send,
                Evidence { neighbour: venue(), neighbour_ns: 80_000, ..waited() },
                Cause::Descheduled,
            ),
            (Stage::Risk, Evidence { throttled: 1, ..waited() }, Cause::Throttled),
            (
                Stage::Risk,
                Evidence { throttled: 1, throttled_ns: LONG, ..nothing() },
                Cause::Throttled,
            ),
            // A group that was stopped at another time explains nothing.
            (Stage::Risk, Evidence { throttled: 1, ..nothing() }, Cause::Unknown),
            (Stage::Book, Evidence { stolen_ns: 10_000_000, ..nothing() }, Cause::Stolen),
            (Stage::Book, Evidence { major_faults: 1, ..nothing() }, Cause::PageFault),
            (Stage::Book, Evidence { minor_faults: 40, ..nothing() }, Cause::PageFault),
            (Stage::Book, Evidence { minor_faults: 3, ..nothing() }, Cause::Unknown),
            (Stage::Strategy, nothing(), Cause::Strategy),
            (Stage::ToStrategy, nothing(), Cause::Strategy),
            (Stage::ToStrategy, waited(), Cause::Descheduled),
            (Stage::Send, nothing(), Cause::SendCall),
            (
                Stage::Encode,
                Evidence { interrupts: 111, interrupts_usual: 50, ..nothing() },
                Cause::Interrupts,
            ),
            (
                Stage::Encode,
                Evidence { interrupts: 110, interrupts_usual: 50, ..nothing() },
                Cause::Unknown,
            ),
        ];
        for (stage, evidence, cause) in table {
            assert_eq!(judged(stage, evidence.clone()), cause, "{stage}: {evidence:?}");
        }
        let evidence = nothing();
        let queued = |queued, queued_ns| {
            let stage = Stage::ToGateway;
            Facts { stage, excess_ns: LONG, queued, queued_ns, evidence: &evidence }.cause()
        };
        assert_eq!(queued(7, 600_000), Cause::Burst);
        assert_eq!(queued(1, 400_000), Cause::Unknown);
        assert_eq!(queued(0, 600_000), Cause::Unknown);
    }

    #[test]
    fn every_cause_says_its_numbers() {
        let evidence = Evidence {
            window_ns: 5_000_000,
            waited_ns: 2_900_000,
            involuntary_switches: 3,
            neighbour: Some("venue".to_owned()),
            throttled: 2,
            stolen_ns: 10_000_000,
            minor_faults: 41,
            interrupts: 17,
            ..Evidence::default()
        };
        let (stage, excess_ns) = (Stage::Send, 3_000_000);
        let facts = Facts { stage, excess_ns, queued: 4, queued_ns: 800, evidence: &evidence };
        for (cause, words) in [
            (Cause::Throttled, "stopped 2 times"),
            (
                Cause::NeighbourThread,
                "waited 2.9 ms within 5.0 ms for its CPU, which the venue had",
            ),
            (Cause::Descheduled, "which another task had; taken 3 times"),
            (Cause::Stolen, "10.0 ms"),
            (Cause::PageFault, "41 page faults"),
            (Cause::Strategy, "3.0 ms beyond the usual"),
            (Cause::Burst, "4 orders left before it, 800 ns"),
            (Cause::SendCall, "3.0 ms beyond the usual"),
            (Cause::Interrupts, "17 interrupts"),
            (Cause::Unknown, "waited 2.9 ms"),
        ] {
            let why = facts.why(cause, "gateway");
            assert!(why.contains(words), "{cause:?}: {why}");
        }
        let nobody = Evidence::default();
        let facts = Facts { evidence: &nobody, ..facts };
        assert_eq!(facts.why(Cause::Unknown, "gateway"), "nobody looked then");
    }
}
