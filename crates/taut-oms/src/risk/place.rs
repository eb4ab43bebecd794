//! The place where an order is counted, and the checks that it meets there.

use alloc::boxed::Box;

use taut_types::{
    ClientOrderId, InstrumentId, Lots, OrderFlags, OrderTerms, OrderType, Price, Side,
};

use super::exposure::{AccountExposure, Cell};
use super::instrument::{FurtherRules, InstrumentRow, InstrumentStatus};
use super::limits::{AccountLimits, OrderLimits, RiskLimits, SelfMatch};
use super::reference::Reference;
use super::reject::RiskReject;
use super::self_match::{Permit, can_rest};
use crate::amount::Amount;

/// An order's instrument and account: what counts it, and what it is held against.
pub(super) struct Place<'a> {
    pub(super) row: &'a mut InstrumentRow,
    pub(super) cell: &'a mut Cell,
    pub(super) account: &'a mut AccountExposure,
    pub(super) order_limits: &'a OrderLimits,
    pub(super) account_limits: &'a AccountLimits,
}

/// An account's sums with an order more.
pub(super) struct Enlarged {
    lots: Lots,
    reach: Amount,
    gross: Amount,
}

impl Place<'_> {
    /// Who may trade what, and whether it can be traded now.
    #[inline]
    pub(super) fn admit(
        &self,
        limits: &RiskLimits,
        id: ClientOrderId,
        terms: &OrderTerms,
    ) -> Result<(), RiskReject> {
        if self.row.lot_value == 0 {
            return Err(RiskReject::Unknown);
        }
        if !limits.permits(id.user(), terms.account, self.row.group) {
            return Err(RiskReject::NotPermitted);
        }
        if limits.is_restricted(terms.instrument) {
            return Err(RiskReject::Restricted);
        }
        match self.row.status {
            InstrumentStatus::Trading => Ok(()),
            InstrumentStatus::Halted => Err(RiskReject::Halted),
            InstrumentStatus::StaleBook => Err(RiskReject::StaleBook),
        }
    }

    /// Price, quantity and worth of the order alone. `further` are the rules of all instruments.
    #[inline]
    pub(super) fn check_terms(
        &self,
        terms: &OrderTerms,
        market: &Reference,
        further: &[Option<Box<FurtherRules>>],
    ) -> Result<(), RiskReject> {
        let is_limit = terms.order_type == OrderType::Limit;
        let is_off = |price: Price| {
            let rules = |rules: &FurtherRules| rules.fit(price);
            !self.row.ticks.fit(price) && !meets(further, terms.instrument, rules)
        };
        if is_limit && is_off(terms.price) || terms.stop_price.is_some_and(is_off) {
            return Err(RiskReject::Tick);
        }
        let is_part = Lots::ZERO <= terms.lots_shown && terms.lots_shown <= terms.lots;
        if terms.lots < self.row.lots_min.max(Lots(1)) || !is_part {
            return Err(RiskReject::Lot);
        }
        if terms.lots > self.order_limits.lots_max {
            return Err(RiskReject::Quantity);
        }
        let price = market.check(terms, self.order_limits)?;
        let lot = self.row.lot_at(price).0.unsigned_abs();
        let notional = Amount::of_size(terms.lots.0.unsigned_abs(), lot);
        if notional > self.order_limits.notional_max {
            return Err(RiskReject::Notional);
        }
        let is_enough = |rules: &FurtherRules| rules.is_enough(notional);
        if self.row.has_notional_min && !meets(further, terms.instrument, is_enough) {
            return Err(RiskReject::MinNotional);
        }
        Ok(())
    }

    /// What the account could have with so many lots more.
    #[inline]
    pub(super) fn check_exposure(
        &self,
        terms: &OrderTerms,
        lots: Lots,
    ) -> Result<Enlarged, RiskReject> {
        let reach_max = match terms.side {
            Side::Buy => self.order_limits.long_lots_max,
            Side::Sell => self.order_limits.short_lots_max,
        };
        let reach = self.cell.reach(terms.side).saturating_add(lots.0);
        if reach > reach_max.0 {
            return Err(RiskReject::Position);
        }
        if terms.flags.contains(OrderFlags::REDUCE_ONLY) && reach > 0 {
            return Err(RiskReject::ReduceOnly);
        }
        let lot = self.row.lot().0.unsigned_abs();
        // The other direction may be the worse one still.
        let enlarged = (reach - self.cell.worst()).max(0);
        let gross = Amount::of_size(enlarged.unsigned_abs(), lot);
        let gross = self.account.gross.checked_add(gross).ok_or(RiskReject::GrossNotional)?;
        if enlarged > 0 && gross > self.account_limits.gross_max {
            return Err(RiskReject::GrossNotional);
        }
        let reach = Amount::of_size(lots.0.unsigned_abs(), lot);
        let reach = self.account.reach[terms.side.index()].checked_add(reach);
        let reach = reach.ok_or(RiskReject::NetNotional)?;
        if reach > self.account_limits.net_max {
            return Err(RiskReject::NetNotional);
        }
        if self.has_lost() {
            return Err(RiskReject::Loss);
        }
        Ok(Enlarged { lots, reach, gross })
    }

    /// What happens when it could trade with an own order.
    #[inline]
    pub(super) fn check_self_match(
        &mut self,
        policy: SelfMatch,
        terms: &OrderTerms,
        best_own: impl FnOnce(InstrumentId, Side) -> Option<Price>,
    ) -> Result<Permit, RiskReject> {
        let price = (terms.order_type == OrderType::Limit).then_some(terms.price);
        // What waits for its stop price trades with nothing now.
        let may_meet = |row: &InstrumentRow| {
            policy != SelfMatch::Allow
                && terms.stop_price.is_none()
                && row.may_meet(terms.side, price)
        };
        if !may_meet(self.row) {
            return Ok(Permit::Send);
        }
        let other = terms.side.opposite();
        self.row.set_best(other, best_own(terms.instrument, other));
        if !may_meet(self.row) {
            return Ok(Permit::Send);
        }
        match policy {
            SelfMatch::Allow => Ok(Permit::Send),
            SelfMatch::CancelNewest => Err(RiskReject::SelfMatch),
            SelfMatch::CancelOldest => Ok(Permit::CancelOwnThenSend),
            SelfMatch::CancelBoth => Err(RiskReject::SelfMatchBoth),
        }
    }

    /// An order is open.
    #[inline]
    pub(super) fn opened(&mut self, terms: &OrderTerms) {
        self.row.opened(terms.side);
        self.account.open_orders += 1;
        self.rests(terms);
    }

    /// An order may rest at its price.
    #[inline]
    pub(super) fn rests(&mut self, terms: &OrderTerms) {
        if can_rest(terms) {
            self.row.rests(terms.side, terms.price);
        }
    }

    /// Lots that passed [`Place::check_exposure`] may trade.
    #[inline]
    pub(super) fn enlarge(&mut self, side: Side, enlarged: &Enlarged) {
        self.cell.work(side, enlarged.lots);
        self.account.reach[side.index()] = enlarged.reach;
        self.account.gross = enlarged.gross;
    }

    /// So many lots of a side cannot trade any more.
    #[inline]
    pub(super) fn release(&mut self, side: Side, lots: Lots) {
        if lots > Lots::ZERO {
            self.change(|cell| cell.work(side, Lots(-lots.0)));
        }
    }

    /// Whether the account lost more than it may.
    #[inline]
    pub(super) fn has_lost(&self) -> bool {
        self.account.profit < self.account_limits.profit_min()
    }

    /// Changes what is counted, and the account's sums with it.
    #[inline]
    pub(super) fn change(&mut self, change: impl FnOnce(&mut Cell)) {
        self.account.change(self.cell, self.row.lot(), change);
    }
}

/// Whether an instrument has further rules, and they are met.
#[cold]
fn meets(
    further: &[Option<Box<FurtherRules>>],
    instrument: InstrumentId,
    are_met: impl FnOnce(&FurtherRules) -> bool,
) -> bool {
    further.get(instrument.0 as usize).and_then(Option::as_deref).is_some_and(are_met)
}
