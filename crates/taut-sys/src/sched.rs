//! Where and how a thread runs.

use std::num::NonZeroU64;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use taut_types::Nanos;

use crate::error::{SysError, SysResult};

/// The CPUs that this thread may run on, ascending. CPUs that are isolated at the boot
/// (`isolcpus`) are not among them, unless it was pinned there: [`pinnable_cpus`] has them.
///
/// # Errors
/// What `sched_getaffinity(2)` says.
pub fn available_cpus() -> Result<Vec<usize>, SysError> {
    let set = sched_getaffinity(None).during("read affinity")?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
}

/// The CPUs that a thread of this process can be pinned to, ascending: those of its control group
/// that are online, isolated ones too, whatever the affinity of the calling thread is.
///
/// Cost: a thread that asks for all CPUs, reads which of them the kernel gives it, and ends.
///
/// # Errors
/// What `sched_setaffinity(2)` and `sched_getaffinity(2)` say; `EAGAIN` when no thread can be made.
pub fn pinnable_cpus() -> Result<Vec<usize>, SysError> {
    let ask = || {
        let mut all = CpuSet::new();
        (0..CpuSet::MAX_CPU).for_each(|cpu| all.set(cpu));
        sched_setaffinity(None, &all).during("ask for all cpus")?;
        available_cpus()
    };
    let no_thread = SysError::new("ask for all cpus", rustix::io::Errno::AGAIN);
    // The affinity is the thread's own, which ends here.
    std::thread::scope(|scope| {
        let asking = std::thread::Builder::new().spawn_scoped(scope, ask);
        asking.ok().and_then(|asking| asking.join().ok()).unwrap_or(Err(no_thread))
    })
}

/// Pins the calling thread to one CPU.
///
/// # Errors
/// `EINVAL` when there is no such CPU or it is not allowed.
pub fn pin_to_cpu(cpu: usize) -> Result<(), SysError> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(SysError::new("pin to cpu", rustix::io::Errno::INVAL));
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).during("pin to cpu")
}

/// How the calling thread shares its CPU with others, from -20 (it comes first) to 19.
///
/// # Errors
/// What getpriority(2) says.
pub fn nice() -> Result<i8, SysError> {
    let nice = rustix::process::getpriority_process(None).during("nice value")?;
    Ok(i8::try_from(nice).unwrap_or(0))
}

/// Sets how the calling thread shares its CPU with others, from -20 (it comes first) to 19.
///
/// # Errors
/// `EACCES` for a lower value than it has, without `CAP_SYS_NICE` and above its `RLIMIT_NICE`.
pub fn set_nice(nice: i8) -> Result<(), SysError> {
    // Linux means the calling thread by process 0, not all of its process.
    rustix::process::setpriority_process(None, nice.into()).during("set nice value")
}

/// Sets how much later than asked a timed wait of this thread may end (50 us by default).
///
/// # Errors
/// What `PR_SET_TIMERSLACK` says.
pub fn set_timer_slack(slack: Nanos) -> Result<(), SysError> {
    let slack = NonZeroU64::new(slack.0.max(1).unsigned_abs());
    rustix::thread::set_current_timer_slack(slack).during("timer slack")
}

/// Lets another thread of this CPU run, if one is ready.
#[inline]
pub fn yield_cpu() {
    rustix::thread::sched_yield();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_to_a_cpu_that_exists_and_refuses_one_that_does_not() {
        let cpus = available_cpus().expect("affinity");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let last = *cpus.last().expect("a cpu");
                pin_to_cpu(last).expect("pin");
                assert_eq!(available_cpus(), Ok(vec![last]));
                // Who is pinned can be pinned elsewhere, and is not by being asked.
                let pinnable = pinnable_cpus().expect("cpus");
                assert!(cpus.iter().all(|cpu| pinnable.contains(cpu)), "{pinnable:?}");
                assert_eq!(available_cpus(), Ok(vec![last]));
                assert!(pin_to_cpu(1023).is_err());
                assert!(pin_to_cpu(usize::MAX).is_err());
                set_nice(19).expect("nice");
                assert_eq!(nice(), Ok(19));
                set_timer_slack(Nanos(1)).expect("slack");
            });
        });
    }
}
