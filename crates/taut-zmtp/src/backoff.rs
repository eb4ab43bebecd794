//! When to connect again.

use taut_types::Nanos;

/// Spans that double from the shortest to the longest; half of each is random, so that many
/// subscribers of a publisher that restarts do not come back at the same moment.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    shortest: Nanos,
    longest: Nanos,
    next: Nanos,
}

impl Backoff {
    /// 20 ms to 2 s.
    pub const DEFAULT: Self = Self::new(Nanos::from_millis(20), Nanos::from_secs(2));

    /// From the shortest to the longest span.
    #[must_use]
    pub const fn new(shortest: Nanos, longest: Nanos) -> Self {
        Self { shortest, longest, next: shortest }
    }

    /// The span to the next attempt.
    pub fn failed(&mut self, random: u64) -> Nanos {
        let span = self.next;
        self.next = Nanos(span.0.saturating_mul(2)).min(self.longest);
        let half = (span.0 / 2).max(1);
        Nanos(half + (random % half.unsigned_abs()).cast_signed())
    }

    /// It worked: the next failure starts from the shortest span.
    pub const fn succeeded(&mut self) {
        self.next = self.shortest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_double_to_the_longest_and_start_again_after_success() {
        let mut backoff = Backoff::DEFAULT;
        for expected in [20, 40, 80, 160, 320, 640, 1_280, 2_000, 2_000] {
            let span = backoff.failed(u64::MAX);
            let full = Nanos::from_millis(expected);
            assert!(span >= Nanos(full.0 / 2) && span <= full, "{span:?} of {expected} ms");
        }
        backoff.succeeded();
        assert!(backoff.failed(0) <= Nanos::from_millis(20));
    }
}
