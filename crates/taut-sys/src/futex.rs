//! Sleeping on a word of shared memory, and waking who sleeps there.

use taut_sync::atomic::AtomicU32;
use taut_types::Nanos;

use crate::error::SysError;

/// Sleeps while `word` is `expected`, for at most `span`; returns at once when it is not. May wake
/// for no reason. The word may lie in memory that processes share. Cost: one system call.
pub fn futex_wait(word: &AtomicU32, expected: u32, span: Nanos) {
    let ns = span.0.max(0);
    let timeout = libc::timespec { tv_sec: ns / 1_000_000_000, tv_nsec: ns % 1_000_000_000 };
    let address = std::ptr::from_ref(word);
    // SAFETY: the word and the timeout outlive the call; FUTEX_WAIT only reads them. An error
    // (changed word, signal, time-out) means the same to the caller: look again.
    unsafe {
        libc::syscall(libc::SYS_futex, address, libc::FUTEX_WAIT, expected, &raw const timeout);
    }
}

/// Wakes everybody who sleeps on `word`, in all processes. Cost: one system call.
pub fn futex_wake_all(word: &AtomicU32) {
    let address = std::ptr::from_ref(word);
    // SAFETY: the word outlives the call; FUTEX_WAKE uses its address only.
    unsafe {
        libc::syscall(libc::SYS_futex, address, libc::FUTEX_WAKE, i32::MAX);
    }
}

const MEMBARRIER_GLOBAL_EXPEDITED: libc::c_int = 2;
const MEMBARRIER_REGISTER_GLOBAL_EXPEDITED: libc::c_int = 4;

fn membarrier(command: libc::c_int, operation: &'static str) -> Result<(), SysError> {
    // SAFETY: membarrier takes no pointers.
    let result = unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) };
    if result == 0 { Ok(()) } else { Err(SysError::last(operation)) }
}

/// Lets other processes run a memory barrier on this process's CPUs ([`remote_barrier`]), so that
/// this one needs none where it publishes.
///
/// # Errors
/// What `membarrier(2)` says; `ENOSYS` where there is none.
pub fn accept_remote_barriers() -> Result<(), SysError> {
    membarrier(MEMBARRIER_REGISTER_GLOBAL_EXPEDITED, "accept memory barriers")
}

/// Runs a full memory barrier on every CPU that runs a process which accepts it. Cost: a system
/// call and an interrupt for each such CPU, some microseconds.
///
/// # Errors
/// What `membarrier(2)` says.
pub fn remote_barrier() -> Result<(), SysError> {
    membarrier(MEMBARRIER_GLOBAL_EXPEDITED, "memory barrier")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monotonic;
    use taut_sync::atomic::Ordering;

    #[test]
    fn a_sleeper_is_woken_and_a_changed_word_lets_nobody_sleep() {
        let word = AtomicU32::new(0);
        futex_wait(&word, 1, Nanos::from_secs(60));
        let begun = monotonic();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                word.store(1, Ordering::Release);
                futex_wake_all(&word);
            });
            while word.load(Ordering::Acquire) == 0 {
                futex_wait(&word, 0, Nanos::from_secs(60));
            }
        });
        assert!(monotonic().since(begun) < Nanos::from_secs(30));
    }

    #[test]
    fn a_wait_ends_in_time() {
        futex_wait(&AtomicU32::new(7), 7, Nanos(1_000));
    }

    #[test]
    fn barriers_reach_who_accepts_them() {
        accept_remote_barriers().expect("register");
        remote_barrier().expect("barrier");
    }
}
