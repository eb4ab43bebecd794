//! When a receiver reports its position.

use taut_types::Nanos;

/// A status message goes at least this often.
pub const STATUS_INTERVAL: Nanos = Nanos::from_millis(200);

/// What was reported, and when the next report is due.
#[derive(Clone, Copy, Debug)]
pub struct StatusPace {
    position: i64,
    edge: i64,
    /// The edge of the report before the last: the sender may know no more.
    edge_before: i64,
    sent: Nanos,
    is_forced: bool,
}

impl StatusPace {
    /// The first report is due at once.
    pub const fn new(start: i64) -> Self {
        let (position, edge, edge_before) = (start, start, start);
        Self { position, edge, edge_before, sent: Nanos(i64::MIN), is_forced: true }
    }

    /// The position of the last report.
    #[inline]
    pub const fn position(&self) -> i64 {
        self.position
    }

    pub const fn force(&mut self) {
        self.is_forced = true;
    }

    /// Whether the application's progress asks for a report: a quarter of the window.
    #[inline]
    pub const fn is_due_at(&self, consumed: i64, window: i64) -> bool {
        self.is_forced || consumed - self.position >= window / 4
    }

    /// Whether time asks for one.
    pub fn is_due(&self, now: Nanos, consumed: i64, window: i64) -> bool {
        self.is_due_at(consumed, window) || now >= self.next()
    }

    pub fn next(&self) -> Nanos {
        if self.is_forced { Nanos(i64::MIN) } else { self.sent + STATUS_INTERVAL }
    }

    /// The sender is idle at a position: it may wait for a report that was lost, when it has come
    /// as far as the report before the last let it. Then the last one is repeated, once per `span`.
    pub fn handle_heartbeat(&mut self, now: Nanos, position: i64, mtu: i64, span: Nanos) {
        let may_wait = self.edge > self.edge_before && position + mtu > self.edge_before;
        if may_wait && now.since(self.sent) >= span {
            self.is_forced = true;
        }
    }

    pub fn sent(&mut self, now: Nanos, consumed: i64, window: i64) {
        let edge = consumed + window;
        if edge != self.edge {
            (self.edge_before, self.edge) = (self.edge, edge);
        }
        (self.position, self.sent, self.is_forced) = (consumed, now, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_goes_first_then_every_quarter_of_the_window_and_every_200_ms() {
        let mut pace = StatusPace::new(0);
        assert!(pace.is_due(Nanos(0), 0, 1024));
        pace.sent(Nanos(0), 0, 1024);
        assert!(!pace.is_due(Nanos(5), 255, 1024) && pace.is_due(Nanos(5), 256, 1024));
        assert!(pace.is_due(STATUS_INTERVAL, 0, 1024));
    }

    #[test]
    fn a_report_is_repeated_when_the_sender_stands_where_the_one_before_let_it() {
        let mut pace = StatusPace::new(0);
        pace.sent(Nanos(0), 0, 4096);
        pace.sent(Nanos(10), 4096, 4096);
        pace.handle_heartbeat(Nanos(15), 4096, 1408, Nanos(10));
        assert!(!pace.is_due_at(4096, 4096), "it may be under way");
        pace.handle_heartbeat(Nanos(20), 4096, 1408, Nanos(10));
        assert!(pace.is_due_at(4096, 4096));
        pace.sent(Nanos(20), 4096, 4096);
        pace.handle_heartbeat(Nanos(90), 2000, 1408, Nanos(10));
        assert!(!pace.is_due_at(4096, 4096), "it has room and nothing to send");
    }
}
