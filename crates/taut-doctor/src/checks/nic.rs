//! Network interfaces.

use super::ethtool::larger_ring;
use crate::check::{Check, Group, Severity};
use crate::finding::{Fix, Unseen};
use crate::interrupts::is_device;
use crate::look::{Look, each_interface, move_lines, quoted};
use crate::machine::Machine;
use crate::sample::Sample;

pub const CHECKS: &[Check] = &[
    Check {
        name: "nic-link",
        group: Group::Network,
        severity: Severity::Critical,
        reads: "/sys/class/net/IF/operstate",
        wanted: "up",
        why: "nothing comes over an interface that is down",
        cost: "nothing",
        look: link,
    },
    Check {
        name: "nic-losses",
        group: Group::Network,
        severity: Severity::Important,
        reads: "/sys/class/net/IF/statistics (rx_missed_errors, rx_fifo_errors, rx_errors), twice",
        wanted: "no more while it was looked",
        why: "the hardware had no room, or a cable is bad: no buffer of a socket helps",
        cost: "see nic-ring",
        look: losses,
    },
    Check {
        name: "nic-node",
        group: Group::Network,
        severity: Severity::Important,
        reads: "/sys/class/net/IF/device/numa_node",
        wanted: "the interface is on the node of these CPUs",
        why: "every packet crosses to the other socket, some 100 ns each way",
        cost: "threads on other CPUs, or the card in another slot",
        look: node,
    },
    Check {
        name: "nic-interrupts",
        group: Group::Network,
        severity: Severity::Important,
        reads: "/sys/class/net/IF/device/msi_irqs, /proc/irq/N/effective_affinity_list",
        wanted: "its interrupts come to other CPUs than these",
        why: "an interrupt for each packet stops the thread that reads it",
        cost: "another CPU of the same node serves the interface",
        look: interrupts,
    },
    Check {
        name: "nic-deferral",
        group: Group::Network,
        severity: Severity::Minor,
        reads: "/sys/class/net/IF/napi_defer_hard_irqs, gro_flush_timeout",
        wanted: "both above 0 where sockets busy-poll",
        why: "interrupts come between the polls otherwise, and the kernel takes the packets away",
        cost: "packets wait for the timeout where nobody polls",
        look: deferral,
    },
];

fn link(machine: &Machine) -> Look {
    let look = |name: &str| {
        let state = machine.text(&format!("/sys/class/net/{name}/operstate"))?;
        // Virtual interfaces do not know.
        Ok((["up", "unknown"].contains(&state.as_str()), state))
    };
    each_interface(machine, look, |name| {
        Fix::Command(format!("ip link set dev {} up", quoted(name)))
    })
}

fn losses(machine: &Machine) -> Look {
    let [_, after] = &machine.samples;
    let look = |name: &str| {
        let unseen = || Unseen(format!("{name} does not count what it loses"));
        let now = after.losses.get(name).ok_or_else(unseen)?;
        let lost = now.iter().filter(|(_, count)| **count > 0);
        let words = lost.map(|(key, count)| {
            let just_now = lost_just_now(machine, name, key);
            format!("{key} {just_now} just now, {count} since the boot")
        });
        let words: Vec<String> = words.collect();
        let found = if words.is_empty() { "none".to_owned() } else { words.join(", ") };
        Ok((now.keys().all(|key| lost_just_now(machine, name, key) == 0), found))
    };
    let fix = |name: &str| {
        let no_room = |key: &&str| lost_just_now(machine, name, key) > 0;
        let text = match ["rx_missed_errors", "rx_fifo_errors"].iter().any(no_room) {
            true => match larger_ring(machine, name) {
                Some(fix) => return fix,
                None => "its ring can be no larger: more queues, or a CPU of its own for it",
            },
            false => "look at the cable and at the other end: `ethtool -S` says which errors",
        };
        Fix::Advice(format!("{name}: {text}"))
    };
    each_interface(machine, look, fix)
}

/// By how much a counter of losses grew between the two looks.
fn lost_just_now(machine: &Machine, name: &str, key: &str) -> u64 {
    let [then, now] = &machine.samples;
    let count = |sample: &Sample| sample.losses.get(name).and_then(|it| it.get(key)).copied();
    count(now).zip(count(then)).map_or(0, |(now, then)| now.saturating_sub(then))
}

fn node(machine: &Machine) -> Look {
    let nodes = machine.nodes();
    let look = |name: &str| {
        if nodes.len() == 1 {
            return Ok((true, "there is one node".to_owned()));
        }
        let node = machine.number(&format!("/sys/class/net/{name}/device/numa_node"))?;
        let own = nodes.iter().find(|(own, _)| i64::try_from(*own) == Ok(node));
        Ok(match own {
            // Where there is one node only, a device has none.
            None => return Err(Unseen(format!("{name} does not say which node it is on"))),
            Some((_, cpus)) => {
                let far = machine.cpus().without(cpus);
                (far.is_empty(), format!("node {node} with CPUs {cpus}"))
            }
        })
    };
    let fix = |name: &str| Fix::Advice(format!("pin the threads to CPUs of the node of {name}"));
    each_interface(machine, look, fix)
}

/// The interrupt lines of an interface: those of its device, or those that are named after it.
fn lines_of(machine: &Machine, name: &str) -> Vec<String> {
    let mut by_device = machine.names(&format!("/sys/class/net/{name}/device/msi_irqs"));
    by_device.retain(|number| is_device(number));
    if !by_device.is_empty() {
        return by_device;
    }
    // A virtual device's lines have the device's name.
    let device = machine.link_name(&format!("/sys/class/net/{name}/device"));
    let is_own = |what: &str| {
        let has = |own: &str| what.strip_prefix(own).is_some_and(|rest| rest.starts_with('-'));
        what == name || has(name) || device.as_deref().is_some_and(has)
    };
    let [_, after] = &machine.samples;
    let lines = after.interrupts.0.iter();
    let named = lines.filter(|(number, line)| is_device(number) && is_own(&line.what));
    named.map(|(number, _)| number.clone()).collect()
}

fn interrupts(machine: &Machine) -> Look {
    let look = |name: &str| {
        let lines = lines_of(machine, name);
        if lines.is_empty() {
            return Err(Unseen(format!("{name}: its interrupt lines are not known")));
        }
        let here = machine.lines_here(&lines)?;
        let found = match here.is_empty() {
            true => format!("{} lines, all elsewhere", lines.len()),
            false => format!("lines {} come to these CPUs", here.join(", ")),
        };
        Ok((here.is_empty(), found))
    };
    let fix = |name: &str| {
        let here = machine.lines_here(&lines_of(machine, name)).unwrap_or_default();
        move_lines(machine, &here)
    };
    each_interface(machine, look, fix)
}

fn deferral(machine: &Machine) -> Look {
    let look = |name: &str| {
        let defer = machine.number(&format!("/sys/class/net/{name}/napi_defer_hard_irqs"))?;
        let flush = machine.number(&format!("/sys/class/net/{name}/gro_flush_timeout"))?;
        let polls = ["busy_poll", "busy_read"]
            .iter()
            .any(|key| machine.number(&format!("/proc/sys/net/core/{key}")).is_ok_and(|v| v > 0));
        let found = format!("deferred {defer} times, flushed after {flush} ns");
        Ok((!polls || (defer > 0 && flush > 0), found))
    };
    let fix = |name: &str| {
        let folder = format!("/sys/class/net/{name}");
        let file = |file: &str| quoted(&format!("{folder}/{file}"));
        Fix::Command(format!(
            "echo 2 > {}; echo 200000 > {}",
            file("napi_defer_hard_irqs"),
            file("gro_flush_timeout")
        ))
    };
    each_interface(machine, look, fix)
}
