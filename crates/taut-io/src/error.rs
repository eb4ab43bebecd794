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
    /// A listener's stream had not proved itself, and its slot was wanted: see
    /// [`Admission`](crate::Admission).
    Evicted,
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
            Self::Evicted => f.write_str("its slot was wanted before its handshake was over"),
            Self::Limit(limit) => limit.fmt(f),
            Self::Misuse(misuse) => misuse.fmt(f),
        }
    }
}

impl core::error::Error for IoError {}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sources => "no room for another source: raise sources_max",
            Self::Timers => "no room for another timer: raise timers_max",
            Self::WriteBytes => "the peer reads too slowly: more than write_bytes_max would wait",
            Self::Writes => "the peer reads too slowly: more than writes_max writes would wait",
            Self::Posts => "no room for another post: raise posts_max",
        })
    }
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::StaleHandle => "the handle is closed",
            Self::WrongKind => "the source is not of the kind that the call is for",
            Self::ShutDown => "the sending half is shut down",
            Self::ZeroPeriod => "a period or deadline of no length",
        })
    }
}

impl core::error::Error for Misuse {}
