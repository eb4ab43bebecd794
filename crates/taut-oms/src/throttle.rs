//! A bounded rate on virtual time.

use taut_types::Nanos;

/// How many actions pass: `per_second` on average, `burst` at once. With either 0 none does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rate {
    /// Actions a second.
    pub per_second: u32,
    /// Actions at once.
    pub burst: u32,
}

impl Rate {
    /// As many as a program can send.
    pub const UNLIMITED: Self = Self { per_second: u32::MAX, burst: u32::MAX };
}

/// Lets actions through at a [`Rate`]: the generic cell rate algorithm (ITU-T I.371), whose state
/// is one time.
#[derive(Clone, Copy, Debug)]
pub struct Throttle {
    /// When the next action is within the rate: the time at which it would be on schedule, less
    /// the lead.
    free_at: Nanos,
    /// Time between two actions at the rate.
    interval: Nanos,
    /// How far ahead of the schedule an action may come.
    lead: Nanos,
    /// Nothing passes, at whatever time.
    is_closed: bool,
}

impl Throttle {
    /// With the whole burst to spend at `now`.
    #[must_use]
    pub fn new(rate_per_second: u32, burst: u32, now: Nanos) -> Self {
        let mut throttle =
            Self { free_at: now, interval: Nanos::ZERO, lead: Nanos::ZERO, is_closed: false };
        throttle.set_rate(Rate { per_second: rate_per_second, burst });
        throttle
    }

    /// Another rate from now on; what was spent stays spent.
    pub fn set_rate(&mut self, rate: Rate) {
        let Rate { per_second, burst } = rate;
        self.is_closed = per_second == 0 || burst == 0;
        if !self.is_closed {
            let scheduled = self.free_at + self.lead;
            // Rounded up: a rate that does not divide a second is never exceeded.
            self.interval = Nanos(1_000_000_000_u32.div_ceil(per_second).into());
            self.lead = Nanos(self.interval.0.saturating_mul(i64::from(burst) - 1));
            self.free_at = scheduled - self.lead;
        }
    }

    /// Whether one more action is within the rate at `now`.
    #[must_use]
    #[inline]
    pub fn allows(&self, now: Nanos) -> bool {
        self.free_at <= now && !self.is_closed
    }

    /// Counts an action that is within the rate.
    #[inline]
    pub fn count(&mut self, now: Nanos) {
        // No time is so early that the lead, at most 136 years, goes below the first.
        let earliest = Nanos(now.0.wrapping_sub(self.lead.0));
        self.free_at = self.free_at.max(earliest) + self.interval;
    }

    /// Whether one more action is within the rate at `now`; if so, it is counted.
    #[must_use]
    #[inline]
    pub fn take(&mut self, now: Nanos) -> bool {
        let is_allowed = self.allows(now);
        if is_allowed {
            self.count(now);
        }
        is_allowed
    }

    /// How many actions are within the rate at `now`, one after the other.
    #[must_use]
    pub fn left(&self, now: Nanos) -> u32 {
        if !self.allows(now) {
            return 0;
        }
        let earliest = self.free_at.max(Nanos(now.0.wrapping_sub(self.lead.0)));
        let left = now.since(earliest).0 / self.interval.0.max(1) + 1;
        u32::try_from(left).unwrap_or(u32::MAX)
    }

    /// When the next action is within the rate; [`Nanos::MAX`] when none ever is.
    #[must_use]
    pub const fn free_at(&self) -> Nanos {
        if self.is_closed { Nanos::MAX } else { self.free_at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lets_a_burst_and_then_the_rate_through() {
        let mut throttle = Throttle::new(1_000, 5, Nanos::ZERO);
        let taken = (0..10).filter(|_| throttle.take(Nanos::ZERO)).count();
        assert_eq!(taken, 5);
        let taken = (1..=1_000).filter(|ms| throttle.take(Nanos::from_millis(*ms))).count();
        assert_eq!(taken, 1_000);
        assert!(!throttle.take(Nanos::from_millis(1_000)));
    }

    #[test]
    fn a_rate_of_zero_lets_nothing_through() {
        let mut throttle = Throttle::new(0, 5, Nanos::ZERO);
        assert!(!throttle.take(Nanos::ZERO));
        assert!(!throttle.take(Nanos::from_secs(86_400)));
    }

    #[test]
    fn a_burst_of_zero_lets_nothing_through() {
        let mut throttle = Throttle::new(1_000, 0, Nanos::ZERO);
        assert!(!throttle.take(Nanos::from_secs(86_400)));
    }

    #[test]
    fn it_says_when_the_next_one_passes() {
        let mut throttle = Throttle::new(10, 2, Nanos::ZERO);
        assert_eq!(throttle.left(Nanos::ZERO), 2);
        assert!(throttle.take(Nanos::ZERO));
        assert_eq!(throttle.left(Nanos::ZERO), 1);
        assert!(throttle.take(Nanos::ZERO));
        assert_eq!(
            [0, 99, 100, 200, 900].map(|ms| throttle.left(Nanos::from_millis(ms))),
            [0, 0, 1, 2, 2]
        );
        assert_eq!(throttle.free_at(), Nanos::from_millis(100));
        assert!(!throttle.take(Nanos::from_millis(99)));
        assert!(throttle.take(Nanos::from_millis(100)));
    }

    #[test]
    fn another_rate_keeps_what_was_spent() {
        let mut throttle = Throttle::new(10, 2, Nanos::ZERO);
        assert!(throttle.take(Nanos::ZERO) && throttle.take(Nanos::ZERO));
        throttle.set_rate(Rate { per_second: 10, burst: 3 });
        assert!(throttle.take(Nanos::ZERO), "the larger burst has one more");
        throttle.set_rate(Rate::default());
        assert!(!throttle.take(Nanos::from_secs(10)));
        throttle.set_rate(Rate::UNLIMITED);
        assert!((0..1_000_000).all(|_| throttle.take(Nanos::from_secs(10))));
    }

    #[test]
    fn time_that_goes_back_gives_nothing() {
        let mut throttle = Throttle::new(1, 1, Nanos::from_secs(100));
        assert!(throttle.take(Nanos::from_secs(100)));
        assert!(!throttle.take(Nanos::from_secs(1)));
        assert!(!throttle.take(Nanos::from_secs(100)));
    }

    #[test]
    fn a_rate_that_does_not_divide_a_second_is_never_exceeded() {
        for rate in [3, 7, 600_000_000, 2_000_000_000] {
            let mut throttle = Throttle::new(rate, 1, Nanos::ZERO);
            let passed = (1..=100).filter(|now| throttle.take(Nanos(*now))).count() as u64;
            // The burst, and what the time that has passed allows.
            let allowed = 1 + 100 * u64::from(rate) / 1_000_000_000;
            assert!(passed <= allowed, "{rate} a second: {passed} of {allowed} in 100 ns");
        }
    }
}
