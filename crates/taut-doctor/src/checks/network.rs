//! Sockets and protocols.

use crate::check::{Check, Group, Severity};
use crate::finding::{Finding, Fix, Unseen};
use crate::look::{Look, sysctl};
use crate::machine::Machine;

pub const CHECKS: &[Check] = &[
    Check {
        name: "receive-buffers",
        group: Group::Network,
        severity: Severity::Important,
        reads: "/proc/sys/net/core/rmem_max",
        wanted: "4194304 or more: what a feed's sockets ask for",
        why: "a burst that does not fit into a socket's buffer is lost",
        cost: "up to 4 MiB for each socket of a feed",
        look: |machine| sysctl(machine, "net.core.rmem_max", |v| v >= BUFFER, 2 * BUFFER),
    },
    Check {
        name: "send-buffers",
        group: Group::Network,
        severity: Severity::Minor,
        reads: "/proc/sys/net/core/wmem_max",
        wanted: "1048576 or more",
        why: "a publisher waits when its socket is full",
        cost: "up to 1 MiB for each socket that sends",
        look: |machine| sysctl(machine, "net.core.wmem_max", |v| v >= BUFFER / 4, BUFFER),
    },
    Check {
        name: "packet-backlog",
        group: Group::Network,
        severity: Severity::Minor,
        reads: "/proc/sys/net/core/netdev_max_backlog",
        wanted: "5000 or more",
        why: "packets of a burst are dropped before any socket sees them",
        cost: "memory during a burst",
        look: |machine| sysctl(machine, "net.core.netdev_max_backlog", |v| v >= 5_000, 10_000),
    },
    Check {
        name: "busy-read",
        group: Group::Network,
        severity: Severity::Minor,
        reads: "/proc/sys/net/core/busy_read",
        wanted: "50 or more",
        why: "a receive call polls the interface itself and does not wait for its interrupt",
        cost: "CPU time of whoever receives",
        look: |machine| busy(machine, "net.core.busy_read"),
    },
    Check {
        name: "busy-poll",
        group: Group::Network,
        severity: Severity::Minor,
        reads: "/proc/sys/net/core/busy_poll",
        wanted: "50 or more",
        why: "the same for poll and epoll",
        cost: "CPU time of whoever waits",
        look: |machine| busy(machine, "net.core.busy_poll"),
    },
    Check {
        name: "slow-start-after-idle",
        group: Group::Network,
        severity: Severity::Minor,
        reads: "/proc/sys/net/ipv4/tcp_slow_start_after_idle",
        wanted: "0",
        why: "more than ten packets of orders after a quiet second wait, as on a new connection",
        cost: "bursts after a pause, on a line that others fill",
        look: |machine| sysctl(machine, "net.ipv4.tcp_slow_start_after_idle", |v| v == 0, 0),
    },
    Check {
        name: "udp-losses",
        group: Group::Network,
        severity: Severity::Minor,
        reads: "/proc/net/snmp (Udp RcvbufErrors)",
        wanted: "0 since the boot",
        why: "datagrams came and no socket had room: a reader was too slow or its buffer too small",
        cost: "see receive-buffers and busy-neighbour",
        look: udp_losses,
    },
    Check {
        name: "reverse-path",
        group: Group::Network,
        severity: Severity::Important,
        reads: "/proc/sys/net/ipv4/conf/IF/rp_filter",
        wanted: "0 or 2 (loose)",
        why: "multicast from a network that is not routed to this interface is dropped silently",
        cost: "packets with a forged source are not dropped here",
        look: reverse_path,
    },
];

/// What a feed's socket asks for, in bytes.
const BUFFER: i64 = 4 << 20;

fn busy(machine: &Machine, key: &str) -> Look {
    if machine.interfaces().is_empty() {
        return Err(Unseen(
            "no interface but loopback is used, which has no queue to poll".to_owned(),
        ));
    }
    sysctl(machine, key, |value| value >= 50, 50)
}

fn udp_losses(machine: &Machine) -> Look {
    let text = machine.text("/proc/net/snmp")?;
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp:"));
    let (names, values) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let mut pairs = names.split_ascii_whitespace().zip(values.split_ascii_whitespace());
    let lost = pairs.find(|(name, _)| *name == "RcvbufErrors").map(|(_, value)| value);
    let none = || Unseen("/proc/net/snmp does not count them".to_owned());
    let lost: u64 = lost.and_then(|value| value.parse().ok()).ok_or_else(none)?;
    let found = format!("{lost} datagrams found no room since the boot");
    let fix = || {
        let text = "see who was too slow: `ss -uampn` shows drops (d) by socket";
        Fix::Advice(text.to_owned())
    };
    Ok(Finding::judge(lost == 0, found, fix))
}

fn reverse_path(machine: &Machine) -> Look {
    let value = |name: &str| machine.number(&format!("/proc/sys/net/ipv4/conf/{name}/rp_filter"));
    let all = value("all")?;
    let mut strict = Vec::new();
    for name in machine.interfaces() {
        // The greater of the two holds.
        if value(name)?.max(all) == 1 {
            strict.push(name.as_str());
        }
    }
    let is_ok = strict.is_empty() && (all != 1 || !machine.interfaces().is_empty());
    let found = match (is_ok, strict.as_slice()) {
        (true, _) => "not strict".to_owned(),
        (false, []) => "strict by default".to_owned(),
        (false, names) => format!("strict on {}", names.join(", ")),
    };
    let fix = || {
        // With slashes, because a name may hold a dot.
        let key = |name: &str| crate::look::quoted(&format!("net/ipv4/conf/{name}/rp_filter=2"));
        let names = std::iter::once("all").chain(strict.iter().copied());
        let keys: Vec<String> = names.map(key).collect();
        Fix::Command(format!("sysctl -w {}", keys.join(" ")))
    };
    Ok(Finding::judge(is_ok, found, fix))
}
