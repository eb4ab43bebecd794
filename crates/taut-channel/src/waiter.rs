//! Waiting between polls that found nothing.

use taut_io::{Step, WaitStrategy, Waiting};
use taut_types::Nanos;

/// A wait strategy at work, for a loop over publications and subscriptions.
#[derive(Clone, Copy, Debug)]
pub struct Waiter {
    waiting: Waiting,
    strategy: WaitStrategy,
    idle_rounds: u32,
}

/// Rounds that a blocking waiter spins first: what follows an event at once is met awake.
const SPIN_ROUNDS: u32 = 16;
/// The longest sleep: a loop looks at stop signals, and at its clock.
const SLEEP_MAX: Nanos = Nanos::from_millis(50);

impl Waiter {
    /// A waiter that has not been idle.
    #[must_use]
    pub const fn new(strategy: WaitStrategy) -> Self {
        Self { waiting: Waiting::new(strategy), strategy, idle_rounds: 0 }
    }

    /// The last round found work.
    #[inline]
    pub const fn worked(&mut self) {
        self.idle_rounds = 0;
        let _ = self.waiting.worked();
    }

    /// The last round found nothing: waits by the strategy. `sleep` is called to sleep for at most
    /// the span that it is given, such as with [`Subscription::block`](crate::Subscription::block);
    /// never beyond `until`, the next timeout of what is polled.
    #[inline]
    pub fn idle(&mut self, now: Nanos, until: Option<Nanos>, sleep: impl FnOnce(Nanos)) {
        self.idle_rounds = self.idle_rounds.saturating_add(1);
        if self.strategy == WaitStrategy::Block && self.idle_rounds <= SPIN_ROUNDS {
            taut_sync::spin_loop();
            return;
        }
        let longest = match self.waiting.idle() {
            Step::Again => return,
            Step::Sleep(span) => span,
            Step::Block => SLEEP_MAX,
        };
        let left = until.map_or(longest, |until| until - now);
        if left.0 > 0 {
            sleep(longest.min(left));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeps_by_the_strategy_and_never_beyond_the_next_timeout() {
        for strategy in WaitStrategy::ALL {
            let mut waiter = Waiter::new(strategy);
            let mut longest = Nanos::ZERO;
            for _ in 0..1000 {
                waiter.idle(Nanos(0), None, |span| longest = longest.max(span));
            }
            let expected = match strategy {
                WaitStrategy::Block => SLEEP_MAX,
                WaitStrategy::BackOff => Nanos::from_millis(1),
                _ => Nanos::ZERO,
            };
            assert_eq!(longest, expected, "{}", strategy.name());
        }
        let mut waiter = Waiter::new(WaitStrategy::Block);
        for _ in 0..100 {
            waiter.idle(Nanos(10), Some(Nanos(17)), |span| assert_eq!(span, Nanos(7)));
            waiter.idle(Nanos(10), Some(Nanos(10)), |_| unreachable!("it is due"));
        }
    }
}
