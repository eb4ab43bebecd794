//! A token bucket on virtual time.

use taut_types::Nanos;

/// Lets a bounded number of actions through: `rate` a second on average, `burst` at once.
#[derive(Clone, Copy, Debug)]
pub struct Throttle {
    /// Time that one action costs.
    cost: Nanos,
    /// The most unused time that is kept.
    credit_max: Nanos,
    credit: Nanos,
    last: Nanos,
}

impl Throttle {
    /// A full bucket at `now`. A rate of 0 lets nothing through, not even a burst.
    #[must_use]
    pub const fn new(rate_per_second: u32, burst: u32, now: Nanos) -> Self {
        let (cost, burst) = match rate_per_second {
            0 => (i64::MAX, 0),
            // Rounded up: a rate that does not divide a second is never exceeded.
            rate => (1_000_000_000_u32.div_ceil(rate) as i64, burst as i64),
        };
        let credit = Nanos(cost.saturating_mul(burst));
        Self { cost: Nanos(cost), credit_max: credit, credit, last: now }
    }

    /// Whether one more action is within the rate at `now`; if so, it is counted.
    #[must_use]
    pub fn take(&mut self, now: Nanos) -> bool {
        self.credit = (self.credit + now.since(self.last)).min(self.credit_max);
        self.last = self.last.max(now);
        let enough = self.credit >= self.cost;
        if enough {
            self.credit = self.credit - self.cost;
        }
        enough
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
