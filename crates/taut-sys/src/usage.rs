//! What the calling thread, this process with its children, and all programs of the machine have
//! used so far.

use rustix::time::{ClockId, clock_gettime};
use taut_types::Nanos;

/// What a thread has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time, in user mode and in the kernel.
    pub cpu: Nanos,
    /// Times that it slept.
    pub voluntary_switches: u64,
    /// Times that the CPU was taken from it.
    pub involuntary_switches: u64,
    /// Times that it touched a page that was not there, or not writable, and the kernel had it
    /// without reading a disk.
    pub page_faults: u64,
}

/// The usage of the calling thread. Cost: two system calls.
#[must_use]
pub fn thread_usage() -> Usage {
    let cpu = clock_gettime(ClockId::ThreadCPUTime);
    // SAFETY: all-zero is a valid rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live rusage. The call cannot fail with these arguments, and if it
    // did the counts would stay zero.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    Usage {
        cpu: Nanos::from_secs(cpu.tv_sec) + Nanos(cpu.tv_nsec),
        voluntary_switches: usage.ru_nvcsw.unsigned_abs(),
        involuntary_switches: usage.ru_nivcsw.unsigned_abs(),
        page_faults: usage.ru_minflt.unsigned_abs(),
    }
}

/// CPU time of this process and of the children that it has waited for, in user mode and in the
/// kernel.
#[must_use]
pub fn family_cpu() -> Nanos {
    let span = |time: libc::timeval| Nanos::from_secs(time.tv_sec) + Nanos(time.tv_usec * 1_000);
    let of = |who| {
        // SAFETY: all-zero is a valid rusage.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: the pointer is to a live rusage. The call cannot fail with these arguments, and
        // if it did the times would stay zero.
        unsafe { libc::getrusage(who, &raw mut usage) };
        span(usage.ru_utime) + span(usage.ru_stime)
    };
    of(libc::RUSAGE_SELF) + of(libc::RUSAGE_CHILDREN)
}

/// What all CPUs of the machine have done together; `None` where `/proc/stat` cannot be read.
#[must_use]
pub fn machine_times() -> Option<CpuTotals> {
    of_all(&std::fs::read_to_string("/proc/stat").ok()?)
}

fn of_all(stat: &str) -> Option<CpuTotals> {
    cpu_totals(stat).find_map(|(cpu, totals)| cpu.is_none().then_some(totals))
}

/// What a CPU has done since the machine started, or all of them together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTotals {
    /// Programs ran, in user mode or in the kernel.
    pub programs: Nanos,
    /// The kernel served interrupts, which is the time of no program.
    pub interrupts: Nanos,
    /// It had work, and the hypervisor had it wait.
    pub stolen: Nanos,
    /// It had nothing to do.
    pub idle: Nanos,
}

impl CpuTotals {
    /// Programs and interrupts.
    #[must_use]
    pub fn busy(self) -> Nanos {
        self.programs + self.interrupts
    }

    /// All of it.
    #[must_use]
    pub fn all(self) -> Nanos {
        self.busy() + self.stolen + self.idle
    }

    /// What came after an earlier look.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self {
            programs: self.programs.since(earlier.programs),
            interrupts: self.interrupts.since(earlier.interrupts),
            stolen: self.stolen.since(earlier.stolen),
            idle: self.idle.since(earlier.idle),
        }
    }
}

/// Both together.
impl std::ops::Add for CpuTotals {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            programs: self.programs + other.programs,
            interrupts: self.interrupts + other.interrupts,
            stolen: self.stolen + other.stolen,
            idle: self.idle + other.idle,
        }
    }
}

/// The CPUs of the text of `/proc/stat`, each with its number, which all of them together have
/// not. It counts in hundredths of a second. A line that is not whole is left out.
pub fn cpu_totals(stat: &str) -> impl Iterator<Item = (Option<usize>, CpuTotals)> + '_ {
    stat.lines().filter_map(parse_cpu)
}

/// `cpuN user nice system idle iowait irq softirq steal ...`; what guests had is in `user`.
fn parse_cpu(line: &str) -> Option<(Option<usize>, CpuTotals)> {
    let mut fields = line.split_ascii_whitespace();
    let number = fields.next()?.strip_prefix("cpu")?;
    let number = if number.is_empty() { None } else { Some(number.parse().ok()?) };
    let mut next = || {
        let hundredths = i64::try_from(fields.next()?.parse::<u64>().ok()?).unwrap_or(i64::MAX);
        Some(Nanos(hundredths.saturating_mul(10_000_000)))
    };
    let programs = next()? + next()? + next()?;
    let idle = next()? + next()?;
    let (interrupts, stolen) = (next()? + next()?, next()?);
    Some((number, CpuTotals { programs, interrupts, stolen, idle }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_busy_for_all_that_is_not_idle_waiting_or_stolen() {
        let text = "cpu  100 20 30 4000 500 6 7 80 9 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
        let hundredths = |n: i64| Nanos(n * 10_000_000);
        let times = of_all(text).expect("a line of all CPUs");
        assert_eq!(times.busy(), hundredths(163));
        assert_eq!((times.stolen, times.all()), (hundredths(80), hundredths(4_743)));
        for text in ["", "cpu0 1 2 3", "cpu  1 2 3\n", "cpu  1 2 3 4 5 6 7 x\n"] {
            assert_eq!(of_all(text), None, "{text}");
        }
        assert!(machine_times().is_some_and(|times| times.busy() > Nanos::ZERO));
    }

    #[test]
    fn each_cpu_has_its_own_times_and_those_of_interrupts_are_apart() {
        let text = "cpu  9 9 9 9 9 9 9 9\ncpu3 1 2 3 40 50 6 7 8 9 9\ncpux 1 1 1 1 1 1 1 1\nctxt 5";
        let hundredths = |n: i64| Nanos(n * 10_000_000);
        let third = CpuTotals {
            programs: hundredths(6),
            interrupts: hundredths(13),
            stolen: hundredths(8),
            idle: hundredths(90),
        };
        let cpus: Vec<_> = cpu_totals(text).collect();
        assert_eq!(cpus.len(), 2);
        assert_eq!(cpus[1], (Some(3), third));
        assert_eq!((third.busy(), third.all()), (hundredths(19), hundredths(117)));
        assert_eq!((third + third).since(third), third);
        assert_eq!(third.since(third + third), CpuTotals::default());
        let most = format!("cpu0 {}", format!("{} ", u64::MAX).repeat(8));
        assert_eq!(cpu_totals(&most).map(|(_, it)| it.all()).next(), Some(Nanos::MAX));
    }

    #[test]
    fn a_process_that_works_has_used_time() {
        let before = family_cpu();
        let mut work = 1u64;
        while family_cpu() <= before {
            work = work.wrapping_mul(3);
        }
        assert_ne!(work, 0);
    }

    #[test]
    fn a_thread_that_works_uses_time() {
        let before = thread_usage();
        let mut work = 1u64;
        while thread_usage().cpu <= before.cpu + Nanos::from_micros(100) {
            work = work.wrapping_mul(3);
        }
        assert_ne!(work, 0);
    }
}
