//! What can go wrong, and whose fault it is.

use core::fmt;

use taut_types::InstrumentId;

use crate::native::codec::EncodeError;

/// Why a datagram was not read or not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SbeError {
    /// The sender's fault: the datagram ends too early, a size contradicts another, or a field has
    /// a value that its type does not name.
    Malformed {
        /// Where in the datagram, in bytes from its start.
        offset: usize,
    },
    /// The packet has no room left for this message: finish it, send it and begin the next.
    Full,
    /// The caller's fault: a buffer shorter than a packet header, a message pushed before `begin`,
    /// or an event that the format has no template for.
    Misuse,
}

impl fmt::Display for SbeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { offset } => write!(f, "malformed packet at byte {offset}"),
            Self::Full => f.write_str("the packet has no room for the message"),
            Self::Misuse => f.write_str(
                "no packet was begun, the buffer is too short, or the event has no template",
            ),
        }
    }
}

impl core::error::Error for SbeError {}

/// The one thing that a message of this crate can be refused for.
impl From<EncodeError> for SbeError {
    #[inline]
    fn from(_: EncodeError) -> Self {
        Self::Full
    }
}

/// Why instruments cannot be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NativeConfigError {
    /// There is none.
    NoInstrument,
    /// Two have this number.
    SameNumber(InstrumentId),
    /// This number is above 2^20.
    NumberTooHigh(InstrumentId),
}

impl fmt::Display for NativeConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoInstrument => f.write_str("no instrument to follow: name one at least"),
            Self::SameNumber(InstrumentId(number)) => {
                write!(f, "two instruments have the number {number}: give each its own")
            }
            Self::NumberTooHigh(InstrumentId(number)) => {
                write!(f, "the instrument number {number} is above 2^20: choose a lower one")
            }
        }
    }
}

impl core::error::Error for NativeConfigError {}
