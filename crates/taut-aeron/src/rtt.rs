//! Round trips: the measurement, and what is derived from it.

use taut_types::Nanos;

/// The first measurements follow each other at this pace, later ones at [`INTERVAL`]; without an
/// answer ever more slowly, since only the last one is waited for.
const INTERVAL_FIRST: Nanos = Nanos::from_millis(5);
const INTERVAL: Nanos = Nanos::from_millis(100);
const INTERVAL_MAX: Nanos = Nanos::from_secs(1);
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
    interval: Nanos,
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
            interval: INTERVAL_FIRST,
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
        let is_unanswered = self.pending.replace((echo, now)).is_some();
        let least = if self.samples < FIRST_COUNT { INTERVAL_FIRST } else { INTERVAL };
        let doubled = Nanos(self.interval.0 * 2);
        let wanted = if is_unanswered { doubled.max(least) } else { least.max(self.timeout()) };
        self.interval = wanted.min(INTERVAL_MAX);
        self.next = now + self.interval;
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
    fn a_long_round_trip_is_measured_although_the_first_questions_follow_each_other_sooner() {
        for millis in [1, 7, 30, 120, 300, 900] {
            let (mut rtt, span) = (RoundTrip::new(), Nanos::from_millis(millis));
            let mut under_way = alloc::collections::VecDeque::new();
            let mut echo = 0;
            for micros in (0..20_000_000).step_by(100) {
                let now = Nanos::from_micros(micros);
                while under_way.front().is_some_and(|(_, due)| *due <= now) {
                    let (echo, _) = under_way.pop_front().unwrap();
                    rtt.handle_echo(now, echo, 0);
                }
                if now >= rtt.next() {
                    echo += 1;
                    rtt.measure(now, echo);
                    under_way.push_back((echo, now + span));
                }
            }
            assert!(rtt.samples > 9, "{millis} ms: {} samples", rtt.samples);
            let error = (rtt.smoothed - span.0).abs();
            assert!(error <= 200_000, "{millis} ms: off by {error} ns");
            assert!(rtt.next() <= Nanos::from_millis(20_000 + 2 * millis + 100));
        }
    }

    #[test]
    fn echoes_that_are_lost_make_questions_rarer_down_to_one_a_second() {
        let mut rtt = RoundTrip::new();
        let mut count = 0;
        for millis in 0..60_000 {
            if Nanos::from_millis(millis) >= rtt.next() {
                rtt.measure(Nanos::from_millis(millis), millis);
                count += 1;
            }
        }
        assert!((60..75).contains(&count), "{count}");
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
