//! What runs on the CPUs: two looks, and what happened between them.

mod counts;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use taut_sys::{CpuTotals, cpu_totals};

use crate::interrupts::Interrupts;
pub(crate) use counts::group_folders;

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

/// One look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The threads, by their numbers.
    pub tasks: BTreeMap<u32, Task>,
    /// What the CPUs did since the boot.
    pub cpus: BTreeMap<usize, CpuTotals>,
    /// Interrupts so far.
    pub interrupts: Interrupts,
    /// What each interface has lost since the boot, by the kernel's counter.
    pub losses: BTreeMap<String, BTreeMap<&'static str, u64>>,
    /// The control groups that limit the CPU time of this process and of taut's others, by their
    /// folders: how often each was stopped because of its quota.
    pub groups: BTreeMap<String, u64>,
}

impl Sample {
    /// Looks at the machine whose `/proc` is under `root`: a file for each thread. What cannot be
    /// read is left out.
    #[must_use]
    pub fn take(root: &Path) -> Self {
        let proc = root.join("proc");
        let read = |name: &str| fs::read_to_string(proc.join(name)).unwrap_or_default();
        let tasks = tasks(&proc);
        let taut = tasks.values().filter(|task| task.name.starts_with("taut"));
        let taut = taut.map(|task| task.process).collect();
        Self {
            cpus: cpus(&read("stat")),
            interrupts: Interrupts::parse(&read("interrupts")),
            losses: counts::losses(root),
            groups: counts::groups(root, &taut),
            tasks,
        }
    }
}

/// The CPUs of the text of `/proc/stat`, by their numbers.
pub(crate) fn cpus(stat: &str) -> BTreeMap<usize, CpuTotals> {
    cpu_totals(stat).filter_map(|(cpu, totals)| Some((cpu?, totals))).collect()
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
