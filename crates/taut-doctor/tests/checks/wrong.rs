//! What spoils each check, and what is found then.

use taut_doctor::{Verdict, WrongCounts, checks};
use taut_sys::{Coalescing, SysError};
use taut_types::Nanos;

use crate::fake::{Fake, nic};

type Spoil = fn(&mut Fake);

/// Each check, what makes it fail, a word of what is found, and a word of what mends it.
const SPOILT: &[(&str, Spoil, &str, &str)] = &[
    (
        "cpus-online",
        |it| it.set("/sys/devices/system/cpu/online", "0-2"),
        "CPUs 3 are not online",
        "echo 1 > /sys/devices/system/cpu/cpu3/online",
    ),
    (
        "cpus-allowed",
        |it| it.answers.pinnable = Some(Ok((0..3).collect())),
        "CPUs 0-2 may be used",
        "CPUs 3",
    ),
    (
        "gateway-pinned",
        |it| it.target.gateway.as_mut().expect("a gateway").cpu = None,
        "no cpu is named",
        "`cpu = 3`",
    ),
    (
        "gateway-wait",
        |it| it.target.gateway.as_mut().expect("a gateway").wait = "block",
        "\"block\"",
        "\"spin\"",
    ),
    (
        "cpus-isolated",
        |it| it.set("/sys/devices/system/cpu/isolated", ""),
        "no CPU is isolated",
        "isolcpus=managed_irq,domain,3",
    ),
    (
        "nohz-full",
        |it| it.set("/sys/devices/system/cpu/nohz_full", "(null)"),
        "every CPU has its tick",
        "nohz_full=3",
    ),
    (
        "rcu-callbacks",
        |it| {
            it.set("/sys/devices/system/cpu/nohz_full", "");
            it.set("/proc/cmdline", "rcu_nocbs=1-2");
        },
        "callbacks run on CPUs 3",
        "rcu_nocbs=1-3",
    ),
    (
        "smt-sibling",
        |it| it.set_of_cpu("topology/thread_siblings_list", "1,3"),
        "CPUs 1 share cores with CPUs 3",
        "echo 0 > /sys/devices/system/cpu/cpu1/online",
    ),
    (
        "busy-neighbour",
        |it| {
            it.task(900, "cc1", 3, 100);
            it.task_later(900, "cc1", 3, 140);
        },
        "cc1 (thread 900) has 40% of CPU 3",
        "taskset -pc 0-2 900",
    ),
    (
        "workqueue-mask",
        |it| it.set("/sys/devices/virtual/workqueue/cpumask", "f"),
        "CPUs 0-3",
        "echo 7 > /sys/devices/virtual/workqueue/cpumask",
    ),
    (
        "irq-affinity",
        |it| it.set("/proc/irq/41/effective_affinity_list", "3"),
        "41 eth0-rx-0",
        "for irq in 41; do echo 0-2 >",
    ),
    (
        "irq-default",
        |it| it.set("/proc/irq/default_smp_affinity", "f"),
        "new lines go to CPUs 0-3",
        "echo 7 > /proc/irq/default_smp_affinity",
    ),
    (
        "irq-balance",
        |it| {
            it.task(600, "irqbalance", 0, 0);
            it.set("/etc/default/irqbalance", "IRQBALANCE_BANNED_CPULIST=\"1\"");
        },
        "leaves CPUs 1 alone",
        "systemctl disable --now irqbalance",
    ),
    (
        "irq-seen",
        |it| {
            let lines = "      CPU0 CPU1 CPU2 CPU3\n 41:  900 0 0 0 PCI-MSIX 1-edge eth0-rx-0\n\
                         LOC: 500 500 500 257 Local timer interrupts";
            it.set_later("/proc/interrupts", lines);
        },
        "CPU 3: 250 a second (LOC 250)",
        "nohz-full",
    ),
    (
        "clock-source",
        |it| {
            let folder = "/sys/devices/system/clocksource/clocksource0";
            it.set(&format!("{folder}/current_clocksource"), "hpet");
        },
        "hpet",
        "echo tsc > /sys/devices/system/clocksource",
    ),
    (
        "tsc-invariant",
        |it| it.set("/proc/cpuinfo", "flags\t: tsc constant_tsc"),
        "nonstop_tsc",
        "use a processor",
    ),
    (
        "clock-synchronised",
        |it| {
            let clock = it.answers.clock.as_mut().expect("asked").as_mut().expect("told");
            clock.is_synchronised = false;
        },
        "no daemon",
        "chronyd",
    ),
    ("clock-daemon", |it| it.task(500, "systemd-timesyn", 1, 5), "systemd-timesyn runs", "chronyd"),
    ("skew-tick", |it| it.set("/proc/cmdline", "ro"), "not on the kernel's", "skew_tick=1"),
    (
        "soft-lockup-detector",
        |it| it.set_key("kernel/watchdog", "1"),
        "kernel.watchdog = 1",
        "sysctl -w kernel.watchdog=0",
    ),
    (
        "nmi-watchdog",
        |it| it.set_key("kernel/nmi_watchdog", "1"),
        "= 1",
        "sysctl -w kernel.nmi_watchdog=0",
    ),
    (
        "timer-migration",
        |it| it.set_key("kernel/timer_migration", "1"),
        "= 1",
        "sysctl -w kernel.timer_migration=0",
    ),
    (
        "realtime-throttling",
        |it| it.set_key("kernel/sched_rt_runtime_us", "950000"),
        "= 950000",
        "sysctl -w kernel.sched_rt_runtime_us=-1",
    ),
    (
        "numa-balancing",
        |it| it.set_key("kernel/numa_balancing", "1"),
        "= 1",
        "sysctl -w kernel.numa_balancing=0",
    ),
    (
        "autogroup",
        |it| it.set_key("kernel/sched_autogroup_enabled", "1"),
        "= 1",
        "sysctl -w kernel.sched_autogroup_enabled=0",
    ),
    (
        "machine-check-poll",
        |it| {
            it.set("/sys/devices/system/machinecheck/machinecheck0/check_interval", "12c");
        },
        "check_interval = 12c",
        "echo 0 > /sys/devices/system/machinecheck",
    ),
    (
        "mitigations",
        |it| {
            let folder = "/sys/devices/system/cpu/vulnerabilities";
            it.set(&format!("{folder}/meltdown"), "Mitigation: PTI");
        },
        "1 are on: meltdown",
        "boot with mitigations=off",
    ),
    ("audit", |it| it.task(700, "auditd", 0, 0), "auditd runs", "audit=0"),
    (
        "governor",
        |it| it.set_of_cpu("cpufreq/scaling_governor", "powersave"),
        "CPU 3: powersave",
        "for cpu in 3; do echo performance",
    ),
    (
        "frequency-min",
        |it| it.set_of_cpu("cpufreq/scaling_min_freq", "800000"),
        "CPU 3: 800 to 3600 MHz",
        "scaling_min_freq",
    ),
    (
        "energy-preference",
        |it| it.set_of_cpu("cpufreq/energy_performance_preference", "balance_power"),
        "balance_power",
        "energy_performance_preference",
    ),
    (
        "idle-states",
        |it| it.set_of_cpu("cpuidle/state1/disable", "0"),
        "CPU 3: C6 takes 133 us",
        "for cpu in 3; do for state in",
    ),
    (
        "heat",
        |it| it.set_of_cpu("thermal_throttle/core_throttle_count", "4"),
        "slowed down 4 times",
        "fans",
    ),
    (
        "transparent-hugepages",
        |it| it.set("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never"),
        "always",
        "echo never >",
    ),
    (
        "hugepages",
        |it| {
            let text = "MemTotal: 8000000 kB\nMemAvailable: 4000000 kB\nHugePages_Free: 0";
            it.set("/proc/meminfo", text);
        },
        "0 are free",
        "sysctl -w vm.nr_hugepages=512",
    ),
    (
        "hugepages-node",
        |it| {
            let folder = "/sys/devices/system/node/node0/hugepages/hugepages-2048kB";
            it.set(&format!("{folder}/free_hugepages"), "0");
        },
        "node 0: 0 free",
        "echo 512 > /sys/devices/system/node/node0",
    ),
    (
        "swap",
        |it| it.set("/proc/swaps", "Filename Type\n/dev/sda2 partition"),
        "vm.swappiness = 60",
        "sysctl -w vm.swappiness=10",
    ),
    ("statistics-interval", |it| it.set_key("vm/stat_interval", "1"), "= 1", "vm.stat_interval"),
    (
        "compaction",
        |it| it.set_key("vm/compaction_proactiveness", "20"),
        "= 20",
        "vm.compaction_proactiveness=0",
    ),
    ("zone-reclaim", |it| it.set_key("vm/zone_reclaim_mode", "1"), "= 1", "vm.zone_reclaim_mode=0"),
    ("page-merging", |it| it.set("/sys/kernel/mm/ksm/run", "1"), "it runs", "ksm/run"),
    (
        "memory-available",
        |it| {
            let text = "MemTotal: 8000000 kB\nMemAvailable: 400000 kB\nHugePages_Free: 1";
            it.set("/proc/meminfo", text);
        },
        "5%",
        "end what needs",
    ),
    (
        "memory-pressure",
        |it| it.set("/proc/pressure/memory", "some avg10=9.00 avg60=1.25 avg300=0.00"),
        "1.25%",
        "end what needs",
    ),
    (
        "shm-size",
        |it| it.set("/proc/self/mounts", "shm /dev/shm tmpfs rw,size=65536k 0 0"),
        "64 MiB",
        "mount -o remount,size=1g /dev/shm",
    ),
    (
        "shm-mount",
        |it| it.set("/proc/self/mounts", "shm /dev/shm tmpfs ro,size=1g 0 0"),
        "read only",
        "mount -o remount,rw /dev/shm",
    ),
    (
        "receive-buffers",
        |it| it.set_key("net/core/rmem_max", "212992"),
        "= 212992",
        "sysctl -w net.core.rmem_max=8388608",
    ),
    ("send-buffers", |it| it.set_key("net/core/wmem_max", "212992"), "= 212992", "wmem_max"),
    (
        "packet-backlog",
        |it| it.set_key("net/core/netdev_max_backlog", "1000"),
        "= 1000",
        "net.core.netdev_max_backlog=10000",
    ),
    ("busy-read", |it| it.set_key("net/core/busy_read", "0"), "= 0", "net.core.busy_read=50"),
    ("busy-poll", |it| it.set_key("net/core/busy_poll", "0"), "= 0", "net.core.busy_poll=50"),
    (
        "slow-start-after-idle",
        |it| it.set_key("net/ipv4/tcp_slow_start_after_idle", "1"),
        "= 1",
        "sysctl -w net.ipv4.tcp_slow_start_after_idle=0",
    ),
    (
        "udp-losses",
        |it| it.set("/proc/net/snmp", "Udp: InDatagrams RcvbufErrors\nUdp: 9 12"),
        "12 datagrams",
        "ss -uampn",
    ),
    (
        "reverse-path",
        |it| it.set_key("net/ipv4/conf/eth0/rp_filter", "1"),
        "strict on eth0",
        "net/ipv4/conf/eth0/rp_filter=2",
    ),
    (
        "nic-link",
        |it| it.set("/sys/class/net/eth0/operstate", "down"),
        "eth0: down",
        "ip link set dev eth0 up",
    ),
    (
        "nic-losses",
        |it| it.set_later("/sys/class/net/eth0/statistics/rx_missed_errors", "8"),
        "rx_missed_errors 8 just now, 8 since the boot",
        "ethtool -G eth0 rx 4096",
    ),
    (
        "nic-node",
        |it| {
            it.set("/sys/devices/system/node/node0/cpulist", "2-3");
            it.set("/sys/devices/system/node/node1/cpulist", "0-1");
            it.set("/sys/class/net/eth0/device/numa_node", "1");
        },
        "eth0: node 1 with CPUs 0-1",
        "the node of eth0",
    ),
    (
        "nic-interrupts",
        |it| it.set("/proc/irq/41/effective_affinity_list", "2-3"),
        "eth0: lines 41 come to these CPUs",
        "for irq in 41; do echo 0-2 >",
    ),
    (
        "nic-coalescing",
        |it| {
            let coalescing = Ok(Coalescing { receive_us: 8, is_adaptive: true });
            it.answers
                .nics
                .insert("eth0".to_owned(), taut_sys::NicSettings { coalescing, ..nic() });
        },
        "rx-usecs 8, adaptive-rx on",
        "ethtool -C eth0 adaptive-rx off rx-usecs 0",
    ),
    (
        "nic-ring",
        |it| {
            let receive_ring = Ok((256, 8_192));
            let nic = taut_sys::NicSettings { receive_ring, ..nic() };
            it.answers.nics.insert("eth0".to_owned(), nic);
        },
        "256 of at most 8192",
        "ethtool -G eth0 rx 4096",
    ),
    (
        "nic-time-stamps",
        |it| {
            let time_stamping = Ok((false, Some(0)));
            let nic = taut_sys::NicSettings { time_stamping, ..nic() };
            it.answers.nics.insert("eth0".to_owned(), nic);
        },
        "in software alone",
        "a card that stamps",
    ),
    (
        "nic-clock",
        |it| {
            let time_stamping = Ok((true, None));
            let nic = taut_sys::NicSettings { time_stamping, ..nic() };
            it.answers.nics.insert("eth0".to_owned(), nic);
        },
        "eth0: none",
        "a PTP clock",
    ),
    (
        "nic-deferral",
        |it| it.set("/sys/class/net/eth0/napi_defer_hard_irqs", "0"),
        "deferred 0 times",
        "echo 2 > /sys/class/net/eth0/napi_defer_hard_irqs",
    ),
    (
        "locked-memory",
        |it| it.set("/proc/self/limits", "Max locked memory   8388608  8388608 bytes"),
        "8388608 bytes",
        "memlock unlimited",
    ),
    (
        "real-time-priority",
        |it| it.set("/proc/self/limits", "Max realtime priority   0  0"),
        "0",
        "rtprio 99",
    ),
    ("nice", |it| it.set("/proc/self/limits", "Max nice priority   0  0"), "0", "nice -20"),
    (
        "open-files",
        |it| it.set("/proc/self/limits", "Max open files   1024  4096 files"),
        "1024",
        "nofile 65536",
    ),
    (
        "network-admin",
        |it| it.set("/proc/self/status", "CapEff: 2000"),
        "does not have it",
        "setcap",
    ),
    (
        "io-uring",
        |it| {
            it.set_key("kernel/io_uring_disabled", "2");
            it.answers.io_uring = Some(Err(SysError::from_errno("set up ring", 1)));
        },
        "kernel.io_uring_disabled = 2",
        "sysctl -w kernel.io_uring_disabled=0",
    ),
    (
        "seccomp",
        |it| it.set("/proc/self/status", "Seccomp:\t2\nSeccomp_filters:\t1"),
        "a filter",
        "seccomp",
    ),
    (
        "virtual-machine",
        |it| it.set("/proc/cpuinfo", "flags\t\t: tsc hypervisor"),
        "a virtual machine",
        "the machine that will trade",
    ),
    (
        "stolen-time",
        |it| it.set_later("/proc/stat", "cpu0 9 9 9 9 0 0 0 0\ncpu3 190 0 0 900 0 0 0 10"),
        "10.0% just now, 0.9% since the boot",
        "dedicated",
    ),
    ("container", |it| it.set("/.dockerenv", ""), "made by Docker", "--network host"),
    (
        "cpu-quota",
        |it| it.set("/sys/fs/cgroup/cpu.max", "50000 100000"),
        "/sys/fs/cgroup: 50000 100000 us",
        "echo max > /sys/fs/cgroup/cpu.max",
    ),
    (
        "cpu-throttled",
        |it| {
            it.set("/sys/fs/cgroup/trading/cpu.stat", "nr_periods 9\nnr_throttled 4");
            it.set_later("/sys/fs/cgroup/trading/cpu.stat", "nr_periods 9\nnr_throttled 7");
        },
        "/sys/fs/cgroup/trading: stopped 3 times just now, 7 in all",
        "cpu-quota",
    ),
    (
        "cpu-pressure",
        |it| it.set("/proc/pressure/cpu", "some avg10=9.00 avg60=40.25 avg300=0.00"),
        "40.25%",
        "`top`",
    ),
];

#[test]
fn all_is_well_on_a_machine_that_is_as_it_should_be() {
    let diagnosis = Fake::good().diagnose();
    for it in &diagnosis.checks {
        assert_eq!(it.verdict, Verdict::Ok, "{}: {}", it.name, it.found);
        assert!(it.fix.is_none(), "{}", it.name);
    }
    assert_eq!((diagnosis.ok, diagnosis.unseen), (checks().count(), 0));
    assert_eq!(diagnosis.wrong, WrongCounts::default());
}

#[test]
fn every_check_sees_what_is_wrong_says_what_is_and_what_mends_it() {
    let mut left: Vec<&str> = checks().map(|check| check.name).collect();
    for (name, spoil, found, fix) in SPOILT {
        let mut fake = Fake::good();
        spoil(&mut fake);
        let diagnosis = fake.diagnose();
        let it = diagnosis.check(name).expect("a check of this name");
        assert_eq!(it.verdict, Verdict::Wrong, "{name}: {}", it.found);
        assert!(it.found.contains(found), "{name}: {}", it.found);
        let mended = it.fix.as_ref().map(ToString::to_string).unwrap_or_default();
        assert!(mended.contains(fix), "{name}: {mended}");
        left.retain(|other| other != name);
    }
    assert_eq!(left, [""; 0], "no case spoils these");
}

#[test]
fn what_cannot_be_seen_is_neither_good_nor_bad() {
    let diagnosis = Fake::silent().diagnose();
    for it in &diagnosis.checks {
        assert_eq!(it.verdict, Verdict::Unseen, "{}: {}", it.name, it.found);
        assert!(!it.found.is_empty() && it.fix.is_none(), "{}", it.name);
    }
    assert_eq!(diagnosis.unseen, checks().count());
}

#[test]
fn a_virtual_machine_says_that_its_host_decides() {
    let mut fake = Fake::good();
    fake.set("/proc/cpuinfo", "flags\t\t: tsc constant_tsc nonstop_tsc hypervisor");
    fake.remove("/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor");
    let diagnosis = fake.diagnose();
    assert!(diagnosis.virtual_machine);
    let governor = diagnosis.check("governor").expect("a check");
    assert_eq!(governor.verdict, Verdict::Unseen);
    assert!(governor.found.contains("in this virtual machine"), "{}", governor.found);
    assert!(governor.found.contains("the hypervisor's host decides"), "{}", governor.found);
    let sibling = diagnosis.check("smt-sibling").expect("a check");
    assert_eq!(sibling.verdict, Verdict::Unseen, "a host may run two guests on one core");
}

#[test]
fn a_thread_that_sleeps_needs_no_silent_timer() {
    let mut fake = Fake::good();
    fake.set("/sys/devices/system/cpu/nohz_full", "");
    fake.set("/proc/cmdline", "ro");
    fake.target.gateway.as_mut().expect("a gateway").wait = "block";
    let diagnosis = fake.diagnose();
    for name in ["nohz-full", "rcu-callbacks"] {
        let it = diagnosis.check(name).expect("a check");
        assert_eq!(it.verdict, Verdict::Ok, "{name}");
        assert!(it.found.contains("does not need it"), "{name}: {}", it.found);
    }
}

#[test]
fn a_gateway_in_a_group_that_is_throttled_is_seen_from_outside() {
    let mut fake = Fake::good();
    fake.task(900, "taut", 3, 100);
    fake.set("/proc/900/cgroup", "0::/gateways/one");
    fake.set("/sys/fs/cgroup/gateways/one/cpu.stat", "nr_throttled 1");
    fake.set_later("/sys/fs/cgroup/gateways/one/cpu.stat", "nr_throttled 3");
    fake.set("/sys/fs/cgroup/gateways/cpu.max", "150000 100000");
    for (name, found) in [
        ("cpu-throttled", "/sys/fs/cgroup/gateways/one: stopped 2 times just now, 3 in all"),
        ("cpu-quota", "/sys/fs/cgroup/gateways: 150000 100000 us"),
    ] {
        assert_eq!(fake.judge(name), (Verdict::Wrong, found.to_owned()));
    }
}

#[test]
fn without_a_named_cpu_the_isolated_ones_are_judged_or_the_last_one() {
    let mut fake = Fake::good();
    fake.target = taut_doctor::Target::default();
    assert_eq!(fake.diagnose().cpus, "3");
    fake.set("/sys/devices/system/cpu/isolated", "1-2");
    assert_eq!(fake.diagnose().cpus, "1-2");
    fake.set("/sys/devices/system/cpu/isolated", "");
    fake.set("/sys/devices/system/cpu/online", "0-1");
    assert_eq!(fake.diagnose().cpus, "1");
}

#[test]
fn an_address_is_judged_by_the_interface_that_leads_there() {
    let mut fake = Fake::good();
    fake.set(
        "/proc/net/route",
        "Iface Destination\neth1 000200C0 0 1 0 0 0 00FFFFFF\n\
             eth0 00000000 010200C0 3 0 0 0 00000000",
    );
    for (address, interfaces) in
        [([192, 0, 2, 9], &["eth1"][..]), ([8, 8, 8, 8], &["eth0"]), ([127, 0, 0, 1], &[])]
    {
        fake.target.interfaces.clear();
        fake.target.addresses = vec![address.into()];
        assert_eq!(fake.diagnose().interfaces, interfaces, "{address:?}");
    }
}

#[test]
fn a_clock_that_is_kept_badly_is_wrong_too() {
    let mut fake = Fake::good();
    let clock = fake.answers.clock.as_mut().expect("asked").as_mut().expect("told");
    clock.error_expected = Nanos::from_millis(5);
    let diagnosis = fake.diagnose();
    let it = diagnosis.check("clock-synchronised").expect("a check");
    assert_eq!(it.verdict, Verdict::Wrong, "{}", it.found);
    assert!(it.found.contains("5000 us"), "{}", it.found);
}
