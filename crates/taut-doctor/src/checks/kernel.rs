//! The kernel's own work on every CPU, and its clock.

use crate::check::{Check, Group, Severity};
use crate::finding::{Finding, Fix, Unseen};
use crate::look::{Look, sysctl};
use crate::machine::Machine;

pub const CHECKS: &[Check] = &[
    Check {
        name: "clock-source",
        group: Group::Kernel,
        severity: Severity::Important,
        reads: "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        wanted: "tsc",
        why: "any other clock costs a system call or a slow device for each time stamp",
        cost: "nothing, where the processor's counter is sound",
        look: clock_source,
    },
    Check {
        name: "tsc-invariant",
        group: Group::Kernel,
        severity: Severity::Important,
        reads: "/proc/cpuinfo (flags constant_tsc, nonstop_tsc)",
        wanted: "a counter that neither the clock rate nor idle states change",
        why: "stages are stamped with this counter",
        cost: "another processor, or another setting of the hypervisor",
        look: tsc_invariant,
    },
    Check {
        name: "clock-synchronised",
        group: Group::Kernel,
        severity: Severity::Important,
        reads: "adjtimex(2)",
        wanted: "a daemon keeps the clock, to a millisecond or better",
        why: "venues refuse requests of a wrong time, and latencies across hosts mean nothing",
        cost: "a daemon on another CPU",
        look: clock_synchronised,
    },
    Check {
        name: "clock-daemon",
        group: Group::Kernel,
        severity: Severity::Minor,
        reads: "/proc/PID/task/TID/stat",
        wanted: "ptp4l with phc2sys, or chronyd",
        why: "these two follow a hardware clock; others are good to milliseconds",
        cost: "a daemon on another CPU",
        look: clock_daemon,
    },
    Check {
        name: "skew-tick",
        group: Group::Kernel,
        severity: Severity::Minor,
        reads: "/proc/cmdline (skew_tick)",
        wanted: "skew_tick=1",
        why: "all CPUs take their timer tick at once otherwise, and wait for the same locks",
        cost: "a little more power",
        look: |machine| parameter(machine, "skew_tick", "1"),
    },
    Check {
        name: "soft-lockup-detector",
        group: Group::Kernel,
        severity: Severity::Minor,
        reads: "/proc/sys/kernel/watchdog",
        wanted: "0",
        why: "a thread of the highest priority runs on every CPU every few seconds",
        cost: "a hung kernel is not told of",
        look: |machine| sysctl(machine, "kernel.watchdog", |value| value == 0, 0),
    },
    Check {
        name: "nmi-watchdog",
        group: Group::Kernel,
        severity: Severity::Minor,
        reads: "/proc/sys/kernel/nmi_watchdog",
        wanted: "0",
        why: "it takes a performance counter and interrupts every CPU with it",
        cost: "a hung CPU is not told of",
        look: |machine| sysctl(machine, "kernel.nmi_watchdog", |value| value == 0, 0),
    },
    Check {
        name: "timer-migration",
        group: Group::Kernel,
        severity: Severity::Minor,
        reads: "/proc/sys/kernel/timer_migration",
        wanted: "0",
        why: "timers of idle CPUs are run by busy ones",
        cost: "idle CPUs wake more often",
        look: |machine| sysctl(machine, "kernel.timer_migration", |value| value == 0, 0),
    },
    Check {
        name: "realtime-throttling",
        group: Group::Kernel,
        severity: Severity::Minor,
        reads: "/proc/sys/kernel/sched_rt_runtime_us",
        wanted: "-1",
        why: "a thread of SCHED_FIFO that spins is stopped for 50 ms of each second",
        cost: "such a thread can take its CPU from everybody, for ever",
        look: |machine| sysctl(machine, "kernel.sched_rt_runtime_us", |value| value == -1, -1),
    },
    Check {
        name: "numa-balancing",
        group: Group::Kernel,
        severity: Severity::Minor,
        reads: "/proc/sys/kernel/numa_balancing",
        wanted: "0",
        why: "the kernel unmaps pages to see who uses them: page faults in the middle of a run",
        cost: "memory stays where it was first touched",
        look: |machine| sysctl(machine, "kernel.numa_balancing", |value| value == 0, 0),
    },
    Check {
        name: "autogroup",
        group: Group::Kernel,
        severity: Severity::Minor,
        reads: "/proc/sys/kernel/sched_autogroup_enabled",
        wanted: "0",
        why: "nice values compare within a terminal's session only while it is on",
        cost: "a terminal's build shares the CPU with everybody",
        look: |machine| sysctl(machine, "kernel.sched_autogroup_enabled", |value| value == 0, 0),
    },
    Check {
        name: "machine-check-poll",
        group: Group::Kernel,
        severity: Severity::Minor,
        reads: "/sys/devices/system/machinecheck/machinecheck0/check_interval",
        wanted: "0",
        why: "every CPU is interrupted to poll for corrected memory errors",
        cost: "corrected errors are told late",
        look: machine_check_poll,
    },
    Check {
        name: "mitigations",
        group: Group::Kernel,
        severity: Severity::Minor,
        reads: "/sys/devices/system/cpu/vulnerabilities",
        wanted: "none, on a machine that runs nobody else's code",
        why: "they make each system call and each indirect jump slower",
        cost: "security: any program of this machine may read the memory of any other",
        look: mitigations,
    },
    Check {
        name: "audit",
        group: Group::Kernel,
        severity: Severity::Minor,
        reads: "/proc/PID/task/TID/stat, /proc/cmdline (audit)",
        wanted: "no auditd",
        why: "every system call is looked at for rules",
        cost: "no record of who did what",
        look: audit,
    },
];

const CLOCK_SOURCES: &str = "/sys/devices/system/clocksource/clocksource0";

fn clock_source(machine: &Machine) -> Look {
    let current = machine.text(&format!("{CLOCK_SOURCES}/current_clocksource"))?;
    let path = format!("{CLOCK_SOURCES}/available_clocksource");
    let available = machine.text(&path).unwrap_or_default();
    let fix = || match available.split_ascii_whitespace().any(|name| name == "tsc") {
        true => Fix::write(&format!("{CLOCK_SOURCES}/current_clocksource"), "tsc"),
        false => Fix::Boot("tsc=reliable clocksource=tsc".to_owned()),
    };
    Ok(Finding::judge(current == "tsc", current, fix))
}

fn tsc_invariant(machine: &Machine) -> Look {
    let flags = machine.field("/proc/cpuinfo", "flags")?;
    let has = |flag: &&str| flags.split_ascii_whitespace().any(|own| own == *flag);
    let missing: Vec<&str> =
        ["constant_tsc", "nonstop_tsc"].into_iter().filter(|flag| !has(flag)).collect();
    let found = match missing.is_empty() {
        true => "the counter is constant and does not stop".to_owned(),
        false => format!("the processor does not promise {}", missing.join(", ")),
    };
    let advice = match machine.is_virtual() {
        true => "have the hypervisor pass invtsc on",
        false => "use a processor with an invariant time-stamp counter",
    };
    Ok(Finding::judge(missing.is_empty(), found, || Fix::Advice(advice.to_owned())))
}

fn clock_synchronised(machine: &Machine) -> Look {
    let state = match machine.answers.clock {
        None => return Err(Unseen("the kernel was not asked".to_owned())),
        Some(Err(error)) => return Err(Unseen(error.to_string())),
        Some(Ok(state)) => state,
    };
    let us = |span: taut_types::Nanos| span.0 / 1_000;
    let errors = format!(
        "expected error {} us, at most {} us",
        us(state.error_expected),
        us(state.error_max)
    );
    let is_ok = state.is_synchronised && state.error_expected.0 <= 1_000_000;
    let found = match state.is_synchronised {
        true => format!("synchronised, {errors}"),
        false => "no daemon says that it keeps the clock".to_owned(),
    };
    let fix = || match machine.container() {
        Some(_) => Fix::Advice("have the container's host run ptp4l or chronyd".to_owned()),
        None => Fix::Permanent("systemctl enable --now chronyd".to_owned()),
    };
    Ok(Finding::judge(is_ok, found, fix))
}

fn clock_daemon(machine: &Machine) -> Look {
    let [_, after] = &machine.samples;
    if after.tasks.is_empty() {
        return Err(Unseen("no other process can be seen in /proc".to_owned()));
    }
    if let Some(name) = machine.process_named(&["ptp4l", "phc2sys", "chronyd"]) {
        return Ok(Finding::ok(format!("{name} runs")));
    }
    if machine.container().is_some() {
        return Err(Unseen("the daemon of a container's host is not visible".to_owned()));
    }
    let other = machine.process_named(&["ntpd", "systemd-timesyn"]);
    let found = other.map_or_else(
        || "none of ptp4l, phc2sys and chronyd runs".to_owned(),
        |name| format!("{name} runs"),
    );
    Ok(Finding::wrong(found, Fix::Permanent("systemctl enable --now chronyd".to_owned())))
}

fn parameter(machine: &Machine, key: &str, wanted: &str) -> Look {
    let value = machine.parameter(key)?;
    let found = value.as_ref().map_or_else(
        || format!("{key} is not on the kernel's command line"),
        |value| format!("{key}={value}"),
    );
    let fix = || Fix::Boot(format!("{key}={wanted}"));
    Ok(Finding::judge(value.as_deref() == Some(wanted), found, fix))
}

fn machine_check_poll(machine: &Machine) -> Look {
    if machine.parameter("mce").is_ok_and(|value| value.as_deref() == Some("ignore_ce")) {
        return Ok(Finding::ok("mce=ignore_ce"));
    }
    let path = "/sys/devices/system/machinecheck/machinecheck0/check_interval";
    // In seconds, which some kernels write in hexadecimal.
    let text = machine.text(path)?;
    Ok(Finding::judge(text == "0", format!("check_interval = {text}"), || Fix::write(path, 0)))
}

fn mitigations(machine: &Machine) -> Look {
    let folder = "/sys/devices/system/cpu/vulnerabilities";
    let names = machine.names(folder);
    if names.is_empty() {
        return Err(Unseen(format!("there is no {folder} here")));
    }
    let mut on = Vec::new();
    for name in &names {
        if machine.text(&format!("{folder}/{name}"))?.starts_with("Mitigation") {
            on.push(name.as_str());
        }
    }
    let found = match on.is_empty() {
        true => "none is on".to_owned(),
        false => format!("{} are on: {}", on.len(), on.join(", ")),
    };
    // Nobody gives security away by running a script.
    let text = "boot with mitigations=off, where no code of others runs, browsers included";
    Ok(Finding::judge(on.is_empty(), found, || Fix::Advice(text.to_owned())))
}

fn audit(machine: &Machine) -> Look {
    if machine.parameter("audit")?.as_deref() == Some("0") {
        return Ok(Finding::ok("audit=0"));
    }
    let [_, after] = &machine.samples;
    if after.tasks.is_empty() {
        return Err(Unseen("no other process can be seen in /proc".to_owned()));
    }
    let runs = machine.process_named(&["auditd"]).is_some();
    let found = if runs { "auditd runs" } else { "auditd does not run" };
    let text = "boot with audit=0, where nobody has to know who did what";
    Ok(Finding::judge(!runs, found, || Fix::Advice(text.to_owned())))
}
