//! Why an order must not leave.

use core::fmt;

use crate::kill::ScopeKind;

/// The check that an order or a modify failed; nothing was counted then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RiskReject {
    /// Trading is stopped.
    Killed {
        /// For all orders of this.
        scope: ScopeKind,
    },
    /// The user may not trade this group of instruments for this account.
    NotPermitted,
    /// The instrument, account or strategy is none that the gateway knows.
    Unknown,
    /// The instrument is on the restricted list.
    Restricted,
    /// The venue does not trade the instrument now.
    Halted,
    /// The book of the instrument cannot be trusted.
    StaleBook,
    /// There is no price to compare with: no book, or no last trade where one is asked for.
    NoReference,
    /// The price, or the stop price, is not positive or no whole number of the ticks that hold
    /// there.
    Tick,
    /// The quantity is below the venue's smallest, or shows more than there is.
    Lot,
    /// The price is too far from the market, or from its stop price.
    PriceCollar,
    /// The price is too far from the last trade.
    LastTradeCollar,
    /// The order is too large.
    Quantity,
    /// The order is worth too much.
    Notional,
    /// An order of the same terms left a moment ago.
    Duplicate,
    /// The strategy has too many open orders.
    StrategyOpenOrders,
    /// The account has too many open orders.
    AccountOpenOrders,
    /// The position in the instrument could become too large.
    Position,
    /// A reduce-only order could turn the position or enlarge it.
    ReduceOnly,
    /// The account's positions, whatever their direction, could be worth too much.
    GrossNotional,
    /// The account's positions, long less short, could be worth too much.
    NetNotional,
    /// The account has lost more than it may.
    Loss,
    /// It could trade with an own order, which stays.
    SelfMatch,
    /// It could trade with own orders, which are to be cancelled too.
    SelfMatchBoth,
    /// A modify must not change instrument, account or side.
    OtherOrder,
    /// The user sends too fast.
    UserRate,
    /// The account's orders come too fast.
    AccountRate,
    /// All orders to the venue together come too fast.
    VenueRate,
    /// The user has too many open orders.
    UserOpenOrders,
    /// The order is worth less than the venue takes.
    MinNotional,
}

/// Every reason; a reason's code is its place here plus one. New ones go to the end.
const CODES: [RiskReject; 33] = [
    RiskReject::Killed { scope: ScopeKind::All },
    RiskReject::Killed { scope: ScopeKind::User },
    RiskReject::Killed { scope: ScopeKind::Strategy },
    RiskReject::Killed { scope: ScopeKind::Account },
    RiskReject::Killed { scope: ScopeKind::Instrument },
    RiskReject::NotPermitted,
    RiskReject::Unknown,
    RiskReject::Restricted,
    RiskReject::Halted,
    RiskReject::StaleBook,
    RiskReject::NoReference,
    RiskReject::Tick,
    RiskReject::Lot,
    RiskReject::PriceCollar,
    RiskReject::LastTradeCollar,
    RiskReject::Quantity,
    RiskReject::Notional,
    RiskReject::Duplicate,
    RiskReject::StrategyOpenOrders,
    RiskReject::AccountOpenOrders,
    RiskReject::Position,
    RiskReject::ReduceOnly,
    RiskReject::GrossNotional,
    RiskReject::NetNotional,
    RiskReject::Loss,
    RiskReject::SelfMatch,
    RiskReject::SelfMatchBoth,
    RiskReject::OtherOrder,
    RiskReject::UserRate,
    RiskReject::AccountRate,
    RiskReject::VenueRate,
    RiskReject::UserOpenOrders,
    RiskReject::MinNotional,
];

impl RiskReject {
    /// The reason as a number for messages, from 1.
    #[must_use]
    pub fn code(self) -> u8 {
        // Its place is below 33.
        CODES.iter().position(|reason| *reason == self).map_or(0, |place| place as u8 + 1)
    }

    /// The reason with this number, if it is one.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        CODES.get(usize::from(code).checked_sub(1)?).copied()
    }
}

impl fmt::Display for RiskReject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Killed { scope: ScopeKind::All } => "trading is stopped",
            Self::Killed { scope: ScopeKind::User } => "trading of this user is stopped",
            Self::Killed { scope: ScopeKind::Strategy } => "trading of this strategy is stopped",
            Self::Killed { scope: ScopeKind::Account } => "trading for this account is stopped",
            Self::Killed { scope: ScopeKind::Instrument } => {
                "trading in this instrument is stopped"
            }
            Self::NotPermitted => "the user may not trade this instrument for this account",
            Self::Unknown => "no such instrument, account or strategy",
            Self::Restricted => "the instrument is on the restricted list",
            Self::Halted => "the venue does not trade the instrument now",
            Self::StaleBook => "the book cannot be trusted",
            Self::NoReference => "no price to compare with",
            Self::Tick => "the price is not positive or no whole number of ticks",
            Self::Lot => "the quantity is below the smallest, or shows more than there is",
            Self::PriceCollar => "the price is too far from the market",
            Self::LastTradeCollar => "the price is too far from the last trade",
            Self::Quantity => "the order is too large",
            Self::Notional => "the order is worth too much",
            Self::Duplicate => "the same order left a moment ago",
            Self::StrategyOpenOrders => "the strategy has too many open orders",
            Self::AccountOpenOrders => "the account has too many open orders",
            Self::Position => "the position could become too large",
            Self::ReduceOnly => "the order could do more than reduce the position",
            Self::GrossNotional => "the account's gross notional could become too large",
            Self::NetNotional => "the account's net notional could become too large",
            Self::Loss => "the account has lost more than it may",
            Self::SelfMatch => "it could trade with an own order",
            Self::SelfMatchBoth => "it could trade with own orders, which are cancelled too",
            Self::OtherOrder => "a modify must not change instrument, account or side",
            Self::UserRate => "the user sends too fast",
            Self::AccountRate => "the account's orders come too fast",
            Self::VenueRate => "orders to the venue come too fast",
            Self::UserOpenOrders => "the user has too many open orders",
            Self::MinNotional => "the order is worth less than the venue takes",
        })
    }
}

impl core::error::Error for RiskReject {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::string::ToString;

    #[test]
    fn every_reason_has_a_code_and_words_of_its_own() {
        for (code, reason) in (1..).zip(CODES) {
            assert_eq!(reason.code(), code);
            assert_eq!(RiskReject::from_code(code), Some(reason));
        }
        assert_eq!([0, CODES.len() as u8 + 1].map(RiskReject::from_code), [None, None]);
        let words: HashSet<_> = CODES.iter().map(ToString::to_string).collect();
        assert_eq!(words.len(), CODES.len());
    }
}
