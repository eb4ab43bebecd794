//! A machine made of files, of which everything is as it should be.

use std::collections::BTreeMap;
use std::fs;

use taut_doctor::{Answers, CpuList, Diagnosis, GatewayThread, Machine, Sample, Target, Verdict};
use taut_sys::{ClockDiscipline, Coalescing, NicSettings};
use taut_types::Nanos;

/// A machine to be spoilt.
pub struct Fake {
    files: BTreeMap<String, String>,
    /// What the second look finds in the place of it.
    later: BTreeMap<String, String>,
    pub target: Target,
    pub answers: Answers,
}

/// The CPU that is judged; the others are 0 to 2.
const CPU: &str = "/sys/devices/system/cpu/cpu3";

const FILES: &[(&str, &str)] = &[
    ("/sys/devices/system/cpu/online", "0-3"),
    ("/sys/devices/system/cpu/possible", "0-3"),
    ("/sys/devices/system/cpu/isolated", "3"),
    ("/sys/devices/system/cpu/nohz_full", "3"),
    ("/sys/devices/system/cpu/vulnerabilities/spectre_v2", "Not affected"),
    ("/sys/devices/system/cpu/vulnerabilities/meltdown", "Vulnerable"),
    ("/sys/devices/virtual/workqueue/cpumask", "7"),
    ("/sys/devices/system/machinecheck/machinecheck0/check_interval", "0"),
    ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc"),
    ("/sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet"),
    ("/sys/devices/system/node/node0/cpulist", "0-3"),
    ("/sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages", "512"),
    ("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never"),
    ("/sys/kernel/mm/ksm/run", "0"),
    ("/sys/fs/cgroup/trading/cpu.max", "max 100000"),
    ("/sys/fs/cgroup/trading/cpu.stat", "usage_usec 5\nnr_throttled 0"),
    ("/sys/class/net/lo/operstate", "unknown"),
    ("/sys/class/net/eth0/operstate", "up"),
    ("/sys/class/net/eth0/device/numa_node", "0"),
    ("/sys/class/net/eth0/device/msi_irqs/41", "msix"),
    ("/sys/class/net/eth0/statistics/rx_missed_errors", "0"),
    ("/sys/class/net/eth0/statistics/rx_fifo_errors", "0"),
    ("/sys/class/net/eth0/statistics/rx_errors", "0"),
    ("/sys/class/net/eth0/napi_defer_hard_irqs", "2"),
    ("/sys/class/net/eth0/gro_flush_timeout", "200000"),
    ("/proc/cmdline", "ro skew_tick=1 rcu_nocbs=3 -- skew_tick=0"),
    ("/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu tsc constant_tsc nonstop_tsc\n"),
    ("/proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable: 4000000 kB\nHugePages_Free: 512\n"),
    ("/proc/swaps", "Filename Type Size Used Priority"),
    ("/proc/pressure/cpu", "some avg10=0.00 avg60=0.50 avg300=0.00 total=1\nfull avg10=0.00"),
    ("/proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1"),
    ("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\ntrader:x:1000:1000::/:/bin/sh"),
    ("/proc/1/cgroup", "0::/init.scope"),
    ("/proc/self/cgroup", "1:name=systemd:/\n0::/trading"),
    ("/proc/self/mounts", "proc /proc proc rw 0 0\ntmpfs /dev/shm tmpfs rw,size=1048576k 0 0"),
    (
        "/proc/net/route",
        "Iface Destination Gateway Flags RefCnt Use Metric Mask\neth0 00000000 \
      010200C0 0003 0 0 0 00000000\neth0 000200C0 00000000 0001 0 0 0 00FFFFFF",
    ),
    (
        "/proc/net/snmp",
        "Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors\nUdp: 9 1 0 \
      8 0\nUdpLite: InDatagrams\nUdpLite: 0",
    ),
    (
        "/proc/self/status",
        "Name:\ttaut\nUid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000003000\nSeccomp:\t0\n\
      Cpus_allowed_list:\t0-2\n",
    ),
    (
        "/proc/self/limits",
        "Limit                     Soft Limit           Hard Limit\n\
      Max open files            20000                20000                files\n\
      Max locked memory         unlimited            unlimited            bytes\n\
      Max nice priority         40                   40\n\
      Max realtime priority     99                   99\n",
    ),
    ("/proc/stat", "cpu  1 1 1 1 1 1 1 1\ncpu0 9 9 9 9 0 0 0 0\ncpu3 100 0 0 900 0 0 0 0\n"),
    (
        "/proc/interrupts",
        "      CPU0 CPU1 CPU2 CPU3\n 41:  900 0 0 0 PCI-MSIX 1-edge eth0-rx-0\n\
      LOC: 500 500 500 7 Local timer interrupts\n",
    ),
    ("/proc/irq/default_smp_affinity", "7"),
    ("/proc/irq/41/effective_affinity_list", "0"),
    ("/proc/irq/41/smp_affinity_list", "0-3"),
];

/// Keys of sysctl(8).
const KEYS: &[(&str, &str)] = &[
    ("kernel/watchdog", "0"),
    ("kernel/nmi_watchdog", "0"),
    ("kernel/timer_migration", "0"),
    ("kernel/sched_rt_runtime_us", "-1"),
    ("kernel/numa_balancing", "0"),
    ("kernel/sched_autogroup_enabled", "0"),
    ("kernel/io_uring_disabled", "0"),
    ("vm/stat_interval", "10"),
    ("vm/compaction_proactiveness", "0"),
    ("vm/zone_reclaim_mode", "0"),
    ("vm/swappiness", "60"),
    ("net/core/rmem_max", "4194304"),
    ("net/core/wmem_max", "1048576"),
    ("net/core/netdev_max_backlog", "5000"),
    ("net/core/busy_read", "50"),
    ("net/core/busy_poll", "50"),
    ("net/ipv4/tcp_slow_start_after_idle", "0"),
    ("net/ipv4/conf/all/rp_filter", "0"),
    ("net/ipv4/conf/eth0/rp_filter", "2"),
];

/// Files of the CPU that is judged.
const OF_CPU: &[(&str, &str)] = &[
    ("topology/thread_siblings_list", "3"),
    ("cpufreq/scaling_governor", "performance"),
    ("cpufreq/scaling_min_freq", "3600000"),
    ("cpufreq/scaling_max_freq", "3600000"),
    ("cpufreq/energy_performance_preference", "performance"),
    ("cpuidle/state0/name", "POLL"),
    ("cpuidle/state0/latency", "0"),
    ("cpuidle/state0/disable", "0"),
    ("cpuidle/state1/name", "C6"),
    ("cpuidle/state1/latency", "133"),
    ("cpuidle/state1/disable", "1"),
    ("thermal_throttle/core_throttle_count", "0"),
];

impl Fake {
    /// All is as it should be for a gateway that spins on CPU 3 and trades over eth0.
    pub fn good() -> Self {
        let mut fake = Self {
            files: BTreeMap::new(),
            later: BTreeMap::new(),
            target: Target {
                cpus: CpuList::parse("3").expect("a list"),
                interfaces: vec!["eth0".to_owned()],
                addresses: Vec::new(),
                gateway: Some(GatewayThread { cpu: Some(3), wait: "spin" }),
            },
            answers: Answers {
                nics: BTreeMap::from([("eth0".to_owned(), nic())]),
                pinnable: Some(Ok((0..4).collect())),
                clock: Some(Ok(ClockDiscipline {
                    is_synchronised: true,
                    error_expected: Nanos(30_000),
                    error_max: Nanos(900_000),
                })),
                io_uring: Some(Ok(())),
                program: Some("/opt/the trader/bin/taut".into()),
                process: 77,
            },
        };
        for (path, text) in FILES {
            fake.set(path, text);
        }
        for (key, text) in KEYS {
            fake.set(&format!("/proc/sys/{key}"), text);
        }
        for (file, text) in OF_CPU {
            fake.set(&format!("{CPU}/{file}"), text);
        }
        fake.task(1, "systemd", 0, 5);
        fake.task(500, "chronyd", 1, 5);
        fake.task(77, "taut", 3, 5);
        fake
    }

    /// A machine that says nothing.
    pub fn silent() -> Self {
        let mut fake = Self::good();
        fake.files.clear();
        fake.target.gateway = None;
        fake.answers = Answers::default();
        fake
    }

    /// A file has this text.
    pub fn set(&mut self, path: &str, text: &str) {
        self.files.insert(path.to_owned(), format!("{text}\n"));
    }

    /// A file of the CPU that is judged has this text.
    pub fn set_of_cpu(&mut self, file: &str, text: &str) {
        self.set(&format!("{CPU}/{file}"), text);
    }

    /// A key of sysctl(8) has this value.
    pub fn set_key(&mut self, key: &str, text: &str) {
        self.set(&format!("/proc/sys/{key}"), text);
    }

    /// A file has another text at the second look.
    pub fn set_later(&mut self, path: &str, text: &str) {
        self.later.insert(path.to_owned(), format!("{text}\n"));
    }

    /// A file is not there.
    pub fn remove(&mut self, path: &str) {
        self.files.remove(path).expect("a file that is there");
    }

    /// Every file.
    pub fn paths(&self) -> Vec<String> {
        self.files.keys().cloned().collect()
    }

    /// A process of one thread.
    pub fn task(&mut self, id: u32, name: &str, cpu: usize, ticks: u64) {
        let (path, text) = task(id, name, cpu, ticks);
        self.set(&path, &text);
    }

    /// What the process has used at the second look.
    pub fn task_later(&mut self, id: u32, name: &str, cpu: usize, ticks: u64) {
        let (path, text) = task(id, name, cpu, ticks);
        self.set_later(&path, &text);
    }

    /// What a check comes to, and what it found.
    pub fn judge(&self, name: &str) -> (Verdict, String) {
        let diagnosis = self.diagnose();
        let it = diagnosis.check(name).expect("a check");
        (it.verdict, it.found.clone())
    }

    /// What mends what a check found.
    pub fn fix_of(&self, name: &str) -> String {
        let diagnosis = self.diagnose();
        let it = diagnosis.check(name).expect("a check");
        it.fix.as_ref().unwrap_or_else(|| panic!("{name}: {}", it.found)).to_string()
    }

    /// Looks at it.
    pub fn diagnose(&self) -> Diagnosis {
        // In memory, where there is some: these are many small files.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let folder = folder.expect("a folder");
        let write = |files: &BTreeMap<String, String>| {
            for (path, text) in files {
                let place = folder.path().join(path.trim_start_matches('/'));
                fs::create_dir_all(place.parent().expect("a folder")).expect("a folder");
                fs::write(place, text).expect("a file");
            }
            Sample::take(folder.path())
        };
        let samples = [write(&self.files), write(&self.later)];
        let second = Nanos::from_secs(1);
        let machine = Machine::new(folder.path(), self.target.clone(), samples, second);
        Diagnosis::of(&machine.with_answers(self.answers.clone()))
    }
}

/// An interface as it should be.
pub fn nic() -> NicSettings {
    NicSettings {
        coalescing: Ok(Coalescing { receive_us: 0, is_adaptive: false }),
        receive_ring: Ok((1_024, 4_096)),
        time_stamping: Ok((true, Some(0))),
    }
}

fn task(id: u32, name: &str, cpu: usize, ticks: u64) -> (String, String) {
    let text = format!(
        "{id} ({name}) S 1 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0 5 0 0 0 0 0 0 0 0 0 0 0 0 0 \
         0 0 17 {cpu} 0 0"
    );
    (format!("/proc/{id}/task/{id}/stat"), text)
}
