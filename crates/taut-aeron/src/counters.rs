//! What was sent, received, lost, repaired and refused.

/// What a publication counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PublicationCounters {
    /// Messages taken.
    pub messages: u64,
    /// Bytes sent for the first time, headers included.
    pub sent_bytes: u64,
    /// Runs handed to the driver.
    pub runs: u64,
    /// Offers refused for want of room.
    pub back_pressured: u64,
    /// Times the receivers' windows held sending back.
    pub limited: u64,
    /// Setups sent.
    pub setups: u64,
    /// Heartbeats sent.
    pub heartbeats: u64,
    /// Status messages taken.
    pub statuses: u64,
    /// NAKs heard.
    pub naks: u64,
    /// NAKs of gaps that were repaired within the last round trip.
    pub naks_suppressed: u64,
    /// Bytes sent again.
    pub repaired_bytes: u64,
    /// Datagrams sent again.
    pub repaired_datagrams: u64,
    /// Receivers dropped for being slow.
    pub evicted: u64,
    /// Datagrams refused: malformed, out of range, from strangers.
    pub invalid: u64,
    /// Strangers that asked for a SETUP and made room for others.
    pub strangers_displaced: u64,
    /// Questions of strangers that were not answered: no more is sent to them than came from them.
    pub unanswered: u64,
}

/// What a subscription counts, over all its images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubscriptionCounters {
    /// Messages handed to the application.
    pub messages: u64,
    /// Datagrams of data that were taken.
    pub datagrams: u64,
    /// Bytes of data that were taken.
    pub received_bytes: u64,
    /// Heartbeats heard.
    pub heartbeats: u64,
    /// Gaps found.
    pub gaps: u64,
    /// Bytes of those gaps.
    pub gap_bytes: u64,
    /// NAKs sent.
    pub naks: u64,
    /// Status messages sent.
    pub statuses: u64,
    /// Datagrams that brought nothing new.
    pub duplicates: u64,
    /// Datagrams beyond the window.
    pub overruns: u64,
    /// Datagrams that found no room for another gap.
    pub gaps_full: u64,
    /// Bytes that were given up (`reliable=false`).
    pub skipped_bytes: u64,
    /// Messages that did not fit the assembly buffer or lost a part.
    pub incomplete: u64,
    /// Datagrams refused: malformed, of unwanted sessions, from strangers.
    pub invalid: u64,
    /// Entries of unknown sessions that made room for others.
    pub sessions_displaced: u64,
    /// Sessions of proved sources for which there was no room: all places for images, or those of
    /// their host, are taken.
    pub images_refused: u64,
    /// Frames of strangers that were not answered: no more is sent to them than came from them.
    pub unanswered: u64,
}
