//! Orders that become another strategy's.

use taut_oms::{Order, ScopeKind};
use taut_types::{ClientOrderId, Nanos};

use super::OrderSession;
use super::handler::OrderHandler;
use crate::owner::Owner;

impl<H: OrderHandler> OrderSession<H> {
    /// Whether a kill stops all that an owner does: everything, its user, or its strategy.
    pub(crate) fn is_killed(&self, owner: Owner) -> bool {
        let killed = self.killed(owner);
        let whole = [ScopeKind::All, ScopeKind::User, ScopeKind::Strategy];
        whole.into_iter().any(|kind| killed.contain(kind))
    }

    /// Every open order of one owner is another one's from now on, with the requests about it that
    /// are under way; returns which. What traded before stays in the position of who had the order
    /// then. A cancel that waits for its budget waits on. Who is killed hands nothing over: its
    /// orders are being cancelled.
    pub(crate) fn hand_over(&mut self, utc: Nanos, from: Owner, to: Owner) -> Vec<ClientOrderId> {
        if self.is_killed(from) {
            return Vec::new();
        }
        let Self { table, risk, journal, .. } = self;
        let own = |order: &&Order| order.owner == from;
        let mut orders: Vec<_> = table.open_orders().filter(own).map(|order| order.id).collect();
        orders.retain(|order| table.hand_over(*order, to).is_some());
        orders.iter().for_each(|_| risk.handed_over(from, to));
        journal.note_handed_over(utc, &orders, to);
        orders
    }
}
