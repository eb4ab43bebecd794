//! Whether something keeps the system's clock at UTC.

use taut_types::Nanos;

use crate::error::SysError;

/// How the kernel's clock is kept (`adjtimex(2)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockDiscipline {
    /// A daemon (chrony, ptp4l with phc2sys, ntpd) says that it follows a source.
    pub is_synchronised: bool,
    /// The error that it expects.
    pub error_expected: Nanos,
    /// The error that it vouches for.
    pub error_max: Nanos,
}

/// How the clock of UTC is kept. Changes nothing. Cost: one system call.
///
/// # Errors
/// What `adjtimex(2)` says.
pub fn clock_discipline() -> Result<ClockDiscipline, SysError> {
    // SAFETY: all of it is integers; no mode is set, so that nothing is changed.
    let mut state: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live structure.
    if unsafe { libc::adjtimex(&raw mut state) } < 0 {
        return Err(SysError::last("clock discipline"));
    }
    Ok(ClockDiscipline {
        is_synchronised: state.status & libc::STA_UNSYNC == 0,
        error_expected: Nanos::from_micros(state.esterror),
        error_max: Nanos::from_micros(state.maxerror),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_says_how_its_clock_is_kept() {
        let state = clock_discipline().expect("adjtimex");
        assert!(state.error_max >= Nanos::ZERO && state.error_expected >= Nanos::ZERO);
    }
}
