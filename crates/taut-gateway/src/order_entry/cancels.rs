//! Cancels that wait until their budget has them, and those of own orders that a new one could
//! trade with.

use taut_io::{Io, Kernel};
use taut_oms::{
    InstrumentStatus, Order, Permit, RateWarning, RequestKind, RiskReject, TableError, crosses,
};
use taut_sys::Clock;
use taut_types::{ClientOrderId, InstrumentId, Nanos, OrderTerms};

use super::handler::OrderHandler;
use super::requests::Prepared;
use super::{OrderSession, Phase};
use crate::message::{OrderUpdate, Refusal};

/// When a cancel is tried again whose order has as many requests under way as can be.
const BUSY_AGAIN: Nanos = Nanos::from_millis(1);

impl<H: OrderHandler> OrderSession<H> {
    /// An instrument trades, or does not any more.
    #[cold]
    pub(crate) fn set_status(&mut self, instrument: InstrumentId, status: InstrumentStatus) {
        self.risk.set_status(instrument, status);
    }

    /// A budget of messages that is nearly spent, or is not any more.
    pub(crate) fn poll_rate_warning(&mut self, now: Nanos) -> Option<RateWarning> {
        self.risk.poll_rate_warning(now)
    }

    /// Orders whose cancel waits.
    pub(crate) fn waiting_cancels(&self) -> usize {
        self.waiting_cancels.len()
    }

    /// Sends the cancels whose budget has them now.
    pub(super) fn send_waiting_cancels(
        &mut self,
        io: &mut Io<impl Kernel>,
        clock: &Clock,
        updates: &mut Vec<OrderUpdate>,
    ) {
        if self.waiting_cancels.len() == 0 || !matches!(self.phase, Phase::Reconciling | Phase::Up)
        {
            return;
        }
        for order in self.waiting_cancels.take_due(clock.now()) {
            match self.table.check_cancel(order) {
                Ok(_) => updates.extend(self.send_cancel(io, clock, order)),
                // Modifies went before it: it waits for an answer to one of them.
                Err(TableError::Busy) => {
                    self.waiting_cancels.push(order, clock.now() + BUSY_AGAIN);
                }
                // One that ended in the meantime, or is being cancelled, has its answer.
                Err(_) => {}
            }
        }
    }

    /// Does with own orders that this one could trade with what the check of it asks for.
    ///
    /// # Errors
    /// When not all of them could be asked to be cancelled: then the order must not leave.
    #[inline]
    pub(super) fn make_way(
        &mut self,
        io: &mut Io<impl Kernel>,
        clock: &Clock,
        (id, terms): (ClientOrderId, &OrderTerms),
        permit: Permit,
    ) -> Result<(), Refusal> {
        match permit {
            Permit::Send => Ok(()),
            Permit::CancelOwnThenSend => match self.cancel_own(io, clock, id, terms) {
                true => Ok(()),
                false => Err(Refusal::Risk(RiskReject::SelfMatch)),
            },
        }
    }

    /// Asks for the cancels of own orders that this one could trade with, and leaves its message
    /// behind them.
    #[cold]
    pub(super) fn prepare_behind_cancels(
        &mut self,
        io: &mut Io<impl Kernel>,
        clock: &Clock,
        (id, tag): (ClientOrderId, u32),
        order: &OrderTerms,
    ) -> Result<Prepared, Refusal> {
        if let Err(refusal) = self.make_way(io, clock, (id, order), Permit::CancelOwnThenSend) {
            self.risk.ended(id, order, order.lots);
            return Err(refusal);
        }
        self.leave_message(clock, (id, tag), order, false)
    }

    /// Cancels the own orders that this one could trade with; whether all of the cancels left.
    #[cold]
    pub(super) fn cancel_own(
        &mut self,
        io: &mut Io<impl Kernel>,
        clock: &Clock,
        id: ClientOrderId,
        terms: &OrderTerms,
    ) -> bool {
        let meets = |order: &&Order| order.id != id && could_trade(order, terms);
        let own: Vec<ClientOrderId> = self
            .table
            .open_orders()
            .filter(meets)
            .filter(|order| !order.is_being_cancelled())
            .map(|order| order.id)
            .collect();
        own.into_iter().fold(true, |all_left, order| {
            let refused = self.send_cancel(io, clock, order);
            all_left && refused.is_none() && !self.waiting_cancels.holds(order)
        })
    }
}

/// Whether an own order could trade with one that arrives: at its price, or at one that it is being
/// changed to.
fn could_trade(own: &Order, arriving: &OrderTerms) -> bool {
    let asked = own.pending().filter(|it| it.kind == RequestKind::Modify).map(|it| it.price);
    let mut prices = asked.chain([own.terms.price]);
    prices.any(|price| crosses(&OrderTerms { price, ..own.terms }, arriving))
}
