//! What a loop does when a turn found nothing: one strategy per file, chosen at run time.
//!
//! | strategy | latency | CPU | for |
//! |---|---|---|---|
//! | spin | lowest | one whole | a core of its own |
//! | pause | spin, every 40 to 140 cycles | one whole, cooler | a core with a busy sibling |
//! | yield | near spin on a free core | one whole, given away on demand | a shared core |
//! | back-off | near spin within a burst, a wake-up after a pause | little | background work |
//! | block | a wake-up (microseconds) | none while idle | many idle connections |

mod backoff;
mod block;
mod pause;
mod spin;
mod step;
mod yielding;

pub use step::Step;

/// How a loop waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitStrategy {
    /// Look again at once.
    Spin,
    /// Look again after the processor's pause instruction.
    Pause,
    /// Let another thread of the core run, then look again.
    Yield,
    /// Spin, then yield, then sleep in the kernel, a millisecond at a time.
    BackOff,
    /// Sleep in the kernel until something arrives.
    Block,
}

impl WaitStrategy {
    /// Every strategy.
    pub const ALL: [Self; 5] = [Self::Spin, Self::Pause, Self::Yield, Self::BackOff, Self::Block];

    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spin => "spin",
            Self::Pause => "pause",
            Self::Yield => "yield",
            Self::BackOff => "backoff",
            Self::Block => "block",
        }
    }
}

/// A strategy at work: counts idle turns.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    strategy: WaitStrategy,
    idle_turns: u32,
}

impl Waiting {
    /// At the start of a run.
    #[must_use]
    pub const fn new(strategy: WaitStrategy) -> Self {
        Self { strategy, idle_turns: 0 }
    }

    /// How to take the first look.
    #[must_use]
    pub const fn first(&self) -> Step {
        match self.strategy {
            WaitStrategy::Block => Step::Block,
            _ => Step::Again,
        }
    }

    /// The last turn found work.
    #[inline]
    pub const fn worked(&mut self) -> Step {
        self.idle_turns = 0;
        self.first()
    }

    /// The last turn found nothing: does what the strategy does, and says how to look next.
    #[inline]
    pub fn idle(&mut self) -> Step {
        self.idle_turns = self.idle_turns.saturating_add(1);
        match self.strategy {
            WaitStrategy::Spin => spin::idle(),
            WaitStrategy::Pause => pause::idle(),
            WaitStrategy::Yield => yielding::idle(),
            WaitStrategy::BackOff => backoff::idle(self.idle_turns),
            WaitStrategy::Block => block::idle(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taut_types::Nanos;

    #[test]
    fn only_back_off_and_block_ever_sleep_and_work_wakes_them() {
        for strategy in WaitStrategy::ALL {
            let mut waiting = Waiting::new(strategy);
            let steps: std::vec::Vec<Step> = (0..200).map(|_| waiting.idle()).collect();
            let slept = steps.iter().any(|step| *step != Step::Again);
            let may = matches!(strategy, WaitStrategy::BackOff | WaitStrategy::Block);
            assert_eq!(slept, may, "{}", strategy.name());
            let first = waiting.first();
            assert_eq!(waiting.worked(), first);
        }
        let mut back_off = Waiting::new(WaitStrategy::BackOff);
        let steps = (0..500).map(|_| back_off.idle());
        assert_eq!(steps.last(), Some(Step::Sleep(Nanos::from_millis(1))));
    }
}
