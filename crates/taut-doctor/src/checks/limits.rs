//! What this user and this process may.

use crate::check::{Check, Group, Severity};
use crate::finding::{Finding, Fix, Unseen};
use crate::look::{Look, quoted};
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
        name: "network-admin",
        group: Group::Limits,
        severity: Severity::Minor,
        reads: "/proc/self/status (CAP_NET_ADMIN)",
        wanted: "CAP_NET_ADMIN",
        why: "buffers above net.core.rmem_max, SO_BUSY_POLL and hardware time stamps need it",
        cost: "whoever may run this program may change the network with it",
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
const CAP_IPC_LOCK: u32 = 14;
const CAP_SYS_NICE: u32 = 23;

fn has_capability(machine: &Machine, number: u32) -> Result<bool, Unseen> {
    let text = machine.field("/proc/self/status", "CapEff")?;
    let set = u64::from_str_radix(&text, 16);
    let set = set.map_err(|_| Unseen(format!("/proc/self/status says CapEff {text}")))?;
    Ok(set >> number & 1 == 1)
}

fn network_admin(machine: &Machine) -> Look {
    let has = has_capability(machine, CAP_NET_ADMIN)?;
    let found = if has { "this process has it" } else { "this process does not have it" };
    // A script gives no file a privilege that it keeps.
    let fix = || {
        let program = machine.answers.program.as_ref().map(|path| path.display().to_string());
        let program = program.map_or("PROGRAM".to_owned(), |path| quoted(&path));
        Fix::Advice(format!(
            "`setcap cap_net_admin+ep {program}`, where whoever may run that file may change the \
             network; it holds until it is taken back, and other capabilities of the file go"
        ))
    };
    Ok(Finding::judge(has, found, fix))
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
    Ok(Finding::judge(is_ok, format!("{}{unit}", shown(limit)), || raise(machine, item)))
}

/// Gives a limit to the user who asks, and to nobody else, in a file for this user and this limit.
fn raise(machine: &Machine, item: &str) -> Fix {
    let Ok(user) = user(machine) else {
        return Fix::Advice(format!(
            "put `USER - {item}` into /etc/security/limits.d/90-taut.conf"
        ));
    };
    let (number, name) = (user.trim_start_matches(':'), item.split(' ').next().unwrap_or(item));
    let file = quoted(&format!("/etc/security/limits.d/90-taut-{number}-{name}.conf"));
    Fix::Permanent(format!("echo '{user} - {item}' > {file}; echo 'log in again' >&2"))
}

/// The user who asks, as limits.conf(5) has it: the name, or a colon and the number.
fn user(machine: &Machine) -> Result<String, Unseen> {
    let numbers = machine.field("/proc/self/status", "Uid")?;
    let number = numbers.split_ascii_whitespace().next().and_then(|word| word.parse::<u32>().ok());
    let number = number.ok_or_else(|| Unseen("/proc/self/status does not say Uid".to_owned()))?;
    let users = machine.text("/etc/passwd").unwrap_or_default();
    let name = |line: &str| {
        let mut parts = line.split(':');
        let (name, uid) = (parts.next()?, parts.nth(1)?);
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let is_it = uid.parse() == Ok(number) && !name.is_empty() && name.bytes().all(is_plain);
        is_it.then(|| name.to_owned())
    };
    Ok(users.lines().find_map(name).unwrap_or_else(|| format!(":{number}")))
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
    Ok(Finding::judge(is_ok, shown(limit), || raise(machine, "nofile 65536")))
}

fn io_uring(machine: &Machine) -> Look {
    let key = "kernel.io_uring_disabled";
    // Older kernels have no such key, and let everybody.
    let disabled = machine.number("/proc/sys/kernel/io_uring_disabled").unwrap_or(0);
    let fix = || {
        Fix::Advice(match disabled {
            0 => "allow io_uring_setup in the filter of system calls".to_owned(),
            _ => format!("`sysctl -w {key}=0`, where every program may use it"),
        })
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
