//! Signals as flags that a loop looks at.

use taut_sync::atomic::{AtomicI64, AtomicU32, Ordering};

use crate::error::SysError;

static STOP_REQUESTS: AtomicU32 = AtomicU32::new(0);
static LAST_SIGNAL: AtomicI64 = AtomicI64::new(0);
static RELOAD_REQUESTS: AtomicU32 = AtomicU32::new(0);
static KILL_REQUESTS: AtomicU32 = AtomicU32::new(0);

/// A signal that asks a process to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopSignal {
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGHUP: the terminal is gone.
    HangUp,
}

extern "C" fn note(signal: libc::c_int) {
    LAST_SIGNAL.store(i64::from(signal), Ordering::Relaxed);
    STOP_REQUESTS.fetch_add(1, Ordering::Relaxed);
}

extern "C" fn note_reload(_: libc::c_int) {
    RELOAD_REQUESTS.fetch_add(1, Ordering::Relaxed);
}

extern "C" fn note_kill(_: libc::c_int) {
    KILL_REQUESTS.fetch_add(1, Ordering::Relaxed);
}

/// From now on SIGINT, SIGTERM and SIGHUP only count: the loop looks at [`stop_requests`]. A
/// blocking wait ends early, as after any signal.
///
/// # Errors
/// What `sigaction(2)` says.
pub fn catch_stop_signals() -> Result<(), SysError> {
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP].into_iter().try_for_each(|it| catch(it, note))
}

/// From now on SIGHUP asks a process that runs by itself for its settings once more: it counts in
/// [`reload_requests`], and not as a stop signal.
///
/// # Errors
/// What `sigaction(2)` says.
pub fn catch_reload_signals() -> Result<(), SysError> {
    catch(libc::SIGHUP, note_reload)
}

/// From now on SIGUSR1 asks a process that trades to stop trading, and not to end: it counts in
/// [`kill_requests`].
///
/// # Errors
/// What `sigaction(2)` says.
pub fn catch_kill_signals() -> Result<(), SysError> {
    catch(libc::SIGUSR1, note_kill)
}

/// The handlers only store to lock-free atomics, which is async-signal-safe.
fn catch(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) -> Result<(), SysError> {
    // SAFETY: a zeroed sigaction is a valid value (no flags, empty mask).
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as libc::sighandler_t;
    // SAFETY: the handler is one of those above: it only stores to lock-free atomics, which is
    // async-signal-safe, and lives as long as the program; the structure outlives the call.
    if unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) } != 0 {
        return Err(SysError::last("catch signal"));
    }
    Ok(())
}

/// Requests for the settings once more, received so far.
#[must_use]
pub fn reload_requests() -> u32 {
    RELOAD_REQUESTS.load(Ordering::Relaxed)
}

/// Requests to stop trading, received so far. Cost: a load.
#[must_use]
pub fn kill_requests() -> u32 {
    KILL_REQUESTS.load(Ordering::Relaxed)
}

/// Asks this process to stop, as a stop signal would.
pub fn stop_request() {
    STOP_REQUESTS.fetch_add(1, Ordering::Relaxed);
}

/// Forgets stop signals: a process that goes on after a run that they ended begins another one.
pub fn forget_stop_requests() {
    STOP_REQUESTS.store(0, Ordering::Relaxed);
}

/// Stop signals received so far.
#[must_use]
pub fn stop_requests() -> u32 {
    STOP_REQUESTS.load(Ordering::Relaxed)
}

/// The last stop signal, if one came.
#[must_use]
pub fn stop_signal() -> Option<StopSignal> {
    match i32::try_from(LAST_SIGNAL.load(Ordering::Relaxed)) {
        Ok(libc::SIGINT) => Some(StopSignal::Interrupt),
        Ok(libc::SIGTERM) => Some(StopSignal::Terminate),
        Ok(libc::SIGHUP) => Some(StopSignal::HangUp),
        _ => None,
    }
}
