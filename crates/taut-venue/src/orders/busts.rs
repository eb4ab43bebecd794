//! Trades of orders that are taken back.

use taut_fix::OrdStatus;
use taut_types::{Lots, Price};

use super::{ClientOrders, DoneOrder, Known, Left};
use crate::trades::{ClientTrade, Part};

impl ClientOrders {
    /// A client's part of a trade is taken back: its position, and what its order has traded. One
    /// that is open asks for so much less; one that was filled counts as cancelled.
    pub fn take_back(&mut self, trade: &ClientTrade, part: &Part) -> Left {
        let (lots, side) = (trade.lots, part.side.opposite());
        self.holdings.traded(part.client, part.account, trade.place, side, lots);
        if let Some(order) = self.open.get_mut(&part.order_id) {
            order.traded.0 -= lots.0;
            order.busted.0 += lots.0;
            order.notional -= i128::from(trade.price.0).saturating_mul(i128::from(lots.0));
            return Left {
                cl_ord_id: order.cl_ord_id,
                status: order.status(),
                order_lots: Some(order.order_lots()),
                open_lots: order.open_lots(),
                traded: order.traded,
                avg_price: order.avg_price(),
            };
        }
        let mut found = None;
        let mut take = |done: &mut DoneOrder| {
            if done.order_id == part.order_id {
                done.take_back(trade.price, lots);
                found = Some(*done);
            }
        };
        if let Some(known) = self.known.get_mut(part.client.0) {
            for known in known.values_mut() {
                if let Known::Done(done) = known {
                    take(done);
                }
            }
        }
        if let Some(earlier) = self.earlier.get_mut(part.client.0) {
            earlier.values_mut().for_each(&mut take);
        }
        if let Some((_, done)) = self.renamed.get_mut(&part.order_id) {
            take(done);
        }
        Left {
            cl_ord_id: part.cl_ord_id,
            status: found.map_or(OrdStatus::Canceled, |done| done.status),
            order_lots: found.map(|done| done.lots),
            open_lots: Lots::ZERO,
            traded: found.map_or(Lots::ZERO, |done| done.traded),
            avg_price: found.map_or(Price(0), |done| done.avg_price),
        }
    }
}

impl DoneOrder {
    fn take_back(&mut self, price: Price, lots: Lots) {
        let worth = |price: Price, lots: i64| i128::from(price.0) * i128::from(lots);
        let left = self.traded.0 - lots.0;
        let notional = worth(self.avg_price, self.traded.0) - worth(price, lots.0);
        self.avg_price = match left {
            ..=0 => Price(0),
            _ => {
                let left = i128::from(left);
                let rounded = (notional + left / 2).div_euclid(left);
                Price(i64::try_from(rounded).unwrap_or(i64::MAX))
            }
        };
        self.traded = Lots(left.max(0));
        if self.status == OrdStatus::Filled {
            self.status = OrdStatus::Canceled;
        }
    }
}
