//! A gateway of any venue, with any client, behind a table of functions: what runs one is compiled
//! once, and not for each venue and each client. What a tick or an order takes is behind
//! [`poll`](AnyGateway::poll).

use std::net::SocketAddrV4;
use std::os::fd::BorrowedFd;

use taut_gateway::{
    AddError, Client, ClockReading, DropCopies, FeedSockets, Gateway, GatewayCounters,
    GatewayError, NewInstrument, OpenOrder, OrderFilter, OrderHandler, OrderWriter, Owner,
    PositionComparisons, RiskRules, VenueCopies, VenueTerms, WhatIf,
};
use taut_io::{EpollKernel, TapedKernel};
use taut_journal::{State, Writer};
use taut_market_data::{BestPrices, FeedHandler, Soundness, Source, Staleness};
use taut_oms::{
    Balance, Balances, KillCause, KillScope, Latched, LimitsError, PositionReport, Risk, RiskLimits,
};
use taut_sys::{Address, Clock};
use taut_types::{ClientOrderId, FeeRates, Instrument, InstrumentId, Lots, Nanos, Price, Side};

use super::strategies::Attachable;
use crate::looker::Looker;
use crate::recording::state_of;

/// What [`Gateway`] has of these names.
pub trait AnyGateway {
    fn poll(&mut self) -> Result<bool, GatewayError>;
    fn housekeeping(&mut self) -> Result<bool, GatewayError>;
    fn fd(&mut self) -> Option<BorrowedFd<'_>>;
    fn clock_mut(&mut self) -> &mut Clock;
    fn client(&self) -> &dyn Attachable;
    fn client_mut(&mut self) -> &mut dyn Attachable;

    fn resume(&mut self, writer: OrderWriter, recovered: &State) -> Result<(), GatewayError>;
    fn journal(&mut self) -> Option<&mut Writer>;
    fn close_journal(&mut self) -> Option<Writer>;
    fn set_fees(&mut self, rates: &[FeeRates]);
    fn follow_balances(&mut self, balances: Balances);
    fn add_feed_backup(&mut self, sockets: FeedSockets, after: Nanos) -> Result<(), GatewayError>;
    fn set_drop_copies(&mut self, copies: DropCopies);
    fn read_drop_copies(&mut self, copies: VenueCopies);

    fn kill(&mut self, scope: KillScope, cause: KillCause) -> Result<bool, GatewayError>;
    fn revive(&mut self, scope: KillScope) -> bool;
    fn killed(&self) -> Vec<(Latched, Option<Nanos>)>;
    fn is_killed(&self, owner: Owner) -> bool;
    fn arm(&mut self, scope: KillScope, interval: Nanos) -> bool;
    fn keep_alive(&mut self, scope: KillScope);
    fn disarm(&mut self, scope: KillScope);
    fn cancel_all(&mut self, filter: &OrderFilter) -> Result<(), GatewayError>;
    fn waiting_cancels(&self) -> usize;
    fn hand_over(&mut self, from: Owner, to: Owner) -> usize;
    fn hand_over_of_the_gone(&mut self);
    fn begin_end(&mut self) -> Result<(), GatewayError>;
    fn complete_end(&mut self);
    fn logout(&mut self) -> Result<(), GatewayError>;
    fn is_logged_out(&self) -> bool;

    fn counters(&self) -> GatewayCounters;
    /// What it has come to, in one line.
    fn state(&self) -> String;
    fn refusals(&self) -> [&str; 2];
    fn venue_clock(&self) -> Option<ClockReading>;
    fn order_address(&self) -> (usize, Address);
    fn owner_of(&self, order: ClientOrderId) -> Owner;
    fn visit_orders(&self, visit: &mut dyn FnMut(&OpenOrder));
    fn positions(&self) -> Vec<PositionReport>;
    fn balances(&self) -> Vec<Balance>;
    fn position_comparisons(&self) -> &PositionComparisons;
    fn risk(&self) -> &Risk;
    fn set_rules(&mut self, rules: RiskRules) -> Result<(), LimitsError>;
    fn judge_by(&mut self, limits: RiskLimits);
    fn what_if(&self) -> Option<&WhatIf>;
    fn day(&self) -> u32;
    fn begin_day(&mut self, day: u32);
    fn roll_day(&mut self, day: Option<u32>, closed: &mut dyn FnMut(&PositionReport));

    fn instruments(&self) -> &[Instrument];
    fn add_instrument(&mut self, new: &NewInstrument) -> Result<(), AddError>;
    fn venue_terms(&self, instrument: InstrumentId) -> Option<VenueTerms>;
    fn soundness(&self, instrument: InstrumentId) -> Soundness;
    fn best(&self, instrument: InstrumentId) -> BestPrices;
    /// Its bids and its offers, best first.
    fn book_levels(&self, instrument: InstrumentId) -> Option<[Vec<(Price, Lots)>; 2]>;
    /// How many levels of bids and of offers its book has.
    fn levels(&self, instrument: InstrumentId) -> Option<[usize; 2]>;
    fn stale_books(&self) -> Vec<(InstrumentId, Staleness)>;
    fn uncompared(&self) -> Vec<InstrumentId>;

    fn set_order_addresses(&mut self, addresses: Vec<SocketAddrV4>);
    fn set_question_addresses(&mut self, addresses: Vec<SocketAddrV4>);
    fn set_stream_addresses(&mut self, source: Source, addresses: Vec<SocketAddrV4>);
}

impl<C: Client + Attachable, F: FeedHandler, H: OrderHandler> AnyGateway
    for Gateway<'_, C, F, TapedKernel<EpollKernel>, Looker<'_>, H>
{
    fn poll(&mut self) -> Result<bool, GatewayError> {
        self.poll()
    }

    fn housekeeping(&mut self) -> Result<bool, GatewayError> {
        self.housekeeping()
    }

    fn fd(&mut self) -> Option<BorrowedFd<'_>> {
        self.fd()
    }

    fn clock_mut(&mut self) -> &mut Clock {
        self.clock_mut()
    }

    fn client(&self) -> &dyn Attachable {
        self.client()
    }

    fn client_mut(&mut self) -> &mut dyn Attachable {
        self.client_mut()
    }

    fn resume(&mut self, writer: OrderWriter, recovered: &State) -> Result<(), GatewayError> {
        self.resume(writer, recovered)
    }

    fn journal(&mut self) -> Option<&mut Writer> {
        self.journal()
    }

    fn close_journal(&mut self) -> Option<Writer> {
        self.close_journal()
    }

    fn set_fees(&mut self, rates: &[FeeRates]) {
        self.set_fees(rates);
    }

    fn follow_balances(&mut self, balances: Balances) {
        self.follow_balances(balances);
    }

    fn add_feed_backup(&mut self, sockets: FeedSockets, after: Nanos) -> Result<(), GatewayError> {
        self.add_feed_backup(sockets, after)
    }

    fn set_drop_copies(&mut self, copies: DropCopies) {
        self.set_drop_copies(copies);
    }

    fn read_drop_copies(&mut self, copies: VenueCopies) {
        self.read_drop_copies(copies);
    }

    fn kill(&mut self, scope: KillScope, cause: KillCause) -> Result<bool, GatewayError> {
        self.kill(scope, cause)
    }

    fn revive(&mut self, scope: KillScope) -> bool {
        self.revive(scope)
    }

    fn killed(&self) -> Vec<(Latched, Option<Nanos>)> {
        self.killed().collect()
    }

    fn is_killed(&self, owner: Owner) -> bool {
        self.is_killed(owner)
    }

    fn arm(&mut self, scope: KillScope, interval: Nanos) -> bool {
        self.arm(scope, interval)
    }

    fn keep_alive(&mut self, scope: KillScope) {
        self.keep_alive(scope);
    }

    fn disarm(&mut self, scope: KillScope) {
        self.disarm(scope);
    }

    fn cancel_all(&mut self, filter: &OrderFilter) -> Result<(), GatewayError> {
        self.cancel_all(filter)
    }

    fn waiting_cancels(&self) -> usize {
        self.waiting_cancels()
    }

    fn hand_over(&mut self, from: Owner, to: Owner) -> usize {
        self.hand_over(from, to)
    }

    fn hand_over_of_the_gone(&mut self) {
        self.hand_over_of_the_gone();
    }

    fn begin_end(&mut self) -> Result<(), GatewayError> {
        self.begin_end()
    }

    fn complete_end(&mut self) {
        self.complete_end();
    }

    fn logout(&mut self) -> Result<(), GatewayError> {
        self.logout()
    }

    fn is_logged_out(&self) -> bool {
        self.is_logged_out()
    }

    fn counters(&self) -> GatewayCounters {
        self.counters()
    }

    fn state(&self) -> String {
        state_of(self)
    }

    fn refusals(&self) -> [&str; 2] {
        self.refusals()
    }

    fn venue_clock(&self) -> Option<ClockReading> {
        self.venue_clock()
    }

    fn order_address(&self) -> (usize, Address) {
        self.order_address()
    }

    fn owner_of(&self, order: ClientOrderId) -> Owner {
        self.owner_of(order)
    }

    fn visit_orders(&self, visit: &mut dyn FnMut(&OpenOrder)) {
        self.visit_orders(visit);
    }

    fn positions(&self) -> Vec<PositionReport> {
        self.positions().collect()
    }

    fn balances(&self) -> Vec<Balance> {
        self.balances().copied().collect()
    }

    fn position_comparisons(&self) -> &PositionComparisons {
        self.position_comparisons()
    }

    fn risk(&self) -> &Risk {
        self.risk()
    }

    fn set_rules(&mut self, rules: RiskRules) -> Result<(), LimitsError> {
        self.set_rules(rules)
    }

    fn judge_by(&mut self, limits: RiskLimits) {
        self.judge_by(limits);
    }

    fn what_if(&self) -> Option<&WhatIf> {
        self.what_if()
    }

    fn day(&self) -> u32 {
        self.day()
    }

    fn begin_day(&mut self, day: u32) {
        self.begin_day(day);
    }

    fn roll_day(&mut self, day: Option<u32>, closed: &mut dyn FnMut(&PositionReport)) {
        self.roll_day(day, closed);
    }

    fn instruments(&self) -> &[Instrument] {
        self.instruments()
    }

    fn add_instrument(&mut self, new: &NewInstrument) -> Result<(), AddError> {
        self.add_instrument(new)
    }

    fn venue_terms(&self, instrument: InstrumentId) -> Option<VenueTerms> {
        self.venue_terms(instrument)
    }

    fn soundness(&self, instrument: InstrumentId) -> Soundness {
        self.feed().soundness(instrument)
    }

    fn best(&self, instrument: InstrumentId) -> BestPrices {
        self.feed().best(instrument)
    }

    fn book_levels(&self, instrument: InstrumentId) -> Option<[Vec<(Price, Lots)>; 2]> {
        let book = self.book(instrument)?;
        Some(Side::BOTH.map(|side| book.iter(side).map(|it| (it.price, it.lots)).collect()))
    }

    fn levels(&self, instrument: InstrumentId) -> Option<[usize; 2]> {
        let book = self.book(instrument)?;
        Some(Side::BOTH.map(|side| book.iter(side).count()))
    }

    fn stale_books(&self) -> Vec<(InstrumentId, Staleness)> {
        self.stale_books().collect()
    }

    fn uncompared(&self) -> Vec<InstrumentId> {
        self.uncompared().to_vec()
    }

    fn set_order_addresses(&mut self, addresses: Vec<SocketAddrV4>) {
        self.set_order_addresses(addresses);
    }

    fn set_question_addresses(&mut self, addresses: Vec<SocketAddrV4>) {
        self.set_question_addresses(addresses);
    }

    fn set_stream_addresses(&mut self, source: Source, addresses: Vec<SocketAddrV4>) {
        self.set_stream_addresses(source, addresses);
    }
}
