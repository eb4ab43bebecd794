//! Orders out and reports in: what every venue shares. Risk, the table of orders, the journal, the
//! connection. What the venue speaks is its [order handler](handler::OrderHandler)'s.

mod added;
mod addresses;
pub mod any;
mod balances;
mod beside;
pub mod binance;
mod cancels;
pub mod comparison;
mod connection;
mod copies;
mod day;
pub mod deribit;
pub mod fix;
pub mod fix44;
mod hand_over;
pub mod handler;
mod hearing;
pub mod http;
pub mod last_words;
pub mod okx;
mod places;
mod positions;
mod reconcile;
mod recovery;
mod requests;
mod sent;
pub mod tunnel;
mod waiting;
pub mod what_if;
pub mod wire;

use std::collections::BTreeMap;

use taut_fix::Now;
use taut_fix_engine::BackOff;
use taut_io::{Handle, Io, Kernel};
use taut_oms::{
    Amount, KillScope, KillSwitch, OrderTable, PositionKey, PositionReport, Positions, Quarantine,
    Risk, RiskInstrument,
};
use taut_sys::{Address, Clock};
use taut_types::{
    AccountId, ClientOrderId, Instrument, InstrumentId, Lots, Nanos, OrderTerms, Price, RequestId,
};

use crate::accounts::Accounts;
use crate::config::SessionSettings;
use crate::journal::OrderJournal;
use crate::message::{KilledScopes, OpenOrder, OrderUpdate, Position, SessionPhase};
use crate::owner::Owner;
use crate::regions::Recorders;
use crate::reports::{Books, Reports};
use crate::stream::VenueTerms;
use crate::venue_clock::ClockReading;
use addresses::Addresses;
use beside::Beside;
use comparison::{Comparison, PositionComparisons};
use copies::Copies;
use handler::{Capabilities, NotSent, OrderHandler, OrderMessage};
use reconcile::Reconcile;
use waiting::WaitingCancels;
use what_if::WhatIf;
use wire::{Gone, Unwrapped, Wire};

/// How long the venue may take to accept the connection.
const CONNECT_TIMEOUT: Nanos = Nanos::from_secs(5);

/// Every so many of these looks, all orders are asked about where messages have no numbers.
const LOOKS: u32 = 12;

/// Where the session stands. Whatever the venue does, it goes on from here.
///
/// | phase | goes on with | to |
/// |---|---|---|
/// | waiting | the end of the wait | connecting |
/// | connecting | connected; refused or too late | logging on; waiting |
/// | logging on | logged on; anything else | reconciling; waiting |
/// | reconciling | every open order is accounted for, positions are compared | up |
/// | reconciling, up | the end of the connection | waiting |
/// | any | our own logout, answered | ended |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// There is no connection; it is tried again then.
    Waiting(Nanos),
    Connecting,
    LoggingOn,
    /// The venue is asked where our orders stand, and what it holds for us. No new one leaves.
    Reconciling,
    Up,
    /// We logged out.
    Ended,
}

/// The order session and everything behind it; `H` is what the venue speaks.
#[derive(Debug)]
pub(crate) struct OrderSession<H> {
    addresses: Addresses,
    settings: SessionSettings,
    /// Whether its socket is polled without asking.
    hot: bool,
    stream: Option<Handle>,
    wire: Wire,
    /// What the last completion came to, where the stream is wrapped.
    unwrapped: Unwrapped,
    /// Why there was no way through the proxy; empty once there is one.
    no_way: String,
    /// The second connection, of a venue that is not asked where it trades.
    beside: Option<Beside>,
    phase: Phase,
    back_off: BackOff,
    /// How long to wait at the least before the next attempt, as the connection's end said.
    wait_min: Nanos,
    /// Whether it was ever connected.
    was_connected: bool,
    /// Whether all trading is stopped only because the gateway is about to end.
    is_ending: bool,
    /// Whether we asked to log out.
    is_leaving: bool,
    /// Whether the connection can not be used any more.
    is_broken: bool,
    disconnects: u64,
    handler: H,
    instruments: Vec<Instrument>,
    /// For how many instruments there is room.
    instrument_capacity: usize,
    /// Those that were added, and of which the venue has not said that it has them as we do.
    uncompared: Vec<InstrumentId>,
    table: OrderTable,
    risk: Risk,
    positions: Positions,
    /// Their names at the venue.
    accounts: Accounts,
    waiting_cancels: WaitingCancels,
    reports: Reports,
    journal: OrderJournal,
    /// Other limits that requests are judged by, too.
    what_if: Option<Box<WhatIf>>,
    reconcile: Reconcile,
    comparison: Comparison,
    comparisons: PositionComparisons,
    /// Trades of others in the account before the last comparison, and when there may be another.
    foreign_trades: u64,
    compares_again: Nanos,
    copies: Copies,
    risk_rejects: u64,
    refused: u64,
    /// The number of the day that began last, and what positions earned before it.
    day: u32,
    earned_before: BTreeMap<PositionKey, Amount>,
    /// What is stopped, and since when; nothing of what was stopped before this gateway began.
    killed_at: Vec<(KillScope, Option<Nanos>)>,
    /// When the open orders were looked through for those of which something may be lost, and how
    /// often.
    looked_through: Nanos,
    looks: u32,
    /// Orders that were done and go on, whose owners have not been told.
    reopened: Vec<(Owner, ClientOrderId)>,
    /// The new order that left last: a rehearsal is one like it.
    last_order: Option<(ClientOrderId, OrderTerms)>,
}

impl<H: OrderHandler> OrderSession<H> {
    /// What the venue's order entry can do.
    #[inline]
    pub(crate) fn capabilities(&self) -> Capabilities {
        self.handler.capabilities()
    }

    /// Whether the venue is asked what an instrument is before it is traded.
    pub(crate) fn compares_instruments(&self) -> bool {
        self.handler.compares_instruments()
    }

    pub(crate) const fn kill_switch(&self) -> &KillSwitch {
        self.risk.kill_switch()
    }

    pub(crate) const fn kill_switch_mut(&mut self) -> &mut KillSwitch {
        self.risk.kill_switch_mut()
    }

    /// What the venue says of an instrument.
    pub(crate) fn set_terms(&mut self, instrument: InstrumentId, terms: &VenueTerms) {
        self.handler.set_terms(instrument, terms);
    }

    /// An order that was done and goes on: its owner has forgotten it, and is to be told.
    #[inline]
    pub(crate) fn poll_reopened(&mut self) -> Option<(Owner, ClientOrderId)> {
        self.reopened.pop()
    }

    /// Every order that is not over.
    pub(crate) fn open_orders(&self) -> impl Iterator<Item = OpenOrder> {
        self.table.open_orders().map(OpenOrder::of)
    }

    /// Whether orders can be sent.
    #[inline]
    pub(crate) fn is_active(&self) -> bool {
        self.phase == Phase::Up && self.handler.is_up() && !self.is_leaving
    }

    /// Where the session stands, in words for strategies.
    pub(crate) const fn session_phase(&self) -> SessionPhase {
        match self.phase {
            Phase::Ended => SessionPhase::Ended,
            _ if self.is_ending => SessionPhase::Ending,
            Phase::Waiting(_) => SessionPhase::Waiting,
            Phase::Connecting => SessionPhase::Connecting,
            Phase::LoggingOn => SessionPhase::LoggingOn,
            Phase::Reconciling => SessionPhase::Reconciling,
            Phase::Up => SessionPhase::Up,
        }
    }

    /// What is stopped that concerns this owner.
    pub(crate) fn killed(&self, owner: Owner) -> KilledScopes {
        let switch = self.kill_switch();
        if !switch.has_latched() {
            return KilledScopes::NONE;
        }
        let scopes = switch.latched().map(|latched| latched.scope);
        KilledScopes::of(scopes.filter(|scope| !self.is_ending || *scope != KillScope::All), owner)
    }

    /// That all trading is stopped is the gateway's end, and nobody's kill; or is a kill.
    pub(crate) const fn set_ending(&mut self, is_ending: bool) {
        self.is_ending = is_ending;
    }

    /// Whether all trading is stopped only because the gateway is about to end.
    pub(crate) const fn is_ending(&self) -> bool {
        self.is_ending
    }

    /// Whether the session ended because we asked for it.
    pub(crate) const fn is_logged_out(&self) -> bool {
        matches!(self.phase, Phase::Ended)
    }

    /// Whether this is its connection, and what it brings is the venue's bytes as they are.
    #[inline]
    pub(crate) fn is_stream(&self, source: Handle) -> bool {
        self.stream == Some(source) && self.wire.is_plain()
    }

    /// Whether there is a connection, or one is being made.
    pub(crate) const fn has_stream(&self) -> bool {
        self.stream.is_some()
    }

    /// What the venue said last when it refused a session or ended it, or a proxy before it.
    pub(crate) fn last_refusal(&self) -> &str {
        if self.no_way.is_empty() { self.handler.last_refusal() } else { &self.no_way }
    }

    /// What is known of the venue's clock.
    pub(crate) fn venue_clock(&self) -> Option<ClockReading> {
        self.handler.venue_clock()
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

    /// The venue takes orders at these addresses from now on, by priority. A connection that
    /// stands stays.
    pub(crate) fn set_addresses(&mut self, all: impl IntoIterator<Item = Address>) {
        self.addresses.replace(all);
    }

    /// Questions are asked at these addresses from the next attempt to connect on.
    pub(crate) fn set_question_addresses(&mut self, all: impl IntoIterator<Item = Address>) {
        if let Some(beside) = &mut self.beside {
            beside.set_addresses(all);
        }
    }

    /// Where it is connected, or tries to be, and that address's place by priority: 0 is the
    /// primary.
    pub(crate) fn order_address(&self) -> (usize, Address) {
        (self.addresses.priority(), self.addresses.current())
    }

    /// Whose an order is.
    #[inline]
    pub(crate) fn owner_of(&self, id: ClientOrderId) -> Owner {
        self.table.owner(id)
    }

    /// An order that is not over.
    pub(crate) fn order(&self, id: ClientOrderId) -> Option<OpenOrder> {
        self.table.get(id).filter(|order| !order.state.is_done()).map(OpenOrder::of)
    }

    /// Shows the owner's orders that are not over.
    pub(crate) fn visit_orders(&self, owner: Owner, visit: &mut dyn FnMut(&OpenOrder)) {
        let orders = self.table.open_orders().filter(|order| order.owner == owner);
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

    /// Sends what waits in the outbox; what the kernel does not take now, the loop keeps. Where it
    /// can not, the venue does not read: the connection is given up.
    #[inline]
    fn write(&mut self, io: &mut Io<impl Kernel>) {
        let written = match (self.stream, &mut self.wire) {
            // A question may be on the second connection.
            _ if self.handler.asks_beside() && self.handler.unsent().is_empty() => Ok(()),
            (Some(stream), Wire::Plain) => {
                io.write(stream, self.handler.unsent(), None).map_err(|_| Gone)
            }
            (Some(_), wire) => wire.write(io, self.handler.unsent()),
            (None, _) => Ok(()),
        };
        self.is_broken |= written.is_err();
    }

    /// Whether a message is in the outbox.
    #[inline]
    fn is_left(&mut self, left: Result<(), NotSent>) -> bool {
        self.is_broken |= left == Err(NotSent::Broken);
        left.is_ok()
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

/// What a report may change, and what it is read by.
type Held<'a> =
    (&'a mut OrderTable, &'a mut Risk, &'a mut Positions, &'a [Instrument], &'a mut OrderJournal);

/// An order as a handler is told it; nothing of an instrument that there is not.
#[inline]
fn message_of<'a>(
    instruments: &'a [Instrument],
    accounts: &Accounts,
    request: RequestId,
    terms: &'a OrderTerms,
) -> Option<OrderMessage<'a>> {
    let instrument = instruments.get(terms.instrument.0 as usize)?;
    Some(OrderMessage { request, instrument, account: accounts.name(terms.account), terms })
}

/// Both clocks at a moment of the monotonic one.
#[inline]
fn at(clock: &Clock, mono: Nanos) -> Now {
    Now { mono, utc: clock.utc_at(mono) }
}

#[cfg(test)]
pub(crate) mod hostile;
#[cfg(test)]
mod tests;
