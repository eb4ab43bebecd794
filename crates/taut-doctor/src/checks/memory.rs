//! Pages, swap and shared memory.

use crate::check::{Check, Group, Severity};
use crate::finding::{Finding, Fix, Unseen};
use crate::look::{Look, pressure, sysctl};
use crate::machine::Machine;

pub const CHECKS: &[Check] = &[
    Check {
        name: "transparent-hugepages",
        group: Group::Memory,
        severity: Severity::Important,
        reads: "/sys/kernel/mm/transparent_hugepage/enabled",
        wanted: "never, or madvise",
        why: "the kernel stops a process to make large pages of its small ones",
        cost: "programs that do not ask for large pages get small ones",
        look: transparent_hugepages,
    },
    Check {
        name: "hugepages",
        group: Group::Memory,
        severity: Severity::Minor,
        reads: "/proc/meminfo (HugePages_Free)",
        wanted: "some are free",
        why: "shared memory in large pages misses the TLB less; without any it has small ones",
        cost: "the memory that is reserved",
        look: hugepages,
    },
    Check {
        name: "hugepages-node",
        group: Group::Memory,
        severity: Severity::Minor,
        reads: "/sys/devices/system/node/nodeN/hugepages/hugepages-2048kB/free_hugepages",
        wanted: "some are free on the node of each of these CPUs",
        why: "memory of another node is twice as far away",
        cost: "the memory that is reserved",
        look: hugepages_node,
    },
    Check {
        name: "swap",
        group: Group::Memory,
        severity: Severity::Important,
        reads: "/proc/swaps, /proc/sys/vm/swappiness",
        wanted: "no swap, or vm.swappiness of 10 or less",
        why: "a page that was swapped out is read from a disk, for milliseconds",
        cost: "less memory for files",
        look: swap,
    },
    Check {
        name: "statistics-interval",
        group: Group::Memory,
        severity: Severity::Minor,
        reads: "/proc/sys/vm/stat_interval",
        wanted: "10 or more",
        why: "every CPU is interrupted each second to add up its counters",
        cost: "figures of /proc/vmstat are older",
        look: |machine| sysctl(machine, "vm.stat_interval", |value| value >= 10, 120),
    },
    Check {
        name: "compaction",
        group: Group::Memory,
        severity: Severity::Minor,
        reads: "/proc/sys/vm/compaction_proactiveness",
        wanted: "0",
        why: "the kernel moves pages about while they are used",
        cost: "large pages become rare after days",
        look: |machine| sysctl(machine, "vm.compaction_proactiveness", |value| value == 0, 0),
    },
    Check {
        name: "zone-reclaim",
        group: Group::Memory,
        severity: Severity::Minor,
        reads: "/proc/sys/vm/zone_reclaim_mode",
        wanted: "0",
        why: "an allocation may have to free pages of its node first",
        cost: "memory may come from another node",
        look: |machine| sysctl(machine, "vm.zone_reclaim_mode", |value| value == 0, 0),
    },
    Check {
        name: "page-merging",
        group: Group::Memory,
        severity: Severity::Minor,
        reads: "/sys/kernel/mm/ksm/run",
        wanted: "0",
        why: "equal pages become one, and the next write to it a page fault",
        cost: "more memory for virtual machines that are alike",
        look: page_merging,
    },
    Check {
        name: "memory-available",
        group: Group::Memory,
        severity: Severity::Important,
        reads: "/proc/meminfo (MemAvailable, MemTotal)",
        wanted: "a tenth or more",
        why: "below that each allocation may wait for the kernel to free pages",
        cost: "memory",
        look: memory_available,
    },
    Check {
        name: "memory-pressure",
        group: Group::Memory,
        severity: Severity::Important,
        reads: "/proc/pressure/memory",
        wanted: "tasks waited for memory less than 0.1% of the last minute",
        why: "some task is stopped until pages are free",
        cost: "memory",
        look: |machine| pressure(machine, "memory", 10, MORE_MEMORY),
    },
    Check {
        name: "shm-size",
        group: Group::Memory,
        severity: Severity::Important,
        reads: "/proc/self/mounts (/dev/shm)",
        wanted: "256 MiB or more",
        why: "channels and books in shared memory are refused where they do not fit",
        cost: "nothing until it is used",
        look: shm_size,
    },
    Check {
        name: "shm-mount",
        group: Group::Memory,
        severity: Severity::Critical,
        reads: "/proc/self/mounts (/dev/shm)",
        wanted: "a tmpfs that can be written to",
        why: "processes share channels there; on a disk they would wait for it",
        cost: "nothing",
        look: shm_mount,
    },
];

/// What is to be done where memory is short.
const MORE_MEMORY: &str = "end what needs the memory, or add some";
/// The least that /dev/shm should hold.
const SHM_BYTES_MIN: u64 = 256 << 20;

fn transparent_hugepages(machine: &Machine) -> Look {
    let path = "/sys/kernel/mm/transparent_hugepage/enabled";
    let text = machine.text(path)?;
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    let chosen = chosen.map_or("", |(word, _)| word);
    let is_ok = ["never", "madvise"].contains(&chosen);
    Ok(Finding::judge(is_ok, chosen, || Fix::write(path, "never")))
}

fn hugepages(machine: &Machine) -> Look {
    let free = machine.field("/proc/meminfo", "HugePages_Free")?;
    let fix = || Fix::sysctl("vm.nr_hugepages", 512);
    Ok(Finding::judge(free != "0", format!("{free} are free"), fix))
}

fn hugepages_node(machine: &Machine) -> Look {
    let nodes = machine.nodes();
    if nodes.is_empty() {
        return Err(Unseen("there is no /sys/devices/system/node here".to_owned()));
    }
    let mut without = Vec::new();
    let mut words = Vec::new();
    for (node, cpus) in &nodes {
        if cpus.and(machine.cpus()).is_empty() {
            continue;
        }
        let folder = format!("/sys/devices/system/node/node{node}/hugepages/hugepages-2048kB");
        let free = machine.number(&format!("{folder}/free_hugepages"))?;
        words.push(format!("node {node}: {free} free"));
        if free == 0 {
            without.push(format!("echo 512 > {folder}/nr_hugepages"));
        }
    }
    let fix = || Fix::Command(without.join("; "));
    Ok(Finding::judge(without.is_empty(), words.join("; "), fix))
}

fn swap(machine: &Machine) -> Look {
    let places = machine.text("/proc/swaps")?.lines().count().saturating_sub(1);
    if places == 0 {
        return Ok(Finding::ok("no swap is on"));
    }
    let swappiness = machine.number("/proc/sys/vm/swappiness")?;
    let found = format!("swap is on, vm.swappiness = {swappiness}");
    Ok(Finding::judge(swappiness <= 10, found, || Fix::sysctl("vm.swappiness", 10)))
}

fn page_merging(machine: &Machine) -> Look {
    let path = "/sys/kernel/mm/ksm/run";
    let run = machine.number(path)?;
    let found = if run == 1 { "it runs" } else { "it does not run" };
    Ok(Finding::judge(run != 1, found, || Fix::write(path, 0)))
}

fn memory_available(machine: &Machine) -> Look {
    let kib = |key: &str| {
        let text = machine.field("/proc/meminfo", key)?;
        let number = text.split_ascii_whitespace().next().and_then(|word| word.parse::<u64>().ok());
        number.ok_or_else(|| Unseen(format!("/proc/meminfo says {key} {text}")))
    };
    let (available, all) = (kib("MemAvailable")?, kib("MemTotal")?.max(1));
    let percent = available.saturating_mul(100) / all;
    let fix = || Fix::Advice(MORE_MEMORY.to_owned());
    Ok(Finding::judge(percent >= 10, format!("{percent}% of {} MiB", all / 1_024), fix))
}

/// The type and the options of what is mounted at /dev/shm.
fn shm(machine: &Machine) -> Result<Option<(String, String)>, Unseen> {
    let text = machine.text("/proc/self/mounts")?;
    let line = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [_, "/dev/shm", kind, options, ..] = words.as_slice() else { return None };
        Some(((*kind).to_owned(), (*options).to_owned()))
    };
    // The last one lies on top.
    Ok(text.lines().filter_map(line).next_back())
}

fn shm_size(machine: &Machine) -> Look {
    let Some((_, options)) = shm(machine)? else {
        return Err(Unseen("nothing is mounted at /dev/shm".to_owned()));
    };
    let size = options.split(',').find_map(|option| option.strip_prefix("size="));
    // Without a size it is half of the memory.
    let kib = match size {
        Some(size) => {
            let digits = size.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
            let number: u64 =
                digits.parse().map_err(|_| Unseen(format!("/dev/shm has size={size}")))?;
            match size.as_bytes().last() {
                Some(b'k') => number,
                Some(b'm') => number.saturating_mul(1 << 10),
                Some(b'g') => number.saturating_mul(1 << 20),
                _ => number >> 10,
            }
        }
        None => {
            let text = machine.field("/proc/meminfo", "MemTotal")?;
            let word = text.split_ascii_whitespace().next().unwrap_or_default();
            word.parse::<u64>().unwrap_or(0) / 2
        }
    };
    let fix = || match machine.container() {
        Some(_) => Fix::Advice("start the container with --shm-size=1g".to_owned()),
        None => Fix::Command("mount -o remount,size=1g /dev/shm".to_owned()),
    };
    Ok(Finding::judge(kib >= SHM_BYTES_MIN >> 10, format!("{} MiB", kib >> 10), fix))
}

fn shm_mount(machine: &Machine) -> Look {
    // A mount over a folder hides the channels that are in it.
    let mount = "end what has files in /dev/shm, then mount a tmpfs there";
    let Some((kind, options)) = shm(machine)? else {
        let fix = Fix::Advice(mount.to_owned());
        return Ok(Finding::wrong("nothing is mounted at /dev/shm", fix));
    };
    let fix = || match (machine.container(), kind.as_str()) {
        (Some(_), _) => Fix::Advice("start the container with --shm-size=1g".to_owned()),
        (None, "tmpfs") => Fix::Command("mount -o remount,rw /dev/shm".to_owned()),
        (None, _) => Fix::Advice(mount.to_owned()),
    };
    let is_writable = options.split(',').next() == Some("rw");
    let found = format!("{kind}, {}", if is_writable { "writable" } else { "read only" });
    Ok(Finding::judge(kind == "tmpfs" && is_writable, found, fix))
}
