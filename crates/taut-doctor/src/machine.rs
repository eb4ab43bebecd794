//! A machine as the kernel describes it.

mod kind;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use taut_types::Nanos;

use crate::answers::Answers;
use crate::cpu_list::CpuList;
use crate::finding::Unseen;
use crate::sample::Sample;
use crate::target::Target;

/// A machine.
#[derive(Debug)]
pub struct Machine {
    root: PathBuf,
    pub(crate) target: Target,
    pub(crate) answers: Answers,
    pub(crate) samples: [Sample; 2],
    pub(crate) interval: Nanos,
    cpus: CpuList,
    interfaces: Vec<String>,
    is_virtual: bool,
    container: Option<String>,
}

impl Machine {
    /// The machine whose `/proc` and `/sys` are under `root`, judged for `target`. Between
    /// `samples` passed `interval`. Without `answers` of an interface its hardware is unseen.
    #[must_use]
    pub fn new(root: &Path, target: Target, samples: [Sample; 2], interval: Nanos) -> Self {
        let mut machine = Self {
            root: root.to_owned(),
            target,
            answers: Answers::default(),
            samples,
            interval,
            cpus: CpuList::default(),
            interfaces: Vec::new(),
            is_virtual: false,
            container: None,
        };
        machine.is_virtual = machine.looks_virtual();
        machine.container = machine.looks_contained();
        machine.cpus = machine.judged_cpus();
        machine.interfaces = machine.judged_interfaces();
        machine
    }

    /// The same with what system calls told.
    #[must_use]
    pub fn with_answers(mut self, answers: Answers) -> Self {
        self.answers = answers;
        self
    }

    /// The CPUs that are judged.
    #[must_use]
    pub const fn cpus(&self) -> &CpuList {
        &self.cpus
    }

    /// The interfaces that are judged, without loopback.
    #[must_use]
    pub fn interfaces(&self) -> &[String] {
        &self.interfaces
    }

    /// Whether a hypervisor runs it.
    #[must_use]
    pub const fn is_virtual(&self) -> bool {
        self.is_virtual
    }

    /// The container that this process is in, by the name of what made it.
    #[must_use]
    pub fn container(&self) -> Option<&str> {
        self.container.as_deref()
    }

    /// The text of a file, without white space at its ends.
    pub(crate) fn text(&self, path: &str) -> Result<String, Unseen> {
        let place = match (self.is_virtual, &self.container) {
            (_, Some(_)) => "in this container",
            (true, None) => "in this virtual machine",
            (false, None) => "here",
        };
        let why = |error: std::io::Error| match error.kind() {
            ErrorKind::NotFound => Unseen(format!("there is no {path} {place}")),
            ErrorKind::PermissionDenied => Unseen(format!("{path} may not be read by this user")),
            _ => Unseen(format!("{path}: {error}")),
        };
        let bytes = fs::read(self.path(path)).map_err(why)?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// The number that a file holds.
    pub(crate) fn number(&self, path: &str) -> Result<i64, Unseen> {
        let text = self.text(path)?;
        text.parse().map_err(|_| Unseen(format!("{path} says '{text}', which is no number")))
    }

    /// The list of CPUs that a file holds.
    pub(crate) fn cpu_list(&self, path: &str) -> Result<CpuList, Unseen> {
        let text = self.text(path)?;
        // What is not set reads `(null)`.
        let list = if text == "(null)" { "" } else { text.as_str() };
        CpuList::parse(list)
            .ok_or_else(|| Unseen(format!("{path} says '{text}', which is no list")))
    }

    /// The CPUs that the scheduler leaves alone, since the boot or by a control group.
    pub(crate) fn isolated_cpus(&self) -> Result<CpuList, Unseen> {
        let by_boot = self.cpu_list("/sys/devices/system/cpu/isolated");
        let by_group = self.cpu_list("/sys/fs/cgroup/cpuset.cpus.isolated");
        match (by_boot, by_group) {
            (Ok(boot), Ok(group)) => Ok(boot.or(&group)),
            (boot, group) => boot.or_else(|unseen| group.map_err(|_| unseen)),
        }
    }

    /// Those of the interrupt lines that come to the CPUs that are judged, by number.
    pub(crate) fn lines_here(&self, numbers: &[String]) -> Result<Vec<String>, Unseen> {
        let [_, after] = &self.samples;
        let lines = &after.interrupts.0;
        let mut here = Vec::new();
        // A line that nobody uses does not interrupt.
        for number in numbers.iter().filter(|it| lines.is_empty() || lines.contains_key(*it)) {
            if !self.irq_cpus(number)?.and(&self.cpus).is_empty() {
                here.push(number.clone());
            }
        }
        here.sort_by_key(|number| number.parse::<u32>().ok());
        Ok(here)
    }

    /// The CPUs that an interrupt line comes to.
    fn irq_cpus(&self, number: &str) -> Result<CpuList, Unseen> {
        let list = |file: &str| self.cpu_list(&format!("/proc/irq/{number}/{file}"));
        // Some controllers do not say where it really comes: then it may come wherever it may.
        let effective = list("effective_affinity_list").ok().filter(|list| !list.is_empty());
        effective.map_or_else(|| list("smp_affinity_list"), Ok)
    }

    /// The mask of CPUs that a file holds.
    pub(crate) fn cpu_mask(&self, path: &str) -> Result<CpuList, Unseen> {
        let text = self.text(path)?;
        CpuList::parse_mask(&text)
            .ok_or_else(|| Unseen(format!("{path} says '{text}', which is no mask")))
    }

    /// The names in a folder, sorted; none where there is no folder.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Whether a file or a folder is there.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// The last name of what a symbolic link leads to.
    pub(crate) fn link_name(&self, path: &str) -> Option<String> {
        let to = fs::read_link(self.path(path)).ok()?;
        to.file_name()?.to_str().map(str::to_owned)
    }

    /// A parameter of the kernel's command line: its value, or nothing where it is not given.
    pub(crate) fn parameter(&self, key: &str) -> Result<Option<String>, Unseen> {
        let line = self.text("/proc/cmdline")?;
        // What follows `--` is the first process's.
        let words = line.split_ascii_whitespace().take_while(|word| *word != "--");
        let value = |word: &str| match word.split_once('=') {
            Some((name, value)) => (name == key).then(|| value.to_owned()),
            None => (word == key).then(String::new),
        };
        // The last one holds.
        Ok(words.filter_map(value).last())
    }

    /// The value behind `key` and a colon or white space, in a file of such lines.
    pub(crate) fn field(&self, path: &str, key: &str) -> Result<String, Unseen> {
        let text = self.text(path)?;
        let value = |line: &str| {
            let rest = line.strip_prefix(key)?;
            let rest = rest
                .strip_prefix(':')
                .or_else(|| rest.starts_with(char::is_whitespace).then_some(rest))?;
            Some(rest.trim().trim_start_matches(':').trim().to_owned())
        };
        let found = text.lines().find_map(value);
        found.ok_or_else(|| Unseen(format!("{path} has no {key}")))
    }

    /// The process with this name, if one runs.
    pub(crate) fn process_named(&self, names: &[&str]) -> Option<String> {
        let [_, after] = &self.samples;
        let task = after.tasks.values().find(|task| names.contains(&task.name.as_str()));
        task.map(|task| task.name.clone())
    }

    /// The nodes of memory, each with its CPUs.
    pub(crate) fn nodes(&self) -> Vec<(usize, CpuList)> {
        let folder = "/sys/devices/system/node";
        let node = |name: &String| {
            let number = name.strip_prefix("node")?.parse().ok()?;
            Some((number, self.cpu_list(&format!("{folder}/{name}/cpulist")).ok()?))
        };
        self.names(folder).iter().filter_map(node).collect()
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }
}
