//! What a backtest asks of an exchange.

use taut_types::Side;

use super::matching::Matching;
use super::outbox::Outbox;
use crate::order::{Order, Request, RequestKind};
use crate::row::Row;
use crate::{BacktestError, Compat, Latency, Market};

/// A simulated exchange over a recording: one of those in this crate.
pub trait Exchange {
    /// What it sees of the market, and we as well.
    type Market: Market;
    /// How long its responses take.
    type Latency: Latency;
    /// Where an own order stands among the others at its price.
    type Place: Copy;

    /// The own orders.
    #[doc(hidden)]
    fn matching(&self) -> &Matching<Self::Place, Self::Latency>;

    /// The own orders.
    #[doc(hidden)]
    fn matching_mut(&mut self) -> &mut Matching<Self::Place, Self::Latency>;

    /// Takes a row that it learns of.
    ///
    /// # Errors
    /// [`BacktestError::FilledTwice`], with [`Compat::keeps_exact_fills`] alone.
    fn take_row(&mut self, row: &Row) -> Result<(), BacktestError>;

    /// An order comes, new or by a modification that enters it anew.
    ///
    /// # Errors
    /// As [`take_row`](Self::take_row).
    fn enter(&mut self, order: Order, kind: RequestKind, at: i64) -> Result<(), BacktestError>;

    /// An own order that rests, the one with this index of its side, is to be modified.
    ///
    /// # Errors
    /// As [`take_row`](Self::take_row).
    fn modify(
        &mut self,
        own: (Side, usize),
        request: &Request,
        at: i64,
    ) -> Result<(), BacktestError>;

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

    /// Takes a request.
    ///
    /// # Errors
    /// As [`take_row`](Self::take_row).
    fn take_request(&mut self, request: Request, at: i64) -> Result<(), BacktestError> {
        let own = self.matching().find(request.order.id);
        match (request.kind, own) {
            (RequestKind::New, _) => {
                let float_leaves = self.matching().units(request.order.leaves);
                let order = Order { float_leaves, ..request.order };
                self.enter(order, RequestKind::New, at)
            }
            (RequestKind::Modify, Some(own)) => {
                let filled = self.matching().filled(own);
                match request.arrived(filled) {
                    Some(request) => self.modify(own, &request, at),
                    None => {
                        self.matching_mut().cancel(own, RequestKind::Modify, at);
                        Ok(())
                    }
                }
            }
            (RequestKind::Cancel, Some(own)) => {
                self.matching_mut().cancel(own, RequestKind::Cancel, at);
                Ok(())
            }
            (_, None) => {
                self.matching_mut().refuse(request, at);
                Ok(())
            }
        }
    }

    /// Whether an own order rests.
    #[inline]
    fn has_orders(&self) -> bool {
        self.matching().count() > 0
    }

    /// What it has to say.
    #[inline]
    fn outbox(&self) -> &Outbox<Self::Latency> {
        &self.matching().outbox
    }

    /// What it has to say.
    #[inline]
    fn outbox_mut(&mut self) -> &mut Outbox<Self::Latency> {
        &mut self.matching_mut().outbox
    }

    /// What of it is as hftbacktest has it.
    #[inline]
    fn compat(&self) -> &Compat {
        &self.matching().compat
    }
}
