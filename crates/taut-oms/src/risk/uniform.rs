//! Limits that hold for everything alike.

use taut_types::Lots;

use super::limits::{
    AccountLimits, MessageRates, OrderLimits, RiskLimits, RiskSizes, SelfMatch, UserLimits,
};
use crate::amount::Amount;
use crate::throttle::Rate;

/// The limits of a small gateway: the same for every instrument, account, user and strategy, and
/// no others than these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UniformLimits {
    /// How far a price may lie from the market, in parts per million of it.
    pub collar_ppm: u32,
    /// The largest order.
    pub lots_max: Lots,
    /// The largest position in an instrument for an account, long or short, with all open orders
    /// of that side filled.
    pub position_lots_max: Lots,
    /// New orders to the venue.
    pub orders: Rate,
    /// Orders of an account, working or on their way at one time.
    pub open_orders_max: u32,
}

impl UniformLimits {
    /// The limits of a gateway of these sizes. Everybody may trade everything, also with own
    /// orders; nothing else is limited.
    #[must_use]
    pub fn limits(&self, sizes: RiskSizes) -> RiskLimits {
        let mut limits = RiskLimits::closed(sizes);
        limits.set_orders_default(OrderLimits {
            collar_ppm: self.collar_ppm,
            last_trade_collar_ppm: OrderLimits::NO_COLLAR,
            lots_max: self.lots_max,
            notional_max: Amount::MAX,
            long_lots_max: self.position_lots_max,
            short_lots_max: self.position_lots_max,
        });
        limits.set_accounts(AccountLimits {
            open_orders_max: self.open_orders_max,
            gross_max: Amount::MAX,
            net_max: Amount::MAX,
            loss_max: Amount::MAX,
            rates: MessageRates::UNLIMITED,
        });
        limits.set_users(UserLimits::UNLIMITED);
        limits.set_strategies(self.open_orders_max);
        limits.permit_all();
        limits.venue = MessageRates { orders: self.orders, ..MessageRates::UNLIMITED };
        limits.self_match = SelfMatch::Allow;
        limits
    }
}
