//! What a session counts.

/// What a session has seen since it was built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Well-framed messages received.
    pub received: u64,
    /// Messages written, administrative ones included.
    pub sent: u64,
    /// Runs of bytes that were no message, and messages with a broken field: ignored.
    pub garbled: u64,
    /// Messages that were answered with a Reject or a BusinessMessageReject.
    pub rejected: u64,
    /// Messages that came again (PossDupFlag) and were ignored.
    pub duplicates: u64,
    /// Messages that were ignored because others before them are missing.
    pub out_of_sequence: u64,
    /// ResendRequests that were sent.
    pub gaps: u64,
    /// ResendRequests that were received and are answered: the peer has missed messages, and what
    /// the store does not have of them becomes a gap fill.
    pub resends: u64,
    /// SequenceResets, gap fills or not, with which the peer passed over numbers: what they stood
    /// for does not come any more.
    pub passed_over: u64,
}
