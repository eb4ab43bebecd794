//! The session with the venue: it connects, logs on, asks where the orders stand, and begins again
//! whenever the connection ends.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use taut_fix::{LongText, Now};
use taut_fix_engine::BackOff;
use taut_io::{Completion, Io, Kernel};
use taut_oms::{
    ExecId, InstrumentStatus, LimitsError, Order, OrderEvent, OrderState, OrderTable, Positions,
    RequestKind, Risk, RiskInstrument, RiskLimits, Trouble, VenueReject,
};
use taut_sys::{Address, Clock, StreamOptions, random_bytes};
use taut_types::{ClientOrderId, Instrument, Nanos, OrderTerms, OrderType, RequestId, TimeInForce};

use super::addresses::Addresses;
use super::beside::Beside;
use super::comparison::{Comparison, PositionComparisons};
use super::copies::Copies;
use super::handler::{
    ChangeRefused, Framing, NotSent, OfAll, OrderHandler, VenueEvent, VenueReport,
};
use super::reconcile::{MassQuestion, Question, Reconcile};
use super::tunnel::no_way;
use super::waiting::WaitingCancels;
use super::what_if::WhatIf;
use super::wire::{Gone, Unwrapped, Wire};
use super::{CONNECT_TIMEOUT, LOOKS, OrderSession, Phase, at, message_of};
use crate::config::{GatewayConfig, RiskRules, SessionSettings, Transport};
use crate::error::GatewayError;
use crate::journal::OrderJournal;
use crate::message::OrderUpdate;
use crate::regions::Recorders;
use crate::reports::{Books, Reports};

impl<H: OrderHandler> OrderSession<H> {
    /// Starts to connect to the venue.
    pub(crate) fn connect(
        config: &GatewayConfig,
        handler: H,
        io: &mut Io<impl Kernel>,
        now: Now,
    ) -> Result<Self, GatewayError> {
        let capabilities = handler.capabilities();
        if capabilities.name_bytes_max < RequestId::TEXT_BYTES {
            return Err(GatewayError::RequestNames);
        }
        let settings = config.session.clone();
        let is_http = matches!(settings.transport, Transport::Http { .. });
        if is_http || settings.transport.framing() != capabilities.framing {
            return Err(GatewayError::Transport);
        }
        let beside_framing = settings.beside.as_ref().map(|it| it.transport.framing());
        if beside_framing != handler.asks_beside().then_some(Framing::Messages) {
            return Err(GatewayError::Transport);
        }
        let (shortest, longest) = settings.reconnect;
        let inet = |address| Address::Inet(SocketAddr::V4(address));
        let backups = settings.backups.clone().into_iter();
        let capacity = config.risk.instrument_capacity(config.instruments.len());
        let mut instruments = Vec::with_capacity(capacity);
        instruments.extend_from_slice(&config.instruments);
        let mut orders = Self {
            addresses: Addresses::new(inet(config.order_address), backups.map(inet)),
            back_off: BackOff::new(shortest, longest),
            wait_min: Nanos::ZERO,
            beside: settings.beside.clone().map(Beside::new),
            settings,
            hot: config.hot,
            stream: None,
            wire: Wire::Plain,
            unwrapped: Unwrapped::default(),
            no_way: String::new(),
            phase: Phase::Waiting(now.mono),
            was_connected: false,
            is_ending: false,
            is_leaving: false,
            is_broken: false,
            disconnects: 0,
            handler,
            instruments,
            instrument_capacity: capacity,
            uncompared: Vec::new(),
            table: OrderTable::with_capacity(config.order_capacity),
            risk: risk(config, now.mono),
            positions: positions(config, capacity),
            accounts: config.risk.accounts(),
            waiting_cancels: WaitingCancels::default(),
            reports: Reports::new(config.risk.accounts(), capacity),
            journal: OrderJournal::default(),
            what_if: None,
            reconcile: Reconcile::default(),
            comparison: Comparison::default(),
            comparisons: PositionComparisons::default(),
            copies: Copies::default(),
            risk_rejects: 0,
            refused: 0,
            killed_at: Vec::new(),
            day: 0,
            earned_before: BTreeMap::new(),
            foreign_trades: 0,
            compares_again: Nanos::ZERO,
            looked_through: Nanos::ZERO,
            looks: 0,
            reopened: Vec::new(),
            last_order: None,
        };
        if let Err(error) = orders.open(io) {
            orders.unreachable(io, now.mono, error)?;
        }
        Ok(orders)
    }

    fn open(&mut self, io: &mut Io<impl Kernel>) -> Result<(), taut_io::IoError> {
        let deadline = io.now() + CONNECT_TIMEOUT;
        let stream =
            io.connect(&self.addresses.current(), &StreamOptions::default(), Some(deadline))?;
        // Order traffic comes before market data.
        io.set_priority(stream, 0)?;
        (self.stream, self.phase) = (Some(stream), Phase::Connecting);
        Ok(())
    }

    /// The venue cannot be reached where it was tried: the next address is tried, or all of them
    /// again after a while.
    ///
    /// # Errors
    /// When the gateway has just started, is not to wait for its venue, and has tried them all.
    fn unreachable(
        &mut self,
        io: &mut Io<impl Kernel>,
        now: Nanos,
        mut error: taut_io::IoError,
    ) -> Result<(), GatewayError> {
        while self.addresses.failed() {
            match self.open(io) {
                Ok(()) => return Ok(()),
                Err(other) => error = other,
            }
        }
        if !self.was_connected && !self.settings.waits_for_venue {
            return Err(GatewayError::Unreachable(error));
        }
        self.wait(now);
        Ok(())
    }

    /// An attempt came to nothing: the next address is in turn, or all of them again after a while.
    /// A venue that asks to be left alone counts by who calls, and is so at every address.
    fn try_again(&mut self, now: Nanos) {
        if self.addresses.failed() {
            self.phase = Phase::Waiting(now + std::mem::take(&mut self.wait_min));
        } else {
            self.wait(now);
        }
    }

    /// Tries after a while; not before the end of the connection says.
    fn wait(&mut self, now: Nanos) {
        // Any number will do, so that gateways do not all come back at once.
        let random = (now.0.unsigned_abs() ^ self.disconnects).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let least = std::mem::take(&mut self.wait_min);
        self.phase = Phase::Waiting(now + self.back_off.wait(random).max(least));
    }

    /// The connection stands: asks to log on, or for what the stream goes through first.
    pub(crate) fn connected(
        &mut self,
        io: &mut Io<impl Kernel>,
        clock: &Clock,
        updates: &mut Vec<OrderUpdate>,
    ) {
        let Some(stream) = self.stream.filter(|_| self.phase == Phase::Connecting) else { return };
        // A stream that is connected is looked at without asking, or not at all.
        self.is_broken |= io.set_hot(stream, self.hot).is_err();
        self.was_connected = true;
        let SessionSettings { transport, through, .. } = &self.settings;
        match Wire::open(io, stream, transport, through.as_ref()) {
            Ok(Wire::Plain) => {
                self.is_broken |= io.receive(stream).is_err();
                self.opened(io, clock, updates);
            }
            Ok(wire) => self.wire = wire,
            Err(Gone) => self.lost(io, at(clock, clock.now()), updates),
        }
    }

    /// Bytes can be sent: asks to log on.
    pub(crate) fn opened(
        &mut self,
        io: &mut Io<impl Kernel>,
        clock: &Clock,
        updates: &mut Vec<OrderUpdate>,
    ) {
        if self.phase != Phase::Connecting {
            return;
        }
        let now = at(clock, clock.now());
        if let Some(beside) = self.beside.as_mut().filter(|beside| !beside.is_open()) {
            // Called again when it is.
            let deadline = io.now() + CONNECT_TIMEOUT;
            if beside.open(io, deadline) == Err(Gone) {
                self.lost(io, now, updates);
            }
            return;
        }
        let mut random = [0; 32];
        self.is_broken |= random_bytes(&mut random).is_err();
        self.phase = Phase::LoggingOn;
        self.handler.connected(now, random, self.addresses.failed_logons());
        self.transmit(io, now);
        self.go_on(io, now, updates);
    }

    /// Takes a completion of a stream that is wrapped out of its wrapping. Nothing when it is
    /// another's; give what it came to back.
    pub(crate) fn unwrap(
        &mut self,
        io: &mut Io<impl Kernel>,
        completion: &Completion<'_>,
    ) -> Option<Unwrapped> {
        let brought = if self.wire.take(io, completion, &mut self.unwrapped) {
            std::mem::take(&mut self.unwrapped)
        } else {
            self.beside.as_mut()?.take(io, completion)?
        };
        self.wait_min = brought.wait_min;
        if brought.is_open || brought.fault.is_some() {
            self.no_way = brought.fault.map_or_else(String::new, no_way);
        }
        Some(brought)
    }

    /// Handles a message of the second connection: what it says is told with what is
    /// [received](Self::receive) next, which may be nothing.
    pub(crate) fn hear_beside(&mut self, clock: &Clock, received: Nanos, message: &[u8]) {
        self.handler.handle_beside(at(clock, received), message);
    }

    /// Its memory serves the next completion.
    pub(crate) fn put_back(&mut self, unwrapped: Unwrapped) {
        match self.beside.as_mut().filter(|_| unwrapped.is_beside) {
            Some(beside) => beside.put_back(unwrapped),
            None => self.unwrapped = unwrapped,
        }
    }

    /// The venue could not be reached.
    ///
    /// # Errors
    /// When the gateway has just started, is not to wait for its venue, and has tried every
    /// address.
    pub(crate) fn not_connected(
        &mut self,
        io: &mut Io<impl Kernel>,
        clock: &Clock,
        error: taut_io::IoError,
    ) -> Result<(), GatewayError> {
        self.close(io);
        self.unreachable(io, clock.now(), error)
    }

    /// Handles what the venue sent, up to the first message of which somebody must be told;
    /// `updates` gets what became of our orders. Whether there is more to handle, once that is
    /// told. `received` is when the receive call returned: there a round trip ends.
    pub(crate) fn receive(
        &mut self,
        io: &mut Io<impl Kernel>,
        (clock, received): (&Clock, Nanos),
        bytes: &mut &[u8],
        recorders: &mut Recorders<'_>,
        updates: &mut Vec<OrderUpdate>,
    ) -> bool {
        let now = at(clock, received);
        let must_tell = loop {
            let must_tell = self.handle_messages(now, bytes, recorders, updates);
            let has_written = self.transmit(io, now);
            if must_tell || !has_written || self.is_broken {
                break must_tell;
            }
        };
        self.go_on(io, now, updates);
        must_tell && self.stream.is_some()
    }

    /// Handles messages until one has something to be told, none is whole, or the outbox must be
    /// sent first. Whether something is to be told.
    fn handle_messages(
        &mut self,
        now: Now,
        bytes: &mut &[u8],
        recorders: &mut Recorders<'_>,
        updates: &mut Vec<OrderUpdate>,
    ) -> bool {
        let told = updates.len();
        while let Some(event) = self.handler.handle_bytes(now, bytes) {
            self.handle_event(now, &event, Some(&mut *recorders), updates);
            if updates.len() > told {
                return true;
            }
        }
        false
    }

    /// What the venue says does.
    #[inline]
    pub(super) fn handle_event(
        &mut self,
        now: Now,
        event: &VenueEvent,
        recorders: Option<&mut Recorders<'_>>,
        updates: &mut Vec<OrderUpdate>,
    ) {
        match event {
            VenueEvent::Position(told) => return self.position_told(told),
            VenueEvent::AllPositionsTold => return self.all_positions_told(),
            VenueEvent::PositionsRefused => return self.positions_untold(),
            VenueEvent::Refused { message, .. } if self.comparison.is_refused(*message) => {
                self.comparisons.unanswered += 1;
                return;
            }
            _ => {}
        }
        let Self { reports, table, risk, positions, instruments, journal, reconcile, .. } = self;
        let parts = (&mut *table, risk, positions, &**instruments, journal);
        let mut books = Self::books(parts, recorders, updates, now);
        match event {
            VenueEvent::Report(report) => heard(reports, &mut books, reconcile, report),
            VenueEvent::ChangeRefused(refusal) => {
                change_refused(reports, &mut books, reconcile, refusal);
            }
            VenueEvent::Refused { message, named, reject } => {
                refused(reports, &mut books, reconcile, (*message, *named, *reject));
            }
            VenueEvent::Unreadable(named) => {
                let outcome = reports.unreadable(&mut books, *named);
                if let Some(order) = outcome.order.filter(|_| outcome.asks) {
                    reconcile.want(order.order);
                }
            }
            VenueEvent::AllTold => reconcile.all_told(),
            VenueEvent::LoggedOn => {
                self.addresses.logged_on();
                self.phase = Phase::Reconciling;
                self.back_off.reset();
                let open = table.open_orders().map(|order| order.id);
                reconcile.begin(open, self.handler.capabilities().tells_all);
                self.begin_comparison();
            }
            VenueEvent::LoggedOut if self.is_leaving => self.phase = Phase::Ended,
            VenueEvent::LoggedOut | VenueEvent::Broken => self.is_broken = true,
            VenueEvent::Position(_)
            | VenueEvent::AllPositionsTold
            | VenueEvent::PositionsRefused => {}
        }
        if let Some(order) = self.reports.take_ended() {
            self.handler.over(order);
        }
        if let Some(order) = self.reports.take_reopened() {
            self.reopened(order, event);
        }
    }

    /// An order that was done goes on.
    #[cold]
    fn reopened(&mut self, order: ClientOrderId, event: &VenueEvent) {
        let Some(order) = self.table.get(order) else { return };
        let venue_id = match event {
            VenueEvent::Report(report) => report.venue_id,
            _ => None,
        };
        self.handler.adopt(order, venue_id.as_ref().map_or(&[], LongText::as_bytes));
        self.reopened.push((order.owner, order.id));
    }

    /// Heartbeats, time-outs, the next attempt to connect.
    pub(crate) fn handle_timeout(
        &mut self,
        io: &mut Io<impl Kernel>,
        clock: &Clock,
        updates: &mut Vec<OrderUpdate>,
    ) {
        let now = at(clock, clock.now());
        self.catch_up(now.utc);
        match self.phase {
            Phase::Waiting(until) => {
                if until <= now.mono && !self.is_leaving && self.open(io).is_err() {
                    self.try_again(now.mono);
                }
                return;
            }
            Phase::Connecting | Phase::Ended => return,
            Phase::LoggingOn | Phase::Reconciling | Phase::Up => {}
        }
        if self.handler.poll_timeout().is_some_and(|due| due <= now.mono)
            && let Some(event) = self.handler.handle_timeout(now)
        {
            self.handle_event(now, &event, None, updates);
        }
        self.transmit(io, now);
        let timeout = self.settings.request_timeout;
        while let Some(late) = self.table.overdue(now.mono - timeout) {
            self.happened(now, late.request, OrderEvent::Lost, updates);
            self.reconcile.want(late.request.order);
        }
        self.want_what_may_be_lost(now.mono);
        while let Some(order) = self.reconcile.overdue(now.mono, timeout) {
            self.unanswered(now, RequestId { order, version: 0 }, updates);
        }
        self.await_positions(now.mono);
        self.send_waiting_cancels(io, clock, updates);
        self.go_on(io, now, updates);
    }

    /// What became of an order may have been lost on its way, and nobody else would ask. One that
    /// does not rest and is still open when a request would be late is asked about; where messages
    /// have no numbers, so that a lost one leaves no gap, all are, now and then. When nothing came
    /// of the question about an order that nobody knows to be open, or about one that is done and
    /// misses a trade, that is asked again. Cost: the open orders, once in each time-out.
    fn want_what_may_be_lost(&mut self, now: Nanos) {
        let timeout = self.settings.request_timeout;
        if now.since(self.looked_through) < timeout {
            return;
        }
        self.looked_through = now;
        self.looks = self.looks.wrapping_add(1);
        let Self { reconcile, table, .. } = self;
        let is_unsure = |order: &Order| {
            order.state == OrderState::Unknown || order.state.is_done() && order.misses_trades()
        };
        reconcile.want_untold(|order| table.get(order).is_some_and(is_unsure));
        let has_no_numbers = self.handler.capabilities().framing == Framing::Messages;
        if has_no_numbers && self.looks.is_multiple_of(LOOKS) {
            self.ask_about_all();
        }
        let is_wanted = |order: &&Order| {
            let OrderTerms { order_type, time_in_force, stop_price, .. } = order.terms;
            let is_immediate = matches!(time_in_force, TimeInForce::ImmediateOrCancel)
                || matches!(time_in_force, TimeInForce::FillOrKill)
                || order_type == OrderType::Market;
            let is_over = is_immediate && stop_price.is_none();
            is_over && now.since(order.sent_at) >= timeout
        };
        for order in self.table.open_orders().filter(is_wanted) {
            self.reconcile.want(order.id);
        }
    }

    /// Has the venue asked about all open orders. Those with a request under way are left out: a
    /// question that overtakes the request would be answered as if there was no such order, and a
    /// request without an answer is asked about in its time.
    fn ask_about_all(&mut self) {
        let at_rest = |order: &&Order| order.pending().next().is_none();
        let open = self.table.open_orders().filter(at_rest).map(|order| order.id);
        self.reconcile.begin(open, self.handler.capabilities().tells_all);
    }

    /// Asks what is to be asked; ends what is broken.
    fn go_on(&mut self, io: &mut Io<impl Kernel>, now: Now, updates: &mut Vec<OrderUpdate>) {
        if self.is_broken {
            self.lost(io, now, updates);
            return;
        }
        if !matches!(self.phase, Phase::Reconciling | Phase::Up) {
            return;
        }
        if self.handler.poll_passed_over() {
            self.ask_about_all();
        }
        if self.handler.poll_missed() {
            self.reconcile.missed();
            self.comparison.missed();
        }
        if self.reconcile.next_mass() {
            let left = self.handler.ask_all(now);
            if self.is_left(left) {
                let (message, since) = (self.send_question(io, now), now.mono);
                self.reconcile.asked_all(MassQuestion { message, since });
            } else if matches!(left, Err(NotSent::Throttled(_))) {
                self.reconcile.asks_all_later();
            }
        }
        while let Some(order) = self.reconcile.next(now.mono, self.settings.request_timeout) {
            let Self { handler, table, instruments, accounts, .. } = self;
            let Some(known) = table.get(order) else { continue };
            // By the name that it has for certain: a request that is under way may be refused.
            let request = RequestId { order, version: known.version_accepted.max(1) };
            let was_done = known.state.is_done();
            let question = message_of(instruments, accounts, request, &known.terms);
            let Some(question) = question else { continue };
            let left = handler.ask(now, &question);
            if !self.is_left(left) {
                if left == Err(NotSent::Unsupported) {
                    self.unanswered(now, RequestId { order, version: 0 }, updates);
                    continue;
                }
                // It is still to be asked about, and nothing is up before that.
                self.reconcile.want(order);
                break;
            }
            let (message, since) = (self.send_question(io, now), now.mono);
            self.reconcile.asked(Question { order, message, since, was_done });
        }
        if self.phase == Phase::Reconciling
            && self.reconcile.is_over()
            && self.compare_positions(io, now)
        {
            self.phase = Phase::Up;
        }
        if self.phase == Phase::Up {
            self.compare_after_foreign_trades(io, now);
        }
        if self.is_broken {
            self.lost(io, now, updates);
        }
    }

    /// Sends the question in the outbox; the number of its message.
    pub(super) fn send_question(&mut self, io: &mut Io<impl Kernel>, now: Now) -> u64 {
        self.write(io);
        self.handler.clear_unsent();
        let message = self.handler.last_message();
        self.transmit_beside(io, now);
        message
    }

    /// The venue sends no more, or the connection broke.
    pub(crate) fn closed(
        &mut self,
        io: &mut Io<impl Kernel>,
        clock: &Clock,
        updates: &mut Vec<OrderUpdate>,
    ) {
        self.lost(io, at(clock, clock.now()), updates);
    }

    /// The connection is gone: of requests without an answer nobody knows what became of them.
    pub(super) fn lost(
        &mut self,
        io: &mut Io<impl Kernel>,
        now: Now,
        updates: &mut Vec<OrderUpdate>,
    ) {
        self.is_broken = false;
        if self.stream.is_some() {
            // What the session says last goes out first.
            self.transmit(io, now);
            self.is_broken = false;
            self.close(io);
        }
        self.handler.disconnected(now);
        self.reconcile.disconnected();
        while let Some(order) = self.table.next_waiting() {
            let request = RequestId { order: order.id, version: 0 };
            self.happened(now, request, OrderEvent::Lost, updates);
        }
        if self.is_leaving {
            self.phase = Phase::Ended;
            return;
        }
        self.disconnects += 1;
        match self.phase {
            Phase::Reconciling | Phase::Up => {
                self.addresses.broke();
                self.wait(now.mono);
            }
            Phase::LoggingOn => {
                self.addresses.logon_failed();
                self.try_again(now.mono);
            }
            _ => self.try_again(now.mono),
        }
    }

    /// Closes the connection, if there is one.
    fn close(&mut self, io: &mut Io<impl Kernel>) {
        if let Some(stream) = self.stream.take() {
            std::mem::replace(&mut self.wire, Wire::Plain).close(io, stream);
        }
        self.beside.iter_mut().for_each(|beside| beside.close(io));
    }

    /// Other limits and permissions from the next order on.
    pub(crate) fn set_rules(&mut self, rules: RiskRules) -> Result<(), LimitsError> {
        self.risk.set_limits(rules.limits)?;
        self.waiting_cancels.try_again();
        for instrument in &self.instruments {
            define(&mut self.risk, instrument, &rules.groups);
        }
        Ok(())
    }

    /// Has requests judged by these limits, too.
    pub(crate) fn judge_by(&mut self, limits: RiskLimits, now: Nanos) {
        self.what_if = Some(Box::new(WhatIf::new(limits, now)));
    }

    pub(crate) fn what_if(&self) -> Option<&WhatIf> {
        self.what_if.as_deref()
    }

    /// Asks the venue to end the session.
    pub(crate) fn logout(&mut self, io: &mut Io<impl Kernel>, clock: &Clock) {
        let now = at(clock, clock.now());
        self.is_leaving = true;
        match self.phase {
            // A logon is not begun any more.
            Phase::Waiting(_) | Phase::Connecting => {
                self.close(io);
                self.phase = Phase::Ended;
            }
            _ => {
                self.handler.log_out(now);
                self.transmit(io, now);
            }
        }
    }

    /// Nobody says where an order stands.
    fn unanswered(&mut self, now: Now, request: RequestId, updates: &mut Vec<OrderUpdate>) {
        let (held, journal) = (&mut self.positions, &mut self.journal);
        let parts = (&mut self.table, &mut self.risk, held, &*self.instruments, journal);
        let mut books = Self::books(parts, None, updates, now);
        self.reports.trouble(&mut books, request, Trouble::Unanswered, ExecId::NONE);
    }

    fn happened(
        &mut self,
        now: Now,
        request: RequestId,
        event: OrderEvent,
        updates: &mut Vec<OrderUpdate>,
    ) {
        let (held, journal) = (&mut self.positions, &mut self.journal);
        let parts = (&mut self.table, &mut self.risk, held, &*self.instruments, journal);
        let mut books = Self::books(parts, None, updates, now);
        self.reports.happened(&mut books, request, event, VenueReject::Other);
    }

    /// Sends what the session wants to; whether there was anything.
    fn transmit(&mut self, io: &mut Io<impl Kernel>, now: Now) -> bool {
        let mut has_written = false;
        while !self.handler.poll_transmit(now).is_empty() {
            self.write(io);
            self.handler.clear_unsent();
            has_written = true;
        }
        self.transmit_beside(io, now);
        has_written
    }

    /// Sends what is to be asked on the second connection, if there is one.
    fn transmit_beside(&mut self, io: &mut Io<impl Kernel>, now: Now) {
        let Some(beside) = self.beside.as_mut().filter(|beside| beside.is_open()) else { return };
        loop {
            let message = self.handler.poll_transmit_beside(now);
            if message.is_empty() {
                return;
            }
            self.is_broken |= beside.write(io, message).is_err();
            self.handler.clear_unsent_beside();
        }
    }
}

/// Positions that there is room for: of a strategy in an instrument and an account.
const POSITIONS: usize = 1 << 14;

/// The limits; all instruments are traded until their feed says otherwise. One whose lot is below
/// 1e-9 is not known to risk, which refuses its orders.
fn risk(config: &GatewayConfig, now: Nanos) -> Risk {
    let mut risk = Risk::new(config.risk.limits(config.instruments.len()), now);
    for instrument in &config.instruments {
        if define(&mut risk, instrument, config.risk.groups()) {
            risk.set_status(instrument.id(), InstrumentStatus::Trading);
        }
    }
    risk
}

/// Makes an instrument known to risk, in its group of these; whether it is.
fn define(risk: &mut Risk, instrument: &Instrument, groups: &[u8]) -> bool {
    let group = groups.get(instrument.id().0 as usize).copied().unwrap_or(0);
    define_in(risk, instrument, group)
}

/// Makes an instrument known to risk, in this group; whether it is.
pub(super) fn define_in(risk: &mut Risk, instrument: &Instrument, group: u8) -> bool {
    let definition = RiskInstrument::of(instrument);
    definition.is_some_and(|definition| {
        risk.define(instrument.id(), RiskInstrument { group, ..definition }).is_ok()
    })
}

/// Positions of every strategy, in every instrument that is held; with room for so many
/// instruments.
fn positions(config: &GatewayConfig, instrument_capacity: usize) -> Positions {
    let mut positions = Positions::with_capacity(POSITIONS, instrument_capacity);
    for instrument in &config.instruments {
        if let Some(definition) = RiskInstrument::of(instrument) {
            positions.define(instrument.id(), definition.lot_value);
        }
    }
    positions
}

/// A report of an order.
#[inline]
fn heard(
    reports: &mut Reports,
    books: &mut Books<'_, '_>,
    reconcile: &mut Reconcile,
    report: &VenueReport,
) {
    // A list may be older than the end of an order, as may be what is sent again.
    let is_own_answer = report.is_answer && report.of_all == OfAll::No && !report.is_resend;
    let stands_open = matches!(report.event, Some(OrderEvent::Status(_)))
        && report.told.is_some_and(|told| !told.is_done());
    let is_younger = |it: &RequestId| reconcile.asked_when_done(it.order);
    let reopens = is_own_answer && stands_open && report.request.as_ref().is_some_and(is_younger);
    let reopened = reopens.then_some(VenueReport { event: Some(OrderEvent::Reopened), ..*report });
    let outcome = reports.execution(books, reopened.as_ref().unwrap_or(report));
    if let Some(order) = outcome.order.filter(|_| outcome.is_answer) {
        reconcile.settled(order.order);
    }
    if report.of_all != OfAll::No {
        reconcile.mass_answer(books.now);
    }
    // An answer is the last word: whoever doubts it too would ask for ever. That about all orders
    // may be older than what was heard of one of them since.
    let is_last_word = outcome.is_answer && report.of_all == OfAll::No;
    if let Some(order) = outcome.order.filter(|_| outcome.asks && !is_last_word) {
        reconcile.want(order.order);
    }
}

/// A request to cancel or to change was refused.
fn change_refused(
    reports: &mut Reports,
    books: &mut Books<'_, '_>,
    reconcile: &mut Reconcile,
    refusal: &ChangeRefused,
) {
    let outcome = reports.change_refused(books, refusal);
    let Some(request) = outcome.order else { return };
    let is_open = books.table.get(request.order).is_some_and(|order| !order.state.is_done());
    // How an order ended that is over, says the venue, is to come, or was missed.
    if outcome.asks || (refusal.is_over && is_open) {
        reconcile.want(request.order);
    }
}

/// The venue refused a message of ours, by its number or by what it was about.
fn refused(
    reports: &mut Reports,
    books: &mut Books<'_, '_>,
    reconcile: &mut Reconcile,
    (message, named, reject): (u64, Option<RequestId>, VenueReject),
) {
    if let Some(order) = reconcile.refused(message) {
        let request = RequestId { order, version: 0 };
        reports.trouble(books, request, Trouble::Unanswered, ExecId::NONE);
        return;
    }
    let by_number = books.table.request_of(message).map(|sent| (sent.request, sent.kind));
    let by_name = || {
        let named = named?;
        let order = books.table.get(named.order)?;
        let sent = order.awaited().find(|sent| sent.version == named.version)?;
        Some((named, sent.kind))
    };
    let Some((request, kind)) = by_number.or_else(by_name) else { return };
    let event = match kind {
        RequestKind::Create => OrderEvent::Rejected,
        RequestKind::Modify | RequestKind::Cancel => OrderEvent::ChangeRefused,
    };
    if reports.happened(books, request, event, reject) {
        reconcile.want(request.order);
    }
}
