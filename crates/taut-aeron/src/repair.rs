//! Repairs: which ranges to send again, each once per round trip however many ask, and never more
//! than a share of what is sent.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use taut_types::Nanos;

use crate::destinations::Target;

/// Ranges that wait, and ranges that are remembered as repaired.
const RANGES_MAX: usize = 512;
/// A share of the bytes sent may be repairs: a quarter.
const SHARE: i64 = 4;
/// ... and never less than this many datagrams per round trip.
const FLOOR_DATAGRAMS: i64 = 16;

/// A range to send again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repair {
    pub start: i64,
    pub end: i64,
    pub to: Target,
}

/// The queue of repairs, in the order of positions, with its token bucket.
#[derive(Debug)]
pub struct Repairs {
    waiting: Vec<Repair>,
    recent: VecDeque<(Repair, Nanos)>,
    tokens: i64,
    tokens_max: i64,
    mtu: i64,
    refilled: Nanos,
    free_at: Nanos,
}

impl Repairs {
    pub fn new(mtu: i64, tokens_max: i64) -> Self {
        Self {
            waiting: Vec::with_capacity(RANGES_MAX),
            recent: VecDeque::with_capacity(RANGES_MAX),
            tokens: FLOOR_DATAGRAMS * mtu,
            tokens_max: tokens_max.max(FLOOR_DATAGRAMS * mtu),
            mtu,
            refilled: Nanos::ZERO,
            free_at: Nanos(i64::MIN),
        }
    }

    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// A receiver asks for a range. False when it waits already or was repaired within `span` (less
    /// than a round trip, so that a second loss can be asked for at once).
    pub fn request(&mut self, now: Nanos, wanted: Repair, span: Nanos) -> bool {
        while self.recent.front().is_some_and(|(_, at)| now.since(*at) >= span) {
            self.recent.pop_front();
        }
        let mut start = wanted.start;
        let known = self.recent.iter().map(|(repair, _)| repair).chain(&self.waiting);
        for repair in known {
            let is_same = repair.to == wanted.to || repair.to == Target::All;
            if is_same && repair.start <= start && start < repair.end {
                start = repair.end;
            }
        }
        if start >= wanted.end || self.waiting.len() >= RANGES_MAX {
            return false;
        }
        let at = self.waiting.partition_point(|repair| repair.start <= start);
        self.waiting.insert(at, Repair { start, ..wanted });
        true
    }

    /// The range to repair now, and how many bytes of it. One datagram of the lowest range may go
    /// once per round trip even when the tokens are used up.
    pub fn next(&mut self, now: Nanos, round_trip: Nanos) -> Option<(Repair, i64)> {
        let repair = *self.waiting.first()?;
        self.refill(now, round_trip);
        if self.tokens >= self.mtu {
            return Some((repair, self.tokens));
        }
        (now >= self.free_at).then_some((repair, self.mtu))
    }

    /// When tokens will be there, if a repair waits.
    pub fn next_due(&self, round_trip: Nanos) -> Nanos {
        if self.waiting.is_empty() {
            return Nanos::MAX;
        }
        self.free_at.min(self.refilled + Nanos((round_trip.0 / FLOOR_DATAGRAMS).max(1)))
    }

    /// The first range was sent up to `end`, as so many bytes.
    pub fn sent(&mut self, now: Nanos, end: i64, bytes: i64, round_trip: Nanos) {
        let Some(first) = self.waiting.first_mut() else { return };
        let done = Repair { end: end.min(first.end), ..*first };
        if end >= first.end {
            self.waiting.remove(0);
        } else {
            first.start = end;
        }
        if self.recent.len() >= RANGES_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back((done, now));
        self.tokens -= bytes;
        self.free_at = now + round_trip;
    }

    /// The first range cannot be sent any more.
    pub fn drop_first(&mut self) {
        if !self.waiting.is_empty() {
            self.waiting.remove(0);
        }
    }

    /// New data was sent: a share of it may be repairs.
    #[inline]
    pub fn earn(&mut self, bytes: i64) {
        self.tokens = (self.tokens + bytes / SHARE).min(self.tokens_max);
    }

    fn refill(&mut self, now: Nanos, round_trip: Nanos) {
        let elapsed = now.since(self.refilled).0.min(round_trip.0);
        let share = FLOOR_DATAGRAMS * self.mtu;
        let earned =
            (i128::from(share) * i128::from(elapsed) / i128::from(round_trip.0.max(1))) as i64;
        if earned > 0 {
            self.refilled = now;
            self.tokens = (self.tokens + earned).min(self.tokens_max);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Nanos = Nanos(1000);

    fn range(start: i64, end: i64) -> Repair {
        Repair { start, end, to: Target::All }
    }

    #[test]
    fn a_hundred_receivers_that_lost_the_same_cost_one_repair() {
        let mut repairs = Repairs::new(1408, 0);
        let taken = (0..100).filter(|n| repairs.request(Nanos(*n), range(0, 2816), SPAN)).count();
        assert_eq!(taken, 1);
        let (repair, _) = repairs.next(Nanos(100), SPAN).unwrap();
        repairs.sent(Nanos(100), repair.end, 2816, SPAN);
        assert!(!repairs.request(Nanos(500), range(1408, 2816), SPAN), "on its way");
        assert!(repairs.request(Nanos(1100), range(1408, 2816), SPAN), "lost again");
    }

    #[test]
    fn the_lowest_gap_comes_first_and_what_is_new_in_a_range_is_taken() {
        let mut repairs = Repairs::new(1408, 0);
        assert!(repairs.request(Nanos(0), range(4096, 8192), SPAN));
        assert!(repairs.request(Nanos(0), range(0, 4096), SPAN));
        assert!(repairs.request(Nanos(0), range(4096, 12_288), SPAN));
        assert_eq!(repairs.next(Nanos(0), SPAN).unwrap().0, range(0, 4096));
        assert_eq!(repairs.waiting[2], range(8192, 12_288));
    }

    #[test]
    fn repairs_are_a_quarter_of_what_is_sent_and_never_below_16_datagrams_per_round_trip() {
        let mut repairs = Repairs::new(1000, 1_000_000);
        let mut sent = 0;
        for now in 0..100_000 {
            repairs.request(Nanos(now), range(0, 1000), Nanos(0));
            if let Some((_, bytes)) = repairs.next(Nanos(now), SPAN) {
                assert!(bytes >= 1000);
                repairs.sent(Nanos(now), 1000, 1000, SPAN);
                sent += 1;
            }
        }
        // A hundred round trips, sixteen each, one free each, and what was there at the start.
        assert!((1600..=1720).contains(&sent), "{sent}");
        repairs.earn(400_000);
        assert!(repairs.tokens >= 100_000);
    }
}
