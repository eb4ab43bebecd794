//! Requests of the strategies: checked, written down, sent.

use taut_fix::Now;
use taut_io::{Io, Kernel};
use taut_journal::Entry;
use taut_lat::{FlightRecord, Stage, StageClock, StageOffsets};
use taut_oms::{Modify, Order, OrderState, Permit, Reference, RiskReject, TableError};
use taut_simd::prefetch_read;
use taut_sys::Clock;
use taut_types::{
    AccountId, ClientOrderId, InstrumentId, Lots, Nanos, OrderTerms, Price, RequestId, Side,
};

use super::handler::{NotSent, OrderHandler};
use super::{OrderSession, at, message_of};
use crate::message::{OrderFilter, OrderUpdate, Refusal, Request, RequestKind, UpdateKind};
use crate::regions::Recorders;
use crate::reports::update;

impl<H: OrderHandler> OrderSession<H> {
    /// Handles a request of the client; `updates` gets what its owner must be told at once, and
    /// `on_sent` the bytes of a new order that has left.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "all of them are of one line of the path")]
    pub(crate) fn handle_request(
        &mut self,
        io: &mut Io<impl Kernel>,
        clock: &Clock,
        request: &Request,
        reference: Reference,
        recorders: &mut Recorders<'_>,
        on_sent: impl FnOnce(&[u8]),
        updates: &mut Vec<OrderUpdate>,
    ) {
        match request.kind {
            RequestKind::Create(terms) => {
                let refused =
                    self.send_order(io, (clock, request), &terms, reference, recorders, on_sent);
                updates.extend(refused);
            }
            // Another one's order, or one that was handed over since.
            RequestKind::Modify { .. } | RequestKind::Cancel
                if self.table.owner(request.id) != request.owner =>
            {
                self.refused += 1;
            }
            RequestKind::Modify { .. } | RequestKind::Cancel if self.is_outdated(request) => {
                updates.push(self.refuse_known(request.id, Refusal::Version));
            }
            RequestKind::Modify { price, lots } => {
                updates.extend(self.send_modify(io, clock, request.id, (price, lots), reference));
            }
            RequestKind::Cancel => updates.extend(self.send_cancel(io, clock, request.id)),
            RequestKind::CancelAll(filter) => {
                let own = request.owner.only(filter);
                self.cancel_all(io, clock, &own, updates);
            }
            RequestKind::TellBooks => {}
        }
        if self.is_broken {
            self.lost(io, at(clock, clock.now()), updates);
        }
    }

    /// Whether the order has another version than the one that the request depends on.
    fn is_outdated(&self, request: &Request) -> bool {
        let accepted = self.table.get(request.id).map(|order| order.version_accepted);
        request.only_if.zip(accepted).is_some_and(|(only_if, accepted)| only_if != accepted)
    }

    /// Cancels the open orders that the filter means; `updates` gets what could not be.
    pub(crate) fn cancel_all(
        &mut self,
        io: &mut Io<impl Kernel>,
        clock: &Clock,
        filter: &OrderFilter,
        updates: &mut Vec<OrderUpdate>,
    ) {
        let waiting = &self.waiting_cancels;
        let meant = |order: &&Order| {
            !order.is_being_cancelled()
                && filter.matches(order.counted_as(), &order.terms)
                && !waiting.holds(order.id)
        };
        let orders: Vec<_> = self.table.open_orders().filter(meant).map(|order| order.id).collect();
        self.send_cancels(io, clock, orders, updates);
        if self.is_broken {
            self.lost(io, at(clock, clock.now()), updates);
        }
    }

    #[inline]
    fn send_order(
        &mut self,
        io: &mut Io<impl Kernel>,
        (clock, request): (&Clock, &Request),
        order: &OrderTerms,
        reference: Reference,
        recorders: &mut Recorders<'_>,
        on_sent: impl FnOnce(&[u8]),
    ) -> Option<OrderUpdate> {
        let mut offsets = request.offsets;
        let origin = request.origin;
        let taken = clock.now();
        mark(&mut offsets, Stage::ToGateway, origin, taken);

        let named = (request.id, request.tag);
        let prepared = match self.prepare(clock, taken, named, order, reference, false) {
            Ok(Some(prepared)) => Ok(prepared),
            Ok(None) => self.prepare_behind_cancels(io, clock, named, order),
            Err(refusal) => Err(refusal),
        };
        let Prepared { checked, encoded } = match prepared {
            Ok(prepared) => prepared,
            Err(refusal) => {
                if refusal == Refusal::Risk(RiskReject::SelfMatchBoth) {
                    self.cancel_own(io, clock, request.id, order);
                }
                return Some(self.refuse(request.id, order, refusal));
            }
        };
        mark(&mut offsets, Stage::Risk, origin, checked);
        mark(&mut offsets, Stage::Encode, origin, encoded);

        self.write(io);
        let sent = clock.now();
        mark(&mut offsets, Stage::Send, origin, sent);

        on_sent(self.handler.unsent());
        self.handler.clear_unsent();
        self.remember(request, order, encoded);
        if origin != Nanos::ZERO {
            let (order, instrument) = (request.id, order.instrument);
            let stamps = StageClock { origin, offsets };
            recorders.record(&FlightRecord { order, instrument, stamps });
        }
        None
    }

    /// Asks the processor for what an order of this instrument will need.
    #[inline]
    pub(crate) fn prefetch(&self, instrument: InstrumentId) {
        let account = self.last_order.map_or(AccountId(0), |(_, terms)| terms.account);
        self.risk.prefetch(instrument, account);
        if let Some(instrument) = self.instruments.get(instrument.0 as usize) {
            prefetch_read(instrument);
        }
    }

    /// Runs the code of a new order over its memory, up to the message, and sends nothing: an order
    /// that comes after a pause finds both in the caches. The order is as the last one, at its own
    /// side's best price, and of `instrument`, where one is named.
    #[inline(never)]
    pub(crate) fn rehearse(
        &mut self,
        clock: &Clock,
        instrument: Option<InstrumentId>,
        reference: impl FnOnce(InstrumentId) -> Reference,
    ) {
        let Some((id, terms)) = self.last_order else { return };
        let instrument = instrument.unwrap_or(terms.instrument);
        let reference = reference(instrument);
        let best = match terms.side {
            Side::Buy => reference.bid,
            Side::Sell => reference.ask,
        };
        let Some(price) = best else { return };
        let id = ClientOrderId::of(id.user(), id.strategy(), id.number() + 1);
        let terms = OrderTerms { price, instrument, ..terms };
        // Whether it could leave is of no interest.
        let _ = self.prepare(clock, clock.now(), (id, 0), &terms, reference, true);
    }

    /// Checks an order, writes it down and leaves its message in the outbox; nothing when own
    /// orders must be cancelled first. A rehearsal leaves nothing there and counts nothing; it is
    /// this very code that it keeps in the caches, so there is one copy.
    #[inline(never)]
    pub(super) fn prepare(
        &mut self,
        clock: &Clock,
        taken: Nanos,
        (id, tag): (ClientOrderId, u32),
        order: &OrderTerms,
        reference: Reference,
        is_rehearsal: bool,
    ) -> Result<Option<Prepared>, Refusal> {
        let permit = self.check(taken, id, order, reference, is_rehearsal)?;
        if permit == Permit::CancelOwnThenSend && !is_rehearsal {
            return Ok(None);
        }
        self.leave_message(clock, (id, tag), order, is_rehearsal).map(Some)
    }

    /// Leaves the message of an order that was checked in the outbox.
    #[inline]
    pub(super) fn leave_message(
        &mut self,
        clock: &Clock,
        (id, tag): (ClientOrderId, u32),
        order: &OrderTerms,
        is_rehearsal: bool,
    ) -> Result<Prepared, Refusal> {
        let checked = clock.now();
        let now = at(clock, checked);
        let entry = || Entry::Create { order: id, tag, terms: *order };
        if !is_rehearsal && let Err(refusal) = self.journal.admit(now.utc, id, entry) {
            self.risk.ended(id, order, order.lots);
            return Err(refusal);
        }
        let Self { handler, instruments, accounts, .. } = self;
        let message = message_of(instruments, accounts, RequestId::create(id), order);
        let left = message
            .ok_or(NotSent::NotUp)
            .and_then(|message| handler.create(now, &message, is_rehearsal));
        if !self.is_left(left) {
            if !is_rehearsal {
                self.never_left(now, RequestId::create(id));
                self.risk.ended(id, order, order.lots);
            }
            return Err(refused_as(left, Refusal::NotConnected));
        }
        Ok(Prepared { checked, encoded: clock.now() })
    }

    /// Everything that must hold before an order leaves; then it is counted as open.
    #[inline]
    fn check(
        &mut self,
        now: Nanos,
        id: ClientOrderId,
        order: &OrderTerms,
        reference: Reference,
        is_rehearsal: bool,
    ) -> Result<Permit, Refusal> {
        let instrument = self.instruments.get(order.instrument.0 as usize);
        if instrument.ok_or(Refusal::UnknownInstrument)?.qty(order.lots).is_err() {
            return Err(Refusal::Table);
        }
        if !self.is_active() {
            return Err(Refusal::NotConnected);
        }
        if !self.table.has_room_for(id) {
            return Err(Refusal::Table);
        }
        if let Some(what_if) = self.what_if.as_mut().filter(|_| !is_rehearsal) {
            what_if.judge((&mut self.risk, &self.table), now, (id, order), &reference);
        }
        let best_own = |instrument, side| self.table.best_own(None, instrument, side);
        let checked =
            self.risk.check_or_rehearse(now, id, order, &reference, best_own, is_rehearsal);
        checked.map_err(Refusal::Risk)
    }

    pub(super) fn remember(&mut self, request: &Request, terms: &OrderTerms, sent_at: Nanos) {
        self.last_order = Some((request.id, *terms));
        // There was room before it left.
        let _ =
            self.table.create(request.id, terms, request.tag, self.handler.last_message(), sent_at);
    }

    /// Asks for another price and quantity of an order.
    fn send_modify(
        &mut self,
        io: &mut Io<impl Kernel>,
        clock: &Clock,
        target: ClientOrderId,
        (price, lots): (Price, Lots),
        reference: Reference,
    ) -> Option<OrderUpdate> {
        if !self.is_active() {
            return Some(self.refuse_known(target, Refusal::NotConnected));
        }
        let (request, base) = match self.table.check_modify(target, None) {
            Ok(checked) => checked,
            Err(error) => return Some(self.refuse_known(target, refusal_of(error))),
        };
        let order = *self.table.get(target)?;
        let terms = OrderTerms { price, lots, ..order.terms };
        let modify = Modify {
            id: order.counted_as(),
            old: &order.terms,
            lots_counted: order.lots_open_max(),
            new: &terms,
            lots_left: Lots(lots.0.saturating_sub(order.traded.lots.0).max(0)),
        };
        let now = at(clock, clock.now());
        let is_in_units = self.is_in_units(&terms);
        let permit = match is_in_units
            .and_then(|()| self.check_modify(now.mono, target, modify, &reference))
        {
            Ok(permit) => permit,
            Err(refusal) => {
                if refusal == Refusal::Risk(RiskReject::SelfMatchBoth) {
                    self.cancel_own(io, clock, target, &terms);
                }
                return Some(self.refuse_known(target, refusal));
            }
        };
        let sent = self.make_way(io, clock, (target, &terms), permit).and_then(|()| {
            self.journal.admit(now.utc, target, || Entry::Modify { request, price, lots })?;
            let Self { handler, instruments, accounts, .. } = self;
            let message = message_of(instruments, accounts, request, &terms);
            let left = message
                .ok_or(NotSent::NotUp)
                .and_then(|message| handler.modify(now, base, &message));
            if self.is_left(left) {
                return Ok(());
            }
            self.never_left(now, request);
            Err(refused_as(left, Refusal::NotConnected))
        });
        if let Err(refusal) = sent {
            let more = Lots(modify.lots_left.0.saturating_sub(modify.lots_counted.0).max(0));
            self.risk.released(&terms, more);
            return Some(self.refuse_known(target, refusal));
        }
        self.write(io);
        self.handler.clear_unsent();
        self.table.modify(request, price, lots, self.handler.last_message(), now.mono);
        None
    }

    /// Whether the quantities of an order can be told in its instrument's units.
    fn is_in_units(&self, terms: &OrderTerms) -> Result<(), Refusal> {
        let instrument = self.instruments.get(terms.instrument.0 as usize);
        let instrument = instrument.ok_or(Refusal::UnknownInstrument)?;
        let is_in_units = |lots| instrument.qty(lots).map(drop).map_err(|_| Refusal::Table);
        is_in_units(terms.lots).and(is_in_units(terms.lots_shown))
    }

    /// What must hold before an order becomes another; then the larger of both is counted.
    fn check_modify(
        &mut self,
        now: Nanos,
        target: ClientOrderId,
        modify: Modify<'_>,
        reference: &Reference,
    ) -> Result<Permit, Refusal> {
        if let Some(what_if) = &mut self.what_if {
            let judging = (&mut self.risk, &self.table);
            what_if.judge_modify(judging, now, (target, modify), reference);
        }
        let table = &self.table;
        let best_own = |instrument, side| table.best_own(Some(target), instrument, side);
        self.risk.check_modify(now, modify, reference, best_own).map_err(Refusal::Risk)
    }

    /// A request that was written down could not be sent.
    #[cold]
    pub(super) fn never_left(&mut self, now: Now, request: RequestId) {
        self.journal.note(now.utc, || Entry::Rejected { request, reason: 0 });
    }

    fn refuse(&mut self, id: ClientOrderId, terms: &OrderTerms, refusal: Refusal) -> OrderUpdate {
        match refusal {
            Refusal::Risk(_) => self.risk_rejects += 1,
            _ => self.refused += 1,
        }
        refused(id, terms, refusal, OrderState::Rejected)
    }

    /// Refuses a request about an order, which stays what it is.
    pub(super) fn refuse_known(&mut self, id: ClientOrderId, refusal: Refusal) -> OrderUpdate {
        match self.table.get(id) {
            Some(order) => {
                self.refused += 1;
                update(order, UpdateKind::Refused(refusal), Nanos::ZERO)
            }
            None => {
                self.refused += 1;
                let terms = OrderTerms::market(InstrumentId::UNKNOWN, Side::Buy, Lots::ZERO);
                refused(id, &terms, refusal, OrderState::Cancelled)
            }
        }
    }
}

/// A message that can leave, and when the steps to it ended.
pub(super) struct Prepared {
    checked: Nanos,
    encoded: Nanos,
}

/// Why the table does not let a request leave.
pub(super) const fn refusal_of(error: TableError) -> Refusal {
    match error {
        TableError::Busy => Refusal::Busy,
        TableError::Quarantined => Refusal::Quarantined,
        TableError::Full => Refusal::Table,
        _ => Refusal::NotWorking,
    }
}

/// Why a request that was checked did not leave.
pub(super) fn refused_as(left: Result<(), NotSent>, otherwise: Refusal) -> Refusal {
    match left {
        Err(NotSent::Unsupported) => Refusal::Unsupported,
        Err(NotSent::Filtered) => Refusal::Filtered,
        Err(NotSent::Busy) => Refusal::Busy,
        Err(NotSent::Throttled(_)) => Refusal::Throttled,
        _ => otherwise,
    }
}

/// What the sender of a request is told that did not leave.
const fn refused(
    id: ClientOrderId,
    terms: &OrderTerms,
    refusal: Refusal,
    state: OrderState,
) -> OrderUpdate {
    let OrderTerms { instrument, account, side, price, lots, .. } = *terms;
    OrderUpdate {
        id,
        version: 0,
        instrument,
        account,
        side,
        kind: UpdateKind::Refused(refusal),
        state,
        lots_open: Lots::ZERO,
        lots_filled: Lots::ZERO,
        price,
        lots,
        price_asked: price,
        lots_asked: lots,
        exchange_time: Nanos::ZERO,
    }
}

/// Notes where a stage of a measured order ended.
#[inline]
fn mark(offsets: &mut StageOffsets, stage: Stage, origin: Nanos, now: Nanos) {
    offsets.set_end(stage, now.since(origin).0.unsigned_abs());
}
