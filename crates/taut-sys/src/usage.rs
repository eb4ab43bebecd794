//! What the calling thread has used so far.

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

#[cfg(test)]
mod tests {
    use super::*;

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
