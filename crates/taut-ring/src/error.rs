//! Why memory cannot hold a structure.

use core::fmt;

/// Why memory cannot hold a structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RingError {
    /// The slot count is not a power of two, or below two.
    SlotCount {
        /// Slots that were asked for.
        slots: usize,
    },
    /// The capacity of a byte log is not a power of two, or below 512 bytes.
    LogBytes {
        /// Bytes that were asked for.
        bytes: usize,
    },
    /// The memory has another number of words than the structure needs.
    TooSmall {
        /// Words needed.
        need: usize,
        /// Words there are.
        have: usize,
    },
    /// The last producer at this place died in a claim that the reader has not skipped yet.
    Claimed {
        /// The place's number.
        place: usize,
    },
    /// The words that tell where to begin contradict each other, however often they are read:
    /// somebody writes garbage.
    Unsteady,
    /// There is no reader or producer place of this number.
    Place {
        /// The number asked for.
        place: usize,
    },
}

impl fmt::Display for RingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SlotCount { slots } => {
                write!(f, "{slots} slots: the count must be a power of two, and at least two")
            }
            Self::LogBytes { bytes } => {
                write!(f, "{bytes} bytes: a log has a power of two, and at least 512")
            }
            Self::TooSmall { need, have } => write!(f, "need {need} words of memory, have {have}"),
            Self::Claimed { place } => {
                write!(f, "place {place} is claimed by a dead producer; poll the reader first")
            }
            Self::Unsteady => f.write_str("its control words contradict each other"),
            Self::Place { place } => write!(f, "there is no place {place}"),
        }
    }
}

impl core::error::Error for RingError {}
