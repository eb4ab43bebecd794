//! Pre-trade checks, in line: what must hold before an order or a modify leaves.
//!
//! One call each, [`Risk::check`] and [`Risk::check_modify`]: a fixed number of steps, no I/O, no
//! clock, no allocation, and where something is not known the answer is no. What passes is counted
//! at once as if it were at the venue; [`Risk::filled`] and [`Risk::ended`] take it from there.
//! Amounts are exact integers ([`Amount`]). Positions are valued at a mark, which
//! [`Risk::mark`] moves: with every trade, or with a timer, not with every tick.
//!
//! A price must be positive: instruments that trade below zero are not let through.

use alloc::boxed::Box;
use core::mem;

use taut_types::{
    AccountId, ClientOrderId, InstrumentId, Lots, Nanos, OrderFlags, OrderTerms, OrderType, Price,
    Side, TimeInForce,
};

use crate::amount::Amount;
use crate::kill::{KillCause, KillScope, KillSwitch};

mod duplicates;
mod exposure;
mod instrument;
mod limits;
mod rates;
mod reference;
mod reject;
mod ticks;

use duplicates::{Duplicates, fingerprint};
use exposure::{AccountExposure, Cell};
use instrument::InstrumentRow;
pub use instrument::{InstrumentStatus, RiskInstrument};
pub use limits::{
    AccountLimits, LimitsError, MessageRates, OrderLimits, RiskLimits, RiskSizes, SelfMatch,
};
use rates::Rates;
pub use reference::Reference;
pub use reject::RiskReject;

/// What to do with an order or a modify that passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Permit {
    /// It may leave.
    Send,
    /// The own orders that it could trade with ([`crosses`]) are cancelled first, then it may
    /// leave.
    CancelOwnThenSend,
}

/// An order that is to be changed.
#[derive(Clone, Copy, Debug)]
pub struct Modify<'a> {
    /// Which order.
    pub id: ClientOrderId,
    /// Its terms so far.
    pub old: &'a OrderTerms,
    /// How much of it is counted as open: what may still trade, with the largest of the modifies
    /// that are under way.
    pub lots_counted: Lots,
    /// Its terms once it is accepted.
    pub new: &'a OrderTerms,
    /// What may still trade then.
    pub lots_left: Lots,
}

/// Limits, the exposure that they are held against, and the kill switch.
///
/// Memory is taken once: 96 bytes an instrument, 24 more for each of its accounts, 64 KiB for the
/// orders that left last; 0.6 MiB for 2,000 instruments and 8 accounts.
#[derive(Debug)]
pub struct Risk {
    limits: RiskLimits,
    instruments: Box<[InstrumentRow]>,
    /// By instrument and account.
    cells: Box<[Cell]>,
    accounts: Box<[AccountExposure]>,
    /// Open orders of each strategy.
    open_orders: Box<[u32]>,
    rates: Rates,
    duplicates: Duplicates,
    kill_switch: KillSwitch,
}

/// Where an order's instrument and account are found.
#[derive(Clone, Copy)]
struct Place {
    instrument: usize,
    account: usize,
    cell: usize,
}

impl Risk {
    /// Flat, under these limits, with instruments that are not known yet ([`Risk::define`]).
    #[must_use]
    pub fn new(limits: RiskLimits, now: Nanos) -> Self {
        fn table<T: Clone>(value: T, len: usize) -> Box<[T]> {
            core::iter::repeat_n(value, len).collect()
        }
        let sizes = limits.sizes();
        Self {
            instruments: table(InstrumentRow::UNKNOWN, sizes.instruments),
            cells: table(Cell::default(), sizes.instruments * sizes.accounts),
            accounts: table(AccountExposure::default(), sizes.accounts),
            open_orders: table(0, sizes.strategies),
            rates: Rates::new(&limits, now),
            duplicates: Duplicates::new(),
            kill_switch: KillSwitch::new(sizes.instruments),
            limits,
        }
    }

    /// Other limits from the next order on; exposure and what was spent of the rates stay. Returns
    /// the old ones.
    ///
    /// # Errors
    /// [`LimitsError::OtherSizes`]; then the old ones hold on.
    pub fn set_limits(&mut self, limits: RiskLimits) -> Result<RiskLimits, LimitsError> {
        if limits.sizes() != self.limits.sizes() {
            return Err(LimitsError::OtherSizes);
        }
        self.rates.set(&limits);
        Ok(mem::replace(&mut self.limits, limits))
    }

    /// The limits that hold.
    #[must_use]
    pub const fn limits(&self) -> &RiskLimits {
        &self.limits
    }

    /// Makes an instrument known, or changes what it is. It is halted until
    /// [`Risk::set_status`] says otherwise.
    ///
    /// # Errors
    /// When its number is beyond the sizes, its lots are worth nothing, or its group is not below
    /// 64.
    pub fn define(
        &mut self,
        instrument: InstrumentId,
        definition: RiskInstrument,
    ) -> Result<(), LimitsError> {
        let row = self.instruments.get_mut(instrument.0 as usize);
        let row = row.ok_or(LimitsError::UnknownInstrument)?;
        if definition.lot_value <= 0 {
            return Err(LimitsError::WorthlessLot);
        }
        if definition.group >= 64 {
            return Err(LimitsError::UnknownGroup);
        }
        let before = row.lot();
        row.define(definition);
        let after = row.lot();
        self.revalue(instrument, before, after);
        Ok(())
    }

    /// Whether an instrument can be traded now. One that there is not cannot.
    pub fn set_status(&mut self, instrument: InstrumentId, status: InstrumentStatus) {
        if let Some(row) = self.instruments.get_mut(instrument.0 as usize) {
            row.status = status;
        }
    }

    /// Values positions in an instrument at this price from here on; an account that lost more
    /// than it may by that is killed. Cost: a few steps for each account.
    pub fn mark(&mut self, instrument: InstrumentId, price: Price) {
        let Some(row) = self.instruments.get_mut(instrument.0 as usize) else { return };
        if price.0 > 0 {
            let before = row.lot();
            row.set_mark(price);
            let after = row.lot();
            self.revalue(instrument, before, after);
        }
    }

    /// Checks a new order and, when it may leave, counts it as open.
    ///
    /// `best_own` is asked only when the price may meet an own order of the other side: it returns
    /// the best price at which one may rest (the highest bid, the lowest offer), with orders whose
    /// cancel is under way and the better price of those that are being modified.
    ///
    /// # Errors
    /// The first check that it fails; then nothing is counted, not even against the rates.
    #[inline]
    pub fn check(
        &mut self,
        now: Nanos,
        id: ClientOrderId,
        terms: &OrderTerms,
        market: &Reference,
        best_own: impl FnOnce(InstrumentId, Side) -> Option<Price>,
    ) -> Result<Permit, RiskReject> {
        let place = self.admit(now, id, terms)?;
        self.check_terms(place, terms, market)?;
        let window = self.limits.duplicate_window;
        let print = if window > Nanos::ZERO { fingerprint(id, terms) } else { 0 };
        if window > Nanos::ZERO && self.duplicates.contains(print, now, window) {
            return Err(RiskReject::Duplicate);
        }
        self.check_open_orders(place, id)?;
        let worth = self.check_exposure(place, terms, terms.lots)?;
        let permit = self.check_self_match(place, terms, best_own)?;
        self.rates.take_order(now, id.user(), terms.account)?;

        if window > Nanos::ZERO {
            self.duplicates.insert(print, now);
        }
        self.count(place, id, terms);
        self.accounts[place.account].reserve(
            &mut self.cells[place.cell],
            terms.side,
            terms.lots,
            worth,
        );
        Ok(permit)
    }

    /// Checks a modify and, when it may leave, counts the order with the larger of its old and new
    /// quantities: [`Risk::released`] gives back what is too much once the venue has answered.
    /// `best_own` is as in [`Risk::check`].
    ///
    /// # Errors
    /// The first check that it fails; then nothing is counted.
    pub fn check_modify(
        &mut self,
        now: Nanos,
        modify: Modify<'_>,
        market: &Reference,
        best_own: impl FnOnce(InstrumentId, Side) -> Option<Price>,
    ) -> Result<Permit, RiskReject> {
        let Modify { id, old, lots_counted, new, lots_left } = modify;
        let of = |terms: &OrderTerms| (terms.instrument, terms.account, terms.side);
        if of(old) != of(new) {
            return Err(RiskReject::OtherOrder);
        }
        let place = self.admit(now, id, new)?;
        self.check_terms(place, new, market)?;
        let more = Lots(lots_left.0.saturating_sub(lots_counted.0).max(0));
        let worth = if more > Lots::ZERO {
            self.check_exposure(place, new, more)?
        } else {
            [Amount::ZERO; 2]
        };
        let permit = self.check_self_match(place, new, best_own)?;
        self.rates.take_order(now, id.user(), new.account)?;

        if can_rest(new) {
            self.instruments[place.instrument].rests(new.side, new.price);
        }
        self.accounts[place.account].reserve(&mut self.cells[place.cell], new.side, more, worth);
        Ok(permit)
    }

    /// Checks a cancel, which no kill switch and no order budget stops, and counts it.
    ///
    /// # Errors
    /// When it is one too many for the cancels' own budgets: when it may leave.
    #[inline]
    pub fn check_cancel(
        &mut self,
        now: Nanos,
        id: ClientOrderId,
        account: AccountId,
    ) -> Result<(), Nanos> {
        self.rates.take_cancel(now, id.user(), account)
    }

    /// Counts an order that is open already, as after a restart, without a check.
    pub fn restore(&mut self, id: ClientOrderId, terms: &OrderTerms, lots_left: Lots) {
        let Some(place) = self.place(terms) else { return };
        self.count(place, id, terms);
        self.change(terms, |cell| {
            let working = &mut cell.working[terms.side.index()];
            *working = working.saturating_add(lots_left.0.max(0));
        });
    }

    /// A part of an open order traded. A loss beyond the limit kills the account.
    pub fn filled(&mut self, terms: &OrderTerms, lots: Lots, price: Price, fee: Amount) {
        self.released(terms, lots);
        let signed = Lots(lots.0.saturating_mul(terms.side.sign()));
        self.traded(terms.instrument, terms.account, signed, price, fee);
    }

    /// So much of an open order cannot trade any more.
    #[inline]
    pub fn released(&mut self, terms: &OrderTerms, lots: Lots) {
        self.change(terms, |cell| {
            let working = &mut cell.working[terms.side.index()];
            *working = working.saturating_sub(lots.0.max(0)).max(0);
        });
    }

    /// An open order ended with this much of it not traded.
    pub fn ended(&mut self, id: ClientOrderId, terms: &OrderTerms, lots_left: Lots) {
        self.released(terms, lots_left);
        let Some(place) = self.place(terms) else { return };
        self.instruments[place.instrument].ended(terms.side);
        let account = &mut self.accounts[place.account];
        account.open_orders = account.open_orders.saturating_sub(1);
        if let Some(open_orders) = self.open_orders.get_mut(usize::from(id.strategy().0)) {
            *open_orders = open_orders.saturating_sub(1);
        }
    }

    /// A trade that is no open order's: of another session, or the reverse of one that was busted
    /// or corrected. Bought lots are positive, sold ones negative. A loss beyond the limit kills
    /// the account.
    pub fn traded(
        &mut self,
        instrument: InstrumentId,
        account: AccountId,
        lots: Lots,
        price: Price,
        fee: Amount,
    ) {
        let Some(place) = self.limits.sizes().place(instrument, account) else { return };
        if !self.instruments[place.instrument].has_mark() {
            self.mark(instrument, price);
        }
        let row = &self.instruments[place.instrument];
        let sums = &mut self.accounts[place.account];
        sums.change(&mut self.cells[place.cell], row.lot(), |cell| {
            cell.position = cell.position.saturating_add(lots.0);
        });
        sums.pay(Amount::of_lots(lots.0, row.lot_at(price)) + fee);
        self.stop_losses(account);
    }

    /// Profit and the loss limit count from here, at the marks of now.
    pub fn start_day(&mut self) {
        self.accounts.iter_mut().for_each(AccountExposure::start_day);
    }

    /// The position in an instrument: bought less sold.
    #[must_use]
    pub fn position(&self, instrument: InstrumentId, account: AccountId) -> Lots {
        Lots(self.cell(instrument, account).position)
    }

    /// What open orders of a side may still trade.
    #[must_use]
    pub fn open_lots(&self, instrument: InstrumentId, account: AccountId, side: Side) -> Lots {
        Lots(self.cell(instrument, account).working[side.index()])
    }

    /// Realised and unrealised profit of an account, less fees, since the day began.
    #[must_use]
    pub fn profit(&self, account: AccountId) -> Amount {
        self.accounts.get(usize::from(account.0)).map_or(Amount::ZERO, AccountExposure::profit)
    }

    /// What is stopped.
    #[must_use]
    pub const fn kill_switch(&self) -> &KillSwitch {
        &self.kill_switch
    }

    /// To stop and to revive.
    pub const fn kill_switch_mut(&mut self) -> &mut KillSwitch {
        &mut self.kill_switch
    }

    /// Who may trade what, and whether it can be traded now.
    #[inline]
    fn admit(
        &mut self,
        now: Nanos,
        id: ClientOrderId,
        terms: &OrderTerms,
    ) -> Result<Place, RiskReject> {
        self.kill_switch.handle_timeout(now);
        if let Some(scope) = self.kill_switch.killed(id, terms) {
            return Err(RiskReject::Killed { scope });
        }
        let place = self.place(terms).ok_or(RiskReject::Unknown)?;
        let row = &self.instruments[place.instrument];
        if row.lot_value == 0 {
            return Err(RiskReject::Unknown);
        }
        if !self.limits.permits(id.user(), terms.account, row.group) {
            return Err(RiskReject::NotPermitted);
        }
        if self.limits.is_restricted(place.instrument) {
            return Err(RiskReject::Restricted);
        }
        match row.status {
            InstrumentStatus::Trading => Ok(place),
            InstrumentStatus::Halted => Err(RiskReject::Halted),
            InstrumentStatus::StaleBook => Err(RiskReject::StaleBook),
        }
    }

    /// Price, quantity and worth of the order alone.
    #[inline]
    fn check_terms(
        &mut self,
        place: Place,
        terms: &OrderTerms,
        market: &Reference,
    ) -> Result<(), RiskReject> {
        let row = &self.instruments[place.instrument];
        let is_limit = terms.order_type == OrderType::Limit;
        let is_off = |price: Price| !row.ticks.fit(price);
        if is_limit && is_off(terms.price) || terms.stop_price.is_some_and(is_off) {
            return Err(RiskReject::Tick);
        }
        let is_part = Lots::ZERO <= terms.lots_shown && terms.lots_shown <= terms.lots;
        if terms.lots < row.lots_min.max(Lots(1)) || !is_part {
            return Err(RiskReject::Lot);
        }
        let limits = self.limits.orders(place.cell).ok_or(RiskReject::Unknown)?;
        if terms.lots > limits.lots_max {
            return Err(RiskReject::Quantity);
        }
        let price = market.check(terms, limits)?;
        if Amount::of_lots(terms.lots.0, row.lot_at(price)) > limits.notional_max {
            return Err(RiskReject::Notional);
        }
        if !row.has_mark() {
            self.mark(terms.instrument, price);
        }
        Ok(())
    }

    #[inline]
    fn check_open_orders(&self, place: Place, id: ClientOrderId) -> Result<(), RiskReject> {
        let strategy = id.strategy();
        let open_orders = self.open_orders.get(usize::from(strategy.0));
        let open_orders = open_orders.ok_or(RiskReject::Unknown)?;
        if *open_orders >= self.limits.strategy(strategy).unwrap_or(0) {
            return Err(RiskReject::StrategyOpenOrders);
        }
        let limits = self.limits.account(place.account).ok_or(RiskReject::Unknown)?;
        if self.accounts[place.account].open_orders >= limits.open_orders_max {
            return Err(RiskReject::AccountOpenOrders);
        }
        Ok(())
    }

    /// What the account could have with so many lots more. Returns what they add to its sums.
    #[inline]
    fn check_exposure(
        &self,
        place: Place,
        terms: &OrderTerms,
        lots: Lots,
    ) -> Result<[Amount; 2], RiskReject> {
        let cell = &self.cells[place.cell];
        let limits = self.limits.orders(place.cell).ok_or(RiskReject::Unknown)?;
        let reach = cell.reach(terms.side).saturating_add(lots.0);
        let reach_max = match terms.side {
            Side::Buy => limits.long_lots_max,
            Side::Sell => limits.short_lots_max,
        };
        if reach > reach_max.0 {
            return Err(RiskReject::Position);
        }
        if terms.flags.contains(OrderFlags::REDUCE_ONLY) && reach > 0 {
            return Err(RiskReject::ReduceOnly);
        }
        let lot = self.instruments[place.instrument].lot();
        let sums = &self.accounts[place.account];
        let limits = self.limits.account(place.account).ok_or(RiskReject::Unknown)?;
        let gross = Amount::of_lots(cell.enlarged(terms.side, lots), lot);
        if gross > Amount::ZERO && sums.gross + gross > limits.gross_max {
            return Err(RiskReject::GrossNotional);
        }
        let directed = Amount::of_lots(lots.0, lot);
        if sums.reach[terms.side.index()] + directed > limits.net_max {
            return Err(RiskReject::NetNotional);
        }
        if sums.profit() < -limits.loss_max {
            return Err(RiskReject::Loss);
        }
        Ok([directed, gross])
    }

    #[inline]
    fn check_self_match(
        &mut self,
        place: Place,
        terms: &OrderTerms,
        best_own: impl FnOnce(InstrumentId, Side) -> Option<Price>,
    ) -> Result<Permit, RiskReject> {
        if self.limits.self_match == SelfMatch::Allow {
            return Ok(Permit::Send);
        }
        // What waits for its stop price trades with nothing now.
        let row = &mut self.instruments[place.instrument];
        let price = (terms.order_type == OrderType::Limit).then_some(terms.price);
        if terms.stop_price.is_some() || !row.may_meet(terms.side, price) {
            return Ok(Permit::Send);
        }
        let other = terms.side.opposite();
        row.set_best(other, best_own(terms.instrument, other));
        if !row.may_meet(terms.side, price) {
            return Ok(Permit::Send);
        }
        match self.limits.self_match {
            SelfMatch::Allow => Ok(Permit::Send),
            SelfMatch::CancelNewest => Err(RiskReject::SelfMatch),
            SelfMatch::CancelOldest => Ok(Permit::CancelOwnThenSend),
            SelfMatch::CancelBoth => Err(RiskReject::SelfMatchBoth),
        }
    }

    /// An order is open.
    #[inline]
    fn count(&mut self, place: Place, id: ClientOrderId, terms: &OrderTerms) {
        let row = &mut self.instruments[place.instrument];
        row.opened(terms.side);
        if can_rest(terms) {
            row.rests(terms.side, terms.price);
        }
        self.accounts[place.account].open_orders += 1;
        if let Some(open_orders) = self.open_orders.get_mut(usize::from(id.strategy().0)) {
            *open_orders += 1;
        }
    }

    /// Changes a cell, and its account's sums with it.
    #[inline]
    fn change(&mut self, terms: &OrderTerms, change: impl FnOnce(&mut Cell)) {
        let Some(place) = self.place(terms) else { return };
        let lot = self.instruments[place.instrument].lot();
        self.accounts[place.account].change(&mut self.cells[place.cell], lot, change);
    }

    fn revalue(&mut self, instrument: InstrumentId, before: Amount, after: Amount) {
        if before == after {
            return;
        }
        for account in (0..=u8::MAX).take(self.accounts.len()).map(AccountId) {
            let Some(place) = self.limits.sizes().place(instrument, account) else { return };
            let cell = &self.cells[place.cell];
            if *cell != Cell::default() {
                self.accounts[place.account].revalue(cell, before, after);
                self.stop_losses(account);
            }
        }
    }

    /// Kills an account that lost more than it may.
    fn stop_losses(&mut self, account: AccountId) {
        let limits = self.limits.account(usize::from(account.0));
        if limits.is_none_or(|limits| self.profit(account) < -limits.loss_max) {
            self.kill_switch.kill(KillScope::Account(account), KillCause::LossLimit);
        }
    }

    fn cell(&self, instrument: InstrumentId, account: AccountId) -> Cell {
        let place = self.limits.sizes().place(instrument, account);
        place.and_then(|place| self.cells.get(place.cell)).copied().unwrap_or_default()
    }

    #[inline]
    fn place(&self, terms: &OrderTerms) -> Option<Place> {
        self.limits.sizes().place(terms.instrument, terms.account)
    }
}

impl RiskSizes {
    #[inline]
    fn place(self, instrument: InstrumentId, account: AccountId) -> Option<Place> {
        let cell = self.cell(instrument, account)?;
        Some(Place { instrument: instrument.0 as usize, account: account.0.into(), cell })
    }
}

/// Whether an order that arrives now could trade with one that rests: what
/// [`Permit::CancelOwnThenSend`] and [`RiskReject::SelfMatchBoth`] want cancelled.
#[must_use]
pub fn crosses(resting: &OrderTerms, arriving: &OrderTerms) -> bool {
    let is_other_side = resting.instrument == arriving.instrument && resting.side != arriving.side;
    let reaches = arriving.order_type == OrderType::Market
        || match arriving.side {
            Side::Buy => arriving.price >= resting.price,
            Side::Sell => arriving.price <= resting.price,
        };
    is_other_side && can_rest(resting) && arriving.stop_price.is_none() && reaches
}

/// Whether an order can wait in the book at its price.
#[inline]
fn can_rest(terms: &OrderTerms) -> bool {
    let is_at_once =
        matches!(terms.time_in_force, TimeInForce::ImmediateOrCancel | TimeInForce::FillOrKill);
    terms.order_type == OrderType::Limit && !is_at_once && terms.stop_price.is_none()
}

#[cfg(test)]
mod tests;
