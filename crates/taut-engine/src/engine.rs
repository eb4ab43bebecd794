//! The engine: one book, and the rules by which commands change it.

use alloc::vec::Vec;

use taut_book::{Level, Order, OrderBook, Removal};
use taut_types::{HalfTicks, Lots, OrderId, Side, TimeInForce};

use crate::admission::{admit, is_fillable, is_marketable, remainder_fits};
use crate::{CancelReason, Command, Event, EventSink, NewOrder, RejectReason};

/// How much memory an engine reserves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineConfig {
    /// Resting orders, up to 2^32 - 2.
    pub order_capacity: usize,
    /// Price levels on each side.
    pub level_capacity: usize,
}

/// A price-time matching engine for one instrument.
#[derive(Clone, Debug)]
pub struct Engine {
    book: OrderBook,
    trade_count: u64,
    /// The levels that the current command has swept, best first; their events come last. It never
    /// holds more than a side has levels.
    swept: Vec<Level<HalfTicks>>,
}

impl Engine {
    /// An engine with an empty book.
    #[must_use]
    pub fn new(config: EngineConfig) -> Self {
        Self {
            book: OrderBook::with_capacity(config.order_capacity, config.level_capacity),
            trade_count: 0,
            swept: Vec::with_capacity(config.level_capacity),
        }
    }

    /// The book. Its orders, level by level, are the snapshot of a market-by-order feed; its levels
    /// that of a market-by-price feed.
    #[must_use]
    pub const fn book(&self) -> &OrderBook {
        &self.book
    }

    /// How many trades there have been: the last trade's id.
    #[must_use]
    pub const fn trade_count(&self) -> u64 {
        self.trade_count
    }

    /// Executes one command to its end and tells the sink what happened.
    pub fn execute(&mut self, command: Command, sink: &mut impl EventSink) {
        match command {
            Command::New(order) => self.enter(&order, sink),
            Command::Cancel { order_id } => self.cancel(order_id, sink),
            Command::Reduce { order_id, by } => self.reduce(order_id, by, sink),
        }
    }

    fn enter(&mut self, order: &NewOrder, sink: &mut impl EventSink) {
        let outcome = match admit(&self.book, order) {
            Err(reason) => Err(reason),
            Ok(()) if is_marketable(&self.book, order) => self.enter_marketable(order, sink),
            Ok(()) => self.enter_passive(order, sink),
        };
        if let Err(reason) = outcome {
            let NewOrder { order_id, owner, .. } = *order;
            sink.on_event(Event::Rejected { order_id, owner, reason });
        }
    }

    /// An order with nothing to trade against: it rests or is cancelled. The book itself says
    /// whether there is room.
    fn enter_passive(
        &mut self,
        order: &NewOrder,
        sink: &mut impl EventSink,
    ) -> Result<(), RejectReason> {
        if !order.may_rest() {
            sink.on_event(accepted(order));
            sink.on_event(remainder_cancelled(order, order.lots));
            return Ok(());
        }
        let level =
            self.book.add(resting(order, order.lots)).map_err(|_| RejectReason::BookFull)?;
        sink.on_event(accepted(order));
        sink.on_event(rested(order, order.lots));
        sink.on_event(level_event(order.side, level));
        Ok(())
    }

    /// An order that the other side's best price meets.
    fn enter_marketable(
        &mut self,
        order: &NewOrder,
        sink: &mut impl EventSink,
    ) -> Result<(), RejectReason> {
        if order.may_rest() && !remainder_fits(&self.book, order) {
            return Err(RejectReason::BookFull);
        }
        sink.on_event(accepted(order));
        if order.time_in_force == TimeInForce::FillOrKill && !is_fillable(&self.book, order) {
            sink.on_event(remainder_cancelled(order, order.lots));
            return Ok(());
        }
        let remaining = self.sweep(order, sink);
        let mut rested_on = None;
        if remaining > Lots::ZERO {
            if order.may_rest() {
                rested_on = self.book.add(resting(order, remaining)).ok();
                debug_assert!(rested_on.is_some(), "the room was checked");
                sink.on_event(rested(order, remaining));
            } else {
                sink.on_event(remainder_cancelled(order, remaining));
            }
        }
        for &level in &self.swept {
            sink.on_event(level_event(order.side.opposite(), level));
        }
        if let Some(level) = rested_on {
            sink.on_event(level_event(order.side, level));
        }
        Ok(())
    }

    /// Trades the order against the other side as far as its limit allows; returns what is left.
    fn sweep(&mut self, taker: &NewOrder, sink: &mut impl EventSink) -> Lots {
        let makers = taker.side.opposite();
        let mut remaining = taker.lots;
        self.swept.clear();
        while self.book.best_price(makers).is_some_and(|best| taker.crosses(best)) {
            let Some(fill) = self.book.take_best(makers, remaining) else { break };
            remaining.0 -= fill.lots.0;
            self.trade_count += 1;
            sink.on_event(trade(self.trade_count, taker, &fill, remaining));
            match self.swept.last_mut() {
                Some(level) if level.price == fill.level.price => *level = fill.level,
                _ => self.swept.push(fill.level),
            }
        }
        remaining
    }

    fn cancel(&mut self, order_id: OrderId, sink: &mut impl EventSink) {
        match self.book.remove(order_id) {
            Ok(removal) => removed(&removal, sink),
            Err(_) => {
                let reason = RejectReason::UnknownOrderId;
                sink.on_event(Event::CancelRejected { order_id, reason });
            }
        }
    }

    fn reduce(&mut self, order_id: OrderId, by: Lots, sink: &mut impl EventSink) {
        if by <= Lots::ZERO {
            let reason = RejectReason::NonPositiveLots;
            return sink.on_event(Event::CancelRejected { order_id, reason });
        }
        match self.book.reduce(order_id, by) {
            Ok(removal) => removed(&removal, sink),
            Err(_) => {
                let reason = RejectReason::UnknownOrderId;
                sink.on_event(Event::CancelRejected { order_id, reason });
            }
        }
    }
}

/// Tells that quantity was taken off a resting order at its owner's request.
fn removed(removal: &Removal, sink: &mut impl EventSink) {
    let Order { id: order_id, owner, side, price, lots: remaining } = removal.order;
    sink.on_event(if remaining == Lots::ZERO {
        Event::Cancelled {
            order_id,
            owner,
            side,
            price,
            lots: removal.lots,
            reason: CancelReason::Requested,
            was_resting: true,
        }
    } else {
        Event::Reduced { order_id, owner, side, price, by: removal.lots, remaining }
    });
    sink.on_event(level_event(side, removal.level));
}

const fn resting(order: &NewOrder, lots: Lots) -> Order {
    let NewOrder { order_id: id, owner, side, price, .. } = *order;
    Order { id, owner, side, price, lots }
}

const fn accepted(order: &NewOrder) -> Event {
    let NewOrder { order_id, owner, side, price, lots, .. } = *order;
    Event::Accepted { order_id, owner, side, price, lots }
}

const fn rested(order: &NewOrder, lots: Lots) -> Event {
    let NewOrder { order_id, side, price, .. } = *order;
    Event::Rested { order_id, side, price, lots }
}

const fn remainder_cancelled(order: &NewOrder, lots: Lots) -> Event {
    let NewOrder { order_id, owner, side, price, .. } = *order;
    let reason = match order.time_in_force {
        TimeInForce::FillOrKill => CancelReason::FillOrKill,
        _ => CancelReason::Remainder,
    };
    Event::Cancelled { order_id, owner, side, price, lots, reason, was_resting: false }
}

const fn trade(trade_id: u64, taker: &NewOrder, fill: &Removal, taker_remaining: Lots) -> Event {
    Event::Trade {
        trade_id,
        maker: fill.order.id,
        taker: taker.order_id,
        maker_owner: fill.order.owner,
        taker_owner: taker.owner,
        price: fill.order.price,
        lots: fill.lots,
        maker_remaining: fill.order.lots,
        taker_remaining,
        aggressor: taker.side,
    }
}

const fn level_event(side: Side, level: Level<HalfTicks>) -> Event {
    Event::Level { side, price: level.price, lots: level.lots, order_count: level.order_count }
}
