//! What is counted.

/// What a connection counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WsCounters {
    /// Messages.
    pub messages_in: u64,
    /// Bytes in them.
    pub message_bytes_in: u64,
    /// Data frames; as many as messages when nothing is fragmented.
    pub data_frames_in: u64,
    /// Messages that were handed out of the caller's buffer, without a copy.
    pub borrowed_messages: u64,
    /// Messages that came compressed (RFC 7692).
    pub compressed_messages_in: u64,
    /// Bytes that came for them.
    pub compressed_bytes_in: u64,
    /// Pings of the peer.
    pub pings_in: u64,
    /// Pongs of the peer.
    pub pongs_in: u64,
    /// Messages sent.
    pub messages_out: u64,
    /// Bytes in them.
    pub message_bytes_out: u64,
    /// Messages that left compressed.
    pub compressed_messages_out: u64,
    /// Bytes that left for them.
    pub compressed_bytes_out: u64,
    /// Pings of ours.
    pub pings_out: u64,
    /// Pings that were not answered, because the peer does not read and sent another (5.5.3).
    pub pongs_skipped: u64,
}
