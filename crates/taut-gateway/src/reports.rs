//! What the venue's reports do to our orders, and what their owners are told.

use taut_fix::{Charges, LongText};
use taut_oms::{
    Amount, Change, ExecId, Fill, Order, OrderEvent, OrderState, OrderTable, PositionKey,
    Positions, Quarantine, Quarantined, Report, RequestKind, Risk, Trade, Trouble, VenueReject,
};
use taut_types::{
    ClientOrderId, FeeRates, Instrument, InstrumentId, Lots, Nanos, OrderTerms, Qty, RequestId,
};

use crate::accounts::Accounts;
use crate::drop_copy::{DropCopies, Origin};
use crate::fees::{Fees, Known};
use crate::journal::OrderJournal;
use crate::message::{OrderUpdate, UpdateKind, asked_of};
use crate::order_entry::handler::{ChangeRefused, OfAll, VenueReport};
use crate::owner::Owner;
use crate::regions::Recorders;

/// Troubles that are kept to be looked at.
const TROUBLES_KEPT: usize = 256;

/// Where reports go: the orders, what they expose, and who is told.
pub(crate) struct Books<'a, 'm> {
    pub(crate) table: &'a mut OrderTable,
    pub(crate) risk: &'a mut Risk,
    pub(crate) positions: &'a mut Positions,
    pub(crate) instruments: &'a [Instrument],
    pub(crate) journal: &'a mut OrderJournal,
    pub(crate) recorders: Option<&'a mut Recorders<'m>>,
    pub(crate) updates: &'a mut Vec<OrderUpdate>,
    /// When the report was received.
    pub(crate) now: Nanos,
    /// The same in UTC.
    pub(crate) utc: Nanos,
}

/// What a report asks for in turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// The order that it was about, if it is one of ours.
    pub(crate) order: Option<RequestId>,
    /// Whether the venue should be asked where that order stands.
    pub(crate) asks: bool,
    /// Whether it answers that question.
    pub(crate) is_answer: bool,
}

/// Reads reports, and counts and keeps what is odd about them.
#[derive(Debug)]
pub(crate) struct Reports {
    quarantine: Quarantine,
    /// Who else is told of executions.
    copies: Option<DropCopies>,
    accounts: Accounts,
    repeated: u64,
    foreign: u64,
    foreign_trades: u64,
    statuses: u64,
    /// The order that is over by the last report.
    ended: Option<ClientOrderId>,
    /// The order that was over and goes on by the last report.
    reopened: Option<ClientOrderId>,
    fees: Fees,
    /// How often the venue refused something, by the code of the reason.
    rejects: [u64; VenueReject::COUNT],
}

impl Reports {
    /// With room for so many instruments.
    pub(crate) fn new(accounts: Accounts, instrument_capacity: usize) -> Self {
        let quarantine = Quarantine::with_capacity(TROUBLES_KEPT);
        let mut fees = Fees::default();
        fees.reserve(instrument_capacity);
        Self {
            quarantine,
            copies: None,
            accounts,
            repeated: 0,
            foreign: 0,
            foreign_trades: 0,
            statuses: 0,
            ended: None,
            reopened: None,
            fees,
            rejects: [0; VenueReject::COUNT],
        }
    }

    /// Copies of executions go there from now on.
    pub(crate) fn set_drop_copies(&mut self, copies: DropCopies) {
        self.copies = Some(copies);
    }

    /// Where copies of executions go.
    pub(crate) const fn drop_copies(&self) -> Option<&DropCopies> {
        self.copies.as_ref()
    }

    /// What trades cost of which the venue says nothing, by the number of their instrument.
    pub(crate) fn set_fees(&mut self, rates: &[FeeRates]) {
        self.fees.set_rates(rates);
    }

    /// What trades of an instrument cost that is added behind all others.
    pub(crate) fn add_fees(&mut self, instrument: InstrumentId, rates: FeeRates) {
        self.fees.add_rates(instrument, rates);
    }

    /// What the venue charged and nobody could count: in another currency, or of an unknown kind.
    pub(crate) const fn uncounted_charges(&self) -> u64 {
        self.fees.uncounted()
    }

    /// Hands the copies over that were noted.
    pub(crate) fn hand_over_copies(&mut self) {
        if let Some(copies) = &mut self.copies {
            copies.hand_over();
        }
    }

    /// The order that is over, with all of its trades, by a report since this was called last: a
    /// report ends one at most, and one that is over may be told again.
    #[inline]
    pub(crate) const fn take_ended(&mut self) -> Option<ClientOrderId> {
        self.ended.take()
    }

    /// The order that was over and goes on by a report since this was called last.
    #[inline]
    pub(crate) const fn take_reopened(&mut self) -> Option<ClientOrderId> {
        self.reopened.take()
    }

    /// Reports that said nothing new.
    pub(crate) const fn repeated(&self) -> u64 {
        self.repeated
    }

    /// Makes it forget what repeats on purpose.
    pub(crate) const fn set_repeated(&mut self, repeated: u64) {
        self.repeated = repeated;
    }

    /// Reports of orders that are not ours.
    pub(crate) const fn foreign(&self) -> u64 {
        self.foreign
    }

    /// Those of them that were trades.
    pub(crate) const fn foreign_trades(&self) -> u64 {
        self.foreign_trades
    }

    /// How often the venue refused an order or a change of one for this reason.
    pub(crate) const fn rejects(&self, reason: VenueReject) -> u64 {
        self.rejects[reason as usize]
    }

    /// Answers to the question where orders stand.
    pub(crate) const fn statuses(&self) -> u64 {
        self.statuses
    }

    /// What was odd.
    pub(crate) const fn quarantine(&self) -> &Quarantine {
        &self.quarantine
    }

    /// What a report does to its order.
    pub(crate) fn execution(&mut self, books: &mut Books<'_, '_>, report: &VenueReport) -> Outcome {
        let VenueReport { event, is_answer, exec_id, is_resend, .. } = *report;
        self.statuses += u64::from(is_answer);
        let named = report.request;
        let Some((request, lot)) = named.and_then(|named| Some((named, lot_of(books, named)?)))
        else {
            let is_known = |named: &RequestId| {
                is_resend && !is_trade(event) || books.table.knows(named.order, &exec_id)
            };
            if named.as_ref().is_some_and(is_known) {
                // Of an order that was over before the gateway was started again.
                self.repeated += 1;
            } else if report.of_all != OfAll::Nothing {
                // That there are no orders is an answer, too.
                self.strange(named, exec_id, books.now);
                self.foreign_trades += u64::from(is_trade(event));
            }
            return Outcome::default();
        };
        let request = match report.answers_oldest && event == Some(OrderEvent::Replaced) {
            true => oldest(books, request, Some(RequestKind::Modify)).unwrap_or(request),
            false => request,
        };
        let origin = Origin {
            request,
            order_id: report.venue_id,
            exec_id,
            exchange_time: report.exchange_time,
        };
        let mut outcome = Outcome { order: Some(request), asks: false, is_answer };
        if let Some(event) = event {
            let read = Report {
                request,
                event: if is_answer { event } else { notified(event) },
                told: report.told,
                last: report.last,
                price: report.price,
                total: report.total,
                average: report.average,
                order_qty: report.order_qty,
                order_price: report.order_price,
                exec_id,
                exec_ref: report.exec_ref,
                lot,
                is_resend,
            };
            let said = Said { event, charges: &report.charges, reject: report.reject };
            outcome.asks = self.apply(books, &read, &said, &origin);
        }
        if report.is_strange {
            self.trouble(books, request, Trouble::UnknownCode, exec_id);
            outcome.asks |= event.is_none();
        }
        if report.account.is_some_and(|named| self.is_other_account(books, request, &named)) {
            self.trouble(books, request, Trouble::Contradiction, exec_id);
        }
        outcome
    }

    /// Whether the venue names another account than that of the order. What traded counts for the
    /// order's all the same.
    fn is_other_account(
        &self,
        books: &Books<'_, '_>,
        request: RequestId,
        named: &LongText,
    ) -> bool {
        let own = books.table.get(request.order).map(|order| order.terms.account);
        let own = own.and_then(|account| self.accounts.name(account));
        own.is_some_and(|own| own.as_bytes() != named.as_bytes())
    }

    /// A request to cancel or to change was refused.
    pub(crate) fn change_refused(
        &mut self,
        books: &mut Books<'_, '_>,
        refused: &ChangeRefused,
    ) -> Outcome {
        let named = match refused.request {
            // A venue that names the order alone: then it is the request under way.
            Some(named) if named.version == 0 => oldest(books, named, refused.kind),
            named => named,
        };
        let Some((request, lot)) = named.and_then(|named| Some((named, lot_of(books, named)?)))
        else {
            self.strange(named, ExecId::NONE, books.now);
            return Outcome::default();
        };
        let plain = Report::plain(request, OrderEvent::ChangeRefused, lot);
        let report = Report { told: refused.told, ..plain };
        let origin = Origin { order_id: refused.venue_id, ..Origin::none(request) };
        let said = Said { reject: refused.reject, ..Said::plain(report.event) };
        let asks = self.apply(books, &report, &said, &origin);
        Outcome { order: Some(request), asks, is_answer: false }
    }

    /// Something happened to a request or an order that no report tells; where the venue refused
    /// it, why.
    pub(crate) fn happened(
        &mut self,
        books: &mut Books<'_, '_>,
        request: RequestId,
        event: OrderEvent,
        reject: VenueReject,
    ) -> bool {
        let Some(lot) = lot_of(books, request) else { return false };
        let said = Said { reject, ..Said::plain(event) };
        self.apply(books, &Report::plain(request, event, lot), &said, &Origin::none(request))
    }

    /// Something is wrong with an order: it is kept in mind, and its owner is told once of each
    /// kind that comes in a row.
    pub(crate) fn trouble(
        &mut self,
        books: &mut Books<'_, '_>,
        request: RequestId,
        trouble: Trouble,
        exec_id: ExecId,
    ) {
        let (order, at) = (Some(request.order), books.now);
        self.quarantine.push(Quarantined { trouble, order, exec_id, at });
        books.table.quarantine(request.order);
        if let Some(order) = books.table.get(request.order) {
            let kind = UpdateKind::Quarantined(trouble);
            books.updates.push(update(order, kind, Nanos::ZERO));
        }
    }

    /// A report that could not be read, and what it may be about.
    pub(crate) fn unreadable(
        &mut self,
        books: &mut Books<'_, '_>,
        named: Option<RequestId>,
    ) -> Outcome {
        match named.filter(|named| books.table.get(named.order).is_some()) {
            Some(request) => {
                self.trouble(books, request, Trouble::Unreadable, ExecId::NONE);
                Outcome { order: Some(request), asks: true, is_answer: false }
            }
            None => {
                let (trouble, order) = (Trouble::Unreadable, named.map(|named| named.order));
                let (exec_id, at) = (ExecId::NONE, books.now);
                self.quarantine.push(Quarantined { trouble, order, exec_id, at });
                Outcome::default()
            }
        }
    }

    /// Applies a report and tells what came of it, as of what the venue `said`; whether the venue
    /// should be asked.
    fn apply(
        &mut self,
        books: &mut Books<'_, '_>,
        report: &Report,
        said: &Said<'_>,
        origin: &Origin,
    ) -> bool {
        let exchange_time = origin.exchange_time;
        let Ok(mut change) = books.table.apply(report) else { return false };
        if change.fills[0].is_some() {
            let (instruments, balances) = (books.instruments, books.positions.balances());
            let known = Known { instruments, balances };
            self.fees.charge(&known, &mut change, report.event, said.charges);
        }
        self.repeated += u64::from(change.is_old);
        count_exposure(books, &change);
        if let (Some(recorders), Some(answered)) = (&mut books.recorders, change.answered)
            && answered.kind == RequestKind::Create
        {
            recorders.round_trip.record(books.now.since(answered.sent_at).0.unsigned_abs());
        }
        if let Some(order) = books.table.get(change.id) {
            if order.state.is_done() && !order.misses_trades() {
                self.ended = Some(change.id);
            }
            if change.was.is_done() && !order.state.is_done() {
                (self.ended, self.reopened) = (None, Some(change.id));
            }
            let venue_id = origin.order_id.as_ref().map_or(&b""[..], LongText::as_bytes);
            books.journal.heard(books.utc, order, (report, venue_id), &change);
            for fill in change.fills.iter().flatten() {
                let (price, lots) = (fill.price, fill.lots);
                let kind = match fill.is_correction {
                    false => UpdateKind::Filled { price, lots },
                    true => UpdateKind::Corrected { price, lots },
                };
                books.updates.push(update(order, kind, exchange_time));
            }
            let kind = told_as(said, &change);
            if let Some(reason) = kind.and_then(UpdateKind::reject) {
                self.rejects[reason as usize] += 1;
            }
            books.updates.extend(kind.map(|kind| update(order, kind, exchange_time)));
            if let Some(copies) = &mut self.copies {
                copies.note(order, &change, kind, origin);
            }
        }
        if let Some(trouble) = change.trouble {
            self.trouble(books, report.request, trouble, report.exec_id);
        }
        change.asks
    }

    /// A report of somebody else's order, or of one that is forgotten.
    #[cold]
    fn strange(&mut self, named: Option<RequestId>, exec_id: ExecId, at: Nanos) {
        self.foreign += 1;
        let (trouble, order) = (Trouble::NotOurs, named.map(|named| named.order));
        self.quarantine.push(Quarantined { trouble, order, exec_id, at });
    }
}

/// What the venue said that happened.
struct Said<'a> {
    event: OrderEvent,
    charges: &'a Charges,
    /// Why, where it refused something.
    reject: VenueReject,
}

impl Said<'_> {
    const fn plain(event: OrderEvent) -> Self {
        Self { event, charges: &Charges::NONE, reject: VenueReject::Other }
    }
}

/// What a status that nobody asked for does to its order. Unlike an answer it may be older than
/// the requests that are under way, and says nothing of those that were lost.
const fn notified(event: OrderEvent) -> OrderEvent {
    use OrderState as S;
    match event {
        OrderEvent::Status(S::PendingNew) => OrderEvent::PendingNew,
        OrderEvent::Status(S::Suspended) => OrderEvent::Suspended,
        OrderEvent::Status(S::Stopped) => OrderEvent::Stopped,
        OrderEvent::Status(S::Cancelled) => OrderEvent::Cancelled,
        OrderEvent::Status(S::Expired) => OrderEvent::Expired,
        OrderEvent::Status(S::Rejected) => OrderEvent::Rejected,
        OrderEvent::Status(S::DoneForDay) => OrderEvent::DoneForDay,
        OrderEvent::Status(_) => OrderEvent::Restated,
        other => other,
    }
}

/// Moves the position by what traded, and what is counted as open to what it is now.
fn count_exposure(books: &mut Books<'_, '_>, change: &Change) {
    let Some(order) = books.table.get(change.id) else { return };
    let (id, terms, risk) = (order.counted_as(), &order.terms, &mut *books.risk);
    let mut counted = change.exposure_was;
    for fill in change.fills.iter().flatten() {
        count_position(books.positions, order.owner, fill);
        let open = Lots(fill.lots.0.clamp(0, counted.0));
        if open > Lots::ZERO {
            risk.filled(terms, open, fill.price, fill.fee);
            counted = Lots(counted.0 - open.0);
        }
        let rest = Lots((fill.lots.0 - open.0).saturating_mul(fill.side.sign()));
        if rest != Lots::ZERO {
            // Its first part has the fee.
            let fee = if open > Lots::ZERO { Amount::ZERO } else { fill.fee };
            risk.traded(fill.instrument, fill.account, rest, fill.price, fee);
        }
    }
    match (change.was.is_done(), change.state.is_done()) {
        (true, true) => {}
        (true, false) => risk.restore(id, terms, change.exposure),
        (false, true) => risk.ended(id, terms, counted),
        (false, false) if change.exposure > counted => {
            risk.ended(id, terms, counted);
            risk.restore(id, terms, change.exposure);
        }
        (false, false) if change.exposure < counted => {
            risk.released(terms, Lots(counted.0 - change.exposure.0));
        }
        (false, false) => {}
    }
}

/// Moves the position of whose order it is.
fn count_position(positions: &mut Positions, owner: Owner, fill: &Fill) {
    let Fill { instrument, account, side, price, lots, fee, .. } = *fill;
    let Owner { user, strategy } = owner;
    let key = PositionKey { account, user, strategy, instrument };
    let is_back = lots < Lots::ZERO;
    // What comes back of a trade that is taken back is a fee that was not paid.
    let fee = if is_back { Amount::ZERO - fee } else { fee };
    let trade = Trade { side, lots: Lots(lots.0.saturating_abs()), price, fee };
    // There is room for every strategy in every instrument that risk knows.
    let _ = match is_back {
        false => positions.filled(key, &trade),
        true => positions.busted(key, &trade),
    };
}

/// What the owner of an order is told of an event, besides its trades.
fn told_as(said: &Said<'_>, change: &Change) -> Option<UpdateKind> {
    use OrderEvent as E;
    let is_other = change.state != change.was;
    if change.is_old && !is_other {
        return None;
    }
    if is_other && change.state == OrderState::Unknown {
        return Some(UpdateKind::Unknown);
    }
    let reject = said.reject;
    Some(match said.event {
        E::Traded | E::TradeCancelled | E::TradeCorrected | E::PendingNew | E::PendingChange => {
            return None;
        }
        E::Accepted => UpdateKind::Accepted,
        E::Replaced => UpdateKind::Replaced,
        E::ChangeRefused => match change.answered?.kind {
            RequestKind::Modify => UpdateKind::ModifyRejected(reject),
            _ => UpdateKind::CancelRejected(reject),
        },
        E::Suspended | E::Stopped | E::Restated => UpdateKind::Restated,
        // A change that was granted while nobody listened.
        E::Status(_) if !is_other && change.is_amended => UpdateKind::Restated,
        E::Status(_) if !is_other => return None,
        _ => match change.state {
            OrderState::Filled if change.fills[0].is_some() || !is_other => return None,
            // It is as small now as what had traded of it: no trade tells that it is over.
            OrderState::Filled => UpdateKind::Restated,
            OrderState::Cancelled => UpdateKind::Cancelled,
            OrderState::Expired => UpdateKind::Expired,
            OrderState::Rejected => UpdateKind::Rejected(reject),
            OrderState::DoneForDay => UpdateKind::DoneForDay,
            OrderState::Working => match change.was {
                OrderState::Sent | OrderState::PendingNew | OrderState::Unknown => {
                    UpdateKind::Accepted
                }
                _ => UpdateKind::Restated,
            },
            _ => UpdateKind::Restated,
        },
    })
}

/// What its owner is told of an order.
pub(crate) fn update(order: &Order, kind: UpdateKind, exchange_time: Nanos) -> OrderUpdate {
    let OrderTerms { instrument, account, side, price, lots, .. } = order.terms;
    let (price_asked, lots_asked) = asked_of(order);
    OrderUpdate {
        id: order.id,
        version: order.version_accepted,
        instrument,
        account,
        side,
        kind,
        state: order.state,
        lots_open: order.lots_open(),
        lots_filled: order.traded.lots,
        price,
        lots,
        price_asked,
        lots_asked,
        exchange_time,
    }
}

/// Whether something traded, or did not after all.
const fn is_trade(event: Option<OrderEvent>) -> bool {
    use OrderEvent as E;
    matches!(event, Some(E::Traded | E::TradeCancelled | E::TradeCorrected))
}

/// The oldest change of an order that is under way: of this kind, or of any.
fn oldest(books: &Books<'_, '_>, named: RequestId, kind: Option<RequestKind>) -> Option<RequestId> {
    let order = books.table.get(named.order)?;
    let changes = order.pending().filter(|it| match kind {
        Some(kind) => it.kind == kind,
        None => it.kind != RequestKind::Create,
    });
    let version = changes.map(|it| it.version).min()?;
    Some(RequestId { version, ..named })
}

/// The lot of the instrument of an order that we know.
fn lot_of(books: &Books<'_, '_>, named: RequestId) -> Option<Qty> {
    let order = books.table.get(named.order)?;
    let instrument = books.instruments.get(order.terms.instrument.0 as usize)?;
    Some(instrument.lot())
}
