//! Who else runs on the CPUs of the trading threads.

use crate::check::{Check, Group, Severity};
use crate::cpu_list::CpuList;
use crate::finding::{Finding, Fix, Unseen};
use crate::look::{Look, other_cpus, with_others};
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
        reads: "/proc/self/status (Cpus_allowed_list)",
        wanted: "this user's processes may run on every CPU of a trading thread",
        why: "a control group or an affinity that leaves a CPU out makes pinning fail",
        cost: "nothing",
        look: allowed,
    },
    Check {
        name: "gateway-pinned",
        group: Group::Isolation,
        severity: Severity::Important,
        reads: "the gateway's file (cpu)",
        wanted: "cpu = N, a CPU of its own",
        why: "a thread that the scheduler moves loses its caches each time",
        cost: "a CPU for the gateway alone",
        look: pinned,
    },
    Check {
        name: "gateway-wait",
        group: Group::Isolation,
        severity: Severity::Minor,
        reads: "the gateway's file (wait)",
        wanted: "wait = \"spin\" on an isolated CPU",
        why: "a thread that sleeps is woken for each packet, which takes 5 to 50 us",
        cost: "a CPU that is always busy, and its power",
        look: wait,
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
        name: "busy-neighbour",
        group: Group::Isolation,
        severity: Severity::Important,
        reads: "/proc/PID/task/TID/stat, twice",
        wanted: "no other thread has more than 2% of these CPUs",
        why: "who shares a CPU waits for a time slice of the other, milliseconds long",
        cost: "the other thread has less CPU",
        look: busy_neighbour,
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
    let text = machine.field("/proc/self/status", "Cpus_allowed_list")?;
    let allowed = CpuList::parse(&text).ok_or_else(|| Unseen(format!("'{text}' is no list")))?;
    let barred = machine.cpus().without(&allowed);
    let fix = || Fix::Advice(format!("add CPUs {barred} to the cpuset of this control group"));
    Ok(Finding::judge(barred.is_empty(), format!("CPUs {allowed} may be used"), fix))
}

fn pinned(machine: &Machine) -> Look {
    let gateway = machine.target.gateway.ok_or_else(no_file)?;
    Ok(match gateway.cpu {
        Some(cpu) => Finding::ok(format!("cpu = {cpu}")),
        None => {
            let text = format!("put `cpu = {}` into the gateway's file", machine.cpus());
            Finding::wrong("no cpu is named", Fix::Advice(text))
        }
    })
}

fn wait(machine: &Machine) -> Look {
    let gateway = machine.target.gateway.ok_or_else(no_file)?;
    let fix = || Fix::Advice("put `wait = \"spin\"` into the gateway's file".to_owned());
    Ok(Finding::judge(!gateway.sleeps(), format!("wait = \"{}\"", gateway.wait), fix))
}

fn no_file() -> Unseen {
    Unseen("no gateway's file was given (--for FILE)".to_owned())
}

fn isolated(machine: &Machine) -> Look {
    let by_boot = machine.cpu_list("/sys/devices/system/cpu/isolated");
    let by_group = machine.cpu_list("/sys/fs/cgroup/cpuset.cpus.isolated");
    let isolated: CpuList = match (&by_boot, &by_group) {
        (Err(unseen), Err(_)) => return Err(unseen.clone()),
        _ => by_boot.iter().chain(&by_group).flat_map(CpuList::iter).collect(),
    };
    let shared = machine.cpus().without(&isolated);
    let found = match isolated.is_empty() {
        true => "no CPU is isolated".to_owned(),
        false => format!("CPUs {isolated} are isolated"),
    };
    let cpus = machine.cpus();
    let boot = |_: &CpuList| Fix::Boot(format!("isolcpus=managed_irq,domain,{cpus}"));
    Ok(Finding::judge(shared.is_empty(), found, || with_others(machine, boot)))
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
    let cpus = machine.cpus();
    if !cpus.without(&without).is_empty()
        && let Some(ok) = sleeper(machine, &found)
    {
        return Ok(ok);
    }
    let boot = |_: &CpuList| Fix::Boot(format!("nohz_full={cpus}"));
    Ok(Finding::judge(cpus.without(&without).is_empty(), found, || with_others(machine, boot)))
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
    let cpus = machine.cpus();
    let boot = |_: &CpuList| Fix::Boot(format!("rcu_nocbs={cpus}"));
    Ok(Finding::judge(left.is_empty(), found, || with_others(machine, boot)))
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
        // Never all CPUs: of a pair that is judged, the second goes.
        let mut off = siblings.without(machine.cpus());
        if off.is_empty() {
            off = siblings.iter().skip(1).step_by(2).collect();
        }
        let line = |cpu| format!("echo 0 > /sys/devices/system/cpu/cpu{cpu}/online");
        Fix::Command(off.iter().map(line).collect::<Vec<_>>().join("; "))
    };
    Ok(Finding::judge(siblings.is_empty(), found, fix))
}

fn busy_neighbour(machine: &Machine) -> Look {
    let [before, after] = &machine.samples;
    if after.tasks.is_empty() {
        return Err(Unseen("no other process can be seen in /proc".to_owned()));
    }
    // A tick is a hundredth of a second.
    let hundredths = (machine.interval.0 / 10_000_000).max(1).unsigned_abs();
    let mut busy: Vec<(u64, u32, &str, usize)> = Vec::new();
    for (thread, task) in &after.tasks {
        let earlier = before.tasks.get(thread).map_or(task.ticks, |task| task.ticks);
        let percent = 100 * task.ticks.saturating_sub(earlier) / hundredths;
        let is_other = task.process != machine.answers.process;
        if percent > 2 && is_other && machine.cpus().contains(task.cpu) {
            busy.push((percent, *thread, &task.name, task.cpu));
        }
    }
    // One of taut's own on a CPU is what that CPU is for.
    let is_alone = |cpu| busy.iter().filter(|(_, _, _, other)| *other == cpu).count() == 1;
    let is_ours = busy.iter().all(|(_, _, name, cpu)| name.starts_with("taut") && is_alone(*cpu));
    busy.sort_unstable_by(|one, other| other.cmp(one));
    let mut words: Vec<String> = busy
        .iter()
        .take(5)
        .map(|(percent, thread, name, cpu)| {
            format!("{name} (thread {thread}) has {percent}% of CPU {cpu}")
        })
        .collect();
    if busy.len() > words.len() {
        words.push(format!("and {} more", busy.len() - words.len()));
    }
    if busy.is_empty() {
        return Ok(Finding::ok("nothing else runs there"));
    }
    let others = other_cpus(machine)?;
    let move_them = |_: &CpuList| {
        let line =
            |(_, thread, _, _): &(u64, u32, &str, usize)| format!("taskset -pc {others} {thread}");
        Fix::Command(busy.iter().map(line).collect::<Vec<_>>().join("; "))
    };
    Ok(Finding::judge(is_ours, words.join(", "), || with_others(machine, move_them)))
}

fn workqueues(machine: &Machine) -> Look {
    let path = "/sys/devices/virtual/workqueue/cpumask";
    let mask = machine.cpu_mask(path)?;
    let is_ok = mask.and(machine.cpus()).is_empty();
    let fix = || with_others(machine, |others| Fix::write(path, others.mask()));
    Ok(Finding::judge(is_ok, format!("it runs on CPUs {mask}"), fix))
}
