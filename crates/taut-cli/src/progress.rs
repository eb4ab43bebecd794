//! Says on standard error how far a long run is.

use taut_sys::monotonic;
use taut_types::Nanos;

/// Silent for two seconds, then speaks at most every two seconds.
#[derive(Debug)]
pub struct Progress {
    next: Nanos,
}

impl Progress {
    const EVERY: Nanos = Nanos::from_secs(2);

    /// A run that starts now.
    pub fn start() -> Self {
        Self { next: monotonic() + Self::EVERY }
    }

    /// What the run is at.
    pub fn tell(&mut self, what: &str) {
        self.tell_at(monotonic(), what);
    }

    /// As [`Progress::tell`], for who knows the time.
    #[inline]
    pub fn tell_at(&mut self, now: Nanos, what: &str) {
        if now >= self.next {
            self.next = now + Self::EVERY;
            eprintln!("{what} ...");
        }
    }
}
