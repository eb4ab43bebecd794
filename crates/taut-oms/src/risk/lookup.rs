//! What risk has counted, for who asks.

use taut_types::{AccountId, Nanos, StrategyId, UserId};

use super::Risk;
use super::usage::{AccountUsage, MessagesLeft, MessagesOf};
use super::warnings::RateWarning;

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
        self.user_orders[usize::from(user.0)]
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

    /// A budget of messages that has passed its share since this was called last, or is well below
    /// it again; to be called until there is none. Cost: a few steps for each that was spent from
    /// since then, or is past its share.
    pub fn poll_rate_warning(&mut self, now: Nanos) -> Option<RateWarning> {
        let Self { warnings, rates, .. } = self;
        warnings.poll(now, rates)
    }
}
