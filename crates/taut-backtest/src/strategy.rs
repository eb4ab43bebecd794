//! Who decides.

use taut_types::Nanos;

use crate::order::Response;
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

    /// A response arrived; called in the order of arrival, before the strategy acts.
    fn hear(&mut self, _response: &Response) {}
}
