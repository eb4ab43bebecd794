//! What the venue allows, and what is left of it.

use taut_fix::Now;
use taut_order_entry::binance::{ErrorAnswer, RateLimit, RateLimitKind};
use taut_types::Nanos;

use super::settings::BinanceOrderSettings;
use crate::credits::Credits;
use crate::order_entry::handler::NotSent;

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
const MINUTE_MS: u64 = 60 * 1_000;
/// What an answer tells so early in a window may be what was counted in the one before.
const EARLY_MS: u64 = 1_000;
/// What most requests weigh at the most.
const WEIGHT_MAX: u64 = 4;

/// Weight of an address and orders of an account.
#[derive(Debug)]
pub(super) struct Budget {
    weight: Credits,
    orders: Credits,
    /// The day of UTC, and the orders in it.
    day: (u64, u32),
    orders_a_day: u32,
    /// The venue said that nothing may be sent before then.
    barred_until: Nanos,
    /// What the venue has left for all programs of the address, and of the account, in ten seconds
    /// and in the day.
    left_weight: Left,
    left_orders: Left,
    left_in_day: Left,
}

/// What is left of a limit, as the venue counts it, until its window is over. Before it says so and
/// behind the window nothing is known, and our own count alone holds.
#[derive(Clone, Copy, Debug, Default)]
struct Left {
    count: u64,
    until: Nanos,
}

impl Left {
    /// Whether so much is left.
    ///
    /// # Errors
    /// When the next window begins.
    #[inline]
    fn check(&self, now: Nanos, wanted: u64) -> Result<(), NotSent> {
        match now < self.until && self.count < wanted {
            true => Err(NotSent::Throttled(self.until)),
            false => Ok(()),
        }
    }

    #[inline]
    fn spend(&mut self, count: u64) {
        self.count = self.count.saturating_sub(count);
    }
}

impl Budget {
    pub(super) fn new(settings: &BinanceOrderSettings) -> Self {
        Self {
            weight: Credits::new(settings.weight),
            orders: Credits::new(settings.orders),
            day: (0, 0),
            orders_a_day: settings.orders_a_day,
            barred_until: Nanos::ZERO,
            left_weight: Left::default(),
            left_orders: Left::default(),
            left_in_day: Left::default(),
        }
    }

    /// Takes the weight of a request, if so much is left behind it.
    #[inline]
    pub(super) fn take(&mut self, now: Now, weight: u32, kept: u32) -> Result<(), NotSent> {
        if now.mono < self.barred_until {
            return Err(NotSent::Throttled(self.barred_until));
        }
        self.left_weight.check(now.mono, u64::from(weight) + u64::from(kept))?;
        self.weight.take_many(now.mono, weight, kept).map_err(NotSent::Throttled)?;
        self.left_weight.spend(u64::from(weight));
        Ok(())
    }

    /// Takes what an order costs on its way, and one of the orders of ten seconds and of the day
    /// that the venue's clock shows.
    #[inline]
    pub(super) fn take_order(
        &mut self,
        now: Now,
        venue_ms: u64,
        pay: impl FnOnce(&mut Self) -> Result<(), NotSent>,
    ) -> Result<(), NotSent> {
        let today = venue_ms / DAY_MS;
        if self.day.0 != today {
            self.day = (today, 0);
        }
        if self.day.1 >= self.orders_a_day {
            let left_ms = (today + 1) * DAY_MS - venue_ms;
            return Err(NotSent::Throttled(now.mono + Nanos::from_millis(left_ms as i64)));
        }
        self.left_in_day.check(now.mono, 1)?;
        self.left_orders.check(now.mono, 1)?;
        self.orders.check(now.mono, 1, 0).map_err(NotSent::Throttled)?;
        pay(self)?;
        self.day.1 += 1;
        self.left_in_day.spend(1);
        self.left_orders.spend(1);
        self.orders.take(now.mono, 0).map_err(NotSent::Throttled)
    }

    /// What the venue has counted of a limit when it answered a request, by its clock; so many
    /// requests have left behind that one. Other programs of the account or the address leave less.
    pub(super) fn counted(&mut self, now: Nanos, venue_ms: u64, it: &RateLimit, behind: u64) {
        let since_ms = venue_ms % it.window_ms.max(1);
        let (left, behind) = match (it.kind, it.window_ms) {
            _ if since_ms < EARLY_MS => return,
            (RateLimitKind::Weight, ..=MINUTE_MS) => {
                (&mut self.left_weight, behind.saturating_mul(WEIGHT_MAX))
            }
            (RateLimitKind::Orders, ..=MINUTE_MS) => (&mut self.left_orders, behind),
            (RateLimitKind::Orders, DAY_MS) => (&mut self.left_in_day, behind),
            _ => return,
        };
        let used = it.count.saturating_add(behind);
        let until = now + Nanos::from_millis((it.window_ms - since_ms) as i64);
        *left = Left { count: it.limit.saturating_sub(used), until };
    }

    /// The connection is gone: what was said of orders is said again with the next one.
    pub(super) fn disconnected(&mut self) {
        (self.left_orders, self.left_in_day) = (Left::default(), Left::default());
    }

    /// The venue says that a limit was reached.
    pub(super) fn bar(&mut self, now: Nanos, until: Nanos, error: &ErrorAnswer<'_>) {
        if error.is_about_orders() {
            self.orders.drain(now);
        } else {
            self.weight.drain(now);
            self.barred_until = self.barred_until.max(until);
        }
    }
}
