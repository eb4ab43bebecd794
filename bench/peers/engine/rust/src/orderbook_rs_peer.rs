//! orderbook-rs 0.15.3: `OrderBook<()>`, without listeners, risk layer, fees or self-trade
//! prevention; sequential ids; the result of each order is taken from the call. An order that
//! trades in part and may not rest is an error to it, which carries the trades.

use orderbook_rs::OrderBook;
use pricelevel::{Hash32, Id, OrderType, Price, Quantity, Side, TimeInForce};

use crate::Peer;
use crate::flow::{Kind, Operation, Trades};

pub struct OrderbookRs {
    book: OrderBook<()>,
    operations: Vec<Operation>,
}

impl OrderbookRs {
    pub fn new() -> Self {
        Self { book: OrderBook::new("X"), operations: Vec::new() }
    }
}

impl Peer for OrderbookRs {
    fn decode(&mut self, operations: &[Operation]) {
        self.operations = operations.to_vec();
    }

    fn execute(&mut self, trades: &mut impl Trades) {
        for operation in &self.operations {
            let id = Id::Sequential(operation.id);
            let time_in_force = match operation.kind {
                Kind::Cancel => {
                    let _ = self.book.cancel_order(id);
                    continue;
                }
                Kind::Add => TimeInForce::Gtc,
                Kind::ImmediateOrCancel => TimeInForce::Ioc,
            };
            let side = if operation.is_sell { Side::Sell } else { Side::Buy };
            let order = OrderType::Standard {
                id,
                price: Price::new(operation.price.into()),
                quantity: Quantity::new(operation.quantity.into()),
                side,
                user_id: Hash32::zero(),
                timestamp: self.book.clock().now_millis(),
                time_in_force,
                extra_fields: (),
            };
            let result = match self.book.add_order_with_committed(order) {
                Ok((_, Some(result))) => result,
                Ok((_, None)) => continue,
                Err(failure) => match failure.committed {
                    Some(result) => *result,
                    None => continue,
                },
            };
            for trade in result.match_result.trades().as_vec() {
                let (Id::Sequential(maker), Id::Sequential(taker)) =
                    (trade.maker_order_id(), trade.taker_order_id())
                else {
                    continue;
                };
                let (price, quantity) = (trade.price().as_u128(), trade.quantity().as_u64());
                trades.trade(maker, taker, price as u64, quantity);
            }
        }
    }
}
