//! Processes: identity, signals, and not outliving the parent.

use rustix::process::{Pid, Signal, kill_process};
use taut_types::Nanos;

use crate::error::{SysError, SysResult};

/// This process.
#[must_use]
pub fn process_id() -> u32 {
    std::process::id()
}

/// This thread, as others find it in `/proc/PROCESS/task`.
#[must_use]
pub fn thread_id() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
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

/// Asks the kernel to kill this process when its parent dies. Returns whether the parent is still
/// the one that is expected.
pub(crate) fn die_with_parent(parent: u32) -> Result<bool, SysError> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
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

/// What the kernel says about a process of this PID namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessState {
    /// It runs, or waits for something.
    Alive,
    /// It was stopped (SIGSTOP, a debugger, a frozen terminal job) and may go on.
    Stopped,
    /// It has ended, or its number belongs to another process by now.
    Gone,
}

/// When a process started, in clock ticks since boot: with its number, its identity.
#[must_use]
pub fn process_started(process: u32) -> Option<u64> {
    stat_fields(process).map(|(_, started)| started)
}

/// What a process is doing, told by its number and start time.
#[must_use]
pub fn process_state(process: u32, started: u64) -> ProcessState {
    match stat_fields(process) {
        Some((_, at)) if at != started => ProcessState::Gone,
        None | Some((b'Z' | b'X', _)) => ProcessState::Gone,
        Some((b'T' | b't', _)) => ProcessState::Stopped,
        Some(_) => ProcessState::Alive,
    }
}

/// How a process shared its CPU with others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// It ran.
    pub ran: Nanos,
    /// It could have run, and another task did.
    pub waited: Nanos,
}

impl CpuTimes {
    /// Of the time that it wanted a CPU, the percentage that it waited for one.
    #[must_use]
    pub fn waited_percent(&self) -> f64 {
        let wanted = self.ran + self.waited;
        if wanted > Nanos::ZERO { 100.0 * self.waited.0 as f64 / wanted.0 as f64 } else { 0.0 }
    }
}

/// What the first thread of a process had of its CPU since it began; `None` where the system does
/// not say (`/proc/PID/schedstat`).
#[must_use]
pub fn cpu_times(process: u32) -> Option<CpuTimes> {
    let text = std::fs::read_to_string(format!("/proc/{process}/schedstat")).ok()?;
    let mut fields = text.split_ascii_whitespace().map_while(|field| field.parse().ok());
    Some(CpuTimes { ran: Nanos(fields.next()?), waited: Nanos(fields.next()?) })
}

/// The nice value of a process, from -20 (it comes before others) to 19.
#[must_use]
pub fn process_nice(process: u32) -> Option<i8> {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw)?;
    i8::try_from(rustix::process::getpriority_process(Some(pid)).ok()?).ok()
}

/// State letter and start time of `/proc/PID/stat`.
fn stat_fields(process: u32) -> Option<(u8, u64)> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, in parentheses, may hold anything: the fields begin behind the last one.
    let mut fields = text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    Some((state, fields.nth(18)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_ran_has_had_its_cpu() {
        let times = cpu_times(process_id()).expect("schedstat");
        assert!(times.ran > Nanos::ZERO && (0.0..100.0).contains(&times.waited_percent()));
        assert_eq!(cpu_times(u32::MAX), None);
        assert!(CpuTimes::default().waited_percent().abs() < f64::EPSILON);
    }

    #[test]
    fn a_process_has_the_nice_value_that_it_set() {
        let own = process_nice(process_id()).expect("a nice value");
        assert!((-20..=19).contains(&own));
        assert_eq!(process_nice(u32::MAX), None);
    }

    #[test]
    fn this_process_is_alive_and_was_not_started_at_another_time() {
        let started = process_started(process_id()).expect("start time");
        assert_eq!(process_state(process_id(), started), ProcessState::Alive);
        assert_eq!(process_state(process_id(), started + 1), ProcessState::Gone);
        assert_eq!(process_state(u32::MAX, started), ProcessState::Gone);
    }
}
