//! The clock of a measurement: time for the loop, and stamps that travel.

use taut_sys::{Anchoring, Clock, monotonic, utc};
use taut_types::Nanos;

use super::arguments::ClockName;

/// How often the clock is held against the kernel's.
const RENEW_EVERY: Nanos = Nanos::from_millis(100);

/// CLOCK_MONOTONIC for the loop, and the stamps' clock as an offset from it.
#[derive(Debug)]
pub struct StampClock {
    clock: Clock,
    anchoring: Option<Anchoring>,
    name: ClockName,
    offset: Nanos,
    renew_at: Nanos,
}

impl StampClock {
    /// A clock that asks the kernel each time (20 to 30 ns): exact between processes.
    pub fn exact(name: ClockName) -> Self {
        Self::over(Clock::vdso(), None, name)
    }

    /// A clock over the processor's counter (about 10 ns), anchored every 100 ms: for senders at
    /// full speed, where it is wrong by less than a queue is long.
    pub fn fast(name: ClockName) -> Self {
        let anchoring = Anchoring::start();
        Self::over(Clock::new(anchoring.mapping()), Some(anchoring), name)
    }

    fn over(clock: Clock, anchoring: Option<Anchoring>, name: ClockName) -> Self {
        let mut over = Self { clock, anchoring, name, offset: Nanos::ZERO, renew_at: Nanos::ZERO };
        over.renew(monotonic());
        over
    }

    /// Now, for the loop. Call [`StampClock::keep`] now and then.
    #[inline]
    pub fn now(&self) -> Nanos {
        self.clock.now()
    }

    /// What a moment is on the stamps' clock.
    #[inline]
    pub fn stamp(&self, now: Nanos) -> u64 {
        (now + self.offset).0.unsigned_abs()
    }

    /// Holds the clock against the kernel's when it is time.
    #[inline]
    pub fn keep(&mut self, now: Nanos) {
        if now >= self.renew_at {
            self.renew(now);
        }
    }

    #[cold]
    fn renew(&mut self, now: Nanos) {
        self.renew_at = now + RENEW_EVERY;
        if let Some(anchoring) = &mut self.anchoring {
            self.clock.set_mapping(anchoring.renew());
        }
        if self.name == ClockName::Utc {
            self.offset = utc() - monotonic();
        }
    }
}
