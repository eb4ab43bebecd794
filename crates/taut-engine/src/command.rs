//! What an engine is asked to do.

use taut_types::{HalfTicks, Lots, Nanos, OrderId, Side};

use crate::order::NewOrder;

/// A command to an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Command {
    /// Enters an order.
    New(NewOrder),
    /// Takes a waiting order out.
    Cancel {
        /// Which.
        order_id: OrderId,
    },
    /// Takes quantity off a waiting order, which keeps its place in the queue; all that it has or
    /// more cancels it.
    Reduce {
        /// Which.
        order_id: OrderId,
        /// How much.
        by: Lots,
    },
    /// Gives a waiting order new terms.
    Replace {
        /// The order as it shall be; its id says which.
        order: NewOrder,
        /// What its quantity means, and whether it can keep its place.
        mode: ReplaceMode,
    },
    /// Cancels every waiting order that matches.
    MassCancel(MassCancel),
    /// Cancels every waiting order of a session that has lost its connection.
    Disconnect {
        /// The session.
        session: u32,
    },
    /// Tells the time; what has expired by then is cancelled. Time that goes back is ignored.
    Clock {
        /// The time, on the clock of the orders' expiries.
        now: Nanos,
    },
    /// Opens or ends a phase of the trading day.
    SetPhase(Phase),
}

/// How an order is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ReplaceMode {
    /// As CME does. The new quantity is the order's total, what it has traded included (in-flight
    /// mitigation: a fill that crosses the replace on its way does not make the order larger); a
    /// total that has traded already cancels the rest. The order keeps its place unless its
    /// account, price, type, trigger, display or minimum quantity changes or its quantity grows.
    InFlight = 0,
    /// As a cancel followed by a new order that keeps its side: the quantity is what shall be
    /// open, the order goes to the end of its queue, and the answer follows the trades.
    Requeue = 1,
}

/// Which orders a mass cancel takes; what is absent does not restrict it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MassCancel {
    /// Those of this account.
    pub owner: Option<u32>,
    /// Those of this side.
    pub side: Option<Side>,
    /// Those of this session.
    pub session: Option<u32>,
}

/// A phase of the trading day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Phase {
    /// Orders come and go and trade at once.
    #[default]
    Continuous = 0,
    /// Orders are collected.
    PreOpen = 1,
    /// Orders are collected, and each command tells the price and volume that they come to.
    OpeningAuction = 2,
    /// Trading has stopped; orders can be cancelled.
    Halted = 3,
    /// As the opening auction, after a price moved too far.
    VolatilityAuction = 4,
    /// As the opening auction, with the orders that are meant for the close.
    ClosingAuction = 5,
    /// The day is over; orders can be cancelled.
    Closed = 6,
}

impl Phase {
    /// Whether orders are collected without trading.
    #[must_use]
    pub const fn is_call(self) -> bool {
        matches!(
            self,
            Self::PreOpen | Self::OpeningAuction | Self::VolatilityAuction | Self::ClosingAuction
        )
    }

    /// Whether each command tells the indicative price and volume.
    #[must_use]
    pub const fn is_auction(self) -> bool {
        matches!(self, Self::OpeningAuction | Self::VolatilityAuction | Self::ClosingAuction)
    }

    /// The phase with this index, if it is one.
    #[must_use]
    pub const fn from_index(index: u8) -> Option<Self> {
        Some(match index {
            0 => Self::Continuous,
            1 => Self::PreOpen,
            2 => Self::OpeningAuction,
            3 => Self::Halted,
            4 => Self::VolatilityAuction,
            5 => Self::ClosingAuction,
            6 => Self::Closed,
            _ => return None,
        })
    }
}

impl Command {
    /// The order that it names, if it names one.
    #[must_use]
    pub const fn order_id(&self) -> Option<OrderId> {
        match *self {
            Self::New(NewOrder { order_id, .. })
            | Self::Replace { order: NewOrder { order_id, .. }, .. }
            | Self::Cancel { order_id }
            | Self::Reduce { order_id, .. } => Some(order_id),
            _ => None,
        }
    }
}

/// A limit that no price reaches, for an order of this side.
pub(crate) const fn no_limit(side: Side) -> HalfTicks {
    match side {
        Side::Buy => HalfTicks(i64::MAX),
        Side::Sell => HalfTicks(i64::MIN),
    }
}
