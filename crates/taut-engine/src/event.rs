//! What an engine tells.

use taut_types::{HalfTicks, Lots, OrderId, Side};

/// Something that happened. Prices are the order's own, except a trade's, which is the maker's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// An order has been taken in; what becomes of it follows.
    Accepted {
        /// The order.
        order_id: OrderId,
        /// Whose it is.
        owner: u32,
        /// Its side.
        side: Side,
        /// Its price.
        price: HalfTicks,
        /// Its whole quantity.
        lots: Lots,
    },
    /// An order has been refused, and nothing else happened.
    Rejected {
        /// The order.
        order_id: OrderId,
        /// Whose it is.
        owner: u32,
        /// Why.
        reason: RejectReason,
    },
    /// Two orders have traded.
    Trade {
        /// Its number; the first is 1.
        trade_id: u64,
        /// The order that stood in the book.
        maker: OrderId,
        /// The order that came.
        taker: OrderId,
        /// Whose the maker is.
        maker_owner: u32,
        /// Whose the taker is.
        taker_owner: u32,
        /// The maker's price.
        price: HalfTicks,
        /// How much traded.
        lots: Lots,
        /// What is left of the maker; zero says that it has left the book.
        maker_remaining: Lots,
        /// What is left of the taker.
        taker_remaining: Lots,
        /// The taker's side.
        aggressor: Side,
    },
    /// What was left of an order now stands at the end of its level's queue.
    Rested {
        /// The order.
        order_id: OrderId,
        /// Its side.
        side: Side,
        /// Its price.
        price: HalfTicks,
        /// What was left.
        lots: Lots,
    },
    /// What was left of an order is no more.
    Cancelled {
        /// The order.
        order_id: OrderId,
        /// Whose it is.
        owner: u32,
        /// Its side.
        side: Side,
        /// Its price.
        price: HalfTicks,
        /// How much was taken away.
        lots: Lots,
        /// Why.
        reason: CancelReason,
        /// Whether it stood in the book.
        was_resting: bool,
    },
    /// A resting order has become smaller and kept its place.
    Reduced {
        /// The order.
        order_id: OrderId,
        /// Whose it is.
        owner: u32,
        /// Its side.
        side: Side,
        /// Its price.
        price: HalfTicks,
        /// How much was taken away.
        by: Lots,
        /// What is left, more than zero.
        remaining: Lots,
    },
    /// A cancel or a reduce has been refused, and nothing else happened.
    CancelRejected {
        /// The order it named.
        order_id: OrderId,
        /// Why.
        reason: RejectReason,
    },
    /// A price level's total has changed.
    Level {
        /// The side.
        side: Side,
        /// The price.
        price: HalfTicks,
        /// The total now; zero says that the level is gone.
        lots: Lots,
        /// The number of orders now.
        order_count: u32,
    },
}

/// Why a command was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RejectReason {
    /// The quantity is not more than zero.
    NonPositiveLots,
    /// A limit price is not positive, or is not on a tick.
    BadPrice,
    /// A resting order has this id.
    DuplicateOrderId,
    /// No resting order has this id.
    UnknownOrderId,
    /// What would be left of the order after its trades would not fit: all orders or all levels of
    /// its side are in use, or its level's quantity would exceed 2^63 - 1 lots. It has not traded.
    BookFull,
}

/// Why an order, or what was left of it, was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CancelReason {
    /// A command asked for it.
    Requested,
    /// The remainder of an immediate-or-cancel or market order.
    Remainder,
    /// A fill-or-kill order that could not be filled.
    FillOrKill,
}

/// Who receives the events, in order. Every `FnMut(Event)` does.
pub trait EventSink {
    /// Takes one event.
    fn on_event(&mut self, event: Event);
}

impl<F: FnMut(Event)> EventSink for F {
    fn on_event(&mut self, event: Event) {
        self(event);
    }
}
