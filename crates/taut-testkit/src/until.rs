//! Waits with a condition and a deadline.
#![expect(clippy::disallowed_methods, reason = "a deadline of a test: nothing is measured by it")]

use std::thread;
use std::time::{Duration, Instant};

/// Longer than anything takes that happens at all, on a machine that is busy with other things.
pub const DEADLINE: Duration = Duration::from_secs(120);

/// How long a wait looks again and again before it begins to pause between two looks.
const BUSY: Duration = Duration::from_millis(5);
const PAUSE: Duration = Duration::from_micros(200);

/// A bound on a loop that a test turns itself, where [`until`] does not fit: what never happens
/// fails, and says what it waited for and how things stand.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Instant);

impl Default for Deadline {
    /// [`DEADLINE`] from now.
    fn default() -> Self {
        Self(Instant::now() + DEADLINE)
    }
}

impl Deadline {
    /// Fails once the time is over.
    ///
    /// # Panics
    /// Then, with what did not happen.
    #[track_caller]
    pub fn check(&self, what: &str, standing: impl FnOnce() -> String) {
        let is_over = Instant::now() >= self.0;
        assert!(!is_over, "waited {DEADLINE:?}, and this did not happen: {what}: {}", standing());
    }
}

/// Looks again and again until something holds.
///
/// # Panics
/// When it does not within `deadline`, with what did not happen.
#[track_caller]
pub fn until(what: &str, deadline: Duration, mut holds: impl FnMut() -> bool) {
    until_some(what, deadline, || holds().then_some(()));
}

/// Looks again and again until something is there, and returns it.
///
/// # Panics
/// When it is not within `deadline`, with what did not happen.
#[track_caller]
pub fn until_some<T>(what: &str, deadline: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        let waited = begun.elapsed();
        assert!(waited < deadline, "waited {deadline:?}, and this did not happen: {what}");
        // PACE: a condition of any kind wakes nobody.
        if waited < BUSY { thread::yield_now() } else { thread::sleep(PAUSE) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_looks_until_it_holds() {
        let mut looks = 0;
        let found = until_some("three looks", DEADLINE, || {
            looks += 1;
            (looks == 3).then_some("third")
        });
        assert_eq!((found, looks), ("third", 3));
    }

    #[test]
    #[should_panic(expected = "this did not happen: a miracle")]
    fn what_does_not_happen_is_named() {
        until("a miracle", Duration::from_millis(20), || false);
    }
}
