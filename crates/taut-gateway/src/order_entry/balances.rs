//! What accounts have of each currency.

use taut_oms::{Balance, Balances};

use super::OrderSession;

impl<H> OrderSession<H> {
    /// Follows these balances; before a journal is taken up.
    pub(crate) fn follow_balances(&mut self, balances: Balances) {
        self.positions.follow_balances(balances);
    }

    pub(crate) const fn balances(&self) -> &Balances {
        self.positions.balances()
    }

    /// A balance that has changed since this was called last.
    pub(crate) fn poll_balance(&mut self) -> Option<Balance> {
        self.positions.poll_balance()
    }
}
