//! Orders out and reports in: risk, FIX session, the table of orders.

mod addresses;
mod cancels;
mod connection;
mod logon;
mod reconcile;
mod recovery;
mod store;
mod waiting;

use taut_fix::{
    FieldIndex, Link, MESSAGE_BYTES_MAX, NewOrderSingle, Now, OrderCancelReplaceRequest,
    OrderCancelRequest, ShortText, TypedMessage,
};
use taut_fix_engine::BackOff;
use taut_io::{Handle, Io, IoError, Kernel};
use taut_journal::Entry;
use taut_lat::{Stage, StageOffsets};
use taut_oms::{
    KillSwitch, Modify, Order, OrderState, OrderTable, Permit, PositionKey, PositionReport,
    Positions, Quarantine, Reference, Risk, RiskInstrument, RiskReject, TableError,
};
use taut_sys::{Address, Clock};
use taut_types::{
    AccountId, ClientOrderId, Instrument, InstrumentId, Lots, Nanos, OrderTerms, OrderType, Price,
    RequestId, Side,
};

use crate::accounts::Accounts;
use crate::config::SessionSettings;
use crate::journal::OrderJournal;
use crate::message::{
    OpenOrder, OrderFilter, OrderUpdate, Position, Refusal, Request, RequestKind, UpdateKind,
};
use crate::owner::Owner;
use crate::regions::Recorders;
use crate::reports::{Books, Reports, update};
use addresses::Addresses;
use logon::Logon;
use reconcile::Reconcile;
use store::Numbers;
use waiting::WaitingCancels;

/// Room for what one receive of the loop brings, behind the start of a message.
const INBOX_BYTES: usize = 64 * 1_024 + MESSAGE_BYTES_MAX;
/// Room for messages on their way to the loop: one, but for those that are sent again.
const OUTBOX_BYTES: usize = 32 * 1_024;
/// The longest message of ours.
const MESSAGE_BYTES: usize = 1_024;
/// How long the venue may take to accept the connection.
const CONNECT_TIMEOUT: Nanos = Nanos::from_secs(5);
/// Fields of a message; a report has some 25.
const FIELDS_MAX: usize = 128;

/// Where the session stands. Whatever the venue does, it goes on from here.
///
/// | phase | goes on with | to |
/// |---|---|---|
/// | waiting | the end of the wait | connecting |
/// | connecting | connected; refused or too late | logging on; waiting |
/// | logging on | logged on; anything else | reconciling; waiting |
/// | reconciling | every open order is accounted for | up |
/// | reconciling, up | the end of the connection | waiting |
/// | any | our own logout, answered | ended |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// There is no connection; it is tried again then.
    Waiting(Nanos),
    Connecting,
    LoggingOn,
    /// The venue is asked where our orders stand. No new one leaves.
    Reconciling,
    Up,
    /// We logged out.
    Ended,
}

/// The order session and everything behind it.
#[derive(Debug)]
pub(crate) struct OrderSession {
    addresses: Addresses,
    settings: SessionSettings,
    /// Whether its socket is polled without asking.
    hot: bool,
    stream: Option<Handle>,
    phase: Phase,
    back_off: BackOff,
    /// Whether it was ever connected.
    was_connected: bool,
    /// Whether we asked to log out.
    is_leaving: bool,
    /// Whether the connection can not be used any more.
    is_broken: bool,
    disconnects: u64,
    /// Requests of the venue to send again that are known here.
    resends: u64,
    link: Link<Numbers, Logon>,
    index: FieldIndex,
    instruments: Box<[Instrument]>,
    table: OrderTable,
    risk: Risk,
    positions: Positions,
    /// Their names at the venue.
    accounts: Accounts,
    waiting_cancels: WaitingCancels,
    reports: Reports,
    journal: OrderJournal,
    reconcile: Reconcile,
    risk_rejects: u64,
    refused: u64,
    /// The new order that left last: a rehearsal is one like it.
    last_order: Option<(ClientOrderId, OrderTerms)>,
}

impl OrderSession {
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
            RequestKind::Modify { .. } | RequestKind::Cancel if self.is_outdated(request) => {
                updates.push(self.refuse_known(request.id, Refusal::Version));
            }
            RequestKind::Modify { price, lots } => {
                updates.extend(self.send_modify(io, clock, request.id, (price, lots), reference));
            }
            RequestKind::Cancel => updates.extend(self.send_cancel(io, clock, request.id)),
            RequestKind::CancelAll(filter) => {
                let own = Owner::of(request.id).only(filter);
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
        let meant =
            |order: &&Order| !order.is_being_cancelled() && filter.matches(order.id, &order.terms);
        let orders: Vec<_> = self.table.open_orders().filter(meant).map(|order| order.id).collect();
        for order in orders {
            updates.extend(self.send_cancel(io, clock, order));
        }
        if self.is_broken {
            self.lost(io, at(clock, clock.now()), updates);
        }
    }

    pub(crate) const fn kill_switch(&self) -> &KillSwitch {
        self.risk.kill_switch()
    }

    pub(crate) const fn kill_switch_mut(&mut self) -> &mut KillSwitch {
        self.risk.kill_switch_mut()
    }

    /// Every order that is not over.
    pub(crate) fn open_orders(&self) -> impl Iterator<Item = OpenOrder> {
        self.table.open_orders().map(OpenOrder::of)
    }

    /// Whether orders can be sent.
    #[inline]
    pub(crate) fn is_active(&self) -> bool {
        self.phase == Phase::Up && self.link.session().is_active() && !self.is_leaving
    }

    /// Whether the session ended because we asked for it.
    pub(crate) const fn is_logged_out(&self) -> bool {
        matches!(self.phase, Phase::Ended)
    }

    /// Whether this is its connection.
    #[inline]
    pub(crate) fn is_stream(&self, source: Handle) -> bool {
        self.stream == Some(source)
    }

    pub(crate) const fn table(&self) -> &OrderTable {
        &self.table
    }

    pub(crate) const fn risk(&self) -> &Risk {
        &self.risk
    }

    pub(crate) const fn risk_rejects(&self) -> u64 {
        self.risk_rejects
    }

    pub(crate) const fn refused(&self) -> u64 {
        self.refused
    }

    pub(crate) const fn reports(&self) -> &Reports {
        &self.reports
    }

    pub(crate) const fn reports_mut(&mut self) -> &mut Reports {
        &mut self.reports
    }

    /// What was odd.
    pub(crate) const fn quarantine(&self) -> &Quarantine {
        self.reports.quarantine()
    }

    /// Connections that ended unasked.
    pub(crate) const fn disconnects(&self) -> u64 {
        self.disconnects
    }

    /// Where it is connected, or tries to be, and that address's place by priority: 0 is the
    /// primary.
    pub(crate) fn order_address(&self) -> (usize, Address) {
        (self.addresses.priority(), self.addresses.current())
    }

    /// An order that is not over.
    pub(crate) fn order(&self, id: ClientOrderId) -> Option<OpenOrder> {
        self.table.get(id).filter(|order| !order.state.is_done()).map(OpenOrder::of)
    }

    /// Shows the owner's orders that are not over.
    pub(crate) fn visit_orders(&self, owner: Owner, visit: &mut dyn FnMut(&OpenOrder)) {
        let orders = self.table.open_orders().filter(|order| Owner::of(order.id) == owner);
        orders.for_each(|order| visit(&OpenOrder::of(order)));
    }

    /// What the gateway holds.
    pub(crate) fn position(
        &self,
        owner: Owner,
        instrument: InstrumentId,
        account: AccountId,
    ) -> Position {
        let Owner { user, strategy } = owner;
        let held = self.positions.get(PositionKey { account, user, strategy, instrument });
        let lots = held.map_or(Lots::ZERO, |held| held.lots());
        let of = self.instruments.get(instrument.0 as usize).and_then(RiskInstrument::of);
        let average = held.zip(of).and_then(|(held, of)| held.average(of.lot_value));
        Position { instrument, account, lots, average_price: average.unwrap_or_default() }
    }

    /// Values what is held of an instrument at this price.
    pub(crate) fn mark(&mut self, instrument: InstrumentId, price: Price) {
        self.risk.mark(instrument, price);
        self.positions.mark(instrument, price);
    }

    /// Every position, with its profit.
    pub(crate) fn positions(&self) -> impl Iterator<Item = PositionReport> {
        self.positions.reports()
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

        on_sent(self.link.unsent());
        self.link.clear_unsent();
        self.remember(request, order, encoded);
        if origin != Nanos::ZERO {
            recorders.path.record(&offsets);
        }
        None
    }

    /// Runs the code of a new order over its memory, up to the message, and sends nothing: an order
    /// that comes after a pause finds both in the caches. The order is as the last one, at its own
    /// side's best price.
    #[inline(never)]
    pub(crate) fn rehearse(
        &mut self,
        clock: &Clock,
        reference: impl FnOnce(InstrumentId) -> Reference,
    ) {
        let Some((id, terms)) = self.last_order else { return };
        let reference = reference(terms.instrument);
        let best = match terms.side {
            Side::Buy => reference.bid,
            Side::Sell => reference.ask,
        };
        let Some(price) = best else { return };
        let id = ClientOrderId::of(id.user(), id.strategy(), id.number() + 1);
        let terms = OrderTerms { price, ..terms };
        // Whether it could leave is of no interest.
        let _ = self.prepare(clock, clock.now(), (id, 0), &terms, reference, true);
    }

    /// Checks an order, writes it down and leaves its message in the outbox; nothing when own
    /// orders must be cancelled first. A rehearsal leaves nothing there and counts nothing; it is
    /// this very code that it keeps in the caches, so there is one copy.
    #[inline(never)]
    fn prepare(
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
    fn leave_message(
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
        let is_left = match self.message(RequestId::create(id), order, now) {
            Ok(message) => self.encode_or_rehearse(now, &message, is_rehearsal),
            Err(_) => false,
        };
        if !is_left {
            if !is_rehearsal {
                self.never_left(now, RequestId::create(id));
                self.risk.ended(id, order, order.lots);
            }
            return Err(Refusal::NotConnected);
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
        let best_own = |instrument, side| self.table.best_own(None, instrument, side);
        let checked =
            self.risk.check_or_rehearse(now, id, order, &reference, best_own, is_rehearsal);
        checked.map_err(Refusal::Risk)
    }

    /// An order as the venue reads it.
    #[inline]
    fn message(
        &self,
        id: RequestId,
        order: &OrderTerms,
        now: Now,
    ) -> Result<NewOrderSingle, Refusal> {
        let instrument = self.instruments.get(order.instrument.0 as usize);
        let instrument = instrument.ok_or(Refusal::UnknownInstrument)?;
        let qty = |lots| instrument.qty(lots).map_err(|_| Refusal::Table);
        Ok(NewOrderSingle {
            cl_ord_id: cl_ord_id(id),
            account: self.accounts.name(order.account),
            symbol: instrument.symbol().into(),
            side: order.side,
            order_type: order.order_type,
            time_in_force: order.time_in_force,
            flags: order.flags,
            price: (order.order_type == OrderType::Limit).then_some(order.price),
            stop_price: order.stop_price,
            qty: qty(order.lots)?,
            max_floor: match order.lots_shown {
                Lots::ZERO => None,
                shown => Some(qty(shown)?),
            },
            transact_time: now.utc,
        })
    }

    fn remember(&mut self, request: &Request, terms: &OrderTerms, sent_at: Nanos) {
        self.last_order = Some((request.id, *terms));
        // There was room before it left.
        let _ = self.table.create(request.id, terms, request.tag, self.last_sequence(), sent_at);
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
            id: target,
            old: &order.terms,
            lots_counted: order.lots_open_max(),
            new: &terms,
            lots_left: Lots(lots.0.saturating_sub(order.traded.lots.0).max(0)),
        };
        let now = at(clock, clock.now());
        let message = self.message(request, &terms, now).and_then(|message| {
            let checked = self.check_modify(now.mono, modify, &reference);
            checked.map(|permit| (message, permit))
        });
        let (message, permit) = match message {
            Ok(checked) => checked,
            Err(refusal) => {
                if refusal == Refusal::Risk(RiskReject::SelfMatchBoth) {
                    self.cancel_own(io, clock, target, &terms);
                }
                return Some(self.refuse_known(target, refusal));
            }
        };
        let orig_cl_ord_id = cl_ord_id(base);
        let sent = self.make_way(io, clock, (target, &terms), permit).and_then(|()| {
            self.journal.admit(now.utc, target, || Entry::Modify { request, price, lots })?;
            let message = OrderCancelReplaceRequest { orig_cl_ord_id, order: message };
            if self.encode(now, &message) {
                return Ok(());
            }
            self.never_left(now, request);
            Err(Refusal::NotConnected)
        });
        if let Err(refusal) = sent {
            let more = Lots(modify.lots_left.0.saturating_sub(modify.lots_counted.0).max(0));
            self.risk.released(&terms, more);
            return Some(self.refuse_known(target, refusal));
        }
        self.write(io);
        self.link.clear_unsent();
        self.table.modify(request, price, lots, self.last_sequence(), now.mono);
        None
    }

    /// What must hold before an order becomes another; then the larger of both is counted.
    fn check_modify(
        &mut self,
        now: Nanos,
        modify: Modify<'_>,
        reference: &Reference,
    ) -> Result<Permit, Refusal> {
        let (table, id) = (&self.table, modify.id);
        let best_own = |instrument, side| table.best_own(Some(id), instrument, side);
        self.risk.check_modify(now, modify, reference, best_own).map_err(Refusal::Risk)
    }

    fn send_cancel(
        &mut self,
        io: &mut Io<impl Kernel>,
        clock: &Clock,
        target: ClientOrderId,
    ) -> Option<OrderUpdate> {
        let (request, base) = match self.table.check_cancel(target) {
            Ok(checked) => checked,
            Err(error) => return Some(self.refuse_known(target, refusal_of(error))),
        };
        // A cancel need not wait until all is reconciled.
        let is_on = matches!(self.phase, Phase::Reconciling | Phase::Up);
        let order = *self.table.get(target)?;
        let Some(instrument) = self.instruments.get(order.terms.instrument.0 as usize) else {
            return Some(self.refuse_known(target, Refusal::UnknownInstrument));
        };
        let now = at(clock, clock.now());
        let message = OrderCancelRequest {
            cl_ord_id: cl_ord_id(request),
            orig_cl_ord_id: cl_ord_id(base),
            symbol: instrument.symbol().into(),
            side: order.terms.side,
            qty: instrument.qty(order.terms.lots).unwrap_or_default(),
            transact_time: now.utc,
        };
        if !is_on {
            return Some(self.refuse_known(target, Refusal::NotWorking));
        }
        if let Err(due) = self.risk.check_cancel(now.mono, target, order.terms.account) {
            self.waiting_cancels.push(target, due);
            return None;
        }
        if let Err(refusal) = self.journal.admit(now.utc, target, || Entry::Cancel { request }) {
            return Some(self.refuse_known(target, refusal));
        }
        if !self.encode(now, &message) {
            self.never_left(now, request);
            return Some(self.refuse_known(target, Refusal::NotWorking));
        }
        self.write(io);
        self.link.clear_unsent();
        self.table.cancel(request, self.last_sequence(), now.mono);
        None
    }

    /// A request that was written down could not be sent.
    #[cold]
    fn never_left(&mut self, now: Now, request: RequestId) {
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
    fn refuse_known(&mut self, id: ClientOrderId, refusal: Refusal) -> OrderUpdate {
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

    /// Leaves a message in the link's outbox; false when it cannot be sent.
    #[inline]
    fn encode<M: TypedMessage>(&mut self, now: Now, message: &M) -> bool {
        self.encode_or_rehearse(now, message, false)
    }

    /// As [`OrderSession::encode`]; a rehearsal leaves nothing there.
    #[inline]
    fn encode_or_rehearse<M: TypedMessage>(
        &mut self,
        now: Now,
        message: &M,
        is_rehearsal: bool,
    ) -> bool {
        match self.link.outbox(now).send_or_rehearse(message, is_rehearsal) {
            Ok(()) => true,
            Err(error) => {
                self.is_broken |= error == taut_fix::FixError::Store;
                false
            }
        }
    }

    /// The number of the message that was sent last.
    #[inline]
    fn last_sequence(&self) -> u64 {
        use taut_fix::Store;
        self.link.session().store().next_outgoing().saturating_sub(1)
    }

    /// Sends what waits in the outbox; what the kernel does not take now, the loop keeps. Where it
    /// can not, the venue does not read: the connection is given up.
    #[inline]
    fn write(&mut self, io: &mut Io<impl Kernel>) {
        let written: Result<(), IoError> = match self.stream {
            Some(stream) => io.write(stream, self.link.unsent(), None),
            None => Ok(()),
        };
        self.is_broken |= written.is_err();
    }

    /// The orders, and who is told of them.
    fn books<'a, 'm>(
        (table, risk, positions, instruments, journal): Held<'a>,
        recorders: Option<&'a mut Recorders<'m>>,
        updates: &'a mut Vec<OrderUpdate>,
        now: Now,
    ) -> Books<'a, 'm> {
        let Now { mono, utc } = now;
        Books { table, risk, positions, instruments, journal, recorders, updates, now: mono, utc }
    }
}

/// A message that can leave, and when the steps to it ended.
struct Prepared {
    checked: Nanos,
    encoded: Nanos,
}

/// What a report may change, and what it is read by.
type Held<'a> =
    (&'a mut OrderTable, &'a mut Risk, &'a mut Positions, &'a [Instrument], &'a mut OrderJournal);

/// The text of a request.
fn cl_ord_id(request: RequestId) -> ShortText {
    // Sixteen bytes fit.
    ShortText::new(&request.to_text()).unwrap_or_else(|| ShortText::from_u64(request.order.0))
}

/// Why the table does not let a request leave.
const fn refusal_of(error: TableError) -> Refusal {
    match error {
        TableError::Busy => Refusal::Busy,
        TableError::Quarantined => Refusal::Quarantined,
        TableError::Full => Refusal::Table,
        _ => Refusal::NotWorking,
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

/// Both clocks at a moment of the monotonic one.
#[inline]
fn at(clock: &Clock, mono: Nanos) -> Now {
    Now { mono, utc: clock.utc_at(mono) }
}

/// Notes where a stage of a measured order ended.
#[inline]
fn mark(offsets: &mut StageOffsets, stage: Stage, origin: Nanos, now: Nanos) {
    offsets.set_end(stage, now.since(origin).0.unsigned_abs());
}

#[cfg(test)]
pub(crate) mod hostile;
#[cfg(test)]
mod tests;
