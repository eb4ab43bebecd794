//! Whether a slow application holds its stream back (`tether`).

use taut_types::Nanos;

use crate::config::Tether;

/// What was passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skip {
    pub position: i64,
    pub bytes: i64,
}

/// What ties an application to its stream.
///
/// Without a tether the image holds two windows: one that the application may lag behind, and one
/// that the sender may fill meanwhile. What has arrived is reported as if it were consumed.
#[derive(Clone, Copy, Debug)]
pub struct TetherState {
    tether: Tether,
    window: i64,
    behind_since: Option<Nanos>,
    resting_until: Option<Nanos>,
    passed: Option<Skip>,
}

impl TetherState {
    pub const fn new(tether: Tether, window: i64) -> Self {
        Self { tether, window, behind_since: None, resting_until: None, passed: None }
    }

    /// The bytes that an image has to hold.
    pub const fn room(&self) -> i64 {
        match self.tether {
            Tether::Held => self.window,
            Tether::Loose { .. } => self.window * 2,
        }
    }

    #[inline]
    pub const fn is_loose(&self) -> bool {
        matches!(self.tether, Tether::Loose { .. })
    }

    #[inline]
    pub const fn is_resting(&self) -> bool {
        self.resting_until.is_some()
    }

    /// The position that the sender is told, when the application has read up to `consumed` and
    /// everything up to `live` is there.
    #[inline]
    pub fn reported(&self, consumed: i64, live: impl FnOnce() -> i64) -> i64 {
        match self.tether {
            Tether::Held => consumed,
            Tether::Loose { .. } => live().min(consumed + self.window),
        }
    }

    /// The application had its chance to read: whether what it has not read is passed now.
    pub fn check(&mut self, now: Nanos, consumed: i64, live: i64) -> bool {
        let Tether::Loose { limit_timeout, resting_timeout } = self.tether else { return false };
        if let Some(until) = self.resting_until {
            if now < until {
                return live > consumed;
            }
            self.resting_until = None;
        }
        if live - consumed <= self.window {
            self.behind_since = None;
            return false;
        }
        let since = *self.behind_since.get_or_insert(now);
        if now.since(since) < limit_timeout {
            return false;
        }
        self.behind_since = None;
        self.resting_until = (resting_timeout > Nanos::ZERO).then(|| now + resting_timeout);
        true
    }

    /// What the application has not read is passed.
    pub fn pass(&mut self, skip: Skip) {
        match &mut self.passed {
            Some(passed) => passed.bytes += skip.bytes,
            none => *none = Some(skip),
        }
    }

    /// What was passed, once the application is back.
    pub fn rejoined(&mut self) -> Option<Skip> {
        if self.is_resting() { None } else { self.passed.take() }
    }

    /// The image ends: so does the rest.
    pub const fn end(&mut self) {
        self.resting_until = None;
    }

    /// When something is due by time alone.
    pub fn next_due(&self) -> Nanos {
        let Tether::Loose { limit_timeout, .. } = self.tether else { return Nanos::MAX };
        let limit = self.behind_since.map(|since| since + limit_timeout);
        self.resting_until.or(limit).unwrap_or(Nanos::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(i64) -> Nanos = Nanos::from_millis;

    #[test]
    fn a_tether_holds_the_sender_to_what_was_read() {
        let mut tether_state = TetherState::new(Tether::Held, 1024);
        assert_eq!((tether_state.room(), tether_state.reported(64, || 900)), (1024, 64));
        assert!(!tether_state.check(MS(1), 0, 1 << 40) && tether_state.next_due() == Nanos::MAX);
    }

    #[test]
    fn without_one_a_window_may_be_unread_and_the_sender_is_told_what_arrived() {
        let mut tether_state = TetherState::new(Tether::LOOSE, 1024);
        assert_eq!((tether_state.room(), tether_state.reported(64, || 900)), (2048, 900));
        assert!(!tether_state.check(MS(1), 0, 1024));
        assert!(tether_state.check(MS(1), 0, 1056));
        tether_state.pass(Skip { position: 0, bytes: 1056 });
        assert_eq!(tether_state.rejoined(), Some(Skip { position: 0, bytes: 1056 }));
        assert_eq!(tether_state.rejoined(), None);
    }

    #[test]
    fn the_stream_waits_for_the_limit_timeout_and_the_application_rests_for_the_other() {
        let tether = Tether::Loose { limit_timeout: MS(50), resting_timeout: MS(100) };
        let mut tether_state = TetherState::new(tether, 1024);
        assert!(!tether_state.check(MS(0), 0, 1056) && !tether_state.check(MS(49), 0, 1056));
        assert_eq!((tether_state.next_due(), tether_state.reported(0, || 1056)), (MS(50), 1024));
        assert!(tether_state.check(MS(50), 0, 1056) && tether_state.is_resting());
        tether_state.pass(Skip { position: 0, bytes: 1056 });
        assert!(tether_state.check(MS(149), 1056, 1088), "all that comes is passed");
        tether_state.pass(Skip { position: 1056, bytes: 32 });
        assert_eq!((tether_state.rejoined(), tether_state.next_due()), (None, MS(150)));
        assert!(!tether_state.check(MS(150), 1088, 1120), "back at the live position");
        assert_eq!(tether_state.rejoined(), Some(Skip { position: 0, bytes: 1088 }));
    }

    #[test]
    fn whoever_catches_up_in_time_has_the_whole_timeout_again() {
        let tether = Tether::Loose { limit_timeout: MS(50), resting_timeout: Nanos::ZERO };
        let mut tether_state = TetherState::new(tether, 1024);
        assert!(!tether_state.check(MS(0), 0, 2048) && !tether_state.check(MS(40), 1024, 2048));
        assert!(
            !tether_state.check(MS(60), 1024, 3072) && !tether_state.check(MS(109), 1024, 3072)
        );
        assert!(tether_state.check(MS(110), 1024, 3072) && !tether_state.is_resting());
    }
}
