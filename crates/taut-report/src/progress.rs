//! Says on standard error how far a long run is.

use taut_sys::monotonic;
use taut_types::Nanos;

use crate::terminal;

/// Silent for two seconds, then speaks at most every two seconds.
#[derive(Debug)]
pub struct Progress {
    next: Nanos,
    is_abandoned: bool,
}

impl Progress {
    const EVERY: Nanos = Nanos::from_secs(2);

    /// A run that starts now.
    #[must_use]
    pub fn start() -> Self {
        Self { next: monotonic() + Self::EVERY, is_abandoned: false }
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
            self.is_abandoned = terminal::is_abandoned();
            terminal::tell(format_args!("{what} ..."));
        }
    }

    /// Whether the reader of what will be printed was gone when the run last spoke: whoever started
    /// it does not wait for it any more.
    #[must_use]
    pub const fn is_abandoned(&self) -> bool {
        self.is_abandoned
    }
}
