//! Copies of this process, for those who must start and end a thousand of them a second.

use rustix::process::{Pid, WaitOptions, waitpid};

use crate::error::{SysError, SysResult};

/// Runs `child` in a copy of this process, which ends with the status that it returns. The copy
/// dies with this process.
///
/// # Errors
/// `EBUSY` when this process has more than one thread (the copy would have one, and the locks of
/// the others for ever); what `fork(2)` says.
pub fn fork(child: impl FnOnce() -> i32) -> Result<u32, SysError> {
    let threads = std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
    if threads != 1 {
        return Err(SysError::new("fork", rustix::io::Errno::BUSY));
    }
    let parent = std::process::id();
    // SAFETY: there is one thread, so the copy is complete: no lock is held by a thread that it
    // lacks.
    match unsafe { libc::fork() } {
        -1 => Err(SysError::last("fork")),
        0 => {
            // A panic must not unwind into the parent's frames.
            let alive = crate::process::die_with_parent(parent).unwrap_or(false);
            let run = || if alive { child() } else { 1 };
            let status = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).unwrap_or(101);
            // SAFETY: ends the copy without running what the original registered for its own end.
            unsafe { libc::_exit(status) }
        }
        pid => Ok(pid.unsigned_abs()),
    }
}

/// Waits until a child has ended; its exit status, or nothing when a signal ended it.
///
/// # Errors
/// What `waitpid(2)` says.
pub fn wait_for_child(process: u32) -> Result<Option<i32>, SysError> {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or(SysError::new("wait", rustix::io::Errno::INVAL))?;
    let (_, status) = waitpid(Some(pid), WaitOptions::empty())
        .during("wait")?
        .ok_or(SysError::new("wait", rustix::io::Errno::CHILD))?;
    Ok(status.exit_status())
}
