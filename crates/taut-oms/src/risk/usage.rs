//! How much of the limits is used, to be shown.

use taut_types::{AccountId, Nanos, StrategyId, UserId};

use super::Risk;
use crate::amount::Amount;

/// What an account has of what it may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccountUsage {
    /// Orders working or on their way.
    pub open_orders: u32,
    /// Worth of all positions whatever their direction, with the open orders that enlarge them.
    pub gross: Amount,
    /// Worth of all positions in the worse direction, with the open orders of that direction.
    pub net: Amount,
    /// Profit since the day began; a loss is below 0.
    pub profit: Amount,
}

/// Whose messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessagesOf {
    /// A user's.
    User(UserId),
    /// Those for an account.
    Account(AccountId),
    /// All to the venue.
    Venue,
}

/// Messages that could leave now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessagesLeft {
    /// New orders and modifies.
    pub orders: u32,
    /// Cancels.
    pub cancels: u32,
}

impl Risk {
    /// What an account has of what it may have.
    #[must_use]
    pub fn account_usage(&self, account: AccountId) -> AccountUsage {
        let account = self.tables.accounts.get(usize::from(account.0)).copied().unwrap_or_default();
        let [long, short] = account.reach;
        AccountUsage {
            open_orders: account.open_orders,
            gross: account.gross,
            net: long.max(short),
            profit: account.profit,
        }
    }

    /// Open orders of a user.
    #[must_use]
    pub fn user_open_orders(&self, user: UserId) -> u32 {
        self.user_orders.get(usize::from(user.0)).copied().unwrap_or(0)
    }

    /// Open orders of a strategy.
    #[must_use]
    pub fn strategy_open_orders(&self, strategy: StrategyId) -> u32 {
        self.open_orders.get(usize::from(strategy.0)).copied().unwrap_or(0)
    }

    /// What is left of message rates.
    #[must_use]
    pub fn messages_left(&self, now: Nanos, of: MessagesOf) -> MessagesLeft {
        self.rates.left(now, of)
    }
}
