//! Why memory cannot hold a structure.

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
        seat: usize,
    },
    /// There is no reader or producer place of this number.
    Seat {
        /// The number asked for.
        seat: usize,
    },
}
