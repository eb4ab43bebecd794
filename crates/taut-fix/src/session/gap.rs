//! Messages that are missing.

use taut_types::Nanos;

/// Messages that are missing and were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// BeginSeqNo of the last request.
    pub asked_from: u64,
    /// The last number that it asks for, or the last one before a message for which there was no
    /// room: behind it, it is asked again.
    pub asked_to: u64,
    /// Monotonic time of the request.
    pub asked_at: Nanos,
    /// The highest number seen: everything below it is missing.
    pub highest: u64,
}
