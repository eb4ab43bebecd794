//! What requests for snapshots may cost, so that the venue does not refuse them.

use taut_oms::Rate;
use taut_order_entry::binance::{Frame, read_error, read_frame, read_server_time};
use taut_types::Nanos;

use crate::credits::Credits;

/// How long nothing is asked for after an answer that a limit was reached, if it does not say.
const BARRED: Nanos = Nanos::from_secs(60);
/// What the answer to a request that was served has near its beginning.
const SERVED: &[u8] = b"\"status\":200";
/// Its id and its status are in so many bytes.
const HEAD_BYTES: usize = 96;

/// What requests for snapshots may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotLimits {
    /// The weight of one request.
    pub weight: u32,
    /// The weight that leaves at most: the burst at once, and 60 times the rate and the burst in
    /// any minute.
    pub rate: Rate,
}

impl SnapshotLimits {
    /// Requests at Binance for so many levels a side, within a third of what it grants an address:
    /// at most 1,900 of 6,000 in a minute.
    #[must_use]
    pub const fn of_levels(levels: u32) -> Self {
        let weight = match levels {
            0..=100 => 5,
            101..=500 => 25,
            501..=1_000 => 50,
            _ => 250,
        };
        Self { weight, rate: Rate { per_second: 15, burst: 1_000 } }
    }

    /// Requests at Binance's USD-margined futures for so many levels a side, within a third of what
    /// it grants an address there: at most 760 of 2,400 in a minute.
    #[must_use]
    pub const fn of_usd_m_levels(levels: u32) -> Self {
        let weight = match levels {
            0..=50 => 2,
            51..=100 => 5,
            101..=500 => 10,
            _ => 20,
        };
        Self { weight, rate: Rate { per_second: 6, burst: 400 } }
    }
}

/// What is left of it.
#[derive(Debug)]
pub(super) struct SnapshotBudget {
    weight: u32,
    credits: Credits,
    /// The venue said that nothing may be asked for before then.
    barred_until: Nanos,
}

impl SnapshotBudget {
    pub(super) fn new(limits: SnapshotLimits) -> Self {
        let SnapshotLimits { weight, rate } = limits;
        Self { weight, credits: Credits::new(rate), barred_until: Nanos::ZERO }
    }

    /// Whether a request may leave.
    pub(super) fn has_room(&self, now: Nanos) -> bool {
        now >= self.barred_until && self.credits.check(now, self.weight, 0).is_ok()
    }

    /// A request leaves.
    pub(super) fn spend(&mut self, now: Nanos) {
        let _ = self.credits.take_many(now, self.weight, 0);
    }

    /// Nothing may be asked for, nor connected to, before then.
    pub(super) fn bar(&mut self, until: Nanos) {
        self.barred_until = self.barred_until.max(until);
    }

    pub(super) const fn barred_until(&self) -> Nanos {
        self.barred_until
    }

    /// Reads an answer: one that says that a limit was reached bars requests until the time that it
    /// names. Cost, of a snapshot: a search in its first bytes.
    pub(super) fn handle_answer(&mut self, now: Nanos, frame: &[u8]) {
        let head = frame.get(..HEAD_BYTES).unwrap_or(frame);
        if head.windows(SERVED.len()).any(|bytes| bytes == SERVED) {
            return;
        }
        self.handle_refusal(now, frame);
    }

    #[cold]
    fn handle_refusal(&mut self, now: Nanos, frame: &[u8]) {
        let Ok(Frame::Answer(answer)) = read_frame(frame) else { return };
        if !answer.is_error {
            return;
        }
        let Ok(error) = read_error(answer.status, answer.body) else { return };
        if !error.is_limit() {
            return;
        }
        // By the venue's own clock, which the answer shows.
        let server = read_server_time(error.data).ok();
        let wait = error.retry_after_ms.zip(server).map(|(at, now)| at.saturating_sub(now));
        let wait = wait.and_then(|ms| i64::try_from(ms).ok()).map_or(BARRED, Nanos::from_millis);
        self.bar(Nanos(now.0.saturating_add(wait.0)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget() -> SnapshotBudget {
        SnapshotBudget::new(SnapshotLimits::of_levels(1_000))
    }

    const NOW: Nanos = Nanos::from_secs(1_000);

    #[test]
    fn in_no_minute_more_weight_leaves_than_the_limits_say() {
        let mut budget = budget();
        let mut left = Vec::new();
        for ms in 0..180_000 {
            let now = NOW + Nanos::from_millis(ms);
            if budget.has_room(now) {
                budget.spend(now);
                left.push(ms);
            }
        }
        assert_eq!(left.iter().filter(|ms| **ms == 0).count(), 1, "one is looked for a turn");
        let of_minute =
            |from: i64| left.iter().filter(move |at| (from..from + 60_000).contains(*at));
        let most = left.iter().map(|from| of_minute(*from).count()).max();
        assert!(most.is_some_and(|most| (37..=1_900 / 50).contains(&most)), "{most:?}");
    }

    #[test]
    fn a_limit_that_was_reached_bars_requests_until_the_time_that_the_answer_names() {
        let refused = |status: u32, data: &str| {
            format!(
                "{{\"id\":3,\"status\":{status},\"error\":{{\"code\":-1003,\"msg\":\"Too much \
                 request weight used.\"{data}}},\"rateLimits\":[]}}"
            )
        };
        let data = ",\"data\":{\"serverTime\":1700000000000,\"retryAfter\":1700000007500}";
        for (frame, wait_ms) in [
            (refused(429, data), 7_500),
            (refused(418, data), 7_500),
            (refused(429, ""), 60_000),
            (refused(429, ",\"data\":{\"serverTime\":9,\"retryAfter\":1}"), 0),
            ("{\"id\":3,\"status\":200,\"result\":{\"lastUpdateId\":1}}".to_owned(), 0),
            ("{\"id\":3,\"status\":400,\"error\":{\"code\":-1121,\"msg\":\"\"}}".to_owned(), 0),
            ("not JSON".to_owned(), 0),
        ] {
            let mut budget = budget();
            budget.handle_answer(NOW, frame.as_bytes());
            let until = NOW + Nanos::from_millis(wait_ms);
            assert!(budget.has_room(until), "{frame}");
            assert!(wait_ms == 0 || !budget.has_room(until - Nanos(1)), "{frame}");
        }
    }
}
