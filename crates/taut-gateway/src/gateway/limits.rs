//! The limits of a gateway that runs.

use taut_io::Kernel;
use taut_oms::{LimitsError, Risk};

use super::Gateway;
use crate::config::RiskRules;

impl<C, F, K: Kernel, O> Gateway<'_, C, F, K, O> {
    /// Other limits and permissions from the next order on; what is counted against them stays.
    ///
    /// # Errors
    /// When they are for other sizes; then the old ones hold on.
    pub fn set_rules(&mut self, rules: RiskRules) -> Result<(), LimitsError> {
        self.core.orders.set_rules(rules)
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
