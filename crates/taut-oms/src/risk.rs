//! Pre-trade checks, in line: price collar, quantity, rate, position.

use taut_types::{Lots, Nanos, OrderType, Price, Side};

use crate::throttle::Throttle;

/// What an order may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RiskLimits {
    /// How far a limit price may lie from the reference, in parts per million of it.
    pub collar_ppm: u32,
    /// The largest order.
    pub lots_max: Lots,
    /// The largest position, long or short, with all open orders of that side filled.
    pub position_lots_max: Lots,
    /// New orders a second.
    pub orders_per_second: u32,
    /// New orders at once.
    pub orders_burst: u32,
    /// Orders working or on their way at one time.
    pub open_orders_max: u32,
}

/// Why an order must not leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum RiskReject {
    /// The quantity is not positive or above the limit.
    Quantity = 1,
    /// The price is not positive or outside the collar.
    PriceCollar = 2,
    /// There is no reference price: the check fails closed.
    NoReference = 3,
    /// Too many orders in this time.
    Rate = 4,
    /// The position could grow beyond the limit.
    Position = 5,
    /// Too many open orders.
    OpenOrders = 6,
    /// Trading is stopped.
    Killed = 7,
}

/// The market that a price is compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reference {
    /// The best bid.
    pub bid: Option<Price>,
    /// The best offer.
    pub ask: Option<Price>,
}

impl Reference {
    /// What an order of this side would trade at: the other side's best, or its own side's where
    /// that is empty.
    const fn price_for(self, side: Side) -> Option<Price> {
        match (side, self.bid, self.ask) {
            (Side::Buy, _, Some(ask)) => Some(ask),
            (Side::Sell, Some(bid), _) => Some(bid),
            (Side::Buy, bid, None) => bid,
            (Side::Sell, None, ask) => ask,
        }
    }
}

/// Limits, and the exposure that they are held against.
#[derive(Clone, Debug)]
pub struct Risk {
    limits: RiskLimits,
    throttle: Throttle,
    position: Lots,
    open_lots: [Lots; 2],
    open_orders: u32,
    killed: bool,
}

impl Risk {
    /// A flat position under these limits.
    #[must_use]
    pub const fn new(limits: RiskLimits, now: Nanos) -> Self {
        Self {
            throttle: Throttle::new(limits.orders_per_second, limits.orders_burst, now),
            limits,
            position: Lots::ZERO,
            open_lots: [Lots::ZERO; 2],
            open_orders: 0,
            killed: false,
        }
    }

    /// Checks a new order and, when it may leave, counts it as open. Cost: a few compares and one
    /// multiplication; no division.
    ///
    /// # Errors
    /// The first check that it fails; then nothing is counted, not even against the rate.
    #[inline]
    pub fn check(
        &mut self,
        now: Nanos,
        side: Side,
        order_type: OrderType,
        price: Price,
        lots: Lots,
        reference: Reference,
    ) -> Result<(), RiskReject> {
        if self.killed {
            return Err(RiskReject::Killed);
        }
        if lots <= Lots::ZERO || lots > self.limits.lots_max {
            return Err(RiskReject::Quantity);
        }
        let market = reference.price_for(side).ok_or(RiskReject::NoReference)?;
        if order_type == OrderType::Limit && !self.within_collar(price, market) {
            return Err(RiskReject::PriceCollar);
        }
        if self.open_orders >= self.limits.open_orders_max {
            return Err(RiskReject::OpenOrders);
        }
        let open = self.open_lots[side.index()].0;
        let held = self.position.0.saturating_mul(side.sign());
        let worst = held.saturating_add(open).saturating_add(lots.0);
        if worst > self.limits.position_lots_max.0 {
            return Err(RiskReject::Position);
        }
        if !self.throttle.take(now) {
            return Err(RiskReject::Rate);
        }
        self.open_lots[side.index()] = Lots(open.saturating_add(lots.0));
        self.open_orders += 1;
        Ok(())
    }

    /// A part of an open order traded.
    pub const fn filled(&mut self, side: Side, lots: Lots) {
        self.position = Lots(self.position.0.saturating_add(lots.0.saturating_mul(side.sign())));
        let open = self.open_lots[side.index()].0.saturating_sub(lots.0);
        self.open_lots[side.index()] = Lots(open);
    }

    /// An open order ended with this much of it not traded.
    pub const fn closed(&mut self, side: Side, lots_left: Lots) {
        let open = self.open_lots[side.index()].0.saturating_sub(lots_left.0);
        self.open_lots[side.index()] = Lots(open);
        self.open_orders = self.open_orders.saturating_sub(1);
    }

    /// Whether an order may be so large.
    #[must_use]
    pub fn allows(&self, lots: Lots) -> bool {
        lots > Lots::ZERO && lots <= self.limits.lots_max
    }

    /// Some was bought or sold, or less than zero taken back.
    pub const fn traded(&mut self, side: Side, lots: Lots) {
        self.position = Lots(self.position.0.saturating_add(lots.0.saturating_mul(side.sign())));
    }

    /// So much more of an order may trade, or less; and how many orders more are open, or less.
    pub const fn open_changed(&mut self, side: Side, lots: Lots, orders: i32) {
        let open = self.open_lots[side.index()].0.saturating_add(lots.0);
        self.open_lots[side.index()] = Lots(open);
        self.open_orders = self.open_orders.saturating_add_signed(orders);
    }

    /// Stops all new orders, until [`Risk::revive`].
    pub const fn kill(&mut self) {
        self.killed = true;
    }

    /// Lets new orders pass again.
    pub const fn revive(&mut self) {
        self.killed = false;
    }

    /// The position: bought less sold.
    #[must_use]
    pub const fn position(&self) -> Lots {
        self.position
    }

    /// Open quantity of a side.
    #[must_use]
    pub const fn open_lots(&self, side: Side) -> Lots {
        self.open_lots[side.index()]
    }

    /// |price - market| * 10^6 <= market * ppm, in 128 bits so that nothing overflows.
    fn within_collar(&self, price: Price, market: Price) -> bool {
        let distance = i128::from(price.0) - i128::from(market.0);
        let allowed = i128::from(market.0) * i128::from(self.limits.collar_ppm);
        price.0 > 0 && distance.abs() * 1_000_000 <= allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: RiskLimits = RiskLimits {
        collar_ppm: 10_000,
        lots_max: Lots(100),
        position_lots_max: Lots(150),
        orders_per_second: 10,
        orders_burst: 3,
        open_orders_max: 2,
    };
    const MARKET: Reference =
        Reference { bid: Some(Price(99 * Price::SCALE)), ask: Some(Price(100 * Price::SCALE)) };

    fn buy(risk: &mut Risk, price: i64, lots: i64) -> Result<(), RiskReject> {
        let price = Price(price * Price::SCALE);
        risk.check(Nanos::ZERO, Side::Buy, OrderType::Limit, price, Lots(lots), MARKET)
    }

    #[test]
    fn each_limit_refuses_with_its_own_reason() {
        let mut risk = Risk::new(LIMITS, Nanos::ZERO);
        assert_eq!(buy(&mut risk, 100, 0), Err(RiskReject::Quantity));
        assert_eq!(buy(&mut risk, 100, 101), Err(RiskReject::Quantity));
        assert_eq!(buy(&mut risk, 102, 1), Err(RiskReject::PriceCollar));
        assert_eq!(buy(&mut risk, 98, 1), Err(RiskReject::PriceCollar));
        assert_eq!(buy(&mut risk, -100, 1), Err(RiskReject::PriceCollar));
        let nothing = Reference::default();
        let (price, lots) = (Price(1), Lots(1));
        let blind = risk.check(Nanos::ZERO, Side::Buy, OrderType::Limit, price, lots, nothing);
        assert_eq!(blind, Err(RiskReject::NoReference));
        assert_eq!(buy(&mut risk, 101, 100), Ok(()));
        assert_eq!(buy(&mut risk, 100, 51), Err(RiskReject::Position));
        assert_eq!(buy(&mut risk, 100, 50), Ok(()));
        assert_eq!(buy(&mut risk, 100, 1), Err(RiskReject::OpenOrders));
        risk.closed(Side::Buy, Lots(50));
        assert_eq!(buy(&mut risk, 100, 1), Ok(()));
        risk.closed(Side::Buy, Lots(1));
        assert_eq!(buy(&mut risk, 100, 1), Err(RiskReject::Rate));
        risk.kill();
        assert_eq!(buy(&mut risk, 100, 1), Err(RiskReject::Killed));
        risk.revive();
    }

    #[test]
    fn fills_move_the_position_and_free_the_other_side() {
        let mut risk = Risk::new(LIMITS, Nanos::ZERO);
        assert_eq!(buy(&mut risk, 100, 100), Ok(()));
        risk.filled(Side::Buy, Lots(100));
        risk.closed(Side::Buy, Lots::ZERO);
        assert_eq!((risk.position(), risk.open_lots(Side::Buy)), (Lots(100), Lots::ZERO));
        assert_eq!(buy(&mut risk, 100, 51), Err(RiskReject::Position));
        let sell = |risk: &mut Risk, lots| {
            let price = Price(99 * Price::SCALE);
            risk.check(Nanos::ZERO, Side::Sell, OrderType::Limit, price, Lots(lots), MARKET)
        };
        assert_eq!(sell(&mut risk, 100), Ok(()));
        risk.filled(Side::Sell, Lots(100));
        assert_eq!(risk.position(), Lots::ZERO);
    }

    #[test]
    fn extreme_prices_do_not_overflow() {
        let mut risk = Risk::new(RiskLimits { collar_ppm: u32::MAX, ..LIMITS }, Nanos::ZERO);
        let extreme = Reference { bid: Some(Price(i64::MIN)), ask: Some(Price(i64::MAX)) };
        for price in [i64::MIN, -1, 0, i64::MAX] {
            for side in Side::BOTH {
                let order = (OrderType::Limit, Price(price), Lots(1));
                let _ = risk.check(Nanos::ZERO, side, order.0, order.1, order.2, extreme);
            }
        }
    }
}
