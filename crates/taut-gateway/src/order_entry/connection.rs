//! The session with the venue: it connects, logs on, asks where the orders stand, and begins again
//! whenever the connection ends.

use std::net::SocketAddr;

use taut_fix::{
    BeginString, Delivery, Event, FieldIndex, FixError, Link, LinkConfig, MassStatusType, Now,
    OrderFlow, OrderMassStatusRequest, OrderStatusRequest, Received, Role, Session, SessionConfig,
};
use taut_fix_engine::BackOff;
use taut_io::{Io, Kernel};
use taut_oms::{
    ExecId, InstrumentStatus, LimitsError, OrderEvent, OrderTable, Positions, RequestKind, Risk,
    RiskInstrument, Trouble,
};
use taut_sys::{Address, Clock, StreamOptions};
use taut_types::{Instrument, Nanos, RequestId};

use super::addresses::Addresses;
use super::logon::Logon;
use super::reconcile::{MassQuestion, Question, Reconcile};
use super::store::Numbers;
use super::waiting::WaitingCancels;
use super::{
    CONNECT_TIMEOUT, FIELDS_MAX, INBOX_BYTES, MESSAGE_BYTES, OUTBOX_BYTES, OrderSession, Phase, at,
    cl_ord_id,
};
use crate::config::{GatewayConfig, RiskRules};
use crate::error::GatewayError;
use crate::journal::OrderJournal;
use crate::message::OrderUpdate;
use crate::regions::Recorders;
use crate::reports::{Books, Outcome, Reports};

/// Attempts to log on at one address after which the numbers start again: the venue and we do not
/// agree on them, and where the orders stand is asked for in any case.
const FAILED_LOGONS_MAX: u32 = 2;

impl OrderSession {
    /// Starts to connect to the venue.
    pub(crate) fn connect(
        config: &GatewayConfig,
        io: &mut Io<impl Kernel>,
        now: Now,
    ) -> Result<Self, GatewayError> {
        let settings = config.session.clone();
        let numbers = Numbers::open(settings.store.as_deref())?;
        let sizes = LinkConfig::fixed(INBOX_BYTES, OUTBOX_BYTES, MESSAGE_BYTES);
        let session = Session::new(session_config(config), numbers);
        let logon = Logon::new(settings.credentials.clone());
        let (shortest, longest) = settings.reconnect;
        let inet = |address| Address::Inet(SocketAddr::V4(address));
        let backups = settings.backups.clone().into_iter();
        let mut orders = Self {
            addresses: Addresses::new(inet(config.order_address), backups.map(inet)),
            back_off: BackOff::new(shortest, longest),
            settings,
            hot: config.hot,
            stream: None,
            phase: Phase::Waiting(now.mono),
            was_connected: false,
            is_leaving: false,
            is_broken: false,
            disconnects: 0,
            resends: 0,
            link: Link::with_hooks(session, &sizes, logon),
            index: FieldIndex::with_capacity(FIELDS_MAX),
            instruments: config.instruments.clone().into_boxed_slice(),
            table: OrderTable::with_capacity(config.order_capacity),
            risk: risk(config, now.mono),
            positions: positions(config),
            accounts: config.risk.accounts(),
            waiting_cancels: WaitingCancels::default(),
            reports: Reports::new(config.risk.accounts()),
            journal: OrderJournal::default(),
            reconcile: Reconcile::default(),
            risk_rejects: 0,
            refused: 0,
            last_order: None,
        };
        match orders.open(io) {
            Err(error) if !orders.settings.waits_for_venue => Err(GatewayError::Unreachable(error)),
            Err(_) => {
                orders.try_again(now.mono);
                Ok(orders)
            }
            Ok(()) => Ok(orders),
        }
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

    /// An attempt came to nothing: the next address is in turn, or all of them again after a while.
    fn try_again(&mut self, now: Nanos) {
        if self.addresses.failed() {
            self.phase = Phase::Waiting(now);
        } else {
            self.wait(now);
        }
    }

    /// Tries after a while.
    fn wait(&mut self, now: Nanos) {
        // Any number will do, so that gateways do not all come back at once.
        let random = (now.0.unsigned_abs() ^ self.disconnects).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.phase = Phase::Waiting(now + self.back_off.wait(random));
    }

    /// The connection stands: asks to log on.
    pub(crate) fn connected(
        &mut self,
        io: &mut Io<impl Kernel>,
        clock: &Clock,
        updates: &mut Vec<OrderUpdate>,
    ) {
        let now = at(clock, clock.now());
        let Some(stream) = self.stream else { return };
        // A stream that is connected is looked at without asking, or not at all.
        self.is_broken |= io.set_hot(stream, self.hot).is_err();
        self.is_broken |= io.receive(stream).is_err();
        (self.was_connected, self.phase) = (true, Phase::LoggingOn);
        let session = self.link.session_mut();
        // What remembers nothing cannot go on with anything.
        let reset = self.settings.reset_on_logon
            || !session.store().remembers()
            || self.addresses.failed_logons() >= FAILED_LOGONS_MAX;
        session.set_reset_on_logon(reset);
        self.link.connect(now);
        self.transmit(io, now);
        self.go_on(io, now, updates);
    }

    /// The venue could not be reached.
    ///
    /// # Errors
    /// When the gateway has just started, and is not to wait for its venue.
    pub(crate) fn not_connected(
        &mut self,
        io: &mut Io<impl Kernel>,
        clock: &Clock,
        error: taut_io::IoError,
    ) -> Result<(), GatewayError> {
        if !self.was_connected && !self.settings.waits_for_venue {
            return Err(GatewayError::Unreachable(error));
        }
        if let Some(stream) = self.stream.take() {
            let _ = io.close(stream);
        }
        self.try_again(clock.now());
        Ok(())
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
            let is_paused = self.link.is_paused();
            let has_written = self.transmit(io, now);
            if must_tell || !(is_paused && has_written) || self.is_broken {
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
        let Self { link, index, reports, table, risk, positions, instruments, .. } = self;
        let (journal, reconcile) = (&mut self.journal, &mut self.reconcile);
        while let Some(delivery) = link.handle_bytes(now, bytes, index) {
            let Delivery { event, message, mut outbox } = delivery;
            let recorders = Some(&mut *recorders);
            let parts = (&mut *table, &mut *risk, &mut *positions, &**instruments, &mut *journal);
            let mut books = Self::books(parts, recorders, &mut *updates, now);
            match event {
                Event::Application { sequence, poss_dup, poss_resend } => {
                    let is_resend = poss_dup || poss_resend;
                    let read = message.order_flow();
                    match &read {
                        // Nothing else is for a gateway.
                        Ok(flow) if !is_ours(flow) => {
                            outbox.refuse_type(sequence, message.msg_type());
                        }
                        Err(error) => {
                            outbox.refuse_content(sequence, message.msg_type(), *error);
                        }
                        Ok(_) => {}
                    }
                    let outcome =
                        application(reports, &mut books, reconcile, (&message, &read), is_resend);
                    if let Some(order) = outcome.order.filter(|_| outcome.asks) {
                        reconcile.want(order.order);
                    }
                }
                Event::Rejected => {
                    let read = message.order_flow();
                    application(reports, &mut books, reconcile, (&message, &read), false);
                }
                Event::LoggedOn => {
                    self.addresses.logged_on();
                    self.phase = Phase::Reconciling;
                    self.back_off.reset();
                    let open = table.open_orders().map(|order| order.id);
                    reconcile.begin(open);
                }
                Event::LoggedOut if self.is_leaving => self.phase = Phase::Ended,
                Event::LoggedOut | Event::Disconnect(_) => self.is_broken = true,
                _ => {}
            }
            if updates.len() > told {
                return true;
            }
        }
        false
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
        if self.link.poll_timeout().is_some_and(|due| due <= now.mono)
            && let Some(delivery) = self.link.handle_timeout(now)
        {
            self.is_broken |= matches!(delivery.event, Event::Disconnect(_));
        }
        self.transmit(io, now);
        let timeout = self.settings.request_timeout;
        while let Some(late) = self.table.overdue(now.mono - timeout) {
            self.happened(now, late.request, OrderEvent::Lost, updates);
            self.reconcile.want(late.request.order);
        }
        while let Some(order) = self.reconcile.overdue(now.mono, timeout) {
            self.unanswered(now, RequestId { order, version: 0 }, updates);
        }
        self.send_waiting_cancels(io, clock, updates);
        self.go_on(io, now, updates);
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
        let resends = self.link.session().counters().resends;
        if std::mem::replace(&mut self.resends, resends) != resends {
            self.reconcile.missed();
        }
        if let Some(id) = self.reconcile.next_mass() {
            let scope = MassStatusType::All;
            let question = OrderMassStatusRequest { request_id: id, scope, symbol: None };
            if self.encode(now, &question) {
                self.write(io);
                self.link.clear_unsent();
                let (sequence, since) = (self.last_sequence(), now.mono);
                self.reconcile.asked_all(MassQuestion { id, sequence, since, seen: 0 });
            }
        }
        while let Some(order) = self.reconcile.next(now.mono, self.settings.request_timeout) {
            let known = self.table.get(order).copied();
            let Some(known) = known else { continue };
            let Some(instrument) = self.instruments.get(known.terms.instrument.0 as usize) else {
                continue;
            };
            // By the name that it has for certain: a request that is under way may be refused.
            let request = RequestId { order, version: known.version_accepted.max(1) };
            let question = OrderStatusRequest {
                cl_ord_id: cl_ord_id(request),
                symbol: instrument.symbol().into(),
                side: known.terms.side,
                request_id: None,
            };
            if !self.encode(now, &question) {
                break;
            }
            self.write(io);
            self.link.clear_unsent();
            let (sequence, since) = (self.last_sequence(), now.mono);
            self.reconcile.asked(Question { order, sequence, since });
        }
        if self.phase == Phase::Reconciling && self.reconcile.is_over() {
            self.phase = Phase::Up;
        }
        if self.is_broken {
            self.lost(io, now, updates);
        }
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
        if let Some(stream) = self.stream.take() {
            // What the session says last goes out first.
            self.stream = Some(stream);
            self.transmit(io, now);
            self.stream = None;
            self.is_broken = false;
            let _ = io.close(stream);
        }
        self.link.clear_unsent();
        self.link.transport_closed(now);
        self.reconcile.forget();
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

    /// Other limits and permissions from the next order on.
    pub(crate) fn set_rules(&mut self, rules: RiskRules) -> Result<(), LimitsError> {
        self.risk.set_limits(rules.limits)?;
        for instrument in &self.instruments {
            define(&mut self.risk, instrument, &rules.groups);
        }
        Ok(())
    }

    /// Asks the venue to end the session.
    pub(crate) fn logout(&mut self, io: &mut Io<impl Kernel>, clock: &Clock) {
        let now = at(clock, clock.now());
        self.is_leaving = true;
        match self.phase {
            Phase::Waiting(_) | Phase::Connecting => self.phase = Phase::Ended,
            _ => {
                self.link.outbox(now).log_out("");
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
        self.reports.happened(&mut books, request, event);
    }

    /// Sends what the session wants to; whether there was anything.
    fn transmit(&mut self, io: &mut Io<impl Kernel>, now: Now) -> bool {
        let mut has_written = false;
        while !self.link.poll_transmit(now).is_empty() {
            self.write(io);
            self.link.clear_unsent();
            has_written = true;
        }
        has_written
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

/// Makes an instrument known to risk, in its group; whether it is.
fn define(risk: &mut Risk, instrument: &Instrument, groups: &[u8]) -> bool {
    let group = groups.get(instrument.id().0 as usize).copied().unwrap_or(0);
    let definition = RiskInstrument::of(instrument);
    definition.is_some_and(|definition| {
        risk.define(instrument.id(), RiskInstrument { group, ..definition }).is_ok()
    })
}

/// Positions of every strategy, in every instrument that is held.
fn positions(config: &GatewayConfig) -> Positions {
    let mut positions = Positions::with_capacity(POSITIONS, config.instruments.len());
    for instrument in &config.instruments {
        if let Some(definition) = RiskInstrument::of(instrument) {
            positions.define(instrument.id(), definition.lot_value);
        }
    }
    positions
}

/// Whether a message is for who sends orders.
const fn is_ours(flow: &OrderFlow<'_>) -> bool {
    matches!(
        flow,
        OrderFlow::ExecutionReport(_)
            | OrderFlow::OrderCancelReject(_)
            | OrderFlow::BusinessMessageReject(_)
            | OrderFlow::Reject(_)
            | OrderFlow::OrderMassCancelReport(_)
    )
}

/// What a message of the venue does.
fn application(
    reports: &mut Reports,
    books: &mut Books<'_, '_>,
    reconcile: &mut Reconcile,
    (message, read): (&Received<'_>, &Result<OrderFlow<'_>, FixError>),
    is_resend: bool,
) -> Outcome {
    match read {
        Ok(OrderFlow::ExecutionReport(report)) => {
            let outcome = reports.execution(books, is_resend, report);
            if let Some(order) = outcome.order.filter(|_| outcome.is_answer) {
                reconcile.settled(order.order);
            }
            if let Some(mass) = &report.mass_status {
                let id = mass.request_id.as_bytes();
                reconcile.mass_answer(id, mass.total, mass.is_last, books.now);
            }
            // An answer is the last word: whoever doubts it too would ask for ever.
            Outcome { asks: outcome.asks && !outcome.is_answer, ..outcome }
        }
        Ok(OrderFlow::OrderCancelReject(reject)) => {
            let outcome = reports.cancel_reject(books, reject);
            let order = outcome.order.and_then(|request| books.table.get(request.order));
            // Too late, says the venue, or unknown: how the order ended is to come, or was missed.
            let is_over = reject.reason.is_some_and(|reason| reason.code() < 2);
            let asks = is_over && order.is_some_and(|order| !order.state.is_done());
            Outcome { asks: outcome.asks || asks, ..outcome }
        }
        Ok(OrderFlow::Reject(reject)) => {
            refused(reports, books, reconcile, reject.ref_sequence, None)
        }
        Ok(OrderFlow::BusinessMessageReject(reject)) => {
            let named = reject.ref_id.and_then(|id| RequestId::from_text(id.as_bytes()));
            refused(reports, books, reconcile, reject.ref_sequence, named)
        }
        Ok(_) => Outcome::default(),
        Err(_) => {
            let is_report = matches!(message.msg_type(), b"8" | b"9");
            let named = || message.value(11).or_else(|| message.value(41));
            if is_report { reports.unreadable(books, named()) } else { Outcome::default() }
        }
    }
}

/// The venue refused a message of ours, by its number or by what it was about.
fn refused(
    reports: &mut Reports,
    books: &mut Books<'_, '_>,
    reconcile: &mut Reconcile,
    sequence: u64,
    named: Option<RequestId>,
) -> Outcome {
    if let Some(order) = reconcile.refused(sequence) {
        let request = RequestId { order, version: 0 };
        reports.trouble(books, request, Trouble::Unanswered, ExecId::NONE);
        return Outcome::default();
    }
    let by_number = books.table.request_of(sequence).map(|sent| (sent.request, sent.kind));
    let by_name = || {
        let named = named?;
        let order = books.table.get(named.order)?;
        let sent = order.awaited().find(|sent| sent.version == named.version)?;
        Some((named, sent.kind))
    };
    let Some((request, kind)) = by_number.or_else(by_name) else { return Outcome::default() };
    let event = match kind {
        RequestKind::Create => OrderEvent::Rejected,
        RequestKind::Modify | RequestKind::Cancel => OrderEvent::ChangeRefused,
    };
    let asks = reports.happened(books, request, event);
    Outcome { order: Some(request), asks, is_answer: false }
}

/// The venue is trusted to know its dictionary: the fields that are used are checked as they are
/// read.
fn session_config(config: &GatewayConfig) -> SessionConfig {
    let (sender, target) = (config.sender_comp_id, config.target_comp_id);
    SessionConfig {
        heartbeat_interval: config.heartbeat_interval,
        logout_timeout: Nanos::from_secs(10),
        resend_timeout: Nanos::from_secs(30),
        ..SessionConfig::new(Role::Initiator, BeginString::Fix44, sender, target)
    }
}
