//! What the venue allows, and what is left of it.

use taut_fix::Now;
use taut_order_entry::binance::ErrorAnswer;
use taut_types::Nanos;

use super::settings::BinanceOrderSettings;
use crate::credits::Credits;
use crate::order_entry::handler::NotSent;

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

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
}

impl Budget {
    pub(super) fn new(settings: &BinanceOrderSettings) -> Self {
        Self {
            weight: Credits::new(settings.weight),
            orders: Credits::new(settings.orders),
            day: (0, 0),
            orders_a_day: settings.orders_a_day,
            barred_until: Nanos::ZERO,
        }
    }

    /// Takes the weight of a request, if so much is left behind it.
    #[inline]
    pub(super) fn take(&mut self, now: Now, weight: u32, kept: u32) -> Result<(), NotSent> {
        if now.mono < self.barred_until {
            return Err(NotSent::Throttled(self.barred_until));
        }
        self.weight.take_many(now.mono, weight, kept).map_err(NotSent::Throttled)
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
        self.orders.check(now.mono, 1, 0).map_err(NotSent::Throttled)?;
        pay(self)?;
        self.day.1 += 1;
        self.orders.take(now.mono, 0).map_err(NotSent::Throttled)
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
