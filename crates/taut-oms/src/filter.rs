//! Which orders are meant.

use taut_types::{AccountId, ClientOrderId, InstrumentId, OrderTerms, Side, StrategyId, UserId};

/// Orders by what they have in common; [`OrderFilter::ALL`] are all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrderFilter {
    /// Those of a user.
    pub user: Option<UserId>,
    /// Those of a strategy.
    pub strategy: Option<StrategyId>,
    /// Those for an account.
    pub account: Option<AccountId>,
    /// Those in an instrument.
    pub instrument: Option<InstrumentId>,
    /// Those of a side.
    pub side: Option<Side>,
}

impl OrderFilter {
    /// Every order.
    pub const ALL: Self =
        Self { user: None, strategy: None, account: None, instrument: None, side: None };

    /// Whether an order is one of them.
    #[must_use]
    #[inline]
    pub fn matches(&self, id: ClientOrderId, terms: &OrderTerms) -> bool {
        fn is<T: PartialEq>(wanted: Option<T>, has: T) -> bool {
            wanted.is_none_or(|wanted| wanted == has)
        }
        is(self.user, id.user())
            && is(self.strategy, id.strategy())
            && is(self.account, terms.account)
            && is(self.instrument, terms.instrument)
            && is(self.side, terms.side)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taut_types::{Lots, Price};

    #[test]
    fn an_order_matches_when_all_that_is_asked_for_is_its_own() {
        let id = ClientOrderId::of(UserId(1), StrategyId(2), 3);
        let terms = OrderTerms {
            account: AccountId(4),
            ..OrderTerms::limit(InstrumentId(5), Side::Sell, Price(1), Lots(1))
        };
        let own = OrderFilter {
            user: Some(UserId(1)),
            strategy: Some(StrategyId(2)),
            account: Some(AccountId(4)),
            instrument: Some(InstrumentId(5)),
            side: Some(Side::Sell),
        };
        assert!(OrderFilter::ALL.matches(id, &terms) && own.matches(id, &terms));
        for other in [
            OrderFilter { user: Some(UserId(9)), ..own },
            OrderFilter { strategy: Some(StrategyId(9)), ..own },
            OrderFilter { account: Some(AccountId(9)), ..own },
            OrderFilter { instrument: Some(InstrumentId(9)), ..own },
            OrderFilter { side: Some(Side::Buy), ..own },
        ] {
            assert!(!other.matches(id, &terms), "{other:?}");
        }
    }
}
