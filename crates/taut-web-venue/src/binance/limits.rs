//! Request weight and order counts, in windows that are aligned to the clock.

use serde_json::{Value, json};

/// REQUEST_WEIGHT: of all connections together, as they come from one address.
pub const WEIGHT_PER_MINUTE: u32 = 6_000;
const MINUTE_MS: i64 = 60_000;
/// Requests over the limit, in one window, that lead to a ban.
const OFFENCES_MAX: u32 = 100;
/// How long the first ban lasts.
const BAN_MS: i64 = 2 * MINUTE_MS;

/// A count that begins again at each window of the clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Window {
    width_ms: i64,
    start_ms: i64,
    pub count: u32,
}

impl Window {
    pub const fn new(width_ms: i64) -> Self {
        Self { width_ms, start_ms: 0, count: 0 }
    }

    /// Begins again where the window of this time is another; whether it is.
    pub fn turn(&mut self, ms: i64) -> bool {
        let start = ms - ms.rem_euclid(self.width_ms.max(1));
        let is_new = start != self.start_ms;
        if is_new {
            (self.start_ms, self.count) = (start, 0);
        }
        is_new
    }

    /// Seconds until the window is over, rounded up.
    pub const fn seconds_left(&self, ms: i64) -> i64 {
        (self.start_ms + self.width_ms - ms + 999) / 1_000
    }
}

/// What requests may cost.
#[derive(Debug)]
pub struct Weight {
    window: Window,
    offences: u32,
    banned_until_ms: i64,
}

/// Why a request is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// The window's weight is used up: seconds until the next.
    Wait(i64),
    /// Too many requests came in spite of it: until when, in milliseconds of UTC.
    Banned(i64),
}

impl Weight {
    pub const fn new() -> Self {
        Self { window: Window::new(MINUTE_MS), offences: 0, banned_until_ms: 0 }
    }

    /// Takes a request's weight, if it may be served.
    pub fn spend(&mut self, ms: i64, weight: u32) -> Result<(), Excess> {
        if self.window.turn(ms) {
            self.offences = 0;
        }
        if ms < self.banned_until_ms {
            return Err(Excess::Banned(self.banned_until_ms));
        }
        if self.window.count + weight <= WEIGHT_PER_MINUTE {
            self.window.count += weight;
            return Ok(());
        }
        self.offences += 1;
        if self.offences > OFFENCES_MAX {
            self.banned_until_ms = ms + BAN_MS;
            return Err(Excess::Banned(self.banned_until_ms));
        }
        Err(Excess::Wait(self.window.seconds_left(ms)))
    }

    /// Gives a request's weight back: successful orders cost nothing.
    pub const fn give_back(&mut self, weight: u32) {
        self.window.count = self.window.count.saturating_sub(weight);
    }

    pub const fn used(&self) -> u32 {
        self.window.count
    }

    pub fn json(&self) -> Value {
        limit("REQUEST_WEIGHT", "MINUTE", 1, WEIGHT_PER_MINUTE, Some(self.window.count))
    }
}

/// An account's unfilled orders.
#[derive(Debug)]
pub struct OrderCounts {
    pub ten_seconds: Window,
    pub day: Window,
    pub max_10s: u32,
    pub max_day: u32,
}

impl OrderCounts {
    pub const fn new(max_10s: u32, max_day: u32) -> Self {
        let (ten_seconds, day) = (Window::new(10_000), Window::new(1_440 * MINUTE_MS));
        Self { ten_seconds, day, max_10s, max_day }
    }

    /// Counts an order, if there is room; or which limit there is.
    pub fn add(&mut self, ms: i64) -> Result<(), String> {
        self.turn(ms);
        if self.ten_seconds.count >= self.max_10s {
            return Err(format!("{} orders per 10 SECOND", self.max_10s));
        }
        if self.day.count >= self.max_day {
            return Err(format!("{} orders per 1 DAY", self.max_day));
        }
        self.ten_seconds.count += 1;
        self.day.count += 1;
        Ok(())
    }

    /// An order has traded for the first time.
    pub fn filled(&mut self, ms: i64) {
        self.turn(ms);
        self.ten_seconds.count = self.ten_seconds.count.saturating_sub(1);
        self.day.count = self.day.count.saturating_sub(1);
    }

    pub fn turn(&mut self, ms: i64) {
        self.ten_seconds.turn(ms);
        self.day.turn(ms);
    }

    pub fn json(&self) -> [Value; 2] {
        [
            limit("ORDERS", "SECOND", 10, self.max_10s, Some(self.ten_seconds.count)),
            limit("ORDERS", "DAY", 1, self.max_day, Some(self.day.count)),
        ]
    }
}

/// A limit as the venue writes it, with its use or without.
pub fn limit(kind: &str, interval: &str, number: u32, limit: u32, count: Option<u32>) -> Value {
    let mut it = json!({
        "rateLimitType": kind,
        "interval": interval,
        "intervalNum": number,
        "limit": limit,
    });
    if let (Some(count), Some(map)) = (count, it.as_object_mut()) {
        map.insert("count".to_owned(), json!(count));
    }
    it
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weight_comes_back_with_the_minute_and_who_goes_on_is_banned() {
        let mut weight = Weight::new();
        let at = 1_700_000_040_000 + 58_500;
        assert_eq!(weight.spend(at, 5_990), Ok(()));
        assert_eq!(weight.spend(at, 20), Err(Excess::Wait(2)));
        assert_eq!(weight.spend(at, 10), Ok(()));
        assert_eq!(weight.spend(at + 1_500, 20), Ok(()), "a new minute");
        assert_eq!(weight.used(), 20);
        let over = (0..=OFFENCES_MAX).filter_map(|_| weight.spend(at + 1_500, 6_000).err()).last();
        let until = at + 1_500 + BAN_MS;
        assert_eq!(over, Some(Excess::Banned(until)));
        assert_eq!(weight.spend(until - 1, 1), Err(Excess::Banned(until)));
        assert_eq!(weight.spend(until, 1), Ok(()));
    }

    #[test]
    fn an_order_that_trades_makes_room_for_another() {
        let mut counts = OrderCounts::new(2, 3);
        assert!(counts.add(5).is_ok() && counts.add(6).is_ok());
        assert_eq!(counts.add(7), Err("2 orders per 10 SECOND".to_owned()));
        counts.filled(8);
        assert!(counts.add(9).is_ok());
        assert!(counts.add(10_000).is_ok(), "the next ten seconds");
        assert_eq!(counts.add(10_001), Err("3 orders per 1 DAY".to_owned()));
    }
}
