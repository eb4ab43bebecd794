//! What a channel has done so far.

/// Counters of a publication or a subscription, since it was opened. What does not apply stays 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Messages that were offered and taken.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Messages that were handed to the application.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// What is lost for good, in the channel's measure: messages of a lease, bytes elsewhere.
    pub lost: u64,
    /// Frames that were sent again, or arrived as a repair.
    pub repaired: u64,
    /// Messages dropped by policy, over all subscribers.
    pub dropped: u64,
    /// Subscribers that were left behind for being slow, by policy.
    pub evicted: u64,
    /// Messages or frames that came twice.
    pub duplicated: u64,
    /// Messages or frames that came behind a later one.
    pub reordered: u64,
    /// Offers that were refused for want of room.
    pub back_pressured: u64,
    /// Datagrams, frames or messages that are not what they should be.
    pub malformed: u64,
    /// Peers or datagrams that were refused: authentication, limits.
    pub refused: u64,
    /// Datagrams on the wire, or writes of a stream, both ways.
    pub transfers: u64,
    /// Datagrams that the injected loss dropped.
    pub injected_losses: u64,
    /// The longest time between two polls: how late anything may have been seen.
    pub poll_gap_ns_max: u64,
}

/// Subscribers that left whose counts are kept.
pub(crate) const DEPARTED_MAX: usize = 64;

/// What a publication counted for one subscriber.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SubscriberCounters {
    /// The subscriber, as in [`Event::Connected`](crate::Event::Connected).
    pub session: u64,
    /// Where it is, on a network.
    pub peer: Option<std::net::SocketAddr>,
    /// Whether it is there still.
    pub is_connected: bool,
    /// Messages that were sent to it, whole; in memory, that were put where it reads.
    pub sent: u64,
    /// Messages that the policy dropped for it.
    pub dropped: u64,
    /// Messages that wait for it, on a channel that has a queue for each; of one that is gone,
    /// those that it did not get.
    pub waiting: u64,
    /// Bytes that wait for it, or that it has not read; of one that is gone, those that it left.
    pub waiting_bytes: u64,
}

/// The longest time between two looks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PollGap {
    last_ns: Option<i64>,
    max_ns: u64,
}

impl PollGap {
    #[inline]
    pub(crate) const fn note(&mut self, now: taut_types::Nanos) {
        if let Some(last) = self.last_ns {
            let gap = now.0.saturating_sub(last).unsigned_abs();
            if gap > self.max_ns {
                self.max_ns = gap;
            }
        }
        self.last_ns = Some(now.0);
    }

    pub(crate) const fn max_ns(&self) -> u64 {
        self.max_ns
    }
}
