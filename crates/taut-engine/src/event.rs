//! What an engine tells.

use taut_types::{HalfTicks, Lots, Nanos, OrderId, Side};

use crate::command::Phase;

/// Something that happened. Prices are the order's own, except a trade's, which is the maker's (or
/// the auction's).
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
        /// The order that stood in the book; in an auction the sell order.
        maker: OrderId,
        /// The order that came; in an auction the buy order.
        taker: OrderId,
        /// Whose the maker is.
        maker_owner: u32,
        /// Whose the taker is.
        taker_owner: u32,
        /// The maker's price, or the auction's.
        price: HalfTicks,
        /// How much traded.
        lots: Lots,
        /// What is left of the maker, displayed or not; zero says that it has left the book.
        maker_remaining: Lots,
        /// What is left of the taker.
        taker_remaining: Lots,
        /// The taker's side; in an auction `Buy`.
        aggressor: Side,
        /// Whether the maker was not displayed.
        hidden: bool,
        /// Whether the taker, too, stood in the displayed book: only in an auction.
        taker_rested: bool,
    },
    /// What was left of an order now stands at the end of its level's queue.
    Rested {
        /// The order.
        order_id: OrderId,
        /// Its side.
        side: Side,
        /// Its price.
        price: HalfTicks,
        /// What is displayed of it; of a hidden order, all that was left.
        lots: Lots,
        /// Whether it is not displayed.
        hidden: bool,
    },
    /// An order waits elsewhere than in the book.
    Held {
        /// The order.
        order_id: OrderId,
        /// For what.
        until: HeldUntil,
    },
    /// A waiting order has become active.
    Triggered {
        /// The order.
        order_id: OrderId,
    },
    /// An iceberg displays its next part, at the end of its level's queue.
    Refreshed {
        /// The order.
        order_id: OrderId,
        /// Its side.
        side: Side,
        /// Its price.
        price: HalfTicks,
        /// What is displayed of it.
        lots: Lots,
    },
    /// The price of a pegged order, or the trigger price of a trailing stop, has followed the
    /// market.
    Repriced {
        /// The order.
        order_id: OrderId,
        /// Its side.
        side: Side,
        /// The price now.
        price: HalfTicks,
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
        /// Whether it stood in the displayed book.
        was_resting: bool,
    },
    /// A waiting order has become smaller and kept its place.
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
        /// What is left, displayed or not, more than zero.
        remaining: Lots,
        /// What is displayed of it now.
        displayed: Lots,
    },
    /// A waiting order has new terms. What follows is told as for a new order, unless it kept its
    /// place.
    Replaced {
        /// The order.
        order_id: OrderId,
        /// Whose it is.
        owner: u32,
        /// Its side.
        side: Side,
        /// Its price.
        price: HalfTicks,
        /// What is open of it; after [`Requeue`](crate::ReplaceMode::Requeue), what was asked for.
        lots: Lots,
        /// What is displayed of it, if it kept its place in the displayed book.
        displayed: Lots,
        /// Whether it kept its place.
        kept_priority: bool,
        /// Whether it stood in the displayed book before.
        was_resting: bool,
    },
    /// A cancel or a reduce has been refused, and nothing else happened.
    CancelRejected {
        /// The order it named.
        order_id: OrderId,
        /// Why.
        reason: RejectReason,
    },
    /// A replace has been refused, and nothing else happened.
    ReplaceRejected {
        /// The order it named.
        order_id: OrderId,
        /// Why.
        reason: RejectReason,
    },
    /// Two orders of one account or group met and both became smaller instead of trading.
    Prevented {
        /// The order that stood in the book.
        maker: OrderId,
        /// The order that came.
        taker: OrderId,
        /// The maker's price.
        price: HalfTicks,
        /// By how much.
        lots: Lots,
        /// What is left of the maker; zero says that it has left the book.
        maker_remaining: Lots,
        /// What is left of the taker.
        taker_remaining: Lots,
        /// Whether the quantity passes between two accounts of a group.
        transfer: bool,
        /// Whether the maker was not displayed.
        hidden: bool,
    },
    /// A mass cancel, or a cancel on disconnect, has been carried out; the cancels follow.
    MassCancelled {
        /// How many orders.
        count: u32,
    },
    /// The time is known; what has expired follows.
    Clock {
        /// The time.
        now: Nanos,
    },
    /// The phase of the trading day.
    Phase {
        /// The phase now.
        phase: Phase,
    },
    /// What an auction would come to if it ended now; without volume there is no price.
    Indicative {
        /// The price.
        price: HalfTicks,
        /// The volume.
        lots: Lots,
        /// What would be left at the price: of buys if positive, of sells if negative.
        surplus: i64,
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

/// What an order waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum HeldUntil {
    /// A trade at its trigger price.
    Trigger = 0,
    /// A market to which it can be pegged.
    Market = 1,
    /// An auction.
    Auction = 2,
}

/// Why a command was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum RejectReason {
    /// The quantity is not more than zero.
    NonPositiveLots = 0,
    /// A limit price is not positive, or is not on a tick.
    BadPrice = 1,
    /// A waiting order has this id.
    DuplicateOrderId = 2,
    /// No waiting order has this id.
    UnknownOrderId = 3,
    /// What would be left of the order after its trades would not fit: all orders or all levels of
    /// its side are in use, or its level's quantity would exceed 2^63 - 1 lots. It has not traded.
    BookFull = 4,
    /// A trigger price is not positive, or is not on a tick.
    BadTrigger = 5,
    /// A trailing stop's distance is not positive.
    BadDistance = 6,
    /// The displayed quantity is not between a thousandth and the whole.
    BadDisplay = 7,
    /// The minimum quantity is not between one and the whole.
    BadMinimum = 8,
    /// Two of its terms contradict each other.
    Conflict = 9,
    /// Its time has passed.
    Expired = 10,
    /// A post-only order would trade.
    WouldTrade = 11,
    /// The price is further from the last trade than the rules allow.
    PriceBand = 12,
    /// Trading is halted.
    Halted = 13,
    /// The day is over.
    Closed = 14,
    /// Orders are collected for an auction, which this order cannot wait for; or it is meant for
    /// an auction that is over.
    NotInThisPhase = 15,
    /// A replace names the other side.
    WrongSide = 16,
}

impl RejectReason {
    /// How many there are.
    pub const COUNT: usize = 17;
}

/// Why an order, or what was left of it, was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum CancelReason {
    /// A command asked for it.
    Requested = 0,
    /// The remainder of an immediate-or-cancel or market order.
    Remainder = 1,
    /// A fill-or-kill order that could not be filled.
    FillOrKill = 2,
    /// Its minimum quantity could not trade at once.
    Minimum = 3,
    /// It met an order of its own account or group.
    SelfTrade = 4,
    /// A mass cancel.
    MassCancel = 5,
    /// Its session has lost its connection.
    Disconnect = 6,
    /// Its time has passed, or its day is over.
    Expired = 7,
    /// Its auction is over.
    AuctionOver = 8,
    /// It became active, or smaller, and what is left of it finds no room in the book.
    BookFull = 9,
}

impl CancelReason {
    /// How many there are.
    pub const COUNT: usize = 10;
}

/// Who receives the events, in order. Every `FnMut(Event)` does.
pub trait EventSink {
    /// Takes one event.
    fn on_event(&mut self, event: Event);
}

impl<F: FnMut(Event)> EventSink for F {
    #[inline(always)]
    fn on_event(&mut self, event: Event) {
        self(event);
    }
}
