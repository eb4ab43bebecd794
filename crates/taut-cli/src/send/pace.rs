//! When each message is to be sent.

use taut_types::Nanos;

use super::arguments::Rate;

/// The times of a stream that begins at `start`.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    start: Nanos,
    rate: Rate,
}

impl Pace {
    pub const fn new(start: Nanos, rate: Rate) -> Self {
        Self { start, rate }
    }

    /// When a message is to be sent; nothing where it is sent as soon as it can be.
    #[inline]
    pub fn intended(&self, sequence: u64) -> Option<Nanos> {
        let Rate::Hz(rate) = self.rate else { return None };
        // Seconds and the rest apart: no rounding adds up, and nothing overflows in 292 years.
        let (seconds, rest) = (sequence / rate, sequence % rate);
        let ns = seconds.saturating_mul(1_000_000_000) + rest * 1_000_000_000 / rate;
        Some(self.start + Nanos(i64::try_from(ns).unwrap_or(i64::MAX / 2)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_even_and_no_rounding_adds_up() {
        let pace = Pace::new(Nanos(7), Rate::Hz(3));
        let times = [0, 1, 2, 3, 3_000_000].map(|at| pace.intended(at).map(|time| time.0));
        let expected = [7, 333_333_340, 666_666_673, 1_000_000_007, 1_000_000_000_000_007];
        assert_eq!(times, expected.map(Some));
        assert_eq!(Pace::new(Nanos(7), Rate::Max).intended(1), None);
    }
}
