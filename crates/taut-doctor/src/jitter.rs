//! Hiccups: how long a thread that does nothing but look at the clock does not run.
//!
//! One thread spins on each CPU. Where its clock jumps by [`GAP_MIN`] or more, it did not run
//! meanwhile: an interrupt, another task, the hypervisor or the firmware did. Whatever trades on
//! this CPU has these gaps in its latency, whatever its code is.
//!
//! Behind each gap of [`CAUSE_MIN`] or more the thread asks the kernel what it counted
//! (`getrusage(2)`, two system calls that are not a part of any gap): a switch to another task, or
//! a page fault, is the cause. For the others there is what came to the CPU over the whole run:
//! interrupts by line, and time that the hypervisor took.

mod gaps;
mod spinner;

use std::collections::BTreeMap;
use std::fs;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use taut_sys::{Anchoring, Clock, CpuTotals, SysError, monotonic, utc};
use taut_types::Nanos;

use crate::interrupts::{InterruptCount, Interrupts};
use crate::sample::cpus;
pub use gaps::{ABOVE, CAUSE_MIN, Cause, GAP_MIN, Gap, Gaps, WORST_MAX};

/// How often whoever waits for the threads is told how far they are. Each time is a hiccup of some
/// CPU, so that it is seldom.
const TELL_EVERY: Duration = Duration::from_secs(2);

/// A run.
#[derive(Debug)]
pub struct Jitter {
    /// When it began, UTC.
    pub started_utc: Nanos,
    /// How long it took.
    pub span: Nanos,
    /// The CPUs, ascending.
    pub cpus: Vec<CpuJitter>,
}

/// What happened on a CPU.
#[derive(Debug)]
pub struct CpuJitter {
    /// Its number.
    pub cpu: usize,
    /// The gaps.
    pub gaps: Gaps,
    /// Times that the thread slept, and that the CPU was taken from it.
    pub switches: (u64, u64),
    /// Page faults of the thread.
    pub page_faults: u64,
    /// Time that the hypervisor took from the CPU, to a hundredth of a second; `None` where
    /// `/proc/stat` does not tell.
    pub stolen: Option<Nanos>,
    /// Interrupts of the CPU, the most frequent first.
    pub interrupts: Vec<InterruptCount>,
}

/// Spins on each of these CPUs for a span, or until `is_over`, which the threads and the caller's
/// ask time and again. `tell` is told how much time has passed, every two
/// seconds.
///
/// Cost: these CPUs are busy all the time.
///
/// # Errors
/// What pinning a thread to one of the CPUs says.
pub fn measure(
    cpus: &[usize],
    span: Nanos,
    is_over: impl Fn() -> bool + Sync,
    mut tell: impl FnMut(Nanos),
) -> Result<Jitter, SysError> {
    let clock = Clock::new(Anchoring::start().renew());
    let before = Counters::read();
    let (started_utc, started) = (utc(), monotonic());
    let seen = thread::scope(|scope| {
        let (done, ends) = mpsc::channel();
        for &cpu in cpus {
            let (done, is_over) = (done.clone(), &is_over);
            scope.spawn(move || {
                // Nobody listens any more: then nobody wants to know.
                let _ = done.send((cpu, spinner::spin(cpu, clock, span, is_over)));
            });
        }
        drop(done);
        let mut seen = Vec::with_capacity(cpus.len());
        loop {
            match ends.recv_timeout(TELL_EVERY) {
                Ok(end) => seen.push(end),
                Err(RecvTimeoutError::Timeout) => tell(monotonic().since(started)),
                Err(RecvTimeoutError::Disconnected) => break seen,
            }
        }
    });
    let (span, after) = (monotonic().since(started), Counters::read());
    let mut all = Vec::with_capacity(seen.len());
    for (cpu, end) in seen {
        all.push(before.complete(&after, cpu, end?));
    }
    all.sort_by_key(|one| one.cpu);
    Ok(Jitter { started_utc, span, cpus: all })
}

/// What the kernel counts by CPU.
struct Counters {
    interrupts: Interrupts,
    cpus: BTreeMap<usize, CpuTotals>,
}

impl Counters {
    fn read() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        Self {
            interrupts: Interrupts::parse(&read("/proc/interrupts")),
            cpus: cpus(&read("/proc/stat")),
        }
    }

    fn complete(&self, after: &Self, cpu: usize, seen: spinner::Seen) -> CpuJitter {
        let stolen = after.cpus.get(&cpu).zip(self.cpus.get(&cpu));
        let spinner::Seen { gaps, switches, page_faults } = seen;
        CpuJitter {
            cpu,
            gaps,
            switches,
            page_faults,
            stolen: stolen.map(|(after, before)| after.since(*before).stolen),
            interrupts: after.interrupts.since(&self.interrupts, cpu),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cpu_has_its_gaps_and_they_fit_into_the_run() {
        let cpus = taut_sys::available_cpus().expect("CPUs");
        let jitter =
            measure(&cpus, Nanos::from_millis(200), || false, |_| ()).expect("CPUs that are ours");
        let seen: Vec<usize> = jitter.cpus.iter().map(|one| one.cpu).collect();
        assert_eq!(seen, cpus);
        for one in &jitter.cpus {
            let lost = Nanos(one.gaps.histogram().sum().cast_signed());
            assert!(lost <= jitter.span, "{lost:?} of {:?}", jitter.span);
        }
    }

    #[test]
    fn a_run_that_is_over_ends_at_once_and_one_on_no_cpu_is_refused() {
        let cpus = taut_sys::available_cpus().expect("CPUs");
        let hour = Nanos::from_secs(3_600);
        let jitter = measure(&cpus, hour, || true, |_| ()).expect("CPUs");
        assert!(jitter.span < hour && jitter.cpus.len() == cpus.len());
        assert!(measure(&[1_023], hour, || false, |_| ()).is_err());
    }
}
