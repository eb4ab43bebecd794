//! How long an initiator waits before it tries again.

use taut_types::Nanos;

/// Doubles from attempt to attempt between two bounds, and spreads by up to a quarter, so that the
/// clients of a venue that restarts do not come back all at once.
#[derive(Clone, Copy, Debug)]
pub struct BackOff {
    min: Nanos,
    max: Nanos,
    next: Nanos,
}

impl BackOff {
    /// Between these; a maximum below the minimum is the minimum.
    #[must_use]
    pub fn new(min: Nanos, max: Nanos) -> Self {
        Self { min, max: max.max(min), next: min }
    }

    /// The wait before the next attempt. `random` is any number.
    pub fn wait(&mut self, random: u64) -> Nanos {
        let wait = self.next;
        self.next = Nanos(wait.0.saturating_mul(2)).min(self.max);
        let spread = wait.0 / 4;
        let random = i64::try_from(random >> 1).unwrap_or(0);
        Nanos(wait.0 - if spread > 0 { random % (spread + 1) } else { 0 })
    }

    /// An attempt succeeded: the next wait is the shortest again.
    pub const fn reset(&mut self) {
        self.next = self.min;
    }
}

#[cfg(test)]
mod tests {
    use super::BackOff;
    use taut_types::Nanos;

    #[test]
    fn doubles_up_to_its_bound_and_starts_again() {
        let mut wait = BackOff::new(Nanos(100), Nanos(350));
        let waits: Vec<_> = (0..4).map(|_| wait.wait(0).0).collect();
        assert_eq!(waits, [100, 200, 350, 350]);
        wait.reset();
        assert_eq!(wait.wait(0).0, 100);
    }

    #[test]
    fn spreads_by_a_quarter_at_most() {
        for random in [0, 1, 7, 1 << 40, u64::MAX] {
            let mut wait = BackOff::new(Nanos(1000), Nanos(1000));
            assert!((750..=1000).contains(&wait.wait(random).0), "{random}");
            assert_eq!(BackOff::new(Nanos(0), Nanos(0)).wait(random), Nanos(0));
        }
    }
}
