//! How much of the limits is used, to be shown.

use taut_types::{AccountId, UserId};

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
