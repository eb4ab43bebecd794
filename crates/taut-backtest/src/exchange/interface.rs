//! What a backtest asks of an exchange.

use super::outbox::Outbox;
use crate::order::Request;
use crate::row::Row;
use crate::{BacktestError, Compat, Latency, Market};

/// A simulated exchange over a recording: one of those in this crate.
pub trait Exchange {
    /// What we see of the market.
    type Market: Market;
    /// How long its responses take.
    type Latency: Latency;

    /// Takes a row that it learns of.
    ///
    /// # Errors
    /// [`BacktestError::FilledTwice`], with [`Compat::keeps_exact_fills`] alone;
    /// [`BacktestError::NoRoom`] of an [`EngineExchange`](crate::EngineExchange) alone.
    fn take_row(&mut self, row: &Row) -> Result<(), BacktestError>;

    /// Takes a request.
    ///
    /// # Errors
    /// As [`take_row`](Self::take_row).
    fn take_request(&mut self, request: Request, at: i64) -> Result<(), BacktestError>;

    /// Whether an own order rests.
    fn has_orders(&self) -> bool;

    /// What it has to say.
    fn outbox(&self) -> &Outbox<Self::Latency>;

    /// What it has to say.
    fn outbox_mut(&mut self) -> &mut Outbox<Self::Latency>;

    /// What of it is as hftbacktest has it.
    fn compat(&self) -> &Compat;

    /// Takes the rows that it learns of, up to a time and no further than its outbox allows.
    ///
    /// # Errors
    /// As [`take_row`](Self::take_row).
    #[inline]
    fn take_rows(
        &mut self,
        rows: &[Row],
        next: &mut usize,
        until: i64,
    ) -> Result<(), BacktestError> {
        while let Some(row) = rows.get(*next) {
            if row.is_at_exchange() {
                if row.exchange_at() > until.min(self.outbox().limit()) {
                    break;
                }
                self.take_row(row)?;
            }
            *next += 1;
        }
        Ok(())
    }
}
