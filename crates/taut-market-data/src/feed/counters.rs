//! The account of the incremental channel.

/// What became of the packets of one incarnation of a feed.
///
/// Every sequence number is counted at most once in `applied` and `recovered`, and a number that is
/// in neither is lost. So `applied + recovered + lost(n) == n` holds at any time for every `n`
/// from `applied + recovered` on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Sequences whose packets were handed to the caller: the ticks.
    pub applied: u64,
    /// Sequences that a snapshot covered instead.
    pub recovered: u64,
    /// Packets that had been applied, stored or covered before they came.
    pub duplicates: u64,
    /// How often packets were found missing while the feed was live.
    pub gaps: u64,
    /// Snapshots that were replayed.
    pub snapshots_used: u64,
    /// Snapshots that were larger than the room for them, or contradicted themselves.
    pub snapshots_refused: u64,
    /// Packets that were stored.
    pub stored: u64,
    /// Packets that were stored or offered and then dropped for want of room: a snapshot has to
    /// cover them.
    pub dropped: u64,
    /// Packets, heartbeats and snapshots whose number was too far ahead to be believed at once.
    pub doubted: u64,
    /// Packets of another stream: an old incarnation of the venue, or another venue.
    pub foreign: u64,
    /// The highest sequence known to have been sent, from packets, heartbeats and snapshots.
    pub highest_seen: u64,
}

impl Counters {
    /// How many of the sequences `1..=final_sequence` are neither applied nor recovered.
    #[must_use]
    pub const fn lost(&self, final_sequence: u64) -> u64 {
        final_sequence.saturating_sub(self.applied).saturating_sub(self.recovered)
    }
}
