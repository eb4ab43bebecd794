//! What the looks around an order show.

use serde::{Deserialize, Serialize};

use super::look::{Look, MachineLook};

/// What happened to a thread and its CPU from the last look before an order's packet was received
/// to the first one after it had left.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Evidence {
    /// From the one look to the other, ns; 0 where nobody looked.
    pub window_ns: u64,
    /// The thread could have run, and did not, ns.
    pub waited_ns: u64,
    /// How often the CPU was taken from it.
    pub involuntary_switches: u64,
    /// How often it slept.
    pub voluntary_switches: u64,
    /// Pages that it missed and the kernel had.
    pub minor_faults: u64,
    /// Pages that it missed and that were read from a disk.
    pub major_faults: u64,
    /// How often its control groups were stopped because of their quota.
    pub throttled: u64,
    /// How long they were, ns.
    pub throttled_ns: u64,
    /// Which other one of the threads that are looked at ran longest on the same CPU.
    pub neighbour: Option<String>,
    /// How long, ns.
    pub neighbour_ns: u64,
    /// From the look at the machine before to the one after, ns; 0 where nobody looked.
    pub machine_window_ns: u64,
    /// The hypervisor had its CPU, ns.
    pub stolen_ns: u64,
    /// Interrupts that came to its CPU.
    pub interrupts: u64,
    /// As many would have come by the mean of the whole time.
    pub interrupts_usual: u64,
}

impl Evidence {
    /// Of the thread at this place, between two looks.
    pub(super) fn between(before: &Look, after: &Look, place: usize, names: &[String]) -> Self {
        let (Some(was), Some(is)) = (before.threads.get(place), after.threads.get(place)) else {
            return Self::default();
        };
        let ran = |other: usize| {
            let (was, is) = (before.threads.get(other)?, after.threads.get(other)?);
            (is.ran > was.ran).then(|| (is.cpu, is.ran.since(was.ran)))
        };
        let neighbours = (0..names.len()).filter(|other| *other != place);
        let neighbours = neighbours.filter_map(|other| Some((other, ran(other)?)));
        let neighbours = neighbours.filter(|(_, (cpu, _))| *cpu == is.cpu);
        let neighbour = neighbours.max_by_key(|(_, (_, ran))| *ran);
        let throttled = after.throttled.time.since(before.throttled.time);
        let window_ns = ns(after.at.since(before.at));
        Self {
            window_ns,
            // The kernel counts a wait when it is over: what is more was before the window.
            waited_ns: ns(is.waited.since(was.waited)).min(window_ns),
            involuntary_switches: is.involuntary.saturating_sub(was.involuntary),
            voluntary_switches: is.voluntary.saturating_sub(was.voluntary),
            minor_faults: is.minor_faults.saturating_sub(was.minor_faults),
            major_faults: is.major_faults.saturating_sub(was.major_faults),
            throttled: after.throttled.count.saturating_sub(before.throttled.count),
            throttled_ns: ns(throttled),
            neighbour: neighbour.and_then(|(other, _)| names.get(other)).cloned(),
            neighbour_ns: neighbour.map_or(0, |(_, (_, ran))| ns(ran)),
            ..Self::default()
        }
    }

    /// Adds what came to the CPU of the thread at this place; `first` is the first look of all.
    pub(super) fn add_machine(
        &mut self,
        first: &MachineLook,
        (before, after): (&MachineLook, &MachineLook),
        place: usize,
    ) {
        let of = |look: &MachineLook| look.cpus.get(place).copied().unwrap_or_default();
        let (begun, was, is) = (of(first), of(before), of(after));
        self.machine_window_ns = ns(after.at.since(before.at));
        self.stolen_ns = ns(is.stolen.since(was.stolen));
        self.interrupts = is.interrupts.saturating_sub(was.interrupts);
        let all = u128::from(is.interrupts.saturating_sub(begun.interrupts));
        let span = u128::from(ns(after.at.since(first.at)).max(1));
        let usual = all * u128::from(self.machine_window_ns) / span;
        self.interrupts_usual = u64::try_from(usual).unwrap_or(u64::MAX);
    }
}

fn ns(span: taut_types::Nanos) -> u64 {
    span.0.max(0).unsigned_abs()
}

#[cfg(test)]
mod tests {
    use taut_types::Nanos;

    use super::*;
    use crate::outliers::look::{MachineTotals, ThreadTotals};

    #[test]
    fn evidence_is_the_difference_of_two_looks() {
        let names = ["gateway", "strategy", "venue"].map(str::to_owned);
        let before = Look { at: Nanos(1_000), ..Look::default() };
        let mut after = Look { at: Nanos(6_000), ..Look::default() };
        after.threads[0] = ThreadTotals {
            waited: Nanos(3_000),
            involuntary: 2,
            minor_faults: 4,
            ..ThreadTotals::default()
        };
        after.threads[1] = ThreadTotals { ran: Nanos(5_000), cpu: 1, ..ThreadTotals::default() };
        after.threads[2] = ThreadTotals { ran: Nanos(2_900), ..ThreadTotals::default() };
        let seen = Evidence::between(&before, &after, 0, &names);
        assert_eq!((seen.window_ns, seen.waited_ns, seen.involuntary_switches), (5_000, 3_000, 2));
        // The strategy is on another CPU.
        assert_eq!((seen.neighbour.as_deref(), seen.neighbour_ns), (Some("venue"), 2_900));
        assert_eq!(Evidence::between(&before, &after, 9, &names), Evidence::default());
    }

    #[test]
    fn interrupts_are_held_against_the_mean_of_the_whole_time() {
        let look = |at, interrupts| {
            let mut look = MachineLook { at: Nanos(at), ..MachineLook::default() };
            look.cpus[0] = MachineTotals { interrupts, stolen: Nanos(at / 100) };
            look
        };
        let mut seen = Evidence::default();
        seen.add_machine(&look(0, 100), (&look(9_000, 200), &look(10_000, 600)), 0);
        assert_eq!((seen.machine_window_ns, seen.stolen_ns), (1_000, 10));
        assert_eq!((seen.interrupts, seen.interrupts_usual), (400, 50));
    }
}
