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

use taut_simd::prefetch_read;
use taut_types::{AccountId, ClientOrderId, InstrumentId, Lots, Nanos, OrderTerms, Price, Side};

use crate::amount::Amount;
use crate::kill::{KillCause, KillScope, KillSwitch};
use crate::owner::Owner;

mod duplicates;
mod exposure;
mod instrument;
mod judging;
mod limits;
mod lookup;
mod other_limits;
mod place;
mod rates;
mod reference;
mod reject;
mod self_match;
mod spent;
mod ticks;
mod uniform;
mod usage;
mod warnings;

use duplicates::{Duplicates, fingerprint};
use exposure::{AccountExposure, Cell};
use instrument::{FurtherRules, InstrumentRow};
pub use instrument::{InstrumentStatus, RiskInstrument};
pub use limits::{
    AccountLimits, LimitsError, MessageRates, OrderLimits, RiskLimits, RiskSizes, SelfMatch,
    UserLimits,
};
pub use other_limits::OtherLimits;
use place::Place;
use rates::Rates;
pub use reference::Reference;
pub use reject::RiskReject;
pub use self_match::{Permit, best_own, crosses};
pub use uniform::UniformLimits;
pub use usage::{AccountUsage, MessagesLeft, MessagesOf};
use warnings::Warnings;
pub use warnings::{MessageKind, RateWarning};

/// An order that is to be changed.
#[derive(Clone, Copy, Debug)]
pub struct Modify<'a> {
    /// Which order, as it is [counted](crate::Order::counted_as).
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
/// Memory is taken once: 128 bytes an instrument, 26 more for each of its accounts, 64 KiB for the
/// orders that left last; 0.7 MiB for 2,000 instruments and 8 accounts. One that has tick steps or
/// a smallest worth takes 160 bytes more when it is defined.
#[derive(Debug)]
pub struct Risk {
    limits: RiskLimits,
    tables: Tables,
    /// Of each instrument that has some; the others' orders do not come here.
    further: Box<[Option<Box<FurtherRules>>]>,
    /// Open orders of each strategy.
    open_orders: Box<[u32]>,
    /// Open orders of each user, whatever its number.
    user_orders: Box<[u32; 256]>,
    rates: Rates,
    warnings: Warnings,
    duplicates: Duplicates,
    kill_switch: KillSwitch,
}

/// What is counted, in tables that an order's numbers lead to.
#[derive(Debug)]
struct Tables {
    instruments: Box<[InstrumentRow]>,
    /// By instrument and account.
    cells: Box<[Cell]>,
    accounts: Box<[AccountExposure]>,
}

impl Tables {
    /// Where an order of this instrument and account is counted, if both are known.
    #[inline]
    fn place<'a>(
        &'a mut self,
        limits: &'a RiskLimits,
        instrument: InstrumentId,
        account: AccountId,
    ) -> Option<Place<'a>> {
        let cell = limits.sizes().cell(instrument, account)?;
        Some(Place {
            row: self.instruments.get_mut(instrument.0 as usize)?,
            cell: self.cells.get_mut(cell)?,
            account: self.accounts.get_mut(usize::from(account.0))?,
            order_limits: limits.orders(cell)?,
            account_limits: limits.account(account)?,
        })
    }
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
            tables: Tables {
                instruments: table(InstrumentRow::UNKNOWN, sizes.instruments),
                cells: table(Cell::default(), sizes.instruments * sizes.accounts),
                accounts: table(AccountExposure::default(), sizes.accounts),
            },
            further: table(None, sizes.instruments),
            open_orders: table(0, sizes.strategies),
            user_orders: Box::new([0; 256]),
            rates: Rates::new(&limits, now),
            warnings: Warnings::new(&limits),
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
        self.warnings.set(&limits, &mut self.rates.spent);
        Ok(mem::replace(&mut self.limits, limits))
    }

    /// The limits that hold.
    #[must_use]
    pub const fn limits(&self) -> &RiskLimits {
        &self.limits
    }

    /// Makes an instrument known, or changes what it is. A new one is halted until
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
        let row = self.row(instrument).ok_or(LimitsError::UnknownInstrument)?;
        if definition.lot_value == 0 {
            return Err(LimitsError::WorthlessLot);
        }
        if definition.group >= 64 {
            return Err(LimitsError::UnknownGroup);
        }
        let before = row.lot();
        row.define(&definition);
        let after = row.lot();
        if let Some(rules) = self.further.get_mut(instrument.0 as usize) {
            *rules = FurtherRules::of(&definition);
        }
        self.revalue(instrument, before, after);
        Ok(())
    }

    /// Whether an instrument can be traded now. One that there is not cannot.
    pub fn set_status(&mut self, instrument: InstrumentId, status: InstrumentStatus) {
        if let Some(row) = self.row(instrument) {
            row.status = status;
        }
    }

    /// Values positions in an instrument at this price from here on; an account that lost more
    /// than it may by that is killed. Cost: a few steps for each account.
    pub fn mark(&mut self, instrument: InstrumentId, price: Price) {
        let Some(row) = self.row(instrument).filter(|_| price.0 > 0) else { return };
        let before = row.lot();
        row.set_mark(price);
        let after = row.lot();
        self.revalue(instrument, before, after);
    }

    /// Asks the processor for what an order of this instrument and account is checked against: a
    /// check that comes soon finds that in a near cache. Costs a few instructions.
    #[inline]
    pub fn prefetch(&self, instrument: InstrumentId, account: AccountId) {
        let Some(cell) = self.limits.sizes().cell(instrument, account) else { return };
        if let Some(row) = self.tables.instruments.get(instrument.0 as usize) {
            prefetch_read(row);
        }
        if let Some(cell) = self.tables.cells.get(cell) {
            prefetch_read(cell);
        }
        if let Some(limits) = self.limits.orders(cell) {
            prefetch_read(limits);
        }
    }

    /// Checks a new order and, when it may leave, counts it as open.
    ///
    /// `best_own` is asked only when the price may meet an own order of the other side: it returns
    /// the best price at which one may rest ([`best_own`]), with orders whose cancel is under way,
    /// and both prices of those that are being modified.
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
        self.check_or_rehearse(now, id, terms, market, best_own, false)
    }

    /// As [`Risk::check`]; a rehearsal checks and counts nothing. Who checks seldom keeps code and
    /// memory of the checks in the caches like this: the flag is tested behind the work, so that
    /// both run the same code.
    ///
    /// # Errors
    /// As [`Risk::check`].
    #[inline]
    pub fn check_or_rehearse(
        &mut self,
        now: Nanos,
        id: ClientOrderId,
        terms: &OrderTerms,
        market: &Reference,
        best_own: impl FnOnce(InstrumentId, Side) -> Option<Price>,
        is_rehearsal: bool,
    ) -> Result<Permit, RiskReject> {
        self.prepare(now, id, terms, market)?;
        if self.limits.has_user_limits() {
            let open_orders = self.user_orders[usize::from(id.user().0)];
            self.check_user(id, terms, market, open_orders)?;
        }
        let place = self.tables.place(&self.limits, terms.instrument, terms.account);
        let mut place = place.ok_or(RiskReject::Unknown)?;
        place.admit(&self.limits, id, terms)?;
        place.check_terms(terms, market, &self.further)?;
        let window = self.limits.duplicate_window;
        let print = if window > Nanos::ZERO { fingerprint(id, terms) } else { 0 };
        if window > Nanos::ZERO && self.duplicates.contains(print, now, window) {
            return Err(RiskReject::Duplicate);
        }
        let strategy = id.strategy();
        let open_orders = self.open_orders.get_mut(usize::from(strategy.0));
        let open_orders = open_orders.ok_or(RiskReject::Unknown)?;
        if *open_orders >= self.limits.strategy(strategy) {
            return Err(RiskReject::StrategyOpenOrders);
        }
        if place.account.open_orders >= place.account_limits.open_orders_max {
            return Err(RiskReject::AccountOpenOrders);
        }
        let enlarged = place.check_exposure(terms, terms.lots)?;
        let permit = place.check_self_match(self.limits.self_match, terms, best_own)?;
        self.rates.take_order(now, id.user(), terms.account, is_rehearsal)?;
        if is_rehearsal {
            return Ok(permit);
        }
        if window > Nanos::ZERO {
            self.duplicates.insert(print, now);
        }
        *open_orders += 1;
        self.user_orders[usize::from(id.user().0)] += 1;
        place.opened(terms);
        place.enlarge(terms.side, &enlarged);
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
        self.check_modify_or_rehearse(now, modify, market, best_own, false)
    }

    /// As [`Risk::check_modify`]; a rehearsal counts nothing.
    fn check_modify_or_rehearse(
        &mut self,
        now: Nanos,
        modify: Modify<'_>,
        market: &Reference,
        best_own: impl FnOnce(InstrumentId, Side) -> Option<Price>,
        is_rehearsal: bool,
    ) -> Result<Permit, RiskReject> {
        let Modify { id, old, lots_counted, new, lots_left } = modify;
        let of = |terms: &OrderTerms| (terms.instrument, terms.account, terms.side);
        if of(old) != of(new) {
            return Err(RiskReject::OtherOrder);
        }
        self.prepare(now, id, new, market)?;
        if self.limits.has_user_limits() {
            self.check_user(id, new, market, 0)?;
        }
        let place = self.tables.place(&self.limits, new.instrument, new.account);
        let mut place = place.ok_or(RiskReject::Unknown)?;
        place.admit(&self.limits, id, new)?;
        place.check_terms(new, market, &self.further)?;
        let more = Lots(lots_left.0.saturating_sub(lots_counted.0));
        let is_larger = more > Lots::ZERO;
        let enlarged = is_larger.then(|| place.check_exposure(new, more)).transpose()?;
        let permit = place.check_self_match(self.limits.self_match, new, best_own)?;
        self.rates.take_order(now, id.user(), new.account, is_rehearsal)?;
        if is_rehearsal {
            return Ok(permit);
        }
        place.rests(new);
        if let Some(enlarged) = enlarged {
            place.enlarge(new.side, &enlarged);
        }
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
        if !self.has_mark(terms.instrument) {
            self.mark(terms.instrument, terms.price);
        }
        let Some(mut place) = self.place(terms) else { return };
        place.opened(terms);
        place.change(|cell| cell.work(terms.side, lots_left));
        self.user_orders[usize::from(id.user().0)] += 1;
        if let Some(open_orders) = self.open_orders.get_mut(usize::from(id.strategy().0)) {
            *open_orders += 1;
        }
    }

    /// A part of an open order traded. A loss beyond the limit kills the account.
    #[inline]
    pub fn filled(&mut self, terms: &OrderTerms, lots: Lots, price: Price, fee: Amount) {
        let signed = Lots(lots.0.saturating_mul(terms.side.sign()));
        self.book(terms.instrument, terms.account, (signed, price, fee), |cell| {
            cell.work(terms.side, Lots(-lots.0.max(0)));
        });
    }

    /// So much of an open order cannot trade any more.
    pub fn released(&mut self, terms: &OrderTerms, lots: Lots) {
        if let Some(mut place) = self.place(terms) {
            place.release(terms.side, lots);
        }
    }

    /// An open order ended with this much of it not traded.
    #[inline]
    pub fn ended(&mut self, id: ClientOrderId, terms: &OrderTerms, lots_left: Lots) {
        let Some(mut place) = self.place(terms) else { return };
        place.release(terms.side, lots_left);
        place.row.ended(terms.side);
        place.account.open_orders = place.account.open_orders.saturating_sub(1);
        let user_orders = &mut self.user_orders[usize::from(id.user().0)];
        *user_orders = user_orders.saturating_sub(1);
        if let Some(open_orders) = self.open_orders.get_mut(usize::from(id.strategy().0)) {
            *open_orders = open_orders.saturating_sub(1);
        }
    }

    /// An open order that counted for one owner counts for another from now on, without a check:
    /// for the limits of open orders. What it may still trade is its account's, as before.
    pub fn handed_over(&mut self, from: Owner, to: Owner) {
        let user_orders = &mut self.user_orders;
        let (old, new) = (usize::from(from.user.0), usize::from(to.user.0));
        user_orders[old] = user_orders[old].saturating_sub(1);
        user_orders[new] = user_orders[new].saturating_add(1);
        if let Some(open_orders) = self.open_orders.get_mut(usize::from(from.strategy.0)) {
            *open_orders = open_orders.saturating_sub(1);
        }
        if let Some(open_orders) = self.open_orders.get_mut(usize::from(to.strategy.0)) {
            *open_orders = open_orders.saturating_add(1);
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
        self.book(instrument, account, (lots, price, fee), |_| {});
    }

    /// Profit and the loss limit count from here, at the marks of now.
    pub fn start_day(&mut self) {
        for account in &mut self.tables.accounts {
            account.profit = Amount::ZERO;
        }
    }

    /// The position in an instrument: bought less sold.
    #[must_use]
    pub fn position(&self, instrument: InstrumentId, account: AccountId) -> Lots {
        self.cell(instrument, account).position()
    }

    /// What open orders of a side may still trade.
    #[must_use]
    pub fn open_lots(&self, instrument: InstrumentId, account: AccountId, side: Side) -> Lots {
        self.cell(instrument, account).working(side)
    }

    /// Realised and unrealised profit of an account, less fees, since the day began.
    #[must_use]
    pub fn profit(&self, account: AccountId) -> Amount {
        let account = self.tables.accounts.get(usize::from(account.0));
        account.map_or(Amount::ZERO, |account| account.profit)
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

    /// What comes before an order's place is looked at: the kill switch, and the first mark.
    #[inline]
    fn prepare(
        &mut self,
        now: Nanos,
        id: ClientOrderId,
        terms: &OrderTerms,
        market: &Reference,
    ) -> Result<(), RiskReject> {
        self.kill_switch.handle_timeout(now);
        if let Some(scope) = self.kill_switch.killed(id, terms) {
            return Err(RiskReject::Killed { scope });
        }
        if !self.has_mark(terms.instrument)
            && let Some(price) = market.price_for(terms.side)
        {
            self.mark(terms.instrument, price);
        }
        Ok(())
    }

    /// Holds an order against the limits of its user, who has so many others open. Not in line: the
    /// registers are for those who have none.
    #[inline(never)]
    fn check_user(
        &self,
        id: ClientOrderId,
        terms: &OrderTerms,
        market: &Reference,
        open_orders: u32,
    ) -> Result<(), RiskReject> {
        let user = self.limits.user(id.user()).ok_or(RiskReject::NotPermitted)?;
        if terms.lots > user.lots_max {
            return Err(RiskReject::Quantity);
        }
        // What is not known or has no price is refused further on.
        let row = self.tables.instruments.get(terms.instrument.0 as usize);
        if let Some((row, price)) = row.zip(market.value_of(terms)) {
            let lot = row.lot_at(price).0.unsigned_abs();
            if Amount::of_size(terms.lots.0.unsigned_abs(), lot) > user.notional_max {
                return Err(RiskReject::Notional);
            }
        }
        if open_orders >= user.open_orders_max {
            return Err(RiskReject::UserOpenOrders);
        }
        Ok(())
    }

    /// Books a trade of so many lots, bought or (negative) sold, and what else it changes.
    #[inline]
    fn book(
        &mut self,
        instrument: InstrumentId,
        account: AccountId,
        (lots, price, fee): (Lots, Price, Amount),
        change: impl FnOnce(&mut Cell),
    ) {
        if !self.has_mark(instrument) {
            self.mark(instrument, price);
        }
        let place = self.tables.place(&self.limits, instrument, account);
        let Some(mut place) = place else { return };
        place.change(|cell| {
            change(cell);
            cell.trade(lots);
        });
        let gain = place.row.gain(place.row.lot() - place.row.lot_at(price));
        place.account.profit += Amount::of_lots(lots.0, gain) - fee;
        if place.has_lost() {
            self.kill_switch.kill(KillScope::Account(account), KillCause::LossLimit);
        }
    }

    #[cold]
    fn revalue(&mut self, instrument: InstrumentId, before: Amount, after: Amount) {
        if before == after {
            return;
        }
        for account in (0..=u8::MAX).take(self.tables.accounts.len()).map(AccountId) {
            if let Some(place) = self.tables.place(&self.limits, instrument, account)
                && *place.cell != Cell::default()
            {
                let profit = place.row.gain(after - before);
                place.account.revalue(place.cell, (before, after), profit);
                if place.has_lost() {
                    self.kill_switch.kill(KillScope::Account(account), KillCause::LossLimit);
                }
            }
        }
    }

    #[inline]
    fn has_mark(&self, instrument: InstrumentId) -> bool {
        self.tables.instruments.get(instrument.0 as usize).is_some_and(InstrumentRow::has_mark)
    }

    fn row(&mut self, instrument: InstrumentId) -> Option<&mut InstrumentRow> {
        self.tables.instruments.get_mut(instrument.0 as usize)
    }

    fn cell(&self, instrument: InstrumentId, account: AccountId) -> Cell {
        let cell = self.limits.sizes().cell(instrument, account);
        cell.and_then(|cell| self.tables.cells.get(cell)).copied().unwrap_or_default()
    }

    #[inline]
    fn place(&mut self, terms: &OrderTerms) -> Option<Place<'_>> {
        self.tables.place(&self.limits, terms.instrument, terms.account)
    }
}

#[cfg(test)]
mod tests;
