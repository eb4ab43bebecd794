//! What runs on the CPUs: two looks, and what happened between them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::interrupts::Interrupts;

/// A thread, as `/proc/PID/task/TID/stat` has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The process that it belongs to.
    pub process: u32,
    /// Its name.
    pub name: String,
    /// The CPU that it ran on last.
    pub cpu: usize,
    /// Its CPU time, in ticks of a hundredth of a second.
    pub ticks: u64,
}

/// The time of a CPU, in ticks of a hundredth of a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTicks {
    /// The hypervisor had it wait while it had work.
    pub stolen: u64,
    /// Some program ran, or the kernel did.
    pub busy: u64,
    /// All of it.
    pub all: u64,
}

impl CpuTicks {
    /// This and another time.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self {
            stolen: self.stolen.saturating_add(other.stolen),
            busy: self.busy.saturating_add(other.busy),
            all: self.all.saturating_add(other.all),
        }
    }

    /// What came after an earlier look.
    pub(crate) const fn since(self, earlier: Self) -> Self {
        Self {
            stolen: self.stolen.saturating_sub(earlier.stolen),
            busy: self.busy.saturating_sub(earlier.busy),
            all: self.all.saturating_sub(earlier.all),
        }
    }
}

/// One look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The threads, by their numbers.
    pub tasks: BTreeMap<u32, Task>,
    /// The CPUs.
    pub cpus: BTreeMap<usize, CpuTicks>,
    /// Interrupts so far.
    pub interrupts: Interrupts,
}

impl Sample {
    /// Looks at the machine whose `/proc` is under `root`: a file for each thread. What cannot be
    /// read is left out.
    #[must_use]
    pub fn take(root: &Path) -> Self {
        let proc = root.join("proc");
        let read = |name: &str| fs::read_to_string(proc.join(name)).unwrap_or_default();
        Self {
            tasks: tasks(&proc),
            cpus: cpu_ticks(&read("stat")),
            interrupts: Interrupts::parse(&read("interrupts")),
        }
    }
}

/// The CPUs of `/proc/stat`: `cpuN user nice system idle iowait irq softirq steal ...`.
pub(crate) fn cpu_ticks(stat: &str) -> BTreeMap<usize, CpuTicks> {
    let line = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let cpu = words.next()?.strip_prefix("cpu")?.parse().ok()?;
        let times: Vec<u64> = words.take(8).map_while(|word| word.parse().ok()).collect();
        let sum = |fields: &[usize]| {
            let times = fields.iter().filter_map(|field| times.get(*field));
            times.fold(0, |sum: u64, time| sum.saturating_add(*time))
        };
        let (busy, stolen) = (sum(&[0, 1, 2, 5, 6]), sum(&[7]));
        let all = busy.saturating_add(sum(&[3, 4, 7]));
        Some((cpu, CpuTicks { stolen, busy, all }))
    };
    stat.lines().filter_map(line).collect()
}

fn tasks(proc: &Path) -> BTreeMap<u32, Task> {
    let mut tasks = BTreeMap::new();
    for process in numbers_in(proc) {
        let folder = proc.join(process.to_string()).join("task");
        for thread in numbers_in(&folder) {
            let stat = fs::read_to_string(folder.join(thread.to_string()).join("stat"));
            if let Some(task) = stat.ok().and_then(|text| parse_task(process, &text)) {
                tasks.insert(thread, task);
            }
        }
    }
    tasks
}

fn numbers_in(folder: &Path) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// `TID (name) state ...`: user and system time are the fields 14 and 15, the CPU is 39.
fn parse_task(process: u32, text: &str) -> Option<Task> {
    // The name may hold anything: the fields begin behind the last parenthesis.
    let (head, fields) = text.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let ticks = field(14)?.saturating_add(field(15)?);
    Some(Task { process, name: name.to_owned(), cpu: usize::try_from(field(39)?).ok()?, ticks })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_read_whatever_its_name() {
        let zeros = "0 ".repeat(15);
        let fields = format!("S 1 1 1 0 -1 4194560 0 0 0 0 30 12 0 0 20 0 1 0 5 {zeros}17 3 0 0");
        let task = parse_task(7, &format!("8 (a) (b) {fields}")).expect("a task");
        assert_eq!(task, Task { process: 7, name: "a) (b".to_owned(), cpu: 3, ticks: 42 });
        assert_eq!(parse_task(7, "8 (a) S 1"), None);
    }

    #[test]
    fn this_machine_has_tasks_and_cpus() {
        let sample = Sample::take(Path::new("/"));
        assert!(!sample.tasks.is_empty() && !sample.cpus.is_empty());
        assert_eq!(Sample::take(Path::new("/nowhere")), Sample::default());
    }
}
