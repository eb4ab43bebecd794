//! A machine as the kernel describes it, and what of it is judged.

use std::fs;
use std::io::ErrorKind;
use std::net::Ipv4Addr;
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

    /// The interface that a packet to this address leaves by.
    pub(crate) fn route(&self, address: Ipv4Addr) -> Option<String> {
        if address.is_loopback() {
            return Some("lo".to_owned());
        }
        let text = self.text("/proc/net/route").ok()?;
        let line = |line: &str| {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let [name, to, _, _, _, _, _, mask, ..] = words.as_slice() else { return None };
            // In the machine's byte order.
            let number = |text: &str| u32::from_str_radix(text, 16).ok().map(u32::swap_bytes);
            let (to, mask) = (number(to)?, number(mask)?);
            (u32::from(address) & mask == to).then(|| (mask, (*name).to_owned()))
        };
        text.lines().skip(1).filter_map(line).max_by_key(|(mask, _)| *mask).map(|(_, name)| name)
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

    /// How much of the last minute some task waited for this (`cpu`, `memory`), in hundredths of
    /// a percent.
    pub(crate) fn pressure(&self, what: &str) -> Result<i64, Unseen> {
        let path = format!("/proc/pressure/{what}");
        let line = self.field(&path, "some")?;
        let word = line.split_ascii_whitespace().find_map(|word| word.strip_prefix("avg60="));
        let number = word.and_then(|word| word.replace('.', "").parse().ok());
        number.ok_or_else(|| Unseen(format!("{path} has no avg60")))
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    fn looks_virtual(&self) -> bool {
        let cpuinfo = fs::read_to_string(self.path("/proc/cpuinfo")).unwrap_or_default();
        let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
        flags.is_some_and(|line| line.split_ascii_whitespace().any(|flag| flag == "hypervisor"))
            || self.has("/sys/hypervisor/type")
    }

    fn looks_contained(&self) -> Option<String> {
        let marks = [("/.dockerenv", "Docker"), ("/run/.containerenv", "Podman")];
        let mark = marks.iter().find(|(path, _)| self.has(path)).map(|(_, name)| *name);
        let by_group = || {
            let text = self.text("/proc/1/cgroup").ok()?;
            let names = ["docker", "kubepods", "lxc", "containerd", "libpod"];
            names.into_iter().find(|name| text.contains(name))
        };
        mark.or_else(by_group).map(str::to_owned)
    }

    /// Those that are named, or those that are isolated, or the last one.
    fn judged_cpus(&self) -> CpuList {
        if !self.target.cpus.is_empty() {
            return self.target.cpus.clone();
        }
        let isolated = self.isolated_cpus().unwrap_or_default();
        if !isolated.is_empty() {
            return isolated;
        }
        let online = self.cpu_list("/sys/devices/system/cpu/online").unwrap_or_default();
        let last = online.iter().next_back().or_else(|| {
            let [_, after] = &self.samples;
            after.cpus.keys().next_back().copied()
        });
        // There is always a first one.
        std::iter::once(last.unwrap_or(0)).collect()
    }

    fn judged_interfaces(&self) -> Vec<String> {
        let Target { interfaces, addresses, .. } = &self.target;
        let routes = addresses.iter().filter_map(|address| self.route(*address));
        let mut names: Vec<String> = interfaces.iter().cloned().chain(routes).collect();
        if interfaces.is_empty() && addresses.is_empty() {
            names = self.names("/sys/class/net");
            names.retain(|name| {
                let state = self.text(&format!("/sys/class/net/{name}/operstate"));
                self.has(&format!("/sys/class/net/{name}/device"))
                    && state.is_ok_and(|state| state == "up")
            });
        }
        names.retain(|name| name != "lo");
        names.sort();
        names.dedup();
        names
    }
}
