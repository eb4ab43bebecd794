//! What can go wrong, and whose fault it is.

use core::fmt;

use taut_sys::SysError;

/// Why an operation did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IoError {
    /// The kernel refused or the peer went away.
    System(SysError),
    /// The deadline passed first.
    TimedOut,
    /// Somebody cancelled it or closed its handle.
    Cancelled,
    /// There is no room: nothing was taken.
    Limit(Limit),
    /// The call does not fit its handle.
    Misuse(Misuse),
}

/// What there is no room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// Another source (`LoopConfig::sources_max`).
    Sources,
    /// Another timer (`LoopConfig::timers_max`).
    Timers,
    /// The bytes, behind those that wait to be sent (`LoopConfig::write_bytes_max`).
    WriteBytes,
    /// Another write, behind those that wait (`LoopConfig::writes_max`).
    Writes,
    /// Another post (`LoopConfig::posts_max`).
    Posts,
}

/// How a call does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misuse {
    /// The handle is closed; its index may belong to another source by now.
    StaleHandle,
    /// The source is not of the kind that the call is for.
    WrongKind,
    /// Its sending half is shut down.
    ShutDown,
    /// A period of no length, or a deadline in no time at all.
    ZeroPeriod,
}

impl From<SysError> for IoError {
    fn from(error: SysError) -> Self {
        Self::System(error)
    }
}

impl fmt::Display for IoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(error) => error.fmt(f),
            Self::TimedOut => f.write_str("the deadline passed"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::Limit(limit) => write!(f, "no room for more {limit:?}; raise its limit"),
            Self::Misuse(misuse) => write!(f, "misuse: {misuse:?}"),
        }
    }
}

impl core::error::Error for IoError {}
