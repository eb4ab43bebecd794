//! When a publication says something by itself: SETUPs, heartbeats.

use taut_types::Nanos;

/// SETUPs follow each other, and heartbeats do at most, at this interval.
const INTERVAL: Nanos = Nanos::from_millis(100);
/// Heartbeats follow data no sooner than this.
const HEARTBEAT_MIN: Nanos = Nanos::from_micros(20);

/// The timers of a publication.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    next_setup: Nanos,
    wants_setup: bool,
    next_heartbeat: Nanos,
    heartbeat_interval: Nanos,
    /// Data left since the interval was last worked out.
    has_sent: bool,
}

impl Pace {
    pub const fn new() -> Self {
        Self {
            next_setup: Nanos(i64::MIN),
            wants_setup: false,
            next_heartbeat: Nanos(i64::MIN),
            heartbeat_interval: INTERVAL,
            has_sent: false,
        }
    }

    /// A receiver asked for a SETUP.
    pub const fn request_setup(&mut self) {
        self.wants_setup = true;
    }

    /// Whether a SETUP goes now: while nobody listens, or on request.
    pub fn setup(&mut self, now: Nanos, is_connected: bool) -> bool {
        let is_due = (self.wants_setup || !is_connected) && now >= self.next_setup;
        if is_due {
            self.wants_setup = false;
            self.next_setup = now + INTERVAL;
        }
        is_due
    }

    /// Data left: a heartbeat follows one round trip after the last of it, so that a lost tail
    /// shows soon.
    #[inline]
    pub const fn data_sent(&mut self) {
        self.has_sent = true;
    }

    /// Something new has to be told at once.
    pub const fn heartbeat_now(&mut self) {
        self.next_heartbeat = Nanos(i64::MIN);
    }

    /// Whether a heartbeat goes now. The next one follows after twice the time, up to 100 ms.
    pub fn heartbeat(&mut self, now: Nanos, round_trip: Option<Nanos>) -> bool {
        if self.has_sent {
            self.has_sent = false;
            self.heartbeat_interval = round_trip.unwrap_or(INTERVAL).clamp(HEARTBEAT_MIN, INTERVAL);
            self.next_heartbeat = now + self.heartbeat_interval;
            return false;
        }
        let is_due = now >= self.next_heartbeat;
        if is_due {
            self.heartbeat_interval =
                Nanos(self.heartbeat_interval.0.saturating_mul(2)).min(INTERVAL);
            self.next_heartbeat = now + self.heartbeat_interval;
        }
        is_due
    }

    /// When something is due.
    pub fn next_due(&self, is_connected: bool, beats: bool) -> Nanos {
        let setup = if self.wants_setup || !is_connected { self.next_setup } else { Nanos::MAX };
        match beats {
            true if self.has_sent => Nanos(i64::MIN),
            true => setup.min(self.next_heartbeat),
            false => setup,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heartbeats_follow_data_after_a_round_trip_and_then_ever_more_slowly() {
        let mut pace = Pace::new();
        let rtt = Some(Nanos::from_millis(1));
        pace.data_sent();
        assert!(!pace.heartbeat(Nanos(0), rtt));
        let mut beats = alloc::vec::Vec::new();
        for micros in (0..400_000).step_by(100) {
            if pace.heartbeat(Nanos::from_micros(micros), rtt) {
                beats.push(micros / 1000);
            }
        }
        assert_eq!(beats, [1, 3, 7, 15, 31, 63, 127, 227, 327]);
    }

    #[test]
    fn setups_go_every_100_ms_until_somebody_listens_and_on_request() {
        let mut pace = Pace::new();
        let at = Nanos::from_millis;
        assert!(
            pace.setup(at(0), false) && !pace.setup(at(99), false) && pace.setup(at(100), false)
        );
        assert!(!pace.setup(at(200), true));
        pace.request_setup();
        assert!(pace.setup(at(200), true) && !pace.setup(at(201), true));
        pace.request_setup();
        assert!(!pace.setup(at(250), true) && pace.setup(at(300), true));
    }
}
