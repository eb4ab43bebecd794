//! Cancels: one, many at once, those that wait until their budget has them, and those of own orders
//! that a new one could trade with.

use std::collections::{BTreeMap, BTreeSet};

use taut_io::{Io, Kernel};
use taut_journal::Entry;
use taut_oms::{Order, Permit, RateWarning, RequestKind, RiskReject, TableError, crosses};
use taut_sys::Clock;
use taut_types::{ClientOrderId, InstrumentId, Nanos, OrderTerms};

use super::handler::{Framing, NotSent, OrderHandler};
use super::requests::{Prepared, refusal_of, refused_as};
use super::waiting::Budget;
use super::{OrderSession, Phase, at, message_of};
use crate::message::{OrderUpdate, Refusal};

/// When a cancel is tried again whose order has as many requests under way as can be.
const BUSY_AGAIN: Nanos = Nanos::from_millis(1);
/// So many bytes of cancels leave in one system call: some 100 of FIX.
const BATCH_BYTES: usize = 16 * 1_024;

/// Fewer cancels of an instrument leave one by one.
const AT_ONCE_MIN: usize = 4;
/// What one request for all orders in an instrument has not ended after so long is cancelled by
/// itself.
const AT_ONCE_TAKES: Nanos = Nanos::from_millis(500);

/// What became of a cancel that was asked for.
enum Cancel {
    /// Its message is in the outbox.
    Left,
    /// It is one too many for the budgets of its user, account or venue until then.
    Waits {
        budget: Budget,
        due: Nanos,
    },
    Refused(OrderUpdate),
}

impl<H: OrderHandler> OrderSession<H> {
    /// A budget of messages that is nearly spent, or is not any more.
    pub(crate) fn poll_rate_warning(&mut self, now: Nanos) -> Option<RateWarning> {
        self.risk.poll_rate_warning(now)
    }

    /// Orders whose cancel waits.
    pub(crate) fn waiting_cancels(&self) -> usize {
        self.waiting_cancels.len()
    }

    /// Asks for the end of an order, or has that wait until its budget has it.
    pub(super) fn send_cancel(
        &mut self,
        io: &mut Io<impl Kernel>,
        clock: &Clock,
        target: ClientOrderId,
    ) -> Option<OrderUpdate> {
        let left = self.leave_cancel(clock, target);
        self.send_left(io);
        match left {
            Cancel::Left => None,
            Cancel::Waits { budget, due } => {
                self.waiting_cancels.push(target, budget, due);
                None
            }
            Cancel::Refused(update) => Some(update),
        }
    }

    /// Asks for the end of all these orders, of many in one system call; `updates` gets what could
    /// not be asked. What the kernel does not take at once waits here: however many orders are
    /// cancelled, and however slowly the venue reads, the connection stays.
    pub(super) fn send_cancels(
        &mut self,
        io: &mut Io<impl Kernel>,
        clock: &Clock,
        orders: Vec<ClientOrderId>,
        updates: &mut Vec<OrderUpdate>,
    ) {
        let at_once = self.cancel_at_once(io, clock, &orders);
        for order in orders {
            let known = self.table.get(order);
            let ends_with_others = known.is_some_and(|it| at_once.contains(&it.terms.instrument));
            let known = known.map(budget_of);
            if let Some(budget) = known.filter(|_| ends_with_others) {
                self.waiting_cancels.push_later(order, budget, clock.now() + AT_ONCE_TAKES);
                continue;
            }
            if let Some(budget) = known.filter(|_| self.is_backed_up(io)) {
                self.waiting_cancels.push(order, budget, clock.now());
                continue;
            }
            match self.leave_cancel(clock, order) {
                Cancel::Left => self.send_batch(io),
                Cancel::Waits { budget, due } => self.waiting_cancels.push(order, budget, due),
                Cancel::Refused(update) => updates.push(update),
            }
        }
        self.send_left(io);
    }

    /// Asks for the end of all orders in each instrument in which that is what these cancels come
    /// to, where the venue may be asked for it: which instruments these are.
    fn cancel_at_once(
        &mut self,
        io: &mut Io<impl Kernel>,
        clock: &Clock,
        orders: &[ClientOrderId],
    ) -> Vec<InstrumentId> {
        let is_on = matches!(self.phase, Phase::Reconciling | Phase::Up);
        if orders.len() < AT_ONCE_MIN || !is_on || !self.handler.owns_account() {
            return Vec::new();
        }
        let mut groups = BTreeMap::<InstrumentId, (usize, ClientOrderId)>::new();
        for order in orders.iter().filter_map(|id| self.table.get(*id)) {
            groups.entry(order.terms.instrument).or_insert((0, order.id)).0 += 1;
        }
        groups.retain(|_, (count, _)| *count >= AT_ONCE_MIN);
        // What is being cancelled may end with the others; what is to stay may not.
        let these: BTreeSet<ClientOrderId> = orders.iter().copied().collect();
        let waiting = &self.waiting_cancels;
        let is_to_end = |id| waiting.holds(id) || these.contains(&id);
        let stays = |order: &&Order| !order.is_being_cancelled() && !is_to_end(order.id);
        for order in self.table.open_orders().filter(stays) {
            groups.remove(&order.terms.instrument);
        }
        let mut at_once = Vec::new();
        for (instrument, (_, order)) in groups {
            let now = at(clock, clock.now());
            let Ok((request, _)) = self.table.check_cancel(order) else { continue };
            let Some(terms) = self.table.get(order).map(|order| order.terms) else { continue };
            let Self { handler, instruments, accounts, .. } = self;
            let message = message_of(instruments, accounts, request, &terms);
            let left =
                message.ok_or(NotSent::NotUp).and_then(|like| handler.cancel_all_like(now, &like));
            if self.is_left(left) {
                self.send_left(io);
                at_once.push(instrument);
            }
        }
        at_once
    }

    /// Sends the cancels whose budget has them now, as many as the kernel takes.
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
        let now = clock.now();
        let mut busy = Vec::new();
        while !self.is_backed_up(io)
            && let Some((order, budget)) = self.waiting_cancels.pop_due(now)
        {
            match self.table.check_cancel(order) {
                Ok(_) => match self.leave_cancel(clock, order) {
                    Cancel::Left => self.send_batch(io),
                    Cancel::Waits { budget, due } => {
                        self.waiting_cancels.put_back(order, budget, due);
                    }
                    Cancel::Refused(update) => updates.push(update),
                },
                // Modifies went before it: it waits for an answer to one of them.
                Err(TableError::Busy) => busy.push((order, budget)),
                // One that ended in the meantime, or is being cancelled, has its answer.
                Err(_) => {}
            }
        }
        self.send_left(io);
        for (order, budget) in busy {
            self.waiting_cancels.push(order, budget, now + BUSY_AGAIN);
        }
    }

    /// Checks a cancel, writes it down and leaves its message in the outbox.
    fn leave_cancel(&mut self, clock: &Clock, target: ClientOrderId) -> Cancel {
        let (request, base) = match self.table.check_cancel(target) {
            Ok(checked) => checked,
            Err(error) => return Cancel::Refused(self.refuse_known(target, refusal_of(error))),
        };
        // A cancel need not wait until all is reconciled.
        let is_on = matches!(self.phase, Phase::Reconciling | Phase::Up);
        let order = self.table.get(target).filter(|_| is_on);
        let order = order.map(|order| (order.terms, order.counted_as(), budget_of(order)));
        let Some((terms, counted_as, budget)) = order else {
            return Cancel::Refused(self.refuse_known(target, Refusal::NotWorking));
        };
        let now = at(clock, clock.now());
        if let Err(due) = self.risk.check_cancel(now.mono, counted_as, terms.account) {
            return Cancel::Waits { budget, due };
        }
        let written = self.journal.admit_uncommitted(now.utc, target, || Entry::Cancel { request });
        if let Err(refusal) = written {
            return Cancel::Refused(self.refuse_known(target, refusal));
        }
        let Self { handler, instruments, accounts, .. } = self;
        let message = message_of(instruments, accounts, request, &terms);
        let left =
            message.ok_or(NotSent::NotUp).and_then(|message| handler.cancel(now, base, &message));
        if !self.is_left(left) {
            self.never_left(now, request);
            if let Err(NotSent::Throttled(due)) = left {
                return Cancel::Waits { budget, due };
            }
            let refusal = refused_as(left, Refusal::NotWorking);
            return Cancel::Refused(self.refuse_known(target, refusal));
        }
        self.table.cancel(request, self.handler.last_message(), now.mono);
        Cancel::Left
    }

    /// Sends what is in the outbox when that is worth a system call, or the venue's connection
    /// carries messages one by one.
    #[inline]
    fn send_batch(&mut self, io: &mut Io<impl Kernel>) {
        let is_stream = self.handler.capabilities().framing == Framing::Stream;
        if !is_stream || self.handler.unsent().len() >= BATCH_BYTES {
            self.send_left(io);
        }
    }

    /// Sends what is in the outbox, if anything is, once it is safe in the journal.
    fn send_left(&mut self, io: &mut Io<impl Kernel>) {
        if !self.handler.unsent().is_empty() {
            self.journal.commit();
            self.write(io);
            self.handler.clear_unsent();
        }
    }

    /// Whether the kernel has not taken all that was sent.
    fn is_backed_up(&self, io: &mut Io<impl Kernel>) -> bool {
        self.stream.is_some_and(|stream| io.unsent_bytes(stream).is_ok_and(|bytes| bytes > 0))
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
            let has_left = self.table.get(order).is_some_and(Order::is_being_cancelled);
            all_left && refused.is_none() && has_left
        })
    }
}

/// What its cancel counts against.
const fn budget_of(order: &Order) -> Budget {
    (order.owner.user, order.terms.account)
}

/// Whether an own order could trade with one that arrives: at its price, or at one that it is being
/// changed to.
fn could_trade(own: &Order, arriving: &OrderTerms) -> bool {
    let asked = own.pending().filter(|it| it.kind == RequestKind::Modify).map(|it| it.price);
    let mut prices = asked.chain([own.terms.price]);
    prices.any(|price| crosses(&OrderTerms { price, ..own.terms }, arriving))
}
