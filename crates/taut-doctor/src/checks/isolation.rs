//! Who else runs on the CPUs of the trading threads.

use crate::check::{Check, Group, Severity};
use crate::cpu_list::CpuList;
use crate::finding::{Finding, Fix, Unseen};
use crate::look::{Look, boot_for_cpus, with_others};
use crate::machine::Machine;

pub const CHECKS: &[Check] = &[
    Check {
        name: "cpus-online",
        group: Group::Isolation,
        severity: Severity::Critical,
        reads: "/sys/devices/system/cpu/online",
        wanted: "every CPU of a trading thread is online",
        why: "a thread cannot be pinned to a CPU that is off",
        cost: "nothing",
        look: online,
    },
    Check {
        name: "cpus-allowed",
        group: Group::Isolation,
        severity: Severity::Critical,
        reads: "sched_setaffinity(2), sched_getaffinity(2), in a thread of their own",
        wanted: "a thread of this process can be pinned to every CPU of a trading thread",
        why: "pinning to a CPU that the control group leaves out fails",
        cost: "nothing",
        look: allowed,
    },
    Check {
        name: "cpus-isolated",
        group: Group::Isolation,
        severity: Severity::Important,
        reads: "/sys/devices/system/cpu/isolated, /sys/fs/cgroup/cpuset.cpus.isolated",
        wanted: "the scheduler puts nothing else on these CPUs",
        why: "any other thread that runs there takes the CPU for milliseconds",
        cost: "these CPUs idle when nobody is pinned to them",
        look: isolated,
    },
    Check {
        name: "nohz-full",
        group: Group::Isolation,
        severity: Severity::Important,
        reads: "/sys/devices/system/cpu/nohz_full",
        wanted: "no timer tick on these CPUs while one thread spins there",
        why: "the tick interrupts a spinning thread 100 to 1000 times a second, 1 to 10 us each",
        cost: "system calls become some 100 ns slower there; a kernel with CONFIG_NO_HZ_FULL",
        look: nohz_full,
    },
    Check {
        name: "rcu-callbacks",
        group: Group::Isolation,
        severity: Severity::Minor,
        reads: "/proc/cmdline (rcu_nocbs), /sys/devices/system/cpu/nohz_full",
        wanted: "callbacks of RCU run on other CPUs",
        why: "the kernel frees memory on these CPUs otherwise, in bursts",
        cost: "a little more work for the other CPUs",
        look: rcu_callbacks,
    },
    Check {
        name: "smt-sibling",
        group: Group::Isolation,
        severity: Severity::Important,
        reads: "/sys/devices/system/cpu/cpuN/topology/thread_siblings_list",
        wanted: "no other hyper-thread of these cores is online",
        why: "two hyper-threads share one core's execution units and caches",
        cost: "half of the logical CPUs of these cores",
        look: smt_sibling,
    },
    Check {
        name: "workqueue-mask",
        group: Group::Isolation,
        severity: Severity::Minor,
        reads: "/sys/devices/virtual/workqueue/cpumask",
        wanted: "the kernel's unbound work runs on other CPUs",
        why: "writing back files and crypto run as kernel threads wherever there is a CPU",
        cost: "nothing",
        look: workqueues,
    },
];

fn online(machine: &Machine) -> Look {
    let online = machine.cpu_list("/sys/devices/system/cpu/online")?;
    let off = machine.cpus().without(&online);
    let wake = || {
        let line = |cpu| format!("echo 1 > /sys/devices/system/cpu/cpu{cpu}/online");
        Fix::Command(off.iter().map(line).collect::<Vec<_>>().join("; "))
    };
    let found = match off.is_empty() {
        true => format!("CPUs {online} are online"),
        false => format!("CPUs {off} are not online; {online} are"),
    };
    Ok(Finding::judge(off.is_empty(), found, wake))
}

fn allowed(machine: &Machine) -> Look {
    let pinnable = match &machine.answers.pinnable {
        None => return Err(Unseen("the kernel was not asked".to_owned())),
        Some(Err(error)) => return Err(Unseen(error.to_string())),
        Some(Ok(cpus)) => cpus,
    };
    let barred = machine.cpus().without(pinnable);
    let fix = || Fix::Advice(format!("add CPUs {barred} to the cpuset of this control group"));
    Ok(Finding::judge(barred.is_empty(), format!("CPUs {pinnable} may be used"), fix))
}

fn isolated(machine: &Machine) -> Look {
    let isolated = machine.isolated_cpus()?;
    let shared = machine.cpus().without(&isolated);
    let found = match isolated.is_empty() {
        true => "no CPU is isolated".to_owned(),
        false => format!("CPUs {isolated} are isolated"),
    };
    // What a control group isolates is its own to keep.
    let by_boot = machine.cpu_list("/sys/devices/system/cpu/isolated").unwrap_or_default();
    let fix = || boot_for_cpus(machine, "isolcpus=managed_irq,domain,", &by_boot);
    Ok(Finding::judge(shared.is_empty(), found, fix))
}

fn nohz_full(machine: &Machine) -> Look {
    let path = "/sys/devices/system/cpu/nohz_full";
    if !machine.has(path) && machine.has("/sys/devices/system/cpu/online") {
        let fix = Fix::Advice("boot a kernel that has CONFIG_NO_HZ_FULL".to_owned());
        return Ok(sleeper(machine, "this kernel has no full dynticks")
            .unwrap_or_else(|| Finding::wrong("this kernel has no full dynticks", fix)));
    }
    let without = machine.cpu_list(path)?;
    let found = match without.is_empty() {
        true => "every CPU has its tick".to_owned(),
        false => format!("CPUs {without} have no tick while one thread runs there"),
    };
    let is_ok = machine.cpus().without(&without).is_empty();
    if !is_ok && let Some(ok) = sleeper(machine, &found) {
        return Ok(ok);
    }
    Ok(Finding::judge(is_ok, found, || boot_for_cpus(machine, "nohz_full=", &without)))
}

/// A thread that sleeps between packets does not suffer from the tick.
fn sleeper(machine: &Machine, found: &str) -> Option<Finding> {
    let sleeps = machine.target.gateway.is_some_and(|gateway| gateway.sleeps());
    sleeps.then(|| Finding::ok(format!("{found}; a gateway that sleeps does not need it")))
}

fn rcu_callbacks(machine: &Machine) -> Look {
    let named = machine.parameter("rcu_nocbs")?.unwrap_or_default();
    let all = machine.cpu_list("/sys/devices/system/cpu/possible").unwrap_or_default();
    let named = if named == "all" { all } else { CpuList::parse(&named).unwrap_or_default() };
    // Full dynticks imply it.
    let full = machine.cpu_list("/sys/devices/system/cpu/nohz_full").unwrap_or_default();
    let left = machine.cpus().without(&named).without(&full);
    let found = match left.is_empty() {
        true => "callbacks run elsewhere".to_owned(),
        false => format!("callbacks run on CPUs {left}"),
    };
    if !left.is_empty()
        && let Some(ok) = sleeper(machine, &found)
    {
        return Ok(ok);
    }
    Ok(Finding::judge(left.is_empty(), found, || boot_for_cpus(machine, "rcu_nocbs=", &named)))
}

fn smt_sibling(machine: &Machine) -> Look {
    let online = machine.cpu_list("/sys/devices/system/cpu/online")?;
    let mut siblings: Vec<usize> = Vec::new();
    for cpu in machine.cpus().iter() {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        let core = machine.cpu_list(&path)?;
        siblings.extend(core.and(&online).iter().filter(|other| *other != cpu));
    }
    let siblings: CpuList = siblings.into_iter().collect();
    if siblings.is_empty() && machine.is_virtual() {
        let why = "the hypervisor shows no sibling; its host knows who shares the cores";
        return Err(Unseen(why.to_owned()));
    }
    let found = match siblings.is_empty() {
        true => "no sibling is online".to_owned(),
        false => format!("CPUs {siblings} share cores with CPUs {}", machine.cpus()),
    };
    let fix = || {
        // Nobody's thread that trades loses its CPU.
        let isolated = machine.isolated_cpus().unwrap_or_default();
        let off = siblings.without(machine.cpus()).without(&isolated);
        if off.is_empty() {
            return Fix::Advice("trade on one CPU of each core, and turn the other off".to_owned());
        }
        let line = |cpu| format!("echo 0 > /sys/devices/system/cpu/cpu{cpu}/online");
        Fix::Command(off.iter().map(line).collect::<Vec<_>>().join("; "))
    };
    Ok(Finding::judge(siblings.is_empty(), found, fix))
}

fn workqueues(machine: &Machine) -> Look {
    let path = "/sys/devices/virtual/workqueue/cpumask";
    let mask = machine.cpu_mask(path)?;
    let is_ok = mask.and(machine.cpus()).is_empty();
    let fix = || with_others(machine, |others| Fix::write(path, others.mask()));
    Ok(Finding::judge(is_ok, format!("it runs on CPUs {mask}"), fix))
}
