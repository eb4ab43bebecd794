//! Orders that could trade with own ones.

use taut_types::{InstrumentId, OrderTerms, OrderType, Price, Side, TimeInForce};

/// What to do with an order or a modify that passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Permit {
    /// It may leave.
    Send,
    /// The own orders that it could trade with ([`crosses`]) are cancelled first, then it may
    /// leave.
    CancelOwnThenSend,
}

/// Whether an order that arrives now could trade with one that rests: what
/// [`Permit::CancelOwnThenSend`] and
/// [`RiskReject::SelfMatchBoth`](crate::RiskReject::SelfMatchBoth) want cancelled.
///
/// An order that waits for its stop price trades with nothing now, and does not rest.
#[must_use]
pub fn crosses(resting: &OrderTerms, arriving: &OrderTerms) -> bool {
    let is_other_side = resting.instrument == arriving.instrument && resting.side != arriving.side;
    let reaches = arriving.order_type == OrderType::Market
        || match arriving.side {
            Side::Buy => arriving.price >= resting.price,
            Side::Sell => arriving.price <= resting.price,
        };
    is_other_side && can_rest(resting) && arriving.stop_price.is_none() && reaches
}

/// The best price at which one of these orders may rest on a side: the highest bid, or the lowest
/// offer.
pub fn best_own<'a>(
    orders: impl Iterator<Item = &'a OrderTerms>,
    instrument: InstrumentId,
    side: Side,
) -> Option<Price> {
    let of = |own: &&OrderTerms| own.instrument == instrument && own.side == side && can_rest(own);
    let prices = orders.filter(of).map(|own| own.price);
    match side {
        Side::Buy => prices.max(),
        Side::Sell => prices.min(),
    }
}

/// Whether an order can wait in the book at its price.
#[inline]
pub(super) fn can_rest(terms: &OrderTerms) -> bool {
    let is_at_once =
        matches!(terms.time_in_force, TimeInForce::ImmediateOrCancel | TimeInForce::FillOrKill);
    terms.order_type == OrderType::Limit && !is_at_once && terms.stop_price.is_none()
}
