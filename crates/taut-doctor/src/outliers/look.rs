//! What the kernel has counted of threads and of their CPUs, at one moment.

use taut_types::Nanos;

/// Threads that are looked at together at most: a gateway's, its strategy's, its venue's, and one
/// more.
pub const THREADS_MAX: usize = 4;

/// What a thread has had since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadTotals {
    /// It ran.
    pub ran: Nanos,
    /// It could have run, and another task did, or its control group was stopped.
    pub waited: Nanos,
    /// How often it got the CPU.
    pub turns: u64,
    /// How often it slept.
    pub voluntary: u64,
    /// How often the CPU was taken from it.
    pub involuntary: u64,
    /// Pages that it missed and the kernel had.
    pub minor_faults: u64,
    /// Pages that it missed and that were read from a disk.
    pub major_faults: u64,
    /// The CPU that it ran on last.
    pub cpu: usize,
}

/// How often, and how long, control groups were stopped because of their quota of CPU time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throttled {
    /// Times.
    pub count: u64,
    /// Together.
    pub time: Nanos,
}

/// A look at the threads, each at its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// When, on the clock of the orders' stamps.
    pub at: Nanos,
    /// The threads; places without a thread stay as they are.
    pub threads: [ThreadTotals; THREADS_MAX],
    /// The control groups of the first thread.
    pub throttled: Throttled,
}

/// What a CPU has had since the machine began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineTotals {
    /// It had work, and the hypervisor had it wait: to a hundredth of a second.
    pub stolen: Nanos,
    /// Interrupts of all lines.
    pub interrupts: u64,
}

/// A look at the CPU of each thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineLook {
    /// When, on the clock of the orders' stamps.
    pub at: Nanos,
    /// The CPUs, each at its thread's place.
    pub cpus: [MachineTotals; THREADS_MAX],
}

impl ThreadTotals {
    /// Takes what `/proc/PID/task/TID/schedstat` says: ran, waited, turns. What is no such text
    /// changes nothing.
    pub(super) fn take_schedstat(&mut self, text: &str) {
        let mut fields = text.split_ascii_whitespace().map_while(|field| field.parse().ok());
        if let (Some(ran), Some(waited), Some(turns)) =
            (fields.next(), fields.next(), fields.next())
        {
            (self.ran, self.waited, self.turns) = (span(ran), span(waited), turns);
        }
    }

    /// Takes what `stat` says: `TID (name) state ...`, page faults in the fields 10 and 12, the CPU
    /// in 39.
    pub(super) fn take_stat(&mut self, text: &str) {
        // The name may hold anything: the fields begin behind the last parenthesis.
        let Some((_, fields)) = text.rsplit_once(')') else { return };
        for (number, field) in (3..).zip(fields.split_ascii_whitespace()) {
            let Ok(value) = field.parse::<u64>() else { continue };
            match number {
                10 => self.minor_faults = value,
                12 => self.major_faults = value,
                39 => self.cpu = usize::try_from(value).unwrap_or(self.cpu),
                _ => {}
            }
        }
    }

    /// Takes what `status` says of context switches.
    pub(super) fn take_status(&mut self, text: &str) {
        for line in text.lines() {
            let Some((key, value)) = line.split_once(':') else { continue };
            let Ok(value) = value.trim().parse() else { continue };
            match key {
                "voluntary_ctxt_switches" => self.voluntary = value,
                "nonvoluntary_ctxt_switches" => self.involuntary = value,
                _ => {}
            }
        }
    }
}

impl Throttled {
    /// Adds what a group's `cpu.stat` says: microseconds in version 2, nanoseconds in version 1.
    pub(super) fn add_cpu_stat(&mut self, text: &str) {
        for line in text.lines() {
            let Some((key, value)) = line.split_once(' ') else { continue };
            let Ok(value) = value.trim().parse::<u64>() else { continue };
            match key {
                "nr_throttled" => self.count = self.count.saturating_add(value),
                "throttled_usec" => self.time = self.time + span(value.saturating_mul(1_000)),
                "throttled_time" => self.time = self.time + span(value),
                _ => {}
            }
        }
    }
}

/// Interrupts of all lines of `/proc/interrupts`, by CPU: `cpus` are the CPUs that are asked for.
pub(super) fn interrupts(text: &str, cpus: &[usize]) -> [u64; THREADS_MAX] {
    let mut sums = [0u64; THREADS_MAX];
    let mut lines = text.lines();
    let heads = lines.next().unwrap_or_default().split_ascii_whitespace();
    let heads = heads.map(|head| head.strip_prefix("CPU").and_then(|it| it.parse::<usize>().ok()));
    // Which column each of them is.
    let heads: Vec<Option<usize>> = heads.collect();
    for line in lines {
        let Some((_, counts)) = line.split_once(':') else { continue };
        let counts = counts.split_ascii_whitespace().map_while(|count| count.parse::<u64>().ok());
        for (head, count) in heads.iter().zip(counts) {
            for (sum, _) in sums.iter_mut().zip(cpus).filter(|(_, cpu)| *head == Some(**cpu)) {
                *sum = sum.saturating_add(count);
            }
        }
    }
    sums
}

fn span(ns: u64) -> Nanos {
    Nanos(i64::try_from(ns).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_what_three_files_say() {
        let mut totals = ThreadTotals::default();
        totals.take_schedstat("193565980 469945696 92\n");
        let zeros = "0 ".repeat(22);
        totals.take_stat(&format!("8 (a) (b) S 1 1 1 0 -1 4194560 77 0 5 0 30 12 {zeros}1 3 0 0"));
        totals
            .take_status("Name:\ta\nvoluntary_ctxt_switches:\t9\nnonvoluntary_ctxt_switches:\t4\n");
        let expected = ThreadTotals {
            ran: Nanos(193_565_980),
            waited: Nanos(469_945_696),
            turns: 92,
            voluntary: 9,
            involuntary: 4,
            minor_faults: 77,
            major_faults: 5,
            cpu: 3,
        };
        assert_eq!(totals, expected);
        for text in ["", "x y z", "8 (a", ":", "1 2"] {
            let before = totals;
            totals.take_schedstat(text);
            totals.take_stat(text);
            totals.take_status(text);
            assert_eq!(totals, before, "{text:?}");
        }
    }

    #[test]
    fn groups_of_both_versions_are_summed_in_nanoseconds() {
        let mut throttled = Throttled::default();
        throttled.add_cpu_stat("usage_usec 5\nnr_throttled 2\nthrottled_usec 30\n");
        throttled.add_cpu_stat("nr_periods 0\nnr_throttled 1\nthrottled_time 500\n");
        throttled.add_cpu_stat("nonsense\nnr_throttled many\n");
        assert_eq!(throttled, Throttled { count: 3, time: Nanos(30_500) });
    }

    #[test]
    fn interrupts_are_those_of_the_cpus_that_are_asked_for() {
        let text =
            "           CPU0       CPU2\n 41:  7  3  PCI virtio3-rx\nLOC: 10 20 Local\nERR: 1\n";
        assert_eq!(interrupts(text, &[2, 0, 5])[..3], [23, 18, 0]);
        assert_eq!(interrupts("", &[0]), [0; THREADS_MAX]);
    }
}
