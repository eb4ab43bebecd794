//! A connection: who is on it, what it listens to, how much it may ask.

use std::collections::BTreeMap;

use serde_json::Value;
use taut_types::{Nanos, Side};

use crate::deribit::channels::{Channel, Interval};

/// Credits of requests that do not reach the matching engine: a pool, what a request costs, what
/// flows back each second.
const POOL: i64 = 50_000;
const COST: i64 = 500;
const REFILL: i64 = 10_000;

/// A bucket of credits.
#[derive(Clone, Copy, Debug)]
pub struct Credits {
    pool: i64,
    cost: i64,
    refill_per_second: i64,
    left: i64,
    since: Option<Nanos>,
}

impl Credits {
    /// Requests beside the matching engine.
    pub const fn others() -> Self {
        Self { pool: POOL, cost: COST, refill_per_second: REFILL, left: POOL, since: None }
    }

    /// So many requests a second, so many at once.
    pub const fn matching(rate: u32, burst: u32) -> Self {
        let (rate, burst) = (rate as i64 * 1_000, burst as i64 * 1_000);
        Self { pool: burst, cost: 1_000, refill_per_second: rate, left: burst, since: None }
    }

    /// Takes a request's credits, if there are enough.
    pub fn spend(&mut self, now: Nanos) -> bool {
        let since = self.since.unwrap_or(now);
        let back =
            now.since(since).0.saturating_mul(self.refill_per_second) / Nanos::from_secs(1).0;
        if back > 0 || self.since.is_none() {
            self.left = self.left.saturating_add(back).min(self.pool);
            self.since = Some(now);
        }
        if self.left < self.cost {
            return false;
        }
        self.left -= self.cost;
        true
    }
}

/// What a connection listens to.
#[derive(Debug)]
pub struct Subscription {
    pub name: String,
    pub channel: Channel,
    /// The book that was told last.
    pub last_id: u64,
    /// Levels that have changed since, and what they were.
    pub dirty: BTreeMap<(bool, i64), i64>,
    /// What waits for the interval.
    pub waiting: Vec<Value>,
    pub is_dirty: bool,
    /// When the interval is over.
    pub due: Nanos,
}

impl Subscription {
    pub fn new(name: &str, channel: Channel, now: Nanos, change_id: u64) -> Self {
        Self {
            name: name.to_owned(),
            due: now + period(channel.interval()),
            channel,
            last_id: change_id,
            dirty: BTreeMap::new(),
            waiting: Vec::new(),
            is_dirty: false,
        }
    }

    /// Notes that a level was so large before.
    pub fn note(&mut self, side: Side, price: i64, before: i64) {
        self.dirty.entry((side == Side::Buy, price)).or_insert(before);
    }

    pub fn next_due(&mut self, now: Nanos) {
        self.due = now + period(self.channel.interval());
    }
}

const fn period(interval: Interval) -> Nanos {
    match interval {
        Interval::Raw => Nanos::ZERO,
        Interval::Folded => Nanos::from_millis(100),
        Interval::Agg2 => Nanos::from_secs(1),
    }
}

/// The heartbeat that a client asked for.
#[derive(Clone, Copy, Debug)]
pub struct Heartbeat {
    pub interval: Nanos,
    pub due: Nanos,
    /// A test request without an answer yet.
    pub is_asked: bool,
}

/// A connection.
#[derive(Debug)]
pub struct Session {
    pub account: Option<usize>,
    pub read_only: bool,
    pub subscriptions: Vec<Subscription>,
    pub heartbeat: Option<Heartbeat>,
    pub cancels_on_disconnect: bool,
    pub credits: Credits,
}

impl Session {
    pub const fn new() -> Self {
        Self {
            account: None,
            read_only: false,
            subscriptions: Vec::new(),
            heartbeat: None,
            cancels_on_disconnect: false,
            credits: Credits::others(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credits_are_spent_and_flow_back() {
        let mut credits = Credits::others();
        let burst = (0..200).take_while(|_| credits.spend(Nanos::ZERO)).count();
        assert_eq!(burst, 100, "50,000 at 500 each");
        assert!(!credits.spend(Nanos::from_millis(49)));
        assert!(credits.spend(Nanos::from_millis(50)), "20 a second");
        let mut matching = Credits::matching(5, 20);
        assert_eq!((0..99).take_while(|_| matching.spend(Nanos::ZERO)).count(), 20);
        assert!(
            !matching.spend(Nanos::from_millis(199)) && matching.spend(Nanos::from_millis(200))
        );
    }
}
