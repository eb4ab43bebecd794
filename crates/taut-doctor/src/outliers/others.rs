//! What else ran on a CPU.

use serde::{Deserialize, Serialize};

use crate::sample::Sample;

/// Tasks that are told.
const TOLD_MAX: usize = 5;
/// A tick of the kernel's count of CPU time, ns.
const TICK_NS: u64 = 10_000_000;

/// A task that had a CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Other {
    /// The CPU that it ran on last.
    pub cpu: usize,
    /// Its name.
    pub name: String,
    /// Its process.
    pub process: u32,
    /// How long it ran, ns: to a hundredth of a second.
    pub ran_ns: u64,
}

/// The tasks that had one of these CPUs most between two samples, beside those of the processes
/// that are named: the most first, five at most. One that had begun and ended meanwhile is not
/// seen.
#[must_use]
pub fn others(before: &Sample, after: &Sample, cpus: &[usize], own: &[u32]) -> Vec<Other> {
    let mut all: Vec<Other> = after
        .tasks
        .iter()
        .filter(|(_, task)| cpus.contains(&task.cpu) && !own.contains(&task.process))
        .filter_map(|(thread, task)| {
            // Threads of the kernel are called by what they do, and are the same ones.
            let was = before.tasks.get(thread).filter(|was| was.process == task.process);
            let ticks = task.ticks.saturating_sub(was.map_or(0, |was| was.ticks));
            let (cpu, name, process) = (task.cpu, task.name.clone(), task.process);
            let ran_ns = ticks.saturating_mul(TICK_NS);
            (ticks > 0).then_some(Other { cpu, name, process, ran_ns })
        })
        .collect();
    all.sort_by(|one, other| other.ran_ns.cmp(&one.ran_ns).then(one.name.cmp(&other.name)));
    all.truncate(TOLD_MAX);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Task;

    #[test]
    fn what_had_the_cpu_most_comes_first_and_the_own_processes_are_left_out() {
        let task =
            |process, name: &str, cpu, ticks| Task { process, name: name.into(), cpu, ticks };
        let mut before = Sample::default();
        before.tasks.insert(10, task(10, "busy", 1, 100));
        before.tasks.insert(11, task(11, "idle", 1, 40));
        let mut after = before.clone();
        after.tasks.insert(10, task(10, "busier", 1, 150));
        after.tasks.insert(12, task(12, "new", 1, 70));
        after.tasks.insert(13, task(13, "gateway", 1, 900));
        after.tasks.insert(14, task(14, "elsewhere", 0, 900));
        let told = others(&before, &after, &[1], &[13]);
        let told: Vec<_> = told.iter().map(|it| (it.name.as_str(), it.ran_ns)).collect();
        assert_eq!(told, [("new", 700_000_000), ("busier", 500_000_000)]);
    }
}
