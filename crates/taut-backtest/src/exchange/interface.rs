//! What a backtest asks of an exchange.

use super::outbox::Outbox;
use crate::order::Request;
use crate::row::Row;
use crate::{BacktestError, Compat, Latency, Market};

/// A simulated exchange over a recording.
pub trait Exchange {
    /// What it sees of the market, and we as well.
    type Market: Market;
    /// How long its responses take.
    type Latency: Latency;

    /// Takes the rows that it learns of, up to a time and no further than its outbox allows.
    ///
    /// # Errors
    /// [`BacktestError::FilledTwice`], with [`Compat::keeps_exact_fills`] alone.
    fn take_rows(
        &mut self,
        rows: &[Row],
        next: &mut usize,
        until: i64,
    ) -> Result<(), BacktestError>;

    /// Takes a request.
    ///
    /// # Errors
    /// As [`take_rows`](Self::take_rows).
    fn take_request(&mut self, request: Request, at: i64) -> Result<(), BacktestError>;

    /// What it has to say.
    fn outbox(&self) -> &Outbox<Self::Latency>;

    /// What it has to say.
    fn outbox_mut(&mut self) -> &mut Outbox<Self::Latency>;

    /// What of it is as hftbacktest has it.
    fn compat(&self) -> &Compat;
}

/// The tight loop of [`Exchange::take_rows`]: `take` is called for each row in turn.
#[inline]
pub fn each_row<X: Exchange>(
    exchange: &mut X,
    rows: &[Row],
    next: &mut usize,
    until: i64,
    mut take: impl FnMut(&mut X, &Row) -> Result<(), BacktestError>,
) -> Result<(), BacktestError> {
    while let Some(row) = rows.get(*next) {
        if row.is_at_exchange() {
            if row.exchange_at() > until.min(exchange.outbox().limit()) {
                break;
            }
            take(exchange, row)?;
        }
        *next += 1;
    }
    Ok(())
}
