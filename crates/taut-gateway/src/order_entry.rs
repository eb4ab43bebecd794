//! Orders out and reports in: risk, FIX session, the table of orders.

use std::net::SocketAddr;

use taut_fix::{
    BeginString, Delivery, Event, FieldIndex, Link, LinkConfig, MESSAGE_BYTES_MAX, MemoryStore,
    NewOrderSingle, Now, OrderCancelRequest, OrderFlow, Role, Session, SessionConfig, ShortText,
};
use taut_io::{Handle, Io, Kernel};
use taut_lat::{Stage, StageOffsets};
use taut_oms::{
    InstrumentStatus, KillSwitch, Order, OrderEvent, OrderState, OrderTable, Permit, Reference,
    Risk, RiskInstrument, RiskSizes, best_own,
};
use taut_sys::{Address, Clock, StreamOptions};
use taut_types::{
    AccountId, ClientOrderId, Instrument, InstrumentId, Lots, Nanos, OrderFlags, OrderTerms,
    OrderType, Price, Qty, RequestId, Side,
};

use crate::config::GatewayConfig;
use crate::error::GatewayError;
use crate::message::{
    OpenOrder, OrderFilter, OrderUpdate, Position, Refusal, Request, RequestKind, UpdateKind,
};
use crate::owner::Owner;
use crate::regions::Recorders;
use crate::reports::{Reports, update};

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
/// The newest messages, which the venue may ask for again: room that stays in a core's cache.
const STORE_MESSAGES: usize = 256;
const STORE_BYTES: usize = 256 * STORE_MESSAGES;

/// The order session and everything behind it.
#[derive(Debug)]
pub(crate) struct OrderSession {
    stream: Handle,
    link: Link<MemoryStore>,
    index: FieldIndex,
    instruments: Box<[Instrument]>,
    table: OrderTable,
    risk: Risk,
    reports: Reports,
    logged_out: bool,
    risk_rejects: u64,
    refused: u64,
    /// Cancel requests, so that each has an id of its own.
    cancels: u16,
}

impl OrderSession {
    /// Starts to connect to the venue.
    pub(crate) fn connect(
        config: &GatewayConfig,
        io: &mut Io<impl Kernel>,
        now: Now,
    ) -> Result<Self, GatewayError> {
        let store = MemoryStore::new(STORE_MESSAGES, STORE_BYTES);
        let to = Address::Inet(SocketAddr::V4(config.order_address));
        let deadline = io.now() + CONNECT_TIMEOUT;
        let stream = io.connect(&to, &StreamOptions::default(), Some(deadline))?;
        // Order traffic comes before market data.
        io.set_priority(stream, 0)?;
        let sizes = LinkConfig::fixed(INBOX_BYTES, OUTBOX_BYTES, MESSAGE_BYTES);
        let session = Session::new(session_config(config), store);
        Ok(Self {
            stream,
            link: Link::new(session, &sizes),
            index: FieldIndex::with_capacity(FIELDS_MAX),
            instruments: config.instruments.clone().into_boxed_slice(),
            table: OrderTable::with_capacity(config.order_capacity),
            risk: risk(config, now.mono),
            reports: Reports::new(&config.instruments),
            cancels: 0,
            logged_out: false,
            risk_rejects: 0,
            refused: 0,
        })
    }

    /// The connection stands: asks to log on.
    pub(crate) fn connected(
        &mut self,
        io: &mut Io<impl Kernel>,
        clock: &Clock,
    ) -> Result<(), GatewayError> {
        let now = at(clock, clock.now());
        io.receive(self.stream)?;
        self.link.connect(now);
        self.transmit(io, now).map(drop)
    }

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
    ) -> Result<(), GatewayError> {
        match request.kind {
            RequestKind::Create(terms) => {
                let refused =
                    self.send_order(io, (clock, request), &terms, reference, recorders, on_sent)?;
                updates.extend(refused);
            }
            RequestKind::Modify { .. } => {
                updates.push(self.refuse_known(request.id, Refusal::Unsupported));
            }
            RequestKind::Cancel => updates.extend(self.send_cancel(io, clock, request.id)?),
            RequestKind::CancelAll(filter) => {
                let own = Owner::of(request.id).only(filter);
                self.cancel_all(io, clock, &own, updates)?;
            }
            RequestKind::TellBooks => {}
        }
        Ok(())
    }

    /// Cancels the open orders that the filter means; `updates` gets what could not be.
    pub(crate) fn cancel_all(
        &mut self,
        io: &mut Io<impl Kernel>,
        clock: &Clock,
        filter: &OrderFilter,
        updates: &mut Vec<OrderUpdate>,
    ) -> Result<(), GatewayError> {
        let meant = |order: &&Order| {
            order.state == OrderState::Working && filter.matches(order.id, &order.terms)
        };
        let orders: Vec<_> = self.table.open_orders().filter(meant).map(|order| order.id).collect();
        for order in orders {
            updates.extend(self.send_cancel(io, clock, order)?);
        }
        Ok(())
    }

    pub(crate) const fn kill_switch(&self) -> &KillSwitch {
        self.risk.kill_switch()
    }

    pub(crate) const fn kill_switch_mut(&mut self) -> &mut KillSwitch {
        self.risk.kill_switch_mut()
    }

    /// Handles what the venue sent, message by message; `updates` gets what became of our
    /// orders. `received` is when the receive call returned: there a round trip ends.
    pub(crate) fn receive(
        &mut self,
        io: &mut Io<impl Kernel>,
        (clock, received): (&Clock, Nanos),
        mut bytes: &[u8],
        recorders: &mut Recorders<'_>,
        updates: &mut Vec<OrderUpdate>,
    ) -> Result<(), GatewayError> {
        let now = at(clock, received);
        loop {
            self.handle_messages(now, &mut bytes, recorders, updates)?;
            let is_paused = self.link.is_paused();
            let has_written = self.transmit(io, now)?;
            if !(is_paused && has_written) {
                return Ok(());
            }
        }
    }

    /// Handles messages until none is whole, or the outbox must be sent first.
    fn handle_messages(
        &mut self,
        now: Now,
        bytes: &mut &[u8],
        recorders: &mut Recorders<'_>,
        updates: &mut Vec<OrderUpdate>,
    ) -> Result<(), GatewayError> {
        let Self { link, index, reports, table, risk, .. } = self;
        while let Some(delivery) = link.handle_bytes(now, bytes, index) {
            let Delivery { event, message, mut outbox } = delivery;
            let update = match event {
                Event::Application { sequence, poss_resend, .. } => match message.order_flow() {
                    Ok(OrderFlow::ExecutionReport(report)) => {
                        reports.execution(table, risk, recorders, now.mono, poss_resend, &report)?
                    }
                    Ok(OrderFlow::OrderCancelReject(reject)) => {
                        reports.cancel_reject(table, risk, poss_resend, &reject)?
                    }
                    // It names no order, as a session-level reject does not: what was refused stays
                    // unanswered, and the run says so.
                    Ok(OrderFlow::BusinessMessageReject(_)) => None,
                    // Nothing else is for a gateway.
                    Ok(_) => {
                        outbox.refuse_type(sequence, message.msg_type());
                        None
                    }
                    Err(error) => {
                        outbox.refuse_content(sequence, message.msg_type(), error);
                        None
                    }
                },
                Event::Disconnect(reason) => return Err(GatewayError::SessionEnded(reason)),
                event => {
                    self.logged_out |= event == Event::LoggedOut;
                    None
                }
            };
            updates.extend(update);
        }
        Ok(())
    }

    /// Heartbeats, test requests, time-outs.
    pub(crate) fn handle_timeout(
        &mut self,
        io: &mut Io<impl Kernel>,
        clock: &Clock,
    ) -> Result<(), GatewayError> {
        let now = at(clock, clock.now());
        if self.link.poll_timeout().is_some_and(|due| due <= now.mono)
            && let Some(delivery) = self.link.handle_timeout(now)
            && let Event::Disconnect(reason) = delivery.event
        {
            return Err(GatewayError::SessionEnded(reason));
        }
        self.transmit(io, now).map(drop)
    }

    /// Asks the venue to end the session.
    pub(crate) fn logout(
        &mut self,
        io: &mut Io<impl Kernel>,
        clock: &Clock,
    ) -> Result<(), GatewayError> {
        let now = at(clock, clock.now());
        self.link.outbox(now).log_out("");
        self.transmit(io, now).map(drop)
    }

    /// The venue sends no more, or the connection broke.
    pub(crate) const fn venue_closed(&self) -> Result<(), GatewayError> {
        if self.logged_out { Ok(()) } else { Err(GatewayError::VenueGone) }
    }

    pub(crate) fn is_active(&self) -> bool {
        self.link.session().is_active()
    }

    /// Whether the session ended in good order.
    pub(crate) const fn is_logged_out(&self) -> bool {
        self.logged_out
    }

    pub(crate) const fn stream(&self) -> Handle {
        self.stream
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

    pub(crate) const fn repeated_reports(&self) -> u64 {
        self.reports.repeated()
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
    ) -> Result<Option<OrderUpdate>, GatewayError> {
        let mut offsets = request.offsets;
        let origin = request.origin;
        let taken = clock.now();
        mark(&mut offsets, Stage::ToGateway, origin, taken);

        if let Err(refusal) = self.check(taken, request.id, order, reference) {
            return Ok(Some(self.refuse(request.id, order, refusal)));
        }
        let checked = clock.now();
        mark(&mut offsets, Stage::Risk, origin, checked);

        let now = at(clock, checked);
        self.encode_order(now, request.id, order)?;
        let encoded = clock.now();
        mark(&mut offsets, Stage::Encode, origin, encoded);

        self.write(io)?;
        let sent = clock.now();
        mark(&mut offsets, Stage::Send, origin, sent);

        on_sent(self.link.unsent());
        self.link.clear_unsent();
        self.remember(request, order, encoded)?;
        if origin != Nanos::ZERO {
            recorders.path.record(&offsets);
        }
        Ok(None)
    }

    /// Everything that must hold before an order leaves.
    #[inline]
    fn check(
        &mut self,
        now: Nanos,
        id: ClientOrderId,
        order: &OrderTerms,
        reference: Reference,
    ) -> Result<(), Refusal> {
        let is_plain = order.stop_price.is_none() && order.lots_shown == Lots::ZERO;
        if !is_plain || order.flags != OrderFlags::NONE {
            return Err(Refusal::Unsupported);
        }
        if self.instruments.get(order.instrument.0 as usize).is_none() {
            return Err(Refusal::UnknownInstrument);
        }
        if !self.link.session().is_active() {
            return Err(Refusal::NotConnected);
        }
        if !self.table.has_room_for(id) {
            return Err(Refusal::Table);
        }
        let open_orders = self.table.open_orders().map(|order| &order.terms);
        let best_own = |instrument, side| best_own(open_orders, instrument, side);
        match self.risk.check(now, id, order, &reference, best_own) {
            // The limits let orders meet own ones.
            Ok(Permit::Send | Permit::CancelOwnThenSend) => Ok(()),
            Err(reason) => Err(Refusal::Risk(reason)),
        }
    }

    /// Leaves the order in the link's outbox.
    fn encode_order(
        &mut self,
        now: Now,
        id: ClientOrderId,
        order: &OrderTerms,
    ) -> Result<(), GatewayError> {
        let instrument = self.instrument(order.instrument)?;
        let message = NewOrderSingle {
            cl_ord_id: cl_ord_id(RequestId::create(id)),
            account: None,
            flags: OrderFlags::NONE,
            stop_price: None,
            max_floor: None,
            symbol: instrument.symbol().into(),
            side: order.side,
            order_type: order.order_type,
            time_in_force: order.time_in_force,
            price: (order.order_type == OrderType::Limit).then_some(order.price),
            qty: quantity(instrument, order.lots)?,
            transact_time: now.utc,
        };
        self.link.outbox(now).send_message(&message).map_err(GatewayError::Encode)
    }

    fn remember(
        &mut self,
        request: &Request,
        terms: &OrderTerms,
        sent_at: Nanos,
    ) -> Result<(), GatewayError> {
        let (lots_open, lots_closed) = (terms.lots, Lots::ZERO);
        let order = Order {
            id: request.id,
            terms: *terms,
            tag: request.tag,
            lots_open,
            lots_closed,
            sent_at,
            state: OrderState::Sent,
        };
        self.table.insert(order).map_err(|_| GatewayError::Contradiction)
    }

    fn refuse(&mut self, id: ClientOrderId, terms: &OrderTerms, refusal: Refusal) -> OrderUpdate {
        match refusal {
            Refusal::Risk(_) => self.risk_rejects += 1,
            _ => self.refused += 1,
        }
        OrderUpdate {
            id,
            version: 0,
            instrument: terms.instrument,
            account: terms.account,
            kind: UpdateKind::Refused(refusal),
            state: OrderState::Rejected,
            lots_open: Lots::ZERO,
            lots_filled: Lots::ZERO,
            exchange_time: Nanos::ZERO,
        }
    }

    /// Refuses a request about an order, which stays what it is.
    fn refuse_known(&mut self, id: ClientOrderId, refusal: Refusal) -> OrderUpdate {
        self.refused += 1;
        let kind = UpdateKind::Refused(refusal);
        match self.table.get(id) {
            Some(order) => update(order, kind, Nanos::ZERO),
            None => {
                let terms = OrderTerms::market(InstrumentId::UNKNOWN, Side::Buy, Lots::ZERO);
                let OrderTerms { instrument, account, lots, .. } = terms;
                OrderUpdate {
                    id,
                    version: 0,
                    instrument,
                    account,
                    kind,
                    state: OrderState::Cancelled,
                    lots_open: lots,
                    lots_filled: lots,
                    exchange_time: Nanos::ZERO,
                }
            }
        }
    }

    fn send_cancel(
        &mut self,
        io: &mut Io<impl Kernel>,
        clock: &Clock,
        target: ClientOrderId,
    ) -> Result<Option<OrderUpdate>, GatewayError> {
        let is_active = self.is_active();
        let order = match self.table.get(target).copied() {
            Some(order) if order.state == OrderState::Working && is_active => order,
            _ => return Ok(Some(self.refuse_known(target, Refusal::NotWorking))),
        };
        // Version 1 is the order's own.
        self.cancels = self.cancels.checked_add(1).unwrap_or(2).max(2);
        let instrument = self.instrument(order.terms.instrument)?;
        let request = RequestId { order: target, version: self.cancels };
        let now = at(clock, clock.now());
        let message = OrderCancelRequest {
            cl_ord_id: cl_ord_id(request),
            orig_cl_ord_id: cl_ord_id(RequestId::create(target)),
            symbol: instrument.symbol().into(),
            side: order.terms.side,
            qty: quantity(instrument, order.terms.lots)?,
            transact_time: now.utc,
        };
        self.link.outbox(now).send_message(&message).map_err(GatewayError::Encode)?;
        self.write(io)?;
        self.link.clear_unsent();
        self.table
            .apply(target, OrderEvent::CancelSent, Lots::ZERO)
            .map_err(|_| GatewayError::Contradiction)?;
        Ok(None)
    }

    fn instrument(&self, id: InstrumentId) -> Result<&Instrument, GatewayError> {
        self.instruments.get(id.0 as usize).ok_or(GatewayError::Contradiction)
    }

    /// An order that is not over.
    pub(crate) fn order(&self, id: ClientOrderId) -> Option<OpenOrder> {
        self.table.get(id).filter(|order| !order.state.is_done()).map(open_order)
    }

    /// Every order that is not over.
    pub(crate) fn open_orders(&self) -> impl Iterator<Item = OpenOrder> {
        self.table.open_orders().map(open_order)
    }

    /// Shows the owner's orders that are not over.
    pub(crate) fn visit_orders(&self, owner: Owner, visit: &mut dyn FnMut(&OpenOrder)) {
        let orders = self.table.open_orders().filter(|order| Owner::of(order.id) == owner);
        orders.for_each(|order| visit(&open_order(order)));
    }

    /// What the gateway holds.
    pub(crate) fn position(
        &self,
        _owner: Owner,
        instrument: InstrumentId,
        account: AccountId,
    ) -> Position {
        let lots = self.risk.position(instrument, account);
        Position { instrument, account, lots, average_price: Price(0) }
    }

    /// Sends what waits in the outbox; what the kernel does not take now, the loop keeps.
    #[inline]
    fn write(&self, io: &mut Io<impl Kernel>) -> Result<(), GatewayError> {
        Ok(io.write(self.stream, self.link.unsent(), None)?)
    }

    /// Sends what the session wants to; whether there was anything.
    fn transmit(&mut self, io: &mut Io<impl Kernel>, now: Now) -> Result<bool, GatewayError> {
        let mut has_written = false;
        while !self.link.poll_transmit(now).is_empty() {
            self.write(io)?;
            self.link.clear_unsent();
            has_written = true;
        }
        Ok(has_written)
    }
}

/// The limits of a gateway that trades for one account; all its instruments are traded. One whose
/// lot is below 1e-9 is not known to risk, which refuses its orders.
fn risk(config: &GatewayConfig, now: Nanos) -> Risk {
    let instruments = config.instruments.len();
    let sizes = RiskSizes { instruments, accounts: 1, users: 256, strategies: 256 };
    let mut risk = Risk::new(config.risk.limits(sizes), now);
    for (id, instrument) in (0..).map(InstrumentId).zip(&config.instruments) {
        let definition = RiskInstrument::of(instrument);
        if definition.is_some_and(|definition| risk.define(id, definition).is_ok()) {
            risk.set_status(id, InstrumentStatus::Trading);
        }
    }
    risk
}

/// The text of a request.
fn cl_ord_id(request: RequestId) -> ShortText {
    // Sixteen bytes fit.
    ShortText::new(&request.to_text()).unwrap_or_else(|| ShortText::from_u64(request.order.0))
}

/// The quantity of so many lots.
#[inline]
fn quantity(instrument: &Instrument, lots: Lots) -> Result<Qty, GatewayError> {
    instrument.qty(lots).map_err(|_| GatewayError::Contradiction)
}

/// An order as its owner may look it up.
const fn open_order(order: &Order) -> OpenOrder {
    let Order { id, terms, tag, state, lots_open, .. } = *order;
    OpenOrder { id, terms, state, lots_open, tag }
}

/// The venue is trusted to know its dictionary: the fields that are used are checked as they are
/// read.
fn session_config(config: &GatewayConfig) -> SessionConfig {
    let (sender, target) = (config.sender_comp_id, config.target_comp_id);
    SessionConfig {
        heartbeat_interval: config.heartbeat_interval,
        logout_timeout: Nanos::from_secs(10),
        resend_timeout: Nanos::from_secs(30),
        reset_on_logon: true,
        ..SessionConfig::new(Role::Initiator, BeginString::Fix44, sender, target)
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
mod tests;
