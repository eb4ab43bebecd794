//! Channels that bring nothing while others do: the venue may have lost their subscriptions.

use taut_types::Nanos;

/// The books are looked at so many times in the time that a channel may be quiet.
const LOOKS: i64 = 8;

/// How long a channel may be quiet, and when the books are looked at next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quiet {
    pub(crate) longest: Nanos,
    pub(crate) look_at: Nanos,
}

impl Quiet {
    pub(crate) const fn new(longest: Nanos, now: Nanos) -> Self {
        let mut quiet = Self { longest, look_at: now };
        quiet.looked(now);
        quiet
    }

    pub(crate) const fn due(&self) -> Nanos {
        self.look_at
    }

    pub(crate) const fn looked(&mut self, now: Nanos) {
        self.look_at = Nanos(now.0.saturating_add(self.longest.0 / LOOKS));
    }
}
