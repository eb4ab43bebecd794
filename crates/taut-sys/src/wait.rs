//! How a loop waits when it finds nothing to do.

use taut_sync::spin_loop;
use taut_types::Nanos;

use crate::sched::yield_cpu;

/// A wait strategy, chosen at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Look again at once. Lowest latency; needs a CPU of its own.
    Spin,
    /// Let another thread of the CPU run, then look again. Near-spin latency on a shared CPU.
    Yield,
    /// Sleep in the kernel until something arrives. Costs a wake-up, and no CPU while idle.
    Block,
}

impl Wait {
    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spin => "spin",
            Self::Yield => "yield",
            Self::Block => "block",
        }
    }
}

/// Idle rounds that a yielding or blocking loop spins first: what follows an event within a
/// microsecond is met awake.
const SPIN_ROUNDS: u32 = 16;

/// The wait strategy at work: counts idle rounds.
#[derive(Debug)]
pub struct Waiter {
    wait: Wait,
    idle_rounds: u32,
}

impl Waiter {
    /// A waiter that has not been idle.
    #[must_use]
    pub const fn new(wait: Wait) -> Self {
        Self { wait, idle_rounds: 0 }
    }

    /// The last round found work.
    #[inline]
    pub const fn worked(&mut self) {
        self.idle_rounds = 0;
    }

    /// The last round found nothing: waits by the strategy. `block` is called to sleep in the
    /// kernel, for at most the span it is given.
    #[inline]
    pub fn idle(&mut self, block: impl FnOnce(Nanos)) {
        self.idle_rounds = self.idle_rounds.saturating_add(1);
        match self.wait {
            Wait::Spin => spin_loop(),
            _ if self.idle_rounds <= SPIN_ROUNDS => spin_loop(),
            Wait::Yield => yield_cpu(),
            Wait::Block => block(Nanos::from_millis(50)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_only_when_told_to_and_only_after_a_few_empty_rounds() {
        for (wait, expected) in [(Wait::Spin, 0), (Wait::Yield, 0), (Wait::Block, 4)] {
            let mut waiter = Waiter::new(wait);
            let mut blocked = 0;
            (0..SPIN_ROUNDS + 4).for_each(|_| waiter.idle(|_| blocked += 1));
            assert_eq!(blocked, expected, "{}", wait.name());
            waiter.worked();
            waiter.idle(|_| blocked += 1);
            assert_eq!(blocked, expected, "awake again after work");
        }
    }
}
