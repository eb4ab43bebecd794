//! The limits of a gateway that runs.

use taut_io::Kernel;
use taut_oms::{Balance, Balances, LimitsError, Risk, RiskLimits};

use super::Gateway;
use crate::config::RiskRules;
use crate::order_entry::handler::OrderHandler;
use crate::order_entry::what_if::WhatIf;
use taut_types::{FeeRates, Nanos};

impl<C, F, K: Kernel, O, H: OrderHandler> Gateway<'_, C, F, K, O, H> {
    /// Other limits and permissions from the next order on; what is counted against them stays.
    ///
    /// # Errors
    /// When they are for other sizes; then the old ones hold on.
    pub fn set_rules(&mut self, rules: RiskRules) -> Result<(), LimitsError> {
        self.core.orders.set_rules(rules)
    }

    /// Follows what accounts have of their currencies from here on: before
    /// [`resume`](Gateway::resume), whose positions have moved it.
    pub fn follow_balances(&mut self, balances: Balances) {
        self.core.orders.follow_balances(balances);
    }

    /// What trades cost of which the venue's reports say nothing, by their instrument's number.
    pub fn set_fees(&mut self, rates: &[FeeRates]) {
        self.core.orders.reports_mut().set_fees(rates);
    }

    /// What accounts have of their currencies.
    pub fn balances(&self) -> impl Iterator<Item = &Balance> {
        self.core.orders.balances().all()
    }

    /// Has each new order and each modify judged by these limits, too, from here on
    /// ([`WhatIf`]); what leaves is what leaves without. For who looks back at a recorded run.
    pub fn judge_by(&mut self, limits: RiskLimits) {
        self.core.orders.judge_by(limits, Nanos::ZERO);
    }

    /// What they said, where there are some.
    #[must_use]
    pub fn what_if(&self) -> Option<&WhatIf> {
        self.core.orders.what_if()
    }

    /// The pre-trade limits, and how much of them is used.
    #[must_use]
    pub const fn risk(&self) -> &Risk {
        self.core.orders.risk()
    }

    /// Orders whose cancel waits until its budget has it.
    #[must_use]
    pub fn waiting_cancels(&self) -> usize {
        self.core.orders.waiting_cancels()
    }
}
