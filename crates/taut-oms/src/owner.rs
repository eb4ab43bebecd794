//! Whose an order is.

use taut_types::{ClientOrderId, StrategyId, UserId};

use crate::filter::OrderFilter;

/// Whose orders they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner {
    /// The user.
    pub user: UserId,
    /// Its strategy.
    pub strategy: StrategyId,
}

impl Owner {
    /// Nobody's strategy: what the venue holds more or less than the gateway is booked here, where
    /// it is to be.
    pub const HOUSE: Self = Self { user: UserId(u8::MAX), strategy: StrategyId(u8::MAX) };

    /// Who sent this order. It is the owner until the order is handed over
    /// ([`OrderTable::owner`](crate::OrderTable::owner)).
    #[must_use]
    pub const fn of(order: ClientOrderId) -> Self {
        Self { user: order.user(), strategy: order.strategy() }
    }

    /// The id of its order with this number.
    #[must_use]
    pub const fn order(self, number: u64) -> ClientOrderId {
        ClientOrderId::of(self.user, self.strategy, number)
    }

    /// Its orders, of those that the filter means.
    #[must_use]
    pub const fn only(self, filter: OrderFilter) -> OrderFilter {
        OrderFilter { user: Some(self.user), strategy: Some(self.strategy), ..filter }
    }
}
