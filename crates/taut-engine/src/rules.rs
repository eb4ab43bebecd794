//! The rules of an instrument.

use crate::allocation::Allocation;
use crate::terms::SelfTrade;

/// The rules of an instrument: what an exchange decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// How a taker is divided among the makers of a price.
    pub allocation: Allocation,
    /// What happens when an account meets itself, for orders that do not say.
    pub self_trade: SelfTrade,
    /// How far a limit price may be from the last trade, in half ticks.
    pub price_band: Option<u32>,
    /// How far a trade may be from the last one before trading stops for an auction, in half
    /// ticks.
    pub volatility_band: Option<u32>,
    /// How many orders may wait outside the displayed book, in each of three places: hidden (with
    /// pegged and all-or-none ones), for a trigger, and for an auction or a market.
    pub special_capacity: usize,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            allocation: Allocation::FIFO,
            self_trade: SelfTrade::Default,
            price_band: None,
            volatility_band: None,
            special_capacity: 1_024,
        }
    }
}

impl Rules {
    /// Whether an order without terms can ignore them.
    pub(crate) fn are_plain(&self) -> bool {
        self.allocation.is_fifo()
            && matches!(self.self_trade, SelfTrade::Default | SelfTrade::Allow)
            && self.price_band.is_none()
            && self.volatility_band.is_none()
    }
}
