//! What the venue's reports do to our orders, and what their owners are told.

pub mod meaning;

use taut_fix::{ExecutionReport, LongText, OrderCancelReject};
use taut_oms::{
    Amount, Change, ExecId, Fill, Order, OrderEvent, OrderState, OrderTable, PositionKey,
    Positions, Quarantine, Quarantined, Report, RequestKind, Risk, Trade, Trouble,
};
use taut_types::{Instrument, Lots, Nanos, OrderTerms, Qty, RequestId};

use crate::accounts::Accounts;
use crate::drop_copy::{DropCopies, Origin};
use crate::journal::OrderJournal;
use crate::message::{OrderUpdate, UpdateKind, asked_of};
use crate::regions::Recorders;
use meaning::meaning;

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
    statuses: u64,
}

impl Reports {
    pub(crate) fn new(accounts: Accounts) -> Self {
        let quarantine = Quarantine::with_capacity(TROUBLES_KEPT);
        Self { quarantine, copies: None, accounts, repeated: 0, foreign: 0, statuses: 0 }
    }

    /// Copies of executions go there from now on.
    pub(crate) fn set_drop_copies(&mut self, copies: DropCopies) {
        self.copies = Some(copies);
    }

    /// Where copies of executions go.
    pub(crate) const fn drop_copies(&self) -> Option<&DropCopies> {
        self.copies.as_ref()
    }

    /// Hands the copies over that were noted.
    pub(crate) fn hand_over_copies(&mut self) {
        if let Some(copies) = &mut self.copies {
            copies.hand_over();
        }
    }

    /// Reports that said nothing new.
    pub(crate) const fn repeated(&self) -> u64 {
        self.repeated
    }

    /// Reports of orders that are not ours.
    pub(crate) const fn foreign(&self) -> u64 {
        self.foreign
    }

    /// Answers to the question where orders stand.
    pub(crate) const fn statuses(&self) -> u64 {
        self.statuses
    }

    /// What was odd.
    pub(crate) const fn quarantine(&self) -> &Quarantine {
        &self.quarantine
    }

    /// What an execution report does to its order.
    pub(crate) fn execution(
        &mut self,
        books: &mut Books<'_, '_>,
        is_resend: bool,
        report: &ExecutionReport<'_>,
    ) -> Outcome {
        let exec_id = ExecId::new(report.exec_id.as_bytes());
        let named = request_of(report.cl_ord_id.as_ref()).or_else(|| {
            let original = request_of(report.orig_cl_ord_id.as_ref())?;
            Some(RequestId { version: 0, ..original })
        });
        let meaning = meaning(report);
        let is_answer = matches!(meaning.event, Some(OrderEvent::Status(_) | OrderEvent::NotFound));
        self.statuses += u64::from(is_answer);
        let Some((request, lot)) = named.and_then(|named| Some((named, lot_of(books, named)?)))
        else {
            let is_known = |named: &RequestId| {
                is_resend && !is_trade(meaning.event) || books.table.knows(named.order, &exec_id)
            };
            if named.as_ref().is_some_and(is_known) {
                // Of an order that was over before the gateway was started again.
                self.repeated += 1;
                return Outcome::default();
            }
            // That there are no orders is an answer, too.
            let is_nothing = meaning.told == Some(OrderState::Rejected)
                && report.mass_status.is_some_and(|mass| mass.total.unwrap_or(0) == 0);
            if !is_nothing {
                self.strange(named, exec_id, books.now);
            }
            return Outcome::default();
        };
        let origin = Origin {
            request,
            order_id: Some(report.order_id),
            exec_id,
            exchange_time: report.transact_time.unwrap_or_default(),
        };
        let mut outcome = Outcome { order: Some(request), asks: false, is_answer };
        if let Some(event) = meaning.event {
            let read = Report {
                request,
                event,
                told: meaning.told,
                last: report.last_qty,
                price: report.last_price,
                total: Some(report.cum_qty),
                average: report.avg_price,
                order_qty: report.order_qty,
                order_price: report.price,
                exec_id,
                exec_ref: report.exec_ref_id.map_or(ExecId::NONE, |it| ExecId::new(it.as_bytes())),
                lot,
                is_resend,
            };
            outcome.asks = self.apply(books, &read, &origin);
        }
        if meaning.is_strange {
            self.trouble(books, request, Trouble::UnknownCode, exec_id);
            outcome.asks |= meaning.event.is_none();
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
    pub(crate) fn cancel_reject(
        &mut self,
        books: &mut Books<'_, '_>,
        reject: &OrderCancelReject<'_>,
    ) -> Outcome {
        let named = request_of(Some(&reject.cl_ord_id)).or_else(|| {
            // A venue that names the order alone: then it is the request under way.
            let original = request_of(reject.orig_cl_ord_id.as_ref())?;
            let order = books.table.get(original.order)?;
            let request = order.pending().find(|it| it.kind != RequestKind::Create)?;
            Some(RequestId { version: request.version, ..original })
        });
        let Some((request, lot)) = named.and_then(|named| Some((named, lot_of(books, named)?)))
        else {
            self.strange(named, ExecId::NONE, books.now);
            return Outcome::default();
        };
        let told = meaning::state_of(reject.ord_status);
        let report = Report { told, ..Report::plain(request, OrderEvent::ChangeRefused, lot) };
        let origin = Origin { order_id: Some(reject.order_id), ..Origin::none(request) };
        let asks = self.apply(books, &report, &origin);
        Outcome { order: Some(request), asks, is_answer: false }
    }

    /// Something happened to a request or an order that no report tells.
    pub(crate) fn happened(
        &mut self,
        books: &mut Books<'_, '_>,
        request: RequestId,
        event: OrderEvent,
    ) -> bool {
        let Some(lot) = lot_of(books, request) else { return false };
        let origin = Origin::none(request);
        self.apply(books, &Report::plain(request, event, lot), &origin)
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
        cl_ord_id: Option<&[u8]>,
    ) -> Outcome {
        let named = cl_ord_id.and_then(RequestId::from_text);
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

    /// Applies a report and tells what came of it; whether the venue should be asked.
    fn apply(&mut self, books: &mut Books<'_, '_>, report: &Report, origin: &Origin) -> bool {
        let exchange_time = origin.exchange_time;
        let Ok(change) = books.table.apply(report) else { return false };
        self.repeated += u64::from(change.is_old);
        count_exposure(books, &change);
        if let (Some(recorders), Some(answered)) = (&mut books.recorders, change.answered)
            && answered.kind == RequestKind::Create
        {
            recorders.round_trip.record(books.now.since(answered.sent_at).0.unsigned_abs());
        }
        if let Some(order) = books.table.get(change.id) {
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
            let kind = told_as(report.event, &change);
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

/// Moves the position by what traded, and what is counted as open to what it is now.
fn count_exposure(books: &mut Books<'_, '_>, change: &Change) {
    let Some(order) = books.table.get(change.id) else { return };
    let (id, terms, risk) = (change.id, &order.terms, &mut *books.risk);
    let mut counted = change.exposure_was;
    for fill in change.fills.iter().flatten() {
        count_position(books.positions, fill);
        let open = Lots(fill.lots.0.clamp(0, counted.0));
        if open > Lots::ZERO {
            risk.filled(terms, open, fill.price, Amount::ZERO);
            counted = Lots(counted.0 - open.0);
        }
        let rest = Lots((fill.lots.0 - open.0).saturating_mul(fill.side.sign()));
        if rest != Lots::ZERO {
            risk.traded(fill.instrument, fill.account, rest, fill.price, Amount::ZERO);
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
fn count_position(positions: &mut Positions, fill: &Fill) {
    let Fill { order, instrument, account, side, price, lots, .. } = *fill;
    let (user, strategy) = (order.user(), order.strategy());
    let key = PositionKey { account, user, strategy, instrument };
    let trade = Trade { side, lots: Lots(lots.0.saturating_abs()), price, fee: Amount::ZERO };
    // There is room for every strategy in every instrument that risk knows.
    let _ = match lots < Lots::ZERO {
        false => positions.filled(key, &trade),
        true => positions.busted(key, &trade),
    };
}

/// What the owner of an order is told of an event, besides its trades.
fn told_as(event: OrderEvent, change: &Change) -> Option<UpdateKind> {
    use OrderEvent as E;
    let is_other = change.state != change.was;
    if change.is_old && !is_other {
        return None;
    }
    if is_other && change.state == OrderState::Unknown {
        return Some(UpdateKind::Unknown);
    }
    Some(match event {
        E::Traded | E::TradeCancelled | E::TradeCorrected | E::PendingNew | E::PendingChange => {
            return None;
        }
        E::Accepted => UpdateKind::Accepted,
        E::Replaced => UpdateKind::Replaced,
        E::ChangeRefused => match change.answered?.kind {
            RequestKind::Modify => UpdateKind::ModifyRejected,
            _ => UpdateKind::CancelRejected,
        },
        E::Suspended | E::Stopped | E::Restated => UpdateKind::Restated,
        E::Status(_) if !is_other => return None,
        _ => match change.state {
            OrderState::Filled => return None,
            OrderState::Cancelled => UpdateKind::Cancelled,
            OrderState::Expired => UpdateKind::Expired,
            OrderState::Rejected => UpdateKind::Rejected,
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

/// The request of ours with this ClOrdID.
fn request_of(cl_ord_id: Option<&LongText>) -> Option<RequestId> {
    cl_ord_id.and_then(|text| RequestId::from_text(text.as_bytes()))
}

/// The lot of the instrument of an order that we know.
fn lot_of(books: &Books<'_, '_>, named: RequestId) -> Option<Qty> {
    let order = books.table.get(named.order)?;
    let instrument = books.instruments.get(order.terms.instrument.0 as usize)?;
    Some(instrument.lot())
}
