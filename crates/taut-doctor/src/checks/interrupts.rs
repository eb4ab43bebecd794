//! Interrupts on the CPUs of the trading threads.

use crate::check::{Check, Group, Severity};
use crate::cpu_list::CpuList;
use crate::finding::{Finding, Fix, Unseen};
use crate::interrupts::is_device;
use crate::look::{Look, move_lines, with_others};
use crate::machine::Machine;

pub const CHECKS: &[Check] = &[
    Check {
        name: "irq-affinity",
        group: Group::Isolation,
        severity: Severity::Important,
        reads: "/proc/irq/N/effective_affinity_list, smp_affinity_list",
        wanted: "no device interrupts these CPUs",
        why: "an interrupt and the work behind it take 2 to 50 us of whoever runs",
        cost: "other CPUs serve the devices; lines that the kernel manages cannot be moved",
        look: affinity,
    },
    Check {
        name: "irq-default",
        group: Group::Isolation,
        severity: Severity::Minor,
        reads: "/proc/irq/default_smp_affinity",
        wanted: "new interrupt lines go to other CPUs",
        why: "a driver that is loaded or reset takes its lines by this mask",
        cost: "nothing",
        look: default_affinity,
    },
    Check {
        name: "irq-balance",
        group: Group::Isolation,
        severity: Severity::Important,
        reads: "/proc/PID/task/TID/stat, /etc/default/irqbalance, /etc/sysconfig/irqbalance; \
                without a key there the isolated and nohz_full CPUs",
        wanted: "no irqbalance, or one that leaves these CPUs alone",
        why: "it moves interrupts back to quiet CPUs every ten seconds",
        cost: "interrupts are placed by hand",
        look: balance,
    },
    Check {
        name: "irq-seen",
        group: Group::Isolation,
        severity: Severity::Important,
        reads: "/proc/interrupts, twice",
        wanted: "fewer than 20 interrupts a second on these CPUs",
        why: "what really came while nobody did anything, whatever the masks say",
        cost: "see the lines that are named",
        look: seen,
    },
];

/// So many interrupts a second are nothing to speak of.
const RATE_MAX: u64 = 20;
/// Lines that are named before the others are counted.
const LINES_MAX: usize = 4;

fn affinity(machine: &Machine) -> Look {
    let mut numbers = machine.names("/proc/irq");
    if numbers.is_empty() {
        return Err(Unseen("there is no /proc/irq here".to_owned()));
    }
    numbers.retain(|name| is_device(name));
    let here = machine.lines_here(&numbers)?;
    if here.is_empty() {
        return Ok(Finding::ok("no device's line comes there"));
    }
    let [_, after] = &machine.samples;
    let what = |number: &String| after.interrupts.0.get(number).map_or("", |line| &line.what);
    let named = here.iter().take(LINES_MAX);
    let named: Vec<String> =
        named.map(|it| format!("{it} {}", what(it)).trim_end().to_owned()).collect();
    let more = here.len().saturating_sub(LINES_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let found = format!("{}{more}", named.join(", "));
    Ok(Finding::wrong(found, move_lines(machine, &here)))
}

fn default_affinity(machine: &Machine) -> Look {
    let path = "/proc/irq/default_smp_affinity";
    let mask = machine.cpu_mask(path)?;
    let is_ok = mask.and(machine.cpus()).is_empty();
    let fix = || with_others(machine, |others| Fix::write(path, others.mask()));
    Ok(Finding::judge(is_ok, format!("new lines go to CPUs {mask}"), fix))
}

fn balance(machine: &Machine) -> Look {
    let [_, after] = &machine.samples;
    if after.tasks.is_empty() {
        return Err(Unseen("no other process can be seen in /proc".to_owned()));
    }
    if machine.process_named(&["irqbalance"]).is_none() {
        return Ok(Finding::ok("irqbalance does not run"));
    }
    let banned = banned_by_file(machine).unwrap_or_else(|| {
        let full = machine.cpu_list("/sys/devices/system/cpu/nohz_full").unwrap_or_default();
        machine.isolated_cpus().unwrap_or_default().or(&full)
    });
    let is_ok = machine.cpus().without(&banned).is_empty();
    let found = match banned.is_empty() {
        true => "irqbalance runs, and leaves no CPU alone".to_owned(),
        false => format!("irqbalance runs, and leaves CPUs {banned} alone"),
    };
    let fix = || Fix::Permanent("systemctl disable --now irqbalance".to_owned());
    Ok(Finding::judge(is_ok, found, fix))
}

/// The CPUs that irqbalance is told to leave alone: a list, or the mask of older versions. An empty
/// one is none.
fn banned_by_file(machine: &Machine) -> Option<CpuList> {
    let files = ["/etc/default/irqbalance", "/etc/sysconfig/irqbalance"];
    let texts: Vec<String> = files.iter().filter_map(|file| machine.text(file).ok()).collect();
    let value = |key: &str| {
        let lines = texts.iter().flat_map(|text| text.lines());
        let values = lines.filter_map(|line| line.trim().strip_prefix(key));
        values.map(|value| value.trim_matches(['"', '\''])).rfind(|value| !value.is_empty())
    };
    match value("IRQBALANCE_BANNED_CPULIST=") {
        Some(list) => Some(CpuList::parse(list).unwrap_or_default()),
        None => value("IRQBALANCE_BANNED_CPUS=").and_then(CpuList::parse_mask),
    }
}

fn seen(machine: &Machine) -> Look {
    let [before, after] = &machine.samples;
    if after.interrupts.0.is_empty() {
        return Err(Unseen("/proc/interrupts cannot be read here".to_owned()));
    }
    let millis = (machine.interval.0 / 1_000_000).max(1).unsigned_abs();
    let a_second = |count: u64| count.saturating_mul(1_000) / millis;
    let mut is_ok = true;
    let mut words = Vec::new();
    for cpu in machine.cpus().iter() {
        let came = after.interrupts.since(&before.interrupts, cpu);
        let rate = a_second(came.iter().fold(0, |sum: u64, it| sum.saturating_add(it.count)));
        is_ok &= rate < RATE_MAX;
        let lines = came.iter().take(LINES_MAX);
        let lines: Vec<String> =
            lines.map(|it| format!("{} {}", it.label(), a_second(it.count))).collect();
        let lines =
            if lines.is_empty() { String::new() } else { format!(" ({})", lines.join(", ")) };
        words.push(format!("CPU {cpu}: {rate} a second{lines}"));
    }
    let fix = || {
        let text = "LOC is the timer (nohz-full), RES, CAL and TLB come from threads of the same \
                    process on other CPUs, numbers are devices (irq-affinity)";
        Fix::Advice(text.to_owned())
    };
    Ok(Finding::judge(is_ok, words.join("; "), fix))
}
