//! The receiver's window: static, or CUBIC (RFC 8312), which grows until something is lost.

use taut_types::Nanos;

use crate::config::CongestionControl;

/// The share of the window that a loss takes.
const BETA: f64 = 0.2;
/// The growth per cubic second.
const C: f64 = 0.4;

/// How many bytes may be under way.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    kind: CongestionControl,
    window_max: i64,
    mtu: f64,
    /// In datagrams.
    window: f64,
    window_at_loss: f64,
    lost: Nanos,
    /// What is lost before was under way when the window shrank last.
    shrinks_from: Nanos,
    updated: Nanos,
}

impl Congestion {
    pub fn new(kind: CongestionControl, window_max: i64, mtu: usize, now: Nanos) -> Self {
        let mtu = mtu as f64;
        let window = (window_max as f64 / mtu).min(10.0);
        let (lost, updated, shrinks_from) = (now, now, now);
        let window_at_loss = window;
        Self { kind, window_max, mtu, window, window_at_loss, lost, shrinks_from, updated }
    }

    /// The window in bytes.
    pub fn window(&self) -> i64 {
        match self.kind {
            CongestionControl::Static => self.window_max,
            CongestionControl::Cubic => ((self.window * self.mtu) as i64).min(self.window_max),
        }
    }

    /// Something was lost: true when the window shrank. It does once in a round trip: what is lost
    /// before the sender has heard of it and sent less is the same congestion.
    pub fn lose(&mut self, now: Nanos, round_trip: Nanos) -> bool {
        if self.kind == CongestionControl::Static || now < self.shrinks_from {
            return false;
        }
        self.shrinks_from = now + round_trip;
        self.window_at_loss = self.window;
        self.window = (self.window * (1.0 - BETA)).max(2.0);
        self.lost = now;
        true
    }

    /// Time passes without loss: at most one step per round trip.
    pub fn grow(&mut self, now: Nanos, round_trip: Nanos) {
        if self.kind == CongestionControl::Static || now.since(self.updated) < round_trip {
            return;
        }
        self.updated = now;
        let seconds = now.since(self.lost).0 as f64 / 1e9;
        let back = cube_root(self.window_at_loss * BETA / C);
        let distance = seconds - back;
        let target = self.window_at_loss + C * distance * distance * distance;
        // Reno's pace where it is faster: short round trips.
        let reno = self.window + 1.0;
        let window_max = self.window_max as f64 / self.mtu;
        self.window = target.max(reno).clamp(2.0, window_max.max(2.0));
    }
}

/// Newton's method from above; a window needs no more than a few digits.
fn cube_root(value: f64) -> f64 {
    if value <= 0.0 {
        return 0.0;
    }
    let mut root = value.max(1.0);
    for _ in 0..64 {
        let next = (2.0 * root + value / (root * root)) / 3.0;
        if (root - next).abs() < 1e-6 * root {
            return next;
        }
        root = next;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND_TRIP: Nanos = Nanos::from_millis(10);

    #[test]
    fn cube_roots_are_right_to_a_few_digits() {
        for value in [1e-3, 0.5, 1.0, 8.0, 1e6] {
            let root = cube_root(value);
            assert!((root * root * root / value - 1.0).abs() < 1e-4, "{value} {root}");
        }
    }

    #[test]
    fn cubic_grows_to_the_most_shrinks_with_loss_and_comes_back() {
        let mut cubic = Congestion::new(CongestionControl::Cubic, 1_408_000, 1408, Nanos(0));
        assert_eq!(cubic.window(), 14_080);
        let mut now = Nanos(0);
        for _ in 0..2000 {
            now = now + ROUND_TRIP;
            cubic.grow(now, ROUND_TRIP);
        }
        assert_eq!(cubic.window(), 1_408_000);
        assert!(cubic.lose(now, ROUND_TRIP));
        assert_eq!(cubic.window(), 1_126_400);
        for _ in 0..2000 {
            now = now + ROUND_TRIP;
            cubic.grow(now, ROUND_TRIP);
        }
        assert_eq!(cubic.window(), 1_408_000);
        for _ in 0..100 {
            now = now + ROUND_TRIP;
            assert!(cubic.lose(now, ROUND_TRIP));
        }
        assert_eq!(cubic.window(), 2816);
    }

    #[test]
    fn a_burst_of_losses_shrinks_the_window_once_in_a_round_trip() {
        let mut cubic = Congestion::new(CongestionControl::Cubic, 1_408_000, 1408, Nanos(0));
        assert!(cubic.lose(Nanos(0), ROUND_TRIP), "also the first time");
        for _ in 0..20 {
            assert!(!cubic.lose(ROUND_TRIP - Nanos(1), ROUND_TRIP));
        }
        assert_eq!(cubic.window(), 14_080 * 8 / 10);
        assert!(cubic.lose(ROUND_TRIP, ROUND_TRIP));
        assert_eq!(cubic.window(), 14_080 * 64 / 100);
    }

    #[test]
    fn a_static_window_stays() {
        let mut fixed = Congestion::new(CongestionControl::Static, 131_072, 1408, Nanos(0));
        assert!(!fixed.lose(Nanos(5), Nanos(1)));
        fixed.grow(Nanos::from_secs(1), Nanos(1));
        assert_eq!(fixed.window(), 131_072);
    }
}
