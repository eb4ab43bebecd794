//! When a gap is asked for: at once, or after as long as reordering has been seen to take; again
//! after a round trip.

use taut_types::Nanos;

/// A stock sender ignores a second NAK of the same range for this long.
const STOCK_LINGER: Nanos = Nanos::from_millis(10);
/// Reordering beyond this is treated as loss.
const REORDER_MAX: i64 = 10_000_000;
/// After this many attempts they slow down, so that a dead path is not flooded.
const PROMPT_ATTEMPTS: u8 = 4;
const SLOWEST: i64 = 10_000_000;

/// The delays of one image.
#[derive(Clone, Copy, Debug)]
pub struct NakPolicy {
    delay: i64,
    reorder: i64,
    is_prompt: bool,
}

impl NakPolicy {
    pub const fn new(delay: Nanos, is_prompt: bool) -> Self {
        Self { delay: delay.0, reorder: 0, is_prompt }
    }

    /// How long a gap may heal by itself.
    pub const fn first(&self) -> Nanos {
        Nanos(self.delay + self.reorder)
    }

    /// How long after an attempt the next one goes.
    pub fn retry(&self, attempts: u8, timeout: Nanos) -> Nanos {
        let slow = u32::from(attempts.saturating_sub(PROMPT_ATTEMPTS)).min(16);
        let span = timeout.0.saturating_mul(1 << slow).min(SLOWEST.max(timeout.0));
        if self.is_prompt { Nanos(span) } else { Nanos(span.max(STOCK_LINGER.0 + timeout.0)) }
    }

    /// A gap was filled after so long. Sooner than any repair could come, it was only reordered:
    /// the next gaps get that long to heal. Otherwise that patience shrinks.
    pub fn learn(&mut self, healed_after: Nanos, least_round_trip: Option<Nanos>) {
        let Some(least) = least_round_trip else { return };
        let span = healed_after.0;
        if span < least.0 / 10 * 9 {
            let patience = (span + span / 4).min(REORDER_MAX);
            self.reorder = self.reorder.max(patience);
        } else {
            self.reorder -= (self.reorder / 8).max(self.reorder.min(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reordering_teaches_patience_and_loss_unteaches_it() {
        let mut policy = NakPolicy::new(Nanos::ZERO, true);
        let least = Some(Nanos(100_000));
        assert_eq!(policy.first(), Nanos::ZERO);
        policy.learn(Nanos(40_000), least);
        assert_eq!(policy.first(), Nanos(50_000));
        for _ in 0..200 {
            policy.learn(Nanos(150_000), least);
        }
        assert_eq!(policy.first(), Nanos::ZERO);
    }

    #[test]
    fn a_gap_is_asked_for_again_after_a_round_trip_and_a_stock_sender_after_its_linger() {
        let rtt = Nanos(50_000);
        assert_eq!(NakPolicy::new(Nanos::ZERO, true).retry(1, rtt), rtt);
        assert_eq!(NakPolicy::new(Nanos::ZERO, true).retry(6, rtt), Nanos(200_000));
        assert_eq!(NakPolicy::new(Nanos::ZERO, true).retry(255, rtt), Nanos(10_000_000));
        assert_eq!(NakPolicy::new(Nanos::ZERO, false).retry(1, rtt), Nanos(10_050_000));
    }
}
