//! A bound on every wait: what never happens fails, and says what it waited for.

use taut_sys::monotonic;
use taut_types::Nanos;

/// Longer than any wait takes on a machine that is busy with other things.
const PATIENCE: Nanos = Nanos::from_secs(120);

/// The end of somebody's patience.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Nanos);

impl Default for Deadline {
    fn default() -> Self {
        Self(monotonic() + PATIENCE)
    }
}

impl Deadline {
    /// Fails once the time is over, with what was waited for and how things stand.
    pub fn check(&self, awaited: &str, standing: impl FnOnce() -> String) {
        assert!(monotonic() < self.0, "waited {PATIENCE:?} for {awaited}: {}", standing());
    }
}
