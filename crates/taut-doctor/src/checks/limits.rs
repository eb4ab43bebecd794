//! What this user and this process may.

use crate::check::{Check, Group, Severity};
use crate::finding::{Finding, Fix, Unseen};
use crate::look::Look;
use crate::machine::Machine;

pub const CHECKS: &[Check] = &[
    Check {
        name: "locked-memory",
        group: Group::Limits,
        severity: Severity::Important,
        reads: "/proc/self/limits (Max locked memory), /proc/self/status (CAP_IPC_LOCK)",
        wanted: "1 GiB or more, or CAP_IPC_LOCK",
        why: "memory that cannot be locked may be swapped out, and large pages are refused",
        cost: "this user may take memory from others",
        look: locked_memory,
    },
    Check {
        name: "real-time-priority",
        group: Group::Limits,
        severity: Severity::Important,
        reads: "/proc/self/limits (Max realtime priority), /proc/self/status (CAP_SYS_NICE)",
        wanted: "50 or more, or CAP_SYS_NICE",
        why: "--fifo is refused, and any other thread shares the CPU evenly",
        cost: "this user may take a CPU from everybody",
        look: real_time_priority,
    },
    Check {
        name: "nice",
        group: Group::Limits,
        severity: Severity::Minor,
        reads: "/proc/self/limits (Max nice priority), /proc/self/status (CAP_SYS_NICE)",
        wanted: "40, or CAP_SYS_NICE",
        why: "a thread that spins on a shared CPU cannot come before others",
        cost: "this user's programs may come before others",
        look: nice,
    },
    Check {
        name: "open-files",
        group: Group::Limits,
        severity: Severity::Minor,
        reads: "/proc/self/limits (Max open files)",
        wanted: "4096 or more",
        why: "connections, segments and channels are files",
        cost: "nothing",
        look: open_files,
    },
    Check {
        name: "raw-sockets",
        group: Group::Limits,
        severity: Severity::Minor,
        reads: "/proc/self/status (CAP_NET_RAW)",
        wanted: "CAP_NET_RAW",
        why: "captures of packets beside a gateway, and AF_XDP, need it",
        cost: "this program may read and forge any packet",
        look: raw_sockets,
    },
    Check {
        name: "network-admin",
        group: Group::Limits,
        severity: Severity::Minor,
        reads: "/proc/self/status (CAP_NET_ADMIN)",
        wanted: "CAP_NET_ADMIN",
        why: "buffers above net.core.rmem_max, SO_BUSY_POLL and hardware time stamps need it",
        cost: "this program may change the network",
        look: network_admin,
    },
    Check {
        name: "io-uring",
        group: Group::Limits,
        severity: Severity::Minor,
        reads: "/proc/sys/kernel/io_uring_disabled, io_uring_setup(2)",
        wanted: "it can be used",
        why: "the loop has epoll alone otherwise, with a system call more for each packet",
        cost: "a part of the kernel that had holes",
        look: io_uring,
    },
    Check {
        name: "seccomp",
        group: Group::Limits,
        severity: Severity::Minor,
        reads: "/proc/self/status (Seccomp)",
        wanted: "0: no filter",
        why: "each system call runs through a program first",
        cost: "what the filter was for",
        look: seccomp,
    },
];

/// Numbers of capabilities (linux/capability.h).
const CAP_NET_ADMIN: u32 = 12;
const CAP_NET_RAW: u32 = 13;
const CAP_IPC_LOCK: u32 = 14;
const CAP_SYS_NICE: u32 = 23;

fn has_capability(machine: &Machine, number: u32) -> Result<bool, Unseen> {
    let text = machine.field("/proc/self/status", "CapEff")?;
    let set = u64::from_str_radix(&text, 16);
    let set = set.map_err(|_| Unseen(format!("/proc/self/status says CapEff {text}")))?;
    Ok(set >> number & 1 == 1)
}

fn capability(machine: &Machine, number: u32) -> Look {
    let has = has_capability(machine, number)?;
    let found = if has { "this process has it" } else { "this process does not have it" };
    Ok(Finding::judge(has, found, grant))
}

fn raw_sockets(machine: &Machine) -> Look {
    capability(machine, CAP_NET_RAW)
}

fn network_admin(machine: &Machine) -> Look {
    capability(machine, CAP_NET_ADMIN)
}

/// setcap(8) replaces what a file had: all that a check may ask for is given at once.
fn grant() -> Fix {
    let all = "cap_sys_nice,cap_ipc_lock,cap_net_raw,cap_net_admin+ep";
    Fix::Command(format!("setcap {all} \"$(command -v taut)\""))
}

/// The soft limit of this name; nothing where there is none.
fn limit(machine: &Machine, name: &str) -> Result<Option<u64>, Unseen> {
    let text = machine.field("/proc/self/limits", name)?;
    match text.split_ascii_whitespace().next() {
        Some("unlimited") => Ok(None),
        Some(word) => {
            let number = word.parse().map_err(|_| Unseen(format!("{name}: '{word}'")))?;
            Ok(Some(number))
        }
        None => Err(Unseen(format!("/proc/self/limits does not say {name}"))),
    }
}

fn shown(limit: Option<u64>) -> String {
    limit.map_or("unlimited".to_owned(), |limit| limit.to_string())
}

/// A limit, or the capability that it does not hold for.
fn limit_or(
    machine: &Machine,
    (name, least): (&str, u64),
    (number, capability): (u32, &str),
    unit: &str,
    item: &str,
) -> Look {
    if has_capability(machine, number)? {
        return Ok(Finding::ok(format!("this process has {capability}")));
    }
    let limit = limit(machine, name)?;
    let is_ok = limit.is_none_or(|limit| limit >= least);
    let fix = || {
        Fix::Command(format!(
            "echo '* - {item}' > /etc/security/limits.d/90-taut-{}.conf; echo 'log in again' >&2",
            item.split(' ').next().unwrap_or(item)
        ))
    };
    Ok(Finding::judge(is_ok, format!("{}{unit}", shown(limit)), fix))
}

fn locked_memory(machine: &Machine) -> Look {
    let limit = ("Max locked memory", 1 << 30);
    limit_or(machine, limit, (CAP_IPC_LOCK, "CAP_IPC_LOCK"), " bytes", "memlock unlimited")
}

fn real_time_priority(machine: &Machine) -> Look {
    let limit = ("Max realtime priority", 50);
    limit_or(machine, limit, (CAP_SYS_NICE, "CAP_SYS_NICE"), "", "rtprio 99")
}

fn nice(machine: &Machine) -> Look {
    let limit = ("Max nice priority", 40);
    limit_or(machine, limit, (CAP_SYS_NICE, "CAP_SYS_NICE"), "", "nice -20")
}

fn open_files(machine: &Machine) -> Look {
    let limit = limit(machine, "Max open files")?;
    let is_ok = limit.is_none_or(|limit| limit >= 4_096);
    let fix = || {
        let file = "/etc/security/limits.d/90-taut-nofile.conf";
        Fix::Command(format!("echo '* - nofile 65536' > {file}; echo 'log in again' >&2"))
    };
    Ok(Finding::judge(is_ok, shown(limit), fix))
}

fn io_uring(machine: &Machine) -> Look {
    let key = "kernel.io_uring_disabled";
    // Older kernels have no such key, and let everybody.
    let disabled = machine.number("/proc/sys/kernel/io_uring_disabled").unwrap_or(0);
    let fix = || match disabled {
        0 => Fix::Advice("allow io_uring_setup in the filter of system calls".to_owned()),
        _ => Fix::sysctl(key, 0),
    };
    match machine.answers.io_uring {
        None => Err(Unseen("the kernel was not asked".to_owned())),
        Some(Ok(())) => Ok(Finding::ok("it works")),
        Some(Err(error)) => Ok(Finding::wrong(format!("{error}; {key} = {disabled}"), fix())),
    }
}

fn seccomp(machine: &Machine) -> Look {
    let mode = machine.field("/proc/self/status", "Seccomp")?;
    let found = match mode.as_str() {
        "0" => "no filter".to_owned(),
        "2" => "a filter looks at each system call".to_owned(),
        other => format!("mode {other}"),
    };
    let fix = || Fix::Advice("start the container with --security-opt seccomp=FILE".to_owned());
    Ok(Finding::judge(mode == "0", found, fix))
}
