//! Orders out and reports in: risk, FIX session, the table of orders.

use std::net::SocketAddr;

use taut_fix::{
    BeginString, Delivery, Event, FieldIndex, Link, LinkConfig, MESSAGE_BYTES_MAX, MemoryStore,
    NewOrderSingle, Now, OrderCancelRequest, OrderFlow, Role, Session, SessionConfig, ShortText,
};
use taut_io::{Handle, Io, Kernel};
use taut_lat::{Stage, StageOffsets};
use taut_oms::{Order, OrderEvent, OrderState, OrderTable, Reference, Risk};
use taut_sys::{Address, Clock, StreamOptions};
use taut_types::{ClientOrderId, Instrument, Lots, Nanos, OrderFlags, OrderType, Qty};

use crate::config::GatewayConfig;
use crate::error::GatewayError;
use crate::message::{NewOrder, OrderUpdate, Refusal, Request, RequestKind, UpdateKind};
use crate::regions::Recorders;
use crate::reports::Reports;

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
    instrument: Instrument,
    symbol: ShortText,
    table: OrderTable,
    risk: Risk,
    reports: Reports,
    logged_out: bool,
    risk_rejects: u64,
    refused: u64,
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
            instrument: config.instrument,
            symbol: config.instrument.symbol().into(),
            table: OrderTable::with_capacity(config.order_capacity),
            risk: Risk::new(config.risk, now.mono),
            reports: Reports::new(config.instrument),
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

    /// Handles a request of the client and returns what it must be told at once; `on_sent` gets the
    /// bytes of a new order that has left.
    #[inline]
    pub(crate) fn handle_request(
        &mut self,
        io: &mut Io<impl Kernel>,
        clock: &Clock,
        request: &Request,
        reference: Reference,
        recorders: &mut Recorders<'_>,
        on_sent: impl FnOnce(&[u8]),
    ) -> Result<Option<OrderUpdate>, GatewayError> {
        match request.kind {
            RequestKind::New(order) => {
                self.send_order(io, (clock, request), order, reference, recorders, on_sent)
            }
            RequestKind::Cancel(target) => self.send_cancel(io, clock, request.id, target),
        }
    }

    /// Handles what the venue sent, message by message; `tell` passes on what became of our
    /// orders. `received` is when the receive call returned: there a round trip ends.
    pub(crate) fn receive(
        &mut self,
        io: &mut Io<impl Kernel>,
        (clock, received): (&Clock, Nanos),
        mut bytes: &[u8],
        recorders: &mut Recorders<'_>,
        mut tell: impl FnMut(&OrderUpdate) -> Result<(), GatewayError>,
    ) -> Result<(), GatewayError> {
        let now = at(clock, received);
        loop {
            self.handle_messages(now, &mut bytes, recorders, &mut tell)?;
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
        tell: &mut impl FnMut(&OrderUpdate) -> Result<(), GatewayError>,
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
            if let Some(update) = update {
                tell(&update)?;
            }
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
        order: NewOrder,
        reference: Reference,
        recorders: &mut Recorders<'_>,
        on_sent: impl FnOnce(&[u8]),
    ) -> Result<Option<OrderUpdate>, GatewayError> {
        let mut offsets = request.offsets;
        let origin = request.origin;
        let taken = clock.now();
        mark(&mut offsets, Stage::ToGateway, origin, taken);

        if let Err(refusal) = self.check(taken, request.id, &order, reference) {
            return Ok(Some(self.refuse(request.id, refusal)));
        }
        let checked = clock.now();
        mark(&mut offsets, Stage::Risk, origin, checked);

        let now = at(clock, checked);
        self.encode_order(now, request.id, &order)?;
        let encoded = clock.now();
        mark(&mut offsets, Stage::Encode, origin, encoded);

        self.write(io)?;
        let sent = clock.now();
        mark(&mut offsets, Stage::Send, origin, sent);

        on_sent(self.link.unsent());
        self.link.clear_unsent();
        self.remember(request.id, &order, encoded)?;
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
        order: &NewOrder,
        reference: Reference,
    ) -> Result<(), Refusal> {
        if !self.link.session().is_active() {
            return Err(Refusal::NotConnected);
        }
        if !self.table.has_room_for(id) {
            return Err(Refusal::Table);
        }
        let NewOrder { side, order_type, price, lots, .. } = *order;
        self.risk.check(now, side, order_type, price, lots, reference).map_err(Refusal::Risk)
    }

    /// Leaves the order in the link's outbox.
    fn encode_order(
        &mut self,
        now: Now,
        id: ClientOrderId,
        order: &NewOrder,
    ) -> Result<(), GatewayError> {
        let message = NewOrderSingle {
            cl_ord_id: ShortText::from_u64(id.0),
            account: None,
            flags: OrderFlags::NONE,
            stop_price: None,
            max_floor: None,
            symbol: self.symbol,
            side: order.side,
            order_type: order.order_type,
            time_in_force: order.time_in_force,
            price: (order.order_type == OrderType::Limit).then_some(order.price),
            qty: self.qty(order.lots)?,
            transact_time: now.utc,
        };
        self.link.outbox(now).send_message(&message).map_err(GatewayError::Encode)
    }

    fn remember(
        &mut self,
        id: ClientOrderId,
        order: &NewOrder,
        sent_at: Nanos,
    ) -> Result<(), GatewayError> {
        let NewOrder { side, price, lots, .. } = *order;
        let state = OrderState::Sent;
        let (lots_open, lots_closed) = (lots, Lots::ZERO);
        let order = Order { id, side, price, lots, lots_open, lots_closed, sent_at, state };
        self.table.insert(order).map_err(|_| GatewayError::Contradiction)
    }

    fn refuse(&mut self, id: ClientOrderId, refusal: Refusal) -> OrderUpdate {
        match refusal {
            Refusal::Risk(_) => self.risk_rejects += 1,
            _ => self.refused += 1,
        }
        let (kind, state) = (UpdateKind::Refused(refusal), OrderState::Rejected);
        OrderUpdate { id, kind, state, lots_open: Lots::ZERO }
    }

    fn send_cancel(
        &mut self,
        io: &mut Io<impl Kernel>,
        clock: &Clock,
        id: ClientOrderId,
        target: ClientOrderId,
    ) -> Result<Option<OrderUpdate>, GatewayError> {
        let is_active = self.is_active();
        let order = match self.table.get(target).copied() {
            Some(order) if order.state == OrderState::Working && is_active => order,
            known => {
                self.refused += 1;
                let state = known.map_or(OrderState::Cancelled, |order| order.state);
                let lots_open = known.map_or(Lots::ZERO, |order| order.lots_open);
                let kind = UpdateKind::Refused(Refusal::NotWorking);
                return Ok(Some(OrderUpdate { id: target, kind, state, lots_open }));
            }
        };
        let now = at(clock, clock.now());
        let message = OrderCancelRequest {
            cl_ord_id: ShortText::from_u64(id.0),
            orig_cl_ord_id: ShortText::from_u64(target.0),
            symbol: self.symbol,
            side: order.side,
            qty: self.qty(order.lots)?,
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

    /// The quantity of so many lots.
    #[inline]
    fn qty(&self, lots: Lots) -> Result<Qty, GatewayError> {
        self.instrument.qty(lots).map_err(|_| GatewayError::Contradiction)
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
