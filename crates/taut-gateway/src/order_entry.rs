//! Orders out and reports in: risk, FIX session, the table of orders.

use std::net::SocketAddr;
use std::ops::Range;

use taut_fix::{
    BeginString, Event, FieldIndex, MESSAGE_BYTES_MAX, MemoryStore, NewOrderSingle, Now,
    OrderCancelRequest, OrderFlow, Role, Session, SessionConfig, ShortText, msg_type,
};
use taut_io::{Handle, Io, Kernel};
use taut_lat::{Stage, StageOffsets};
use taut_oms::{Order, OrderEvent, OrderState, OrderTable, Reference, Risk};
use taut_sys::{Address, Clock, StreamOptions};
use taut_types::{ClientOrderId, Instrument, Lots, Nanos, OrderType};

use crate::config::GatewayConfig;
use crate::error::GatewayError;
use crate::message::{NewOrder, OrderUpdate, Refusal, Request, RequestKind, UpdateKind};
use crate::regions::Recorders;
use crate::reports::{News, Reports};

/// Room for the largest message of ours.
const MESSAGE_BYTES: usize = 1_024;
/// Room for what one receive of the loop brings, behind the start of a message.
const INBOX_BYTES: usize = 64 * 1_024 + MESSAGE_BYTES_MAX;
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
    session: Session<MemoryStore>,
    index: FieldIndex,
    instrument: Instrument,
    symbol: ShortText,
    table: OrderTable,
    risk: Risk,
    reports: Reports,
    message: Box<[u8; MESSAGE_BYTES]>,
    inbox: Box<[u8]>,
    inbox_len: usize,
    /// Room for a message that came before its turn.
    held: Box<[u8]>,
    /// The last new order's bytes: what the bare send repeats.
    last_order: Range<usize>,
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
        Ok(Self {
            stream,
            session: Session::new(session_config(config), store),
            index: FieldIndex::with_capacity(FIELDS_MAX),
            instrument: config.instrument,
            symbol: config.instrument.symbol().into(),
            table: OrderTable::with_capacity(config.order_capacity),
            risk: Risk::new(config.risk, now.mono),
            reports: Reports::new(config.instrument),
            message: Box::new([0; MESSAGE_BYTES]),
            inbox: vec![0; INBOX_BYTES].into_boxed_slice(),
            inbox_len: 0,
            held: vec![0; MESSAGE_BYTES_MAX].into_boxed_slice(),
            last_order: 0..0,
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
        let mono = clock.now();
        let now = Now { mono, utc: clock.utc_at(mono) };
        io.receive(self.stream)?;
        self.session.connect(now);
        self.send_session_messages(io, now)
    }

    /// Handles a request of the client and returns what it must be told at once.
    #[inline]
    pub(crate) fn handle_request(
        &mut self,
        io: &mut Io<impl Kernel>,
        clock: &Clock,
        request: &Request,
        reference: Reference,
        recorders: &mut Recorders<'_>,
    ) -> Result<News, GatewayError> {
        match request.kind {
            RequestKind::New(order) => {
                self.send_order(io, clock, request, order, reference, recorders)
            }
            RequestKind::Cancel(target) => self.send_cancel(io, clock, request.id, target),
        }
    }

    /// Handles what the venue sent, message by message; `tell` passes the news on. `received` is
    /// when the receive call returned: there a round trip ends.
    pub(crate) fn receive(
        &mut self,
        io: &mut Io<impl Kernel>,
        (clock, received): (&Clock, Nanos),
        bytes: &[u8],
        recorders: &mut Recorders<'_>,
        mut tell: impl FnMut(&OrderUpdate) -> Result<(), GatewayError>,
    ) -> Result<(), GatewayError> {
        let now = Now { mono: received, utc: clock.utc_at(received) };
        if self.inbox_len == 0 {
            // Whole messages, nearly always: handled where they stand.
            let used = self.handle_messages(io, now, bytes, recorders, &mut tell)?;
            return self.keep(bytes.get(used..).unwrap_or(&[]));
        }
        self.keep(bytes)?;
        let mut inbox = std::mem::take(&mut self.inbox);
        let pending = inbox.get(..self.inbox_len).unwrap_or(&[]);
        let used = self.handle_messages(io, now, pending, recorders, &mut tell)?;
        inbox.copy_within(used..self.inbox_len, 0);
        self.inbox = inbox;
        self.inbox_len -= used;
        Ok(())
    }

    /// Keeps the start of a message until the rest comes.
    fn keep(&mut self, bytes: &[u8]) -> Result<(), GatewayError> {
        let end = self.inbox_len + bytes.len();
        // What is kept is no whole message: there is room for a receive behind it.
        let room = self.inbox.get_mut(self.inbox_len..end).ok_or(GatewayError::Contradiction)?;
        room.copy_from_slice(bytes);
        self.inbox_len = end;
        Ok(())
    }

    /// Handles messages until none is whole; returns how many bytes they took.
    fn handle_messages(
        &mut self,
        io: &mut Io<impl Kernel>,
        now: Now,
        bytes: &[u8],
        recorders: &mut Recorders<'_>,
        tell: &mut impl FnMut(&OrderUpdate) -> Result<(), GatewayError>,
    ) -> Result<usize, GatewayError> {
        let mut at = 0;
        loop {
            let pending = bytes.get(at..).unwrap_or(&[]);
            let consumed = self.handle_message(io, now, pending, recorders, tell)?;
            at += consumed;
            self.handle_held(io, now, recorders, tell)?;
            if consumed == 0 {
                return Ok(at);
            }
        }
    }

    /// Handles the message at the start of the bytes, if it is whole, and returns its length.
    fn handle_message(
        &mut self,
        io: &mut Io<impl Kernel>,
        now: Now,
        bytes: &[u8],
        recorders: &mut Recorders<'_>,
        tell: &mut impl FnMut(&OrderUpdate) -> Result<(), GatewayError>,
    ) -> Result<usize, GatewayError> {
        let made = self.session.handle_bytes(now, bytes, &mut self.index);
        match made.event {
            Some(Event::Application { sequence, poss_resend, .. }) => {
                let message = bytes.get(..made.consumed).unwrap_or(&[]);
                let marks = (sequence, poss_resend);
                if let Some(update) = self.handle_report(now, marks, message, recorders)? {
                    tell(&update)?;
                }
            }
            Some(Event::LoggedOut) => self.logged_out = true,
            Some(Event::Disconnect(reason)) => return Err(GatewayError::SessionEnded(reason)),
            // A session-level reject names no order: what it refused stays unanswered, and the run
            // says so.
            Some(_) | None => {}
        }
        // The session takes no more while its own messages wait to be sent.
        self.send_session_messages(io, now)?;
        Ok(made.consumed)
    }

    /// Messages that came before their turn, and whose turn it is now.
    fn handle_held(
        &mut self,
        io: &mut Io<impl Kernel>,
        now: Now,
        recorders: &mut Recorders<'_>,
        tell: &mut impl FnMut(&OrderUpdate) -> Result<(), GatewayError>,
    ) -> Result<(), GatewayError> {
        while let Some(len) = self.session.take_held(&mut self.held) {
            let held = std::mem::take(&mut self.held);
            self.handle_message(io, now, held.get(..len).unwrap_or(&[]), recorders, tell)?;
            self.held = held;
        }
        Ok(())
    }

    fn handle_report(
        &mut self,
        now: Now,
        (sequence, poss_resend): (u64, bool),
        message: &[u8],
        recorders: &mut Recorders<'_>,
    ) -> Result<News, GatewayError> {
        let (table, risk) = (&mut self.table, &mut self.risk);
        match OrderFlow::decode(message, &self.index) {
            Ok(OrderFlow::ExecutionReport(report)) => {
                if poss_resend && self.reports.is_repeated(table, &report) {
                    return Ok(None);
                }
                self.reports.apply(table, risk, recorders, now.mono, &report)
            }
            Ok(OrderFlow::OrderCancelReject(reject)) => {
                if poss_resend && self.reports.is_repeated_reject(&reject) {
                    return Ok(None);
                }
                self.reports.apply_cancel_reject(table, risk, &reject)
            }
            // A business reject names no order either. Nothing else is for a gateway.
            Ok(OrderFlow::BusinessMessageReject(_)) => Ok(None),
            Ok(_) => {
                self.session.refuse_type(sequence, msg_type(message, &self.index));
                Ok(None)
            }
            Err(error) => {
                let msg_type = msg_type(message, &self.index);
                self.session.refuse_content(sequence, msg_type, error);
                Ok(None)
            }
        }
    }

    /// Heartbeats, test requests, time-outs.
    pub(crate) fn handle_timeout(
        &mut self,
        io: &mut Io<impl Kernel>,
        clock: &Clock,
    ) -> Result<(), GatewayError> {
        let mono = clock.now();
        let now = Now { mono, utc: clock.utc_at(mono) };
        if self.session.poll_timeout().is_some_and(|due| due <= mono)
            && let Some(Event::Disconnect(reason)) = self.session.handle_timeout(now)
        {
            return Err(GatewayError::SessionEnded(reason));
        }
        self.send_session_messages(io, now)
    }

    /// Asks the venue to end the session.
    pub(crate) fn logout(
        &mut self,
        io: &mut Io<impl Kernel>,
        clock: &Clock,
    ) -> Result<(), GatewayError> {
        let mono = clock.now();
        let now = Now { mono, utc: clock.utc_at(mono) };
        let _ = self.session.logout(now, "");
        self.send_session_messages(io, now)
    }

    /// The venue sends no more, or the connection broke.
    pub(crate) const fn venue_closed(&self) -> Result<(), GatewayError> {
        if self.logged_out { Ok(()) } else { Err(GatewayError::VenueGone) }
    }

    pub(crate) fn is_active(&self) -> bool {
        self.session.is_active()
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

    /// The bytes of the last new order that was sent; empty before the first.
    pub(crate) fn last_order(&self) -> &[u8] {
        self.message.get(self.last_order.clone()).unwrap_or(&[])
    }

    #[inline]
    fn send_order(
        &mut self,
        io: &mut Io<impl Kernel>,
        clock: &Clock,
        request: &Request,
        order: NewOrder,
        reference: Reference,
        recorders: &mut Recorders<'_>,
    ) -> Result<News, GatewayError> {
        let mut offsets = request.offsets;
        let origin = request.origin;
        let taken = clock.now();
        mark(&mut offsets, Stage::ToGateway, origin, taken);

        if let Err(refusal) = self.check(taken, request.id, &order, reference) {
            return Ok(Some(self.refuse(request.id, refusal)));
        }
        let checked = clock.now();
        mark(&mut offsets, Stage::Risk, origin, checked);

        let now = Now { mono: checked, utc: clock.utc_at(checked) };
        let range = self.encode_order(now, request.id, &order)?;
        let encoded = clock.now();
        mark(&mut offsets, Stage::Encode, origin, encoded);

        self.send(io, range.clone())?;
        let sent = clock.now();
        mark(&mut offsets, Stage::Send, origin, sent);

        self.last_order = range;
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
        if !self.session.is_active() {
            return Err(Refusal::NotConnected);
        }
        if !self.table.has_room_for(id) {
            return Err(Refusal::Table);
        }
        let NewOrder { side, order_type, price, lots, .. } = *order;
        self.risk.check(now, side, order_type, price, lots, reference).map_err(Refusal::Risk)
    }

    fn encode_order(
        &mut self,
        now: Now,
        id: ClientOrderId,
        order: &NewOrder,
    ) -> Result<Range<usize>, GatewayError> {
        let message = NewOrderSingle {
            cl_ord_id: ShortText::from_u64(id.0),
            symbol: self.symbol,
            side: order.side,
            order_type: order.order_type,
            time_in_force: order.time_in_force,
            price: (order.order_type == OrderType::Limit).then_some(order.price),
            qty: whole_units(&self.instrument, order.lots)?,
            transact_time: now.utc,
        };
        let out = self.message.as_mut_slice();
        self.session.send_message(now, &message, out).map_err(GatewayError::Encode)
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
    ) -> Result<News, GatewayError> {
        let held = self.table.get(target).copied();
        let order = match held {
            Some(order) if order.state == OrderState::Working && self.session.is_active() => order,
            held => {
                self.refused += 1;
                let state = held.map_or(OrderState::Cancelled, |order| order.state);
                let lots_open = held.map_or(Lots::ZERO, |order| order.lots_open);
                let kind = UpdateKind::Refused(Refusal::NotWorking);
                return Ok(Some(OrderUpdate { id: target, kind, state, lots_open }));
            }
        };
        let mono = clock.now();
        let now = Now { mono, utc: clock.utc_at(mono) };
        let message = OrderCancelRequest {
            cl_ord_id: ShortText::from_u64(id.0),
            orig_cl_ord_id: ShortText::from_u64(target.0),
            symbol: self.symbol,
            side: order.side,
            qty: whole_units(&self.instrument, order.lots)?,
            transact_time: now.utc,
        };
        let out = self.message.as_mut_slice();
        let range = self.session.send_message(now, &message, out).map_err(GatewayError::Encode)?;
        self.last_order = 0..0;
        self.send(io, range)?;
        self.table
            .apply(target, OrderEvent::CancelSent, Lots::ZERO)
            .map_err(|_| GatewayError::Contradiction)?;
        Ok(None)
    }

    /// Sends a part of the message buffer; what the kernel does not take now, the loop keeps.
    #[inline]
    fn send(&self, io: &mut Io<impl Kernel>, range: Range<usize>) -> Result<(), GatewayError> {
        let bytes = self.message.get(range).unwrap_or(&[]);
        Ok(io.write(self.stream, bytes, None)?)
    }

    fn send_session_messages(
        &mut self,
        io: &mut Io<impl Kernel>,
        now: Now,
    ) -> Result<(), GatewayError> {
        while let Some(range) = self.session.poll_transmit(now, self.message.as_mut_slice()) {
            // The buffer no longer holds the last order.
            self.last_order = 0..0;
            self.send(io, range)?;
        }
        Ok(())
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

/// Notes where a stage of a measured order ended.
#[inline]
fn mark(offsets: &mut StageOffsets, stage: Stage, origin: Nanos, now: Nanos) {
    offsets.set_end(stage, now.since(origin).0.unsigned_abs());
}

/// The quantity as FIX writes it; this version's instruments trade whole units.
fn whole_units(instrument: &Instrument, lots: Lots) -> Result<i64, GatewayError> {
    match instrument.qty(lots) {
        Ok(qty) if qty.decimals == 0 => Ok(qty.mantissa),
        _ => Err(GatewayError::Contradiction),
    }
}

#[cfg(test)]
mod tests;
