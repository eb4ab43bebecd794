//! Clock rates and idle states.

use crate::check::{Check, Group, Severity};
use crate::finding::{Finding, Fix, Unseen};
use crate::look::Look;
use crate::machine::Machine;

pub const CHECKS: &[Check] = &[
    Check {
        name: "governor",
        group: Group::Power,
        severity: Severity::Important,
        reads: "/sys/devices/system/cpu/cpuN/cpufreq/scaling_governor",
        wanted: "performance",
        why: "others lower the clock rate of a CPU that was idle for a while",
        cost: "power",
        look: governor,
    },
    Check {
        name: "frequency-min",
        group: Group::Power,
        severity: Severity::Minor,
        reads: "/sys/devices/system/cpu/cpuN/cpufreq/scaling_min_freq, scaling_max_freq",
        wanted: "the lowest rate is the highest",
        why: "a change of the rate stops the core for 10 to 100 us",
        cost: "power",
        look: frequency_min,
    },
    Check {
        name: "energy-preference",
        group: Group::Power,
        severity: Severity::Minor,
        reads: "/sys/devices/system/cpu/cpuN/cpufreq/energy_performance_preference",
        wanted: "performance",
        why: "the processor saves energy by itself otherwise",
        cost: "power",
        look: energy_preference,
    },
    Check {
        name: "idle-states",
        group: Group::Power,
        severity: Severity::Important,
        reads: "/sys/devices/system/cpu/cpuN/cpuidle/stateK",
        wanted: "no idle state that takes more than 10 us to leave",
        why: "the first packet after a quiet moment waits until the core is awake",
        cost: "power, and less room for other cores to clock higher",
        look: idle_states,
    },
    Check {
        name: "heat",
        group: Group::Power,
        severity: Severity::Important,
        reads: "/sys/devices/system/cpu/cpuN/thermal_throttle/core_throttle_count",
        wanted: "0",
        why: "a core that was too hot was slowed down",
        cost: "cooling",
        look: heat,
    },
];

/// The longest way out of an idle state, in microseconds.
const EXIT_US_MAX: i64 = 10;

fn governor(machine: &Machine) -> Look {
    let command = |cpus: &str| {
        Fix::Command(format!(
            "for cpu in {cpus}; do echo performance > \
             /sys/devices/system/cpu/cpu$cpu/cpufreq/scaling_governor; done"
        ))
    };
    each_cpu(machine, "cpufreq/scaling_governor", |value| value == "performance", command)
}

fn frequency_min(machine: &Machine) -> Look {
    let mut low = Vec::new();
    let mut words = Vec::new();
    for cpu in machine.cpus().iter() {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq");
        let least = frequency(machine, &folder, "scaling_min_freq")?;
        let most = frequency(machine, &folder, "scaling_max_freq")?;
        words.push(format!("CPU {cpu}: {} to {} MHz", least / 1_000, most / 1_000));
        if least < most {
            low.push(cpu.to_string());
        }
    }
    let fix = || {
        Fix::Command(format!(
            "for cpu in {}; do cat /sys/devices/system/cpu/cpu$cpu/cpufreq/scaling_max_freq > \
             /sys/devices/system/cpu/cpu$cpu/cpufreq/scaling_min_freq; done",
            low.join(" ")
        ))
    };
    Ok(Finding::judge(low.is_empty(), words.join("; "), fix))
}

fn frequency(machine: &Machine, folder: &str, file: &str) -> Result<i64, Unseen> {
    machine.number(&format!("{folder}/{file}")).map_err(|unseen| of_the_host(machine, unseen))
}

fn energy_preference(machine: &Machine) -> Look {
    let file = "cpufreq/energy_performance_preference";
    let command = |cpus: &str| {
        Fix::Command(format!(
            "for cpu in {cpus}; do echo performance > /sys/devices/system/cpu/cpu$cpu/{file}; done"
        ))
    };
    each_cpu(machine, file, |value| value == "performance", command)
}

/// A file of each CPU that is judged.
fn each_cpu(
    machine: &Machine,
    file: &str,
    is_ok: impl Fn(&str) -> bool,
    fix: impl FnOnce(&str) -> Fix,
) -> Look {
    let mut wrong = Vec::new();
    let mut words = Vec::new();
    for cpu in machine.cpus().iter() {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/{file}");
        let value = machine.text(&path).map_err(|unseen| of_the_host(machine, unseen))?;
        words.push(format!("CPU {cpu}: {value}"));
        if !is_ok(&value) {
            wrong.push(cpu.to_string());
        }
    }
    Ok(Finding::judge(wrong.is_empty(), words.join("; "), || fix(&wrong.join(" "))))
}

fn idle_states(machine: &Machine) -> Look {
    let mut deep = Vec::new();
    for cpu in machine.cpus().iter() {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle");
        let states = machine.names(&folder);
        if states.is_empty() {
            let unseen = Unseen(format!("there is no {folder} here"));
            return Err(of_the_host(machine, unseen));
        }
        for state in states.iter().filter(|name| name.starts_with("state")) {
            let file = |file: &str| format!("{folder}/{state}/{file}");
            let us = machine.number(&file("latency"))?;
            if us > EXIT_US_MAX && machine.number(&file("disable"))? == 0 {
                let name = machine.text(&file("name"))?;
                deep.push((cpu, format!("CPU {cpu}: {name} takes {us} us to leave")));
            }
        }
    }
    let words: Vec<&str> = deep.iter().map(|(_, words)| words.as_str()).collect();
    let found = if words.is_empty() { "shallow ones alone".to_owned() } else { words.join("; ") };
    let fix = || {
        let mut cpus: Vec<String> = deep.iter().map(|(cpu, _)| cpu.to_string()).collect();
        cpus.dedup();
        Fix::Command(format!(
            "for cpu in {}; do for state in /sys/devices/system/cpu/cpu$cpu/cpuidle/state*; do [ \
             \"$(cat \"$state/latency\")\" -le {EXIT_US_MAX} ] || echo 1 > \"$state/disable\"; \
             done; done",
            cpus.join(" ")
        ))
    };
    Ok(Finding::judge(deep.is_empty(), found, fix))
}

fn heat(machine: &Machine) -> Look {
    let mut hot = Vec::new();
    for cpu in machine.cpus().iter() {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle/core_throttle_count");
        let times = machine.number(&path).map_err(|unseen| of_the_host(machine, unseen))?;
        if times > 0 {
            hot.push(format!("CPU {cpu} was slowed down {times} times since the boot"));
        }
    }
    let found = if hot.is_empty() { "never slowed down".to_owned() } else { hot.join("; ") };
    let fix = || Fix::Advice("look at fans, air and the power limits of the board".to_owned());
    Ok(Finding::judge(hot.is_empty(), found, fix))
}

/// What a virtual machine does not show is its host's business.
fn of_the_host(machine: &Machine, unseen: Unseen) -> Unseen {
    match machine.is_virtual() {
        true => Unseen(format!("{}; the hypervisor's host decides", unseen.0)),
        false => unseen,
    }
}
