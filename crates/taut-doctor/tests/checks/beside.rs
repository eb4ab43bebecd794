//! What runs beside the threads that trade, and other gateways of the same machine.

use taut_doctor::{CpuList, Verdict};

use crate::fake::Fake;

/// Another gateway's CPU 2 is isolated at the boot, or by a control group.
#[test]
fn nothing_is_sent_to_the_isolated_cpu_of_another_gateway() {
    let by_boot = ("/sys/devices/system/cpu/isolated", "2-3");
    for (path, list) in [by_boot, ("/sys/fs/cgroup/cpuset.cpus.isolated", "2")] {
        let mut fake = Fake::good();
        fake.set(path, list);
        fake.set("/sys/devices/virtual/workqueue/cpumask", "f");
        fake.set("/proc/irq/default_smp_affinity", "f");
        fake.set("/proc/irq/41/effective_affinity_list", "3");
        fake.set_of_cpu("topology/thread_siblings_list", "2-3");
        fake.task(900, "cc1", 3, 100);
        fake.task_later(900, "cc1", 3, 140);
        for (name, fix) in [
            ("workqueue-mask", "echo 3 >"),
            ("irq-default", "echo 3 >"),
            ("irq-affinity", "for irq in 41; do echo 0-1 >"),
            ("nic-interrupts", "for irq in 41; do echo 0-1 >"),
            ("busy-neighbour", "taskset -pc 0-1 900"),
            ("smt-sibling", "trade on one CPU of each core"),
        ] {
            let mended = fake.fix_of(name);
            assert!(mended.starts_with(fix), "{path}: {name}: {mended}");
        }
    }
}

#[test]
fn parameters_of_the_boot_keep_the_cpus_that_they_name_already() {
    let mut fake = Fake::good();
    fake.set("/sys/devices/system/cpu/isolated", "2");
    fake.set("/sys/devices/system/cpu/nohz_full", "0,2");
    fake.set("/proc/cmdline", "rcu_nocbs=1-2");
    for (name, parameter) in [
        ("cpus-isolated", "'isolcpus=managed_irq,domain,2-3'"),
        ("nohz-full", "'nohz_full=0,2-3'"),
        ("rcu-callbacks", "'rcu_nocbs=1-3'"),
    ] {
        let mended = fake.fix_of(name);
        assert!(mended.contains(parameter), "{name}: {mended}");
    }
    // The boot does not take what a control group gives.
    fake.set("/sys/devices/system/cpu/isolated", "");
    fake.set("/sys/fs/cgroup/cpuset.cpus.isolated", "2");
    assert!(fake.fix_of("cpus-isolated").contains("'isolcpus=managed_irq,domain,3'"));
}

#[test]
fn a_gateway_without_a_cpu_is_told_of_one() {
    let mut fake = Fake::good();
    fake.target.cpus = CpuList::parse("2-3").expect("a list");
    fake.target.gateway.as_mut().expect("a gateway").cpu = None;
    assert_eq!(fake.fix_of("gateway-pinned"), "put `cpu = 2` into the gateway's file");
}

#[test]
fn a_gateway_that_runs_on_its_cpu_is_not_its_own_neighbour() {
    let mut fake = Fake::good();
    fake.task(900, "taut", 3, 100);
    fake.task_later(900, "taut", 3, 199);
    let (verdict, found) = fake.judge("busy-neighbour");
    assert_eq!(verdict, Verdict::Ok, "{found}");
    assert!(found.contains("taut (thread 900) has 99% of CPU 3"), "{found}");
    fake.task(902, "cc1", 3, 100);
    fake.task_later(902, "cc1", 3, 130);
    let (verdict, found) = fake.judge("busy-neighbour");
    assert_eq!(verdict, Verdict::Wrong, "{found}");
    assert_eq!(
        fake.fix_of("busy-neighbour"),
        "taskset -pc 0-2 902",
        "the gateway stays where it is"
    );
    fake.task(901, "taut", 3, 100);
    fake.task_later(901, "taut", 3, 140);
    assert_eq!(
        fake.fix_of("busy-neighbour"),
        "taskset -pc 0-2 902",
        "no gateway is moved, and two on a CPU are wrong"
    );
}

#[test]
fn threads_that_trade_are_moved_by_no_script_whatever_their_program_is_called() {
    let mut fake = Fake::good();
    fake.task(900, "lean", 3, 100);
    fake.task_later(900, "lean", 3, 199);
    assert_eq!(fake.fix_of("busy-neighbour"), "taskset -pc 0-2 900");
    // A strategy in a program of its own.
    let maps = "7f00-7f01 rw-s 00000000 00:01 9 /memfd:taut-gateway (deleted)\n7f02-7f03 rw-p";
    fake.set("/proc/900/maps", maps);
    let (verdict, found) = fake.judge("busy-neighbour");
    assert_eq!(verdict, Verdict::Ok, "{found}");
    fake.task(901, "taut", 3, 100);
    fake.task_later(901, "taut", 3, 140);
    assert_eq!(fake.fix_of("busy-neighbour"), "pin each thread that trades to a CPU of its own");
    assert!(!fake.diagnose().script().contains("taskset"), "it is a comment");
}

/// Threads have no time of interrupts, so that it is no thread's that is hidden.
#[test]
fn interrupts_are_no_hidden_thread() {
    let mut fake = Fake::good();
    fake.set_later("/proc/stat", "cpu3 100 0 0 920 0 40 40 0");
    let (verdict, found) = fake.judge("busy-neighbour");
    assert_eq!(verdict, Verdict::Ok, "{found}");
}

/// In a container, or where /proc shows a user's own processes alone.
#[test]
fn a_cpu_that_is_busy_with_what_cannot_be_seen_is_not_quiet() {
    let mut fake = Fake::good();
    fake.set_later("/proc/stat", "cpu3 140 0 0 960 0 0 0 0");
    let (verdict, found) = fake.judge("busy-neighbour");
    assert_eq!(verdict, Verdict::Wrong, "{found}");
    assert!(found.starts_with("40% of CPU 3 went to threads that"), "{found}");
    // What can be seen is not hidden.
    fake.task(900, "taut", 3, 100);
    fake.task_later(900, "taut", 3, 139);
    let (verdict, found) = fake.judge("busy-neighbour");
    assert_eq!(verdict, Verdict::Ok, "{found}");
}

/// Nothing says where it really comes: then it may come wherever its mask allows.
#[test]
fn an_empty_effective_affinity_is_not_elsewhere() {
    let mut fake = Fake::good();
    fake.set("/proc/irq/41/effective_affinity_list", "");
    for name in ["irq-affinity", "nic-interrupts"] {
        assert!(fake.fix_of(name).starts_with("for irq in 41; do echo 0-2 >"), "{name}");
    }
}

#[test]
fn only_the_lines_of_a_card_that_come_here_are_moved() {
    let mut fake = Fake::good();
    for line in ["42", "43"] {
        fake.set(&format!("/sys/class/net/eth0/device/msi_irqs/{line}"), "msix");
        fake.set(&format!("/proc/irq/{line}/effective_affinity_list"), "3");
    }
    // Nobody uses line 43.
    let lines = "      CPU0 CPU1 CPU2 CPU3\n 41:  900 0 0 0 PCI-MSIX 1-edge eth0-rx-0\n\
                  42:  0 0 0 5 PCI-MSIX 2-edge eth0-rx-1";
    fake.set("/proc/interrupts", lines);
    assert!(fake.fix_of("nic-interrupts").starts_with("for irq in 42; do"));
}

#[test]
fn irqbalance_leaves_isolated_and_nohz_full_cpus_alone_unless_its_file_names_others() {
    let mut fake = Fake::good();
    fake.task(600, "irqbalance", 0, 0);
    fake.target.cpus = CpuList::parse("2-3").expect("a list");
    fake.set("/sys/devices/system/cpu/nohz_full", "2");
    let is_ok = |fake: &Fake| fake.judge("irq-balance").0 == Verdict::Ok;
    assert!(is_ok(&fake));
    let files = ["/etc/default/irqbalance", "/etc/sysconfig/irqbalance"];
    for (text, right) in [
        ("# IRQBALANCE_BANNED_CPULIST=1\nIRQBALANCE_BANNED_CPULIST=", true),
        ("IRQBALANCE_BANNED_CPULIST=2", false),
        ("IRQBALANCE_BANNED_CPULIST='2-3'", true),
        ("IRQBALANCE_BANNED_CPUS=c", true),
        ("IRQBALANCE_BANNED_CPUS=\"4\"", false),
    ] {
        for file in files {
            let mut fake = Fake::good();
            fake.task(600, "irqbalance", 0, 0);
            fake.target.cpus = CpuList::parse("2-3").expect("a list");
            fake.set("/sys/devices/system/cpu/nohz_full", "2");
            for other in files {
                fake.set(other, "IRQBALANCE_ARGS=");
            }
            fake.set(file, text);
            assert_eq!(is_ok(&fake), right, "{file}: {text}");
        }
    }
}
