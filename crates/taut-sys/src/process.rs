//! Processes: identity, signals, and not outliving the parent.

use rustix::process::{Pid, Signal, kill_process};

use crate::error::{SysError, SysResult};

/// This process.
#[must_use]
pub fn process_id() -> u32 {
    std::process::id()
}

/// The process that this one belongs to now; 0 or another one after the parent died.
#[must_use]
pub fn parent_process_id() -> u32 {
    rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get().cast_unsigned())
}

/// Whether `parent` still is the parent.
#[must_use]
pub fn started_by(parent: u32) -> bool {
    parent_process_id() == parent
}

/// Asks the kernel to wake this process when its parent dies, however it dies: a process that
/// somebody has stopped goes on (SIGCONT), to see that its control socket is at its end. Returns
/// whether the parent is still the one that is expected: it may have died before the call.
///
/// # Errors
/// What `PR_SET_PDEATHSIG` says.
pub fn wake_when_parent_dies(parent: u32) -> Result<bool, SysError> {
    rustix::process::set_parent_process_death_signal(Some(Signal::CONT))
        .during("parent death signal")?;
    Ok(started_by(parent))
}

/// A signal to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessSignal {
    /// SIGINT: please stop, as Ctrl-C says it.
    Interrupt,
    /// SIGTERM: please stop.
    Terminate,
    /// SIGKILL: stop now.
    Kill,
    /// SIGSTOP: pause.
    Pause,
    /// SIGCONT: go on after a pause.
    Continue,
}

/// Sends a signal.
///
/// # Errors
/// `ESRCH` when there is no such process; `EINVAL` for process 0.
pub fn signal_process(process: u32, signal: ProcessSignal) -> Result<(), SysError> {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    let Some(pid) = pid else {
        return Err(SysError::new("signal", rustix::io::Errno::INVAL));
    };
    let signal = match signal {
        ProcessSignal::Interrupt => Signal::INT,
        ProcessSignal::Terminate => Signal::TERM,
        ProcessSignal::Kill => Signal::KILL,
        ProcessSignal::Pause => Signal::STOP,
        ProcessSignal::Continue => Signal::CONT,
    };
    kill_process(pid, signal).during("signal")
}
