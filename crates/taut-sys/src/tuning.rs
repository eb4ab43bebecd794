//! How a loop's thread is to run, as options that report what they got.

use crate::error::SysError;
use crate::sched::pin_to_cpu;

/// What a thread asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tuning {
    /// Run on this CPU only.
    pub cpu: Option<usize>,
    /// Run as SCHED_FIFO with this priority (1 to 99). A thread that spins is held to 95 % of each
    /// second by the kernel's default limit (`kernel.sched_rt_runtime_us`).
    pub fifo_priority: Option<i32>,
    /// Keep all memory of the process, now and later, in RAM.
    pub lock_memory: bool,
    /// Touch this many bytes of stack, so that they are there.
    pub prefault_stack_bytes: usize,
}

/// What a thread got: for each option that was asked for, success or the kernel's word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tuned {
    /// Of [`Tuning::cpu`].
    pub cpu: Option<Result<(), SysError>>,
    /// Of [`Tuning::fifo_priority`].
    pub fifo: Option<Result<(), SysError>>,
    /// Of [`Tuning::lock_memory`].
    pub memory: Option<Result<(), SysError>>,
    /// Bytes of stack that were touched.
    pub stack_bytes: usize,
}

impl Tuning {
    /// Asks for everything, for the calling thread. Nothing is fatal: the caller decides by the
    /// report.
    #[must_use]
    pub fn apply(&self) -> Tuned {
        Tuned {
            cpu: self.cpu.map(pin_to_cpu),
            fifo: self.fifo_priority.map(set_fifo_scheduling),
            memory: self.lock_memory.then(lock_memory),
            stack_bytes: prefault_stack(self.prefault_stack_bytes),
        }
    }
}

impl Tuned {
    /// Whether everything that was asked for was granted.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        [self.cpu, self.fifo, self.memory].iter().flatten().all(Result::is_ok)
    }
}

/// Schedules the calling thread as SCHED_FIFO.
///
/// # Errors
/// `EPERM` without the right to; `EINVAL` for a priority beyond 1 to 99.
pub fn set_fifo_scheduling(priority: i32) -> Result<(), SysError> {
    set_scheduling("fifo scheduling", libc::SCHED_FIFO, priority)
}

/// Schedules the calling thread as SCHED_IDLE: it runs while no other thread wants its CPU.
///
/// # Errors
/// What `sched_setscheduler(2)` says.
pub fn set_idle_scheduling() -> Result<(), SysError> {
    set_scheduling("idle scheduling", libc::SCHED_IDLE, 0)
}

fn set_scheduling(what: &'static str, policy: i32, priority: i32) -> Result<(), SysError> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the structure is initialised and outlives the call; pid 0 is the calling thread.
    let result = unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) };
    if result == 0 { Ok(()) } else { Err(SysError::last(what)) }
}

fn lock_memory() -> Result<(), SysError> {
    // SAFETY: the call changes no memory, only where it may be.
    let result = unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) };
    if result == 0 { Ok(()) } else { Err(SysError::last("lock memory")) }
}

/// Touches the stack in steps of a page's quarter, by recursion, so that no frame is large.
fn prefault_stack(bytes: usize) -> usize {
    const STEP: usize = 1024;
    let page = std::hint::black_box([0u8; STEP]);
    let below = if bytes > STEP { prefault_stack(bytes - STEP) } else { 0 };
    below + std::hint::black_box(&page).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_what_it_got_and_asks_for_nothing_by_itself() {
        std::thread::spawn(|| {
            let nothing = Tuning::default().apply();
            assert!(nothing.is_complete() && nothing.cpu.is_none() && nothing.memory.is_none());
            let cpu = crate::available_cpus().expect("cpus").last().copied();
            let tuned = Tuning { cpu, prefault_stack_bytes: 65_536, ..Tuning::default() }.apply();
            assert_eq!(tuned.cpu, Some(Ok(())));
            assert!(tuned.stack_bytes >= 65_536);
            let refused = Tuning { fifo_priority: Some(1_000), ..Tuning::default() }.apply();
            assert_eq!(refused.fifo.and_then(Result::err).map(SysError::errno), Some(22));
            assert!(!refused.is_complete());
            set_idle_scheduling().expect("everybody may");
        })
        .join()
        .expect("thread");
    }
}
