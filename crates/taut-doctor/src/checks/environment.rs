//! Virtual machines, containers, quotas, and what they took.

use std::collections::BTreeMap;

use taut_sys::CpuTotals;
use taut_types::Nanos;

use crate::check::{Check, Group, Severity};
use crate::finding::{Finding, Fix, Unseen};
use crate::look::{Look, pressure};
use crate::machine::Machine;

pub const CHECKS: &[Check] = &[
    Check {
        name: "virtual-machine",
        group: Group::Environment,
        severity: Severity::Minor,
        reads: "/proc/cpuinfo (flag hypervisor), /sys/hypervisor",
        wanted: "the machine itself",
        why: "the host and its other guests take time that no setting here gives back",
        cost: "a machine of one's own",
        look: virtual_machine,
    },
    Check {
        name: "stolen-time",
        group: Group::Environment,
        severity: Severity::Critical,
        reads: "/proc/stat (steal), twice",
        wanted: "less than 0.5% of the time of these CPUs",
        why: "the hypervisor ran somebody else while a thread here had work",
        cost: "a CPU of the host for each CPU of the guest",
        look: stolen,
    },
    Check {
        name: "container",
        group: Group::Environment,
        severity: Severity::Minor,
        reads: "/.dockerenv, /run/.containerenv, /proc/1/cgroup",
        wanted: "none, or one with the host's network and CPUs of its own",
        why: "packets pass a bridge and a firewall more, and limits are those of the container",
        cost: "less separation",
        look: container,
    },
    Check {
        name: "cpu-quota",
        group: Group::Environment,
        severity: Severity::Critical,
        reads: "/proc/PID/cgroup of this process and taut's, cpu.max or cpu.cfs_quota_us",
        wanted: "max: no quota",
        why: "a group that has used its time stands still for the rest of the period, up to 100 ms",
        cost: "this group may use whole CPUs",
        look: quota,
    },
    Check {
        name: "cpu-throttled",
        group: Group::Environment,
        severity: Severity::Critical,
        reads: "/proc/PID/cgroup of this process and taut's, cpu.stat (nr_throttled), twice",
        wanted: "0 while it was looked",
        why: "the group was stopped because of its quota",
        cost: "see cpu-quota",
        look: throttled,
    },
    Check {
        name: "cpu-pressure",
        group: Group::Environment,
        severity: Severity::Important,
        reads: "/proc/pressure/cpu",
        wanted: "tasks waited for a CPU less than 5% of the last minute",
        why: "there is more to do than there are CPUs",
        cost: "fewer programs, or more CPUs",
        look: |machine| pressure(machine, "cpu", 500, "end other programs: `top` shows which"),
    },
];

fn virtual_machine(machine: &Machine) -> Look {
    machine.text("/proc/cpuinfo")?;
    let found = match machine.is_virtual() {
        true => "a virtual machine: idle states, clock rates and neighbours are its host's",
        false => "no hypervisor shows",
    };
    let fix = || {
        let text =
            "measure on the machine that will trade; do not trust p99 and beyond of this one";
        Fix::Advice(text.to_owned())
    };
    Ok(Finding::judge(!machine.is_virtual(), found, fix))
}

fn stolen(machine: &Machine) -> Look {
    let [before, after] = &machine.samples;
    let (mut just_now, mut since_boot) = (CpuTotals::default(), CpuTotals::default());
    for cpu in machine.cpus().iter() {
        let Some(now) = after.cpus.get(&cpu) else { continue };
        let then = before.cpus.get(&cpu).copied().unwrap_or(*now);
        just_now = just_now + now.since(then);
        since_boot = since_boot + *now;
    }
    if since_boot.all() == Nanos::ZERO {
        return Err(Unseen("/proc/stat does not tell of these CPUs".to_owned()));
    }
    let per_mille = |it: CpuTotals| it.stolen.0.saturating_mul(1_000) / it.all().0.max(1);
    let (now, ever) = (per_mille(just_now), per_mille(since_boot));
    let found =
        format!("{}.{}% just now, {}.{}% since the boot", now / 10, now % 10, ever / 10, ever % 10);
    let fix = || Fix::Advice("ask for dedicated CPUs, or for another host".to_owned());
    Ok(Finding::judge(now < 5 && ever < 5, found, fix))
}

fn container(machine: &Machine) -> Look {
    machine.text("/proc/1/cgroup")?;
    Ok(match machine.container() {
        None => Finding::ok("none shows"),
        Some(name) => {
            let text = "start it with --network host --cpuset-cpus, or trade outside";
            Finding::wrong(format!("made by {name}"), Fix::Advice(text.to_owned()))
        }
    })
}

/// The control groups that limit the CPU time of this process and of taut's others.
fn groups(machine: &Machine) -> Result<&BTreeMap<String, u64>, Unseen> {
    let [_, after] = &machine.samples;
    match after.groups.is_empty() {
        true => Err(Unseen("there is no /sys/fs/cgroup of this process here".to_owned())),
        false => Ok(&after.groups),
    }
}

fn quota(machine: &Machine) -> Look {
    for folder in groups(machine)?.keys() {
        let words = |file: &str| machine.text(&format!("{folder}/{file}")).ok();
        if let Some(text) = words("cpu.max").filter(|text| !text.starts_with("max")) {
            let fix = Fix::write(&crate::look::quoted(&format!("{folder}/cpu.max")), "max");
            return Ok(Finding::wrong(format!("{folder}: {text} us"), fix));
        }
        if let Some(text) = words("cpu.cfs_quota_us").filter(|text| text != "-1") {
            let fix = Fix::write(&crate::look::quoted(&format!("{folder}/cpu.cfs_quota_us")), -1);
            return Ok(Finding::wrong(format!("{folder}: {text} us"), fix));
        }
    }
    Ok(Finding::ok("no group of this process or taut's has a quota"))
}

fn throttled(machine: &Machine) -> Look {
    let [before, _] = &machine.samples;
    for (folder, count) in groups(machine)? {
        let just_now = count.saturating_sub(*before.groups.get(folder).unwrap_or(count));
        if just_now > 0 {
            let found = format!("{folder}: stopped {just_now} times just now, {count} in all");
            return Ok(Finding::wrong(found, Fix::Advice("mend cpu-quota".to_owned())));
        }
    }
    Ok(Finding::ok("no group of this process or taut's was stopped just now"))
}
