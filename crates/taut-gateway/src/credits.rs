//! The venue's credits: what we may ask for without being cut off.

use taut_oms::Rate;
use taut_types::Nanos;

/// A budget that fills up again while time goes by: never more than its burst, and one request for
/// each interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Credits {
    /// The time that gives back one request.
    interval: Nanos,
    burst: i64,
    /// When it is full.
    full_at: Nanos,
}

impl Credits {
    /// A full one.
    pub(crate) fn new(rate: Rate) -> Self {
        let interval = Nanos(1_000_000_000 / i64::from(rate.per_second.max(1)));
        Self { interval, burst: i64::from(rate.burst.max(1)), full_at: Nanos::ZERO }
    }

    /// Takes one request when so many are left behind it; else when there will be.
    ///
    /// # Errors
    /// The time from which on the request fits.
    #[inline]
    pub(crate) fn take(&mut self, now: Nanos, kept: u32) -> Result<(), Nanos> {
        self.take_many(now, 1, kept)
    }

    /// Takes as much as so many requests, likewise.
    ///
    /// # Errors
    /// The time from which on they fit.
    #[inline]
    pub(crate) fn take_many(&mut self, now: Nanos, count: u32, kept: u32) -> Result<(), Nanos> {
        self.check(now, count, kept)?;
        let taken = Nanos(self.interval.0.saturating_mul(i64::from(count)));
        self.full_at = self.full_at.max(now) + taken;
        Ok(())
    }

    /// Whether so many requests fit, with the kept ones behind them.
    ///
    /// # Errors
    /// The time from which on they fit.
    #[inline]
    pub(crate) fn check(&self, now: Nanos, count: u32, kept: u32) -> Result<(), Nanos> {
        // At this time the budget is so full that these and the kept ones are in it.
        let spendable = self.burst.saturating_sub(i64::from(count) + i64::from(kept)).max(0);
        let due = Nanos(self.full_at.0.saturating_sub(self.interval.0.saturating_mul(spendable)));
        if due > now { Err(due) } else { Ok(()) }
    }

    /// Nothing is left: the venue says so.
    pub(crate) fn drain(&mut self, now: Nanos) {
        self.full_at = now + Nanos(self.interval.0.saturating_mul(self.burst));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_leaves_at_once_and_one_for_each_interval_behind_it() {
        let mut credits = Credits::new(Rate { per_second: 5, burst: 4 });
        let at = |ms| Nanos::from_secs(1) + Nanos::from_millis(ms);
        for _ in 0..4 {
            assert_eq!(credits.take(at(0), 0), Ok(()));
        }
        assert_eq!(credits.take(at(0), 0), Err(at(200)));
        assert_eq!(credits.take(at(199), 0), Err(at(200)));
        assert_eq!(credits.take(at(200), 0), Ok(()));
        assert_eq!(credits.take(at(200), 0), Err(at(400)));
        // What is kept back is another's.
        assert_eq!(credits.take(at(600), 2), Err(at(800)));
        assert_eq!(credits.take(at(600), 0), Ok(()));
        credits.drain(at(10_000));
        assert_eq!(credits.take(at(10_000), 0), Err(at(10_200)));
    }
}
