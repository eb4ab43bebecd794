//! The market that a price is compared with.

use taut_types::{OrderTerms, OrderType, Price, Side};

use super::limits::OrderLimits;
use super::reject::RiskReject;

/// The best prices and the last trade of an instrument, as far as they can be trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reference {
    /// The best bid.
    pub bid: Option<Price>,
    /// The best offer.
    pub ask: Option<Price>,
    /// The last trade.
    pub last: Option<Price>,
}

impl Reference {
    /// What an order of this side would trade at: the other side's best, or its own side's where
    /// that is empty.
    #[inline]
    pub(super) const fn price_for(self, side: Side) -> Option<Price> {
        match (side, self.bid, self.ask) {
            (Side::Buy, _, Some(ask)) => Some(ask),
            (Side::Sell, Some(bid), _) => Some(bid),
            (Side::Buy, bid, None) => bid,
            (Side::Sell, None, ask) => ask,
        }
    }

    /// The price that an order is valued at: its own, or without one what it would trade at.
    pub(super) fn value_of(self, terms: &OrderTerms) -> Option<Price> {
        match terms.order_type {
            OrderType::Limit => Some(terms.price),
            OrderType::Market => terms.stop_price.or_else(|| self.price_for(terms.side)),
        }
    }

    /// Holds an order's price against the market. Returns the price that the order is valued at:
    /// its own, or without one what it would trade at.
    ///
    /// An order that waits for its stop price is meant to be away from the market: its limit is
    /// held against the stop price. It needs a market all the same.
    #[inline]
    pub(super) fn check(
        self,
        terms: &OrderTerms,
        limits: &OrderLimits,
    ) -> Result<Price, RiskReject> {
        let market = self.price_for(terms.side).ok_or(RiskReject::NoReference)?;
        let around = terms.stop_price.unwrap_or(market);
        let price = match terms.order_type {
            OrderType::Limit => terms.price,
            OrderType::Market => around,
        };
        if !is_within(price, around, limits.collar_ppm) {
            return Err(RiskReject::PriceCollar);
        }
        if limits.last_trade_collar_ppm != OrderLimits::NO_COLLAR && terms.stop_price.is_none() {
            let last = self.last.ok_or(RiskReject::NoReference)?;
            if !is_within(price, last, limits.last_trade_collar_ppm) {
                return Err(RiskReject::LastTradeCollar);
            }
        }
        Ok(price)
    }
}

/// |price - market| * 10^6 <= market * ppm, in 128 bits so that nothing overflows.
#[inline]
fn is_within(price: Price, market: Price, ppm: u32) -> bool {
    let distance = u128::from(price.0.abs_diff(market.0)) * 1_000_000;
    market.0 > 0 && distance <= u128::from(market.0.cast_unsigned()) * u128::from(ppm)
}
