//! Who decides.

use taut_types::Nanos;

use crate::order::Response;
use crate::row::Row;
use crate::{BacktestError, Trader};

/// A strategy in a backtest: it names the next time at which it wants to act, and acts.
pub trait Strategy {
    /// When to act first. `starts_at` is the earliest time of the recording.
    fn first(&mut self, starts_at: Nanos) -> Nanos {
        starts_at
    }

    /// Acts at a time, after everything that happened up to it, and names the next one; an earlier
    /// one than now is now, and the last one is never.
    ///
    /// # Errors
    /// Those of its requests, which end the run.
    fn act(&mut self, trader: &mut Trader<'_>) -> Result<Nanos, BacktestError>;

    /// A trade of the recording arrived: its aggressor's side, tick and lots, and when it happened
    /// and arrived. Called in the order of arrival, before responses that came meanwhile and before
    /// the strategy acts.
    fn on_trade(&mut self, _trade: &Row) {}

    /// A response arrived; called in the order of arrival, before the strategy acts.
    fn hear(&mut self, _response: &Response) {}
}
