//! So many orders a second, a second's worth of them at once.

use taut_types::Nanos;

const SECOND: i64 = 1_000_000_000;

/// A bucket of a second's tokens, as one moment: until when those that were taken are paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttle {
    /// Orders a second; nothing where it is no limit.
    pub rate: Option<u32>,
    pub paid_until: Nanos,
}

impl Throttle {
    pub const fn new(rate: Option<u32>) -> Self {
        Self { rate, paid_until: Nanos::ZERO }
    }

    /// What was taken under another rate stays taken.
    pub const fn take_over(&mut self, before: &Self) {
        self.paid_until = before.paid_until;
    }

    /// Takes one at this time.
    ///
    /// # Errors
    /// The rate, where there is none left.
    pub fn take(&mut self, utc: Nanos) -> Result<(), u32> {
        let Some(rate) = self.rate else { return Ok(()) };
        let interval = SECOND / i64::from(rate.max(1));
        // A clock that was set back keeps nobody out for longer than a second.
        let full = utc.0.saturating_add(SECOND);
        let paid = self.paid_until.0.clamp(utc.0, full);
        self.paid_until = Nanos(paid);
        if paid + interval > full {
            return Err(rate);
        }
        self.paid_until = Nanos(paid + interval);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(throttle: &mut Throttle, utc: i64, tries: usize) -> usize {
        (0..tries).filter(|_| throttle.take(Nanos(utc)).is_ok()).count()
    }

    #[test]
    fn a_seconds_worth_comes_at_once_and_then_one_by_one_also_where_the_clock_is_set_back() {
        let mut throttle = Throttle::new(Some(4));
        let start = 1_000 * SECOND;
        assert_eq!(taken(&mut throttle, start, 10), 4);
        assert_eq!(throttle.take(Nanos(start)), Err(4));
        assert_eq!(taken(&mut throttle, start + SECOND / 4, 10), 1);
        assert_eq!(taken(&mut throttle, start + 10 * SECOND, 10), 4);
        // An hour back: it is as if all were taken now.
        let back = start - 3_600 * SECOND;
        assert_eq!(taken(&mut throttle, back, 10), 0);
        assert_eq!(taken(&mut throttle, back + SECOND / 2, 10), 2);
        assert_eq!(taken(&mut Throttle::new(None), start, 1_000), 1_000);
        assert_eq!(taken(&mut Throttle::new(Some(3)), start, 10), 3);
    }
}
