//! The same orders judged by other limits: what these would have let through, with what is held and
//! open as it is. For who looks back at what happened; it costs as much as a check, and swaps.

use core::mem;

use taut_types::{ClientOrderId, InstrumentId, Nanos, OrderTerms, Price, Side};

use super::duplicates::fingerprint;
use super::{Modify, OtherLimits, Reference, Risk, RiskReject};
use crate::kill::ScopeKind;

impl Risk {
    /// Whether a new order would pass other limits. Nothing is counted but against their own
    /// budgets. Before [`Risk::check`], which counts it.
    ///
    /// # Errors
    /// The first check that it fails. Other sizes know nothing.
    pub fn judge(
        &mut self,
        other: &mut OtherLimits,
        now: Nanos,
        (id, terms): (ClientOrderId, &OrderTerms),
        market: &Reference,
        best_own: impl FnOnce(InstrumentId, Side) -> Option<Price>,
    ) -> Result<(), RiskReject> {
        self.prepare(now, id, terms, market)?;
        self.under(other, terms, |risk| {
            let _permit = risk.check_or_rehearse(now, id, terms, market, best_own, true)?;
            let window = risk.limits.duplicate_window;
            if window > Nanos::ZERO {
                risk.duplicates.insert(fingerprint(id, terms), now);
            }
            risk.rates.take_order(now, id.user(), terms.account, false)
        })
    }

    /// Whether a modify would: as [`Risk::judge`], before [`Risk::check_modify`].
    ///
    /// # Errors
    /// As [`Risk::judge`].
    pub fn judge_modify(
        &mut self,
        other: &mut OtherLimits,
        now: Nanos,
        modify: Modify<'_>,
        market: &Reference,
        best_own: impl FnOnce(InstrumentId, Side) -> Option<Price>,
    ) -> Result<(), RiskReject> {
        self.prepare(now, modify.id, modify.new, market)?;
        self.under(other, modify.new, |risk| {
            let _permit = risk.check_modify_or_rehearse(now, modify, market, best_own, true)?;
            risk.rates.take_order(now, modify.id.user(), modify.new.account, false)
        })
    }

    /// With the other limits in the place of those that hold.
    fn under(
        &mut self,
        other: &mut OtherLimits,
        terms: &OrderTerms,
        check: impl FnOnce(&mut Self) -> Result<(), RiskReject>,
    ) -> Result<(), RiskReject> {
        if other.limits.sizes() != self.limits.sizes() {
            return Err(RiskReject::Unknown);
        }
        self.swap(other);
        let has_lost = self.place(terms).is_some_and(|place| place.has_lost());
        let judged = match has_lost {
            true => Err(RiskReject::Killed { scope: ScopeKind::Account }),
            false => check(self),
        };
        self.swap(other);
        judged
    }

    fn swap(&mut self, other: &mut OtherLimits) {
        mem::swap(&mut self.limits, &mut other.limits);
        mem::swap(&mut self.rates, &mut other.rates);
        mem::swap(&mut self.duplicates, &mut other.duplicates);
    }
}
