//! Network interfaces and their hardware.

use crate::check::{Check, Group, Severity};
use crate::finding::{Finding, Fix, Unseen};
use crate::interrupts::is_device;
use crate::look::{Look, quoted, with_others};
use crate::machine::Machine;
use taut_sys::{NicSettings, SysError};

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
        reads: "/sys/class/net/IF/statistics (rx_missed_errors, rx_fifo_errors, rx_errors)",
        wanted: "0 since the boot",
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
        name: "nic-coalescing",
        group: Group::Network,
        severity: Severity::Important,
        reads: "ethtool -c IF",
        wanted: "rx-usecs 0, adaptive-rx off",
        why: "the interface holds a packet back in case that another one follows",
        cost: "more interrupts",
        look: coalescing,
    },
    Check {
        name: "nic-ring",
        group: Group::Network,
        severity: Severity::Minor,
        reads: "ethtool -g IF",
        wanted: "a receive ring of 1024 packets or more, or as many as it can hold",
        why: "a burst that the ring does not hold is lost in the hardware",
        cost: "more of the cache is touched",
        look: ring,
    },
    Check {
        name: "nic-time-stamps",
        group: Group::Network,
        severity: Severity::Minor,
        reads: "ethtool -T IF",
        wanted: "hardware receive time stamps",
        why: "without them nobody knows how long a packet waited for the kernel",
        cost: "a card that can",
        look: time_stamps,
    },
    Check {
        name: "nic-clock",
        group: Group::Network,
        severity: Severity::Minor,
        reads: "ethtool -T IF (PTP hardware clock)",
        wanted: "a clock that PTP can keep",
        why: "software time stamps keep the clock to 10 us at best",
        cost: "a card that has one",
        look: clock,
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

/// Packets that a ring should hold.
const RING_MIN: u32 = 1_024;

/// One look at each interface; what is wrong with one is wrong.
fn each(
    machine: &Machine,
    look: impl Fn(&str) -> Result<(bool, String), Unseen>,
    fix: impl Fn(&str) -> Fix,
) -> Look {
    let names = machine.interfaces();
    if names.is_empty() {
        return Err(Unseen("no interface but loopback is used, which has no hardware".to_owned()));
    }
    let (mut words, mut wrong, mut unseen) = (Vec::new(), Vec::new(), None);
    for name in names {
        match look(name) {
            Ok((is_ok, found)) => {
                words.push(format!("{name}: {found}"));
                wrong.extend((!is_ok).then_some(name));
            }
            Err(Unseen(why)) => unseen = unseen.or(Some(why)),
        }
    }
    if let (true, Some(why)) = (words.is_empty(), unseen) {
        return Err(Unseen(why));
    }
    let fixes = || {
        let all: Vec<Fix> = wrong.iter().map(|name| fix(name)).collect();
        let texts: Vec<String> = all.iter().map(Fix::to_string).collect();
        match all.first() {
            Some(Fix::Command(_)) => Fix::Command(texts.join("; ")),
            _ => Fix::Advice(texts.join("; ")),
        }
    };
    Ok(Finding::judge(wrong.is_empty(), words.join("; "), fixes))
}

/// What the hardware of an interface told.
fn asked<T>(
    machine: &Machine,
    name: &str,
    answer: impl Fn(&NicSettings) -> Result<T, SysError>,
) -> Result<T, Unseen> {
    let nic = machine.answers.nics.get(name);
    let nic = nic.ok_or_else(|| Unseen(format!("{name} was not asked")))?;
    answer(nic).map_err(|error| Unseen(format!("{name}: its driver does not say ({error})")))
}

fn link(machine: &Machine) -> Look {
    let look = |name: &str| {
        let state = machine.text(&format!("/sys/class/net/{name}/operstate"))?;
        // Virtual interfaces do not know.
        Ok((["up", "unknown"].contains(&state.as_str()), state))
    };
    each(machine, look, |name| Fix::Command(format!("ip link set dev {} up", quoted(name))))
}

fn losses(machine: &Machine) -> Look {
    let look = |name: &str| {
        let mut words = Vec::new();
        for key in ["rx_missed_errors", "rx_fifo_errors", "rx_errors"] {
            let count = machine.number(&format!("/sys/class/net/{name}/statistics/{key}"))?;
            if count > 0 {
                words.push(format!("{key} {count}"));
            }
        }
        let found = if words.is_empty() { "none".to_owned() } else { words.join(", ") };
        Ok((words.is_empty(), found))
    };
    each(machine, look, |name| Fix::Command(format!("ethtool -G {} rx 4096", quoted(name))))
}

fn node(machine: &Machine) -> Look {
    let nodes = machine.nodes();
    let look = |name: &str| {
        let node = machine.number(&format!("/sys/class/net/{name}/device/numa_node"))?;
        let own = nodes.iter().find(|(own, _)| i64::try_from(*own) == Ok(node));
        Ok(match own {
            // Where there is one node only, a device has none.
            None if nodes.len() < 2 => (true, "there is one node".to_owned()),
            None => return Err(Unseen(format!("{name} does not say which node it is on"))),
            Some((_, cpus)) => {
                let far = machine.cpus().without(cpus);
                (far.is_empty(), format!("node {node} with CPUs {cpus}"))
            }
        })
    };
    let fix = |name: &str| Fix::Advice(format!("pin the threads to CPUs of the node of {name}"));
    each(machine, look, fix)
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
        let mut here = Vec::new();
        for number in &lines {
            let list = |file: &str| machine.cpu_list(&format!("/proc/irq/{number}/{file}"));
            let cpus = list("effective_affinity_list").or_else(|_| list("smp_affinity_list"))?;
            if !cpus.and(machine.cpus()).is_empty() {
                here.push(number.as_str());
            }
        }
        let found = match here.is_empty() {
            true => format!("{} lines, all elsewhere", lines.len()),
            false => format!("lines {} come to these CPUs", here.join(", ")),
        };
        Ok((here.is_empty(), found))
    };
    let fix = |name: &str| {
        with_others(machine, |others| {
            let lines = lines_of(machine, name).join(" ");
            Fix::Command(format!(
                "for irq in {lines}; do echo {others} > /proc/irq/$irq/smp_affinity_list || echo \
                 \"irq $irq cannot be moved\" >&2; done"
            ))
        })
    };
    each(machine, look, fix)
}

fn coalescing(machine: &Machine) -> Look {
    let look = |name: &str| {
        let is = asked(machine, name, |nic| nic.coalescing)?;
        let adaptive = if is.is_adaptive { "on" } else { "off" };
        let found = format!("rx-usecs {}, adaptive-rx {adaptive}", is.receive_us);
        Ok((is.receive_us == 0 && !is.is_adaptive, found))
    };
    let fix = |name: &str| {
        Fix::Command(format!("ethtool -C {} adaptive-rx off rx-usecs 0", quoted(name)))
    };
    each(machine, look, fix)
}

fn ring(machine: &Machine) -> Look {
    let look = |name: &str| {
        let (now, most) = asked(machine, name, |nic| nic.receive_ring)?;
        Ok((now >= RING_MIN.min(most), format!("{now} of at most {most}")))
    };
    let fix = |name: &str| {
        let most = asked(machine, name, |nic| nic.receive_ring).map_or(RING_MIN, |ring| ring.1);
        Fix::Command(format!("ethtool -G {} rx {}", quoted(name), most.min(4 * RING_MIN)))
    };
    each(machine, look, fix)
}

fn time_stamps(machine: &Machine) -> Look {
    let look = |name: &str| {
        let (stamps, _) = asked(machine, name, |nic| nic.time_stamping)?;
        Ok((stamps, if stamps { "in hardware" } else { "in software alone" }.to_owned()))
    };
    each(machine, look, |name| Fix::Advice(format!("{name}: use a card that stamps packets")))
}

fn clock(machine: &Machine) -> Look {
    let look = |name: &str| {
        let (_, clock) = asked(machine, name, |nic| nic.time_stamping)?;
        let found = clock.map_or("none".to_owned(), |number| format!("/dev/ptp{number}"));
        Ok((clock.is_some(), found))
    };
    each(machine, look, |name| Fix::Advice(format!("{name}: use a card with a PTP clock")))
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
    each(machine, look, fix)
}
