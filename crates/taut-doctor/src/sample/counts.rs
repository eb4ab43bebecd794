//! What the kernel counts of interfaces and of control groups.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Counters of packets that an interface lost: there was no room in the hardware (missed, fifo),
/// or they were broken.
const LOSSES: [&str; 3] = ["rx_missed_errors", "rx_fifo_errors", "rx_errors"];

/// What each interface has lost since the boot, by counter. One that has no counters is left out.
pub fn losses(root: &Path) -> BTreeMap<String, BTreeMap<&'static str, u64>> {
    let folder = root.join("sys/class/net");
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let counts = |name: String| {
        let count = |key: &'static str| {
            let text = fs::read_to_string(folder.join(&name).join("statistics").join(key)).ok()?;
            Some((key, text.trim().parse().ok()?))
        };
        let counts: BTreeMap<_, _> = LOSSES.into_iter().filter_map(count).collect();
        (!counts.is_empty()).then_some((name, counts))
    };
    names.filter_map(counts).collect()
}

/// The folders of the control groups that limit the CPU time of this process and of these, their
/// own and all above, each with how often it was stopped because of its quota.
pub fn groups(root: &Path, processes: &BTreeSet<u32>) -> BTreeMap<String, u64> {
    let read = |path: &str| fs::read_to_string(root.join(path.trim_start_matches('/'))).ok();
    // One that has ended meanwhile is in no group.
    let texts = processes.iter().filter_map(|process| read(&format!("/proc/{process}/cgroup")));
    let texts: Vec<String> = read("/proc/self/cgroup").into_iter().chain(texts).collect();
    let folders = texts.iter().flat_map(|text| text.lines()).flat_map(folders);
    let stopped = |folder: String| {
        let is_there = root.join(folder.trim_start_matches('/')).exists();
        let text = read(&format!("{folder}/cpu.stat")).unwrap_or_default();
        let count = text.lines().find_map(|line| line.strip_prefix("nr_throttled "));
        let count = count.and_then(|count| count.trim().parse().ok()).unwrap_or(0);
        is_there.then_some((folder, count))
    };
    folders.collect::<BTreeSet<_>>().into_iter().filter_map(stopped).collect()
}

/// The folders of the control groups that may limit the CPU time of a process: its own and all
/// above.
pub fn group_folders(root: &Path, process: u32) -> Vec<String> {
    let text = fs::read_to_string(root.join(format!("proc/{process}/cgroup"))).unwrap_or_default();
    let folders: BTreeSet<String> = text.lines().flat_map(folders).collect();
    folders.into_iter().collect()
}

/// Where a line of `/proc/PID/cgroup` (`number:controllers:path`) has its folder, and all above.
fn folders(line: &str) -> Vec<String> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { return Vec::new() };
    let roots: &[&str] = match controllers {
        "" => &["/sys/fs/cgroup", "/sys/fs/cgroup/unified"],
        named if named.split(',').any(|name| name == "cpu") => {
            &["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"]
        }
        _ => return Vec::new(),
    };
    let own = path.trim_end_matches('/');
    let paths = std::iter::successors(Some(own), |path| Some(path.rsplit_once('/')?.0));
    let paths: Vec<&str> = paths.collect();
    roots.iter().flat_map(|root| paths.iter().map(move |path| format!("{root}{path}"))).collect()
}
