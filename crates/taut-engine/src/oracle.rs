//! The slow, obvious twin of the engine: it tries an order on a copy of a book without limits,
//! looks what came of it, and keeps the copy or forgets it. Tests compare the events.

use alloc::vec;
use alloc::vec::Vec;

use taut_book::oracle::NaiveOrderBook;
use taut_book::{BookError, Order};
use taut_types::{Lots, OrderId, OrderType, Side, TimeInForce};

use crate::{CancelReason, Command, EngineConfig, Event, NewOrder, RejectReason};

/// The twin of [`Engine`](crate::Engine).
#[derive(Clone, Debug)]
pub struct NaiveEngine {
    config: EngineConfig,
    book: NaiveOrderBook,
    trade_count: u64,
}

impl NaiveEngine {
    /// An engine with an empty book.
    #[must_use]
    pub fn new(config: EngineConfig) -> Self {
        let book = NaiveOrderBook::with_capacity(usize::MAX, usize::MAX);
        Self { config, book, trade_count: 0 }
    }

    /// The book.
    #[must_use]
    pub const fn book(&self) -> &NaiveOrderBook {
        &self.book
    }

    /// Executes one command and returns its events.
    pub fn execute(&mut self, command: Command) -> Vec<Event> {
        let before = self.book.clone();
        let (mut events, own_side) = match command {
            Command::New(order) => (self.enter(&order), order.side),
            Command::Cancel { order_id } => self.take(order_id, Lots(i64::MAX)),
            Command::Reduce { order_id, by } => self.take(order_id, by),
        };
        for side in [own_side.opposite(), own_side] {
            events.extend(changed_levels(&before, &self.book, side));
        }
        events
    }

    fn enter(&mut self, order: &NewOrder) -> Vec<Event> {
        let NewOrder { order_id, owner, side, price, lots, .. } = *order;
        let rejected = |reason| vec![Event::Rejected { order_id, owner, reason }];
        if lots <= Lots::ZERO {
            return rejected(RejectReason::NonPositiveLots);
        }
        if order.order_type == OrderType::Limit && (price.0 < 2 || price.0 % 2 == 1) {
            return rejected(RejectReason::BadPrice);
        }
        if self.book.order(order_id).is_some() {
            return rejected(RejectReason::DuplicateOrderId);
        }
        let mut trial = self.clone();
        let mut events = vec![Event::Accepted { order_id, owner, side, price, lots }];
        let remaining = trial.sweep(order, &mut events);
        let cancelled = |lots, reason| {
            let was_resting = false;
            Event::Cancelled { order_id, owner, side, price, lots, reason, was_resting }
        };
        if remaining > Lots::ZERO && order.time_in_force == TimeInForce::FillOrKill {
            return vec![events[0], cancelled(lots, CancelReason::FillOrKill)];
        }
        if remaining > Lots::ZERO {
            if order.order_type == OrderType::Market
                || order.time_in_force == TimeInForce::ImmediateOrCancel
            {
                events.push(cancelled(remaining, CancelReason::Remainder));
            } else {
                let resting = Order { id: order_id, owner, side, price, lots: remaining };
                let added = trial.book.add(resting);
                if added.is_err()
                    || trial.book.order_count() > self.config.order_capacity
                    || trial.book.level_count(side) > self.config.level_capacity
                {
                    return rejected(RejectReason::BookFull);
                }
                events.push(Event::Rested { order_id, side, price, lots: remaining });
            }
        }
        *self = trial;
        events
    }

    fn sweep(&mut self, taker: &NewOrder, events: &mut Vec<Event>) -> Lots {
        let mut remaining = taker.lots;
        while remaining > Lots::ZERO {
            let makers = self.book.orders(taker.side.opposite());
            let Some(maker) = makers.first() else { break };
            let in_limit = match (taker.order_type, taker.side) {
                (OrderType::Market, _) => true,
                (OrderType::Limit, Side::Buy) => maker.price <= taker.price,
                (OrderType::Limit, Side::Sell) => maker.price >= taker.price,
            };
            if !in_limit {
                break;
            }
            let lots = maker.lots.min(remaining);
            remaining = Lots(remaining.0 - lots.0);
            self.trade_count += 1;
            events.push(Event::Trade {
                trade_id: self.trade_count,
                maker: maker.id,
                taker: taker.order_id,
                maker_owner: maker.owner,
                taker_owner: taker.owner,
                price: maker.price,
                lots,
                maker_remaining: Lots(maker.lots.0 - lots.0),
                taker_remaining: remaining,
                aggressor: taker.side,
            });
            let _ = self.book.reduce(maker.id, lots);
        }
        remaining
    }

    fn take(&mut self, order_id: OrderId, by: Lots) -> (Vec<Event>, Side) {
        let removal = match self.book.reduce(order_id, by) {
            Ok(removal) => removal,
            Err(error) => {
                let reason = match error {
                    BookError::BadLots => RejectReason::NonPositiveLots,
                    _ => RejectReason::UnknownOrderId,
                };
                return (vec![Event::CancelRejected { order_id, reason }], Side::Buy);
            }
        };
        let Order { owner, side, price, lots: remaining, .. } = removal.order;
        let lots = removal.lots;
        let event = if remaining > Lots::ZERO {
            Event::Reduced { order_id, owner, side, price, by: lots, remaining }
        } else {
            let reason = CancelReason::Requested;
            Event::Cancelled { order_id, owner, side, price, lots, reason, was_resting: true }
        };
        (vec![event], side)
    }
}

/// The levels of a side that are not what they were, best first.
fn changed_levels(before: &NaiveOrderBook, after: &NaiveOrderBook, side: Side) -> Vec<Event> {
    let mut prices: Vec<_> =
        before.levels(side).iter().chain(&after.levels(side)).map(|level| level.price).collect();
    prices.sort();
    prices.dedup();
    if side == Side::Buy {
        prices.reverse();
    }
    prices.retain(|&price| before.level_at(side, price) != after.level_at(side, price));
    let levels = prices.into_iter().map(|price| after.level_at(side, price));
    levels
        .map(|level| Event::Level {
            side,
            price: level.price,
            lots: level.lots,
            order_count: level.order_count,
        })
        .collect()
}
