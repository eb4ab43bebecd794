//! What a channel has done so far.

/// Counters of a publication or a subscription, since it was opened. What does not apply stays 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Messages that were offered and taken.
    pub sent: u64,
    /// Messages that were handed to the application.
    pub received: u64,
    // Not behind `sent`: as neighbours they are added as a vector, in six instructions, not two.
    /// The bytes of what was sent.
    pub sent_bytes: u64,
    /// The bytes of what was received.
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
#[derive(Clone, Copy, Debug)]
pub(crate) struct PollGap {
    last_ns: i64,
    max_ns: i64,
}

/// There was no look yet: no time is later.
const NEVER: i64 = i64::MAX;

impl Default for PollGap {
    fn default() -> Self {
        Self { last_ns: NEVER, max_ns: 0 }
    }
}

impl PollGap {
    #[inline]
    pub(crate) const fn note(&mut self, now: taut_types::Nanos) {
        // Once a message, and hardly ever true: what may overflow is looked at again.
        if now.0.wrapping_sub(self.last_ns) > self.max_ns {
            self.widen(now.0);
        }
        self.last_ns = now.0;
    }

    #[cold]
    const fn widen(&mut self, now: i64) {
        if self.last_ns != NEVER && now > self.last_ns {
            self.max_ns = now.saturating_sub(self.last_ns);
        }
    }

    pub(crate) const fn max_ns(&self) -> u64 {
        self.max_ns.unsigned_abs()
    }
}
