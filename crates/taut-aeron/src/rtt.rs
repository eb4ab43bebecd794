//! Round trips: the measurement, and what is derived from it.

use taut_types::Nanos;

/// The first measurements follow each other at this pace, later ones at [`INTERVAL`].
const INTERVAL_FIRST: Nanos = Nanos::from_millis(5);
const INTERVAL: Nanos = Nanos::from_millis(100);
const FIRST_COUNT: u32 = 8;
/// What to believe before the first measurement.
const UNKNOWN: Nanos = Nanos::from_millis(1);
/// A timer below this is noise of the scheduler.
const TIMEOUT_MIN: i64 = 20_000;
/// An echo that is older is forgotten.
const ECHO_AGE_MAX: Nanos = Nanos::from_secs(10);

/// The smoothed round trip and its variation (RFC 6298), from one measurement at a time.
#[derive(Clone, Copy, Debug)]
pub struct RoundTrip {
    smoothed: i64,
    variation: i64,
    least: i64,
    samples: u32,
    pending: Option<(i64, Nanos)>,
    next: Nanos,
}

impl RoundTrip {
    pub const fn new() -> Self {
        Self {
            smoothed: 0,
            variation: 0,
            least: i64::MAX,
            samples: 0,
            pending: None,
            next: Nanos(0),
        }
    }

    /// The smoothed round trip, once there is one.
    pub const fn smoothed(&self) -> Option<Nanos> {
        if self.samples > 0 { Some(Nanos(self.smoothed)) } else { None }
    }

    /// The shortest one; 1 ms before there is any.
    pub const fn least(&self) -> Nanos {
        if self.samples > 0 { Nanos(self.least) } else { UNKNOWN }
    }

    /// How long an answer takes at most, by all that is known.
    pub fn timeout(&self) -> Nanos {
        match self.samples {
            0 => UNKNOWN,
            _ => Nanos((self.smoothed + 4 * self.variation).max(TIMEOUT_MIN)),
        }
    }

    /// When to measure again.
    pub const fn next(&self) -> Nanos {
        self.next
    }

    /// A measurement leaves.
    pub fn measure(&mut self, now: Nanos, echo: i64) {
        self.pending = Some((echo, now));
        self.next = now + if self.samples < FIRST_COUNT { INTERVAL_FIRST } else { INTERVAL };
    }

    /// An echo came back: whether it is the one that was waited for.
    pub fn handle_echo(&mut self, now: Nanos, echo: i64, reception_delta: i64) -> bool {
        let Some((_, sent)) = self.pending.filter(|(waited, _)| *waited == echo) else {
            return false;
        };
        self.pending = None;
        let span = now.since(sent);
        if span > ECHO_AGE_MAX {
            return false;
        }
        // The peer's word for how long it held the frame shortens the span, never below zero.
        self.sample(Nanos(span.0 - reception_delta.clamp(0, span.0)));
        true
    }

    pub fn sample(&mut self, span: Nanos) {
        let span = span.0.max(1);
        if self.samples == 0 {
            (self.smoothed, self.variation) = (span, span / 2);
        } else {
            self.variation += ((self.smoothed - span).abs() - self.variation) / 4;
            self.smoothed += (span - self.smoothed) / 8;
        }
        self.least = self.least.min(span);
        self.samples = self.samples.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_echo_that_was_waited_for_counts_and_only_once() {
        let mut rtt = RoundTrip::new();
        assert_eq!((rtt.smoothed(), rtt.timeout()), (None, UNKNOWN));
        rtt.measure(Nanos(100), 42);
        assert!(!rtt.handle_echo(Nanos(150), 41, 0));
        assert!(rtt.handle_echo(Nanos(50_100), 42, 10_000));
        assert!(!rtt.handle_echo(Nanos(50_100), 42, 0));
        assert_eq!(rtt.smoothed(), Some(Nanos(40_000)));
        assert!(rtt.timeout() > Nanos(40_000));
    }

    #[test]
    fn a_lying_reception_delta_cannot_make_a_round_trip_negative() {
        for delta in [i64::MIN, -1, i64::MAX] {
            let mut rtt = RoundTrip::new();
            rtt.measure(Nanos(0), 1);
            assert!(rtt.handle_echo(Nanos(1000), 1, delta));
            assert!(rtt.least() >= Nanos(1) && rtt.least() <= Nanos(1000));
        }
    }
}
