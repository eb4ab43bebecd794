//! Orders, what is asked about them, and what comes back.

use taut_types::{Nanos, OrderType, Side, TimeInForce};

/// Where an order stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Not heard of yet.
    Pending,
    /// In the book.
    Resting,
    /// Filled in part; the rest is in the book.
    PartlyFilled,
    /// Filled.
    Filled,
    /// Cancelled on request.
    Canceled,
    /// Over without a request: it could not trade or rest as it wished, or was refused on the way.
    Expired,
}

impl Status {
    /// Whether nothing happens to the order any more.
    #[must_use]
    pub const fn is_done(self) -> bool {
        matches!(self, Self::Filled | Self::Canceled | Self::Expired)
    }
}

/// What is asked about an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// To enter it.
    New,
    /// To cancel it.
    Cancel,
    /// To give it another price or quantity.
    Modify,
}

/// An order. Prices are in ticks, quantities in lots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Order {
    /// Its owner's number for it.
    pub id: u64,
    /// Its side.
    pub side: Side,
    /// Limit or market.
    pub order_type: OrderType,
    /// How long it lives; `Day` lives as long as `GoodTillCancel`.
    pub time_in_force: TimeInForce,
    /// It expires where it would take.
    pub post_only: bool,
    /// Its price.
    pub tick: i64,
    /// Its quantity.
    pub lots: i64,
    /// What is left of it.
    pub leaves: i64,
    /// What has traded of it in all.
    pub filled: i64,
    /// Lots of others before it at its price: when it came to rest there, and at each of its fills
    /// what the model had left of them, which is 0 when its turn had come. None where nobody knows,
    /// and of one that does not rest.
    pub ahead: Option<i64>,
    /// Where it stands.
    pub status: Status,
    /// The request that is under way.
    pub pending: Option<RequestKind>,
    /// When the last request about it was sent.
    pub local_at: Nanos,
    /// When the exchange last changed it.
    pub exchange_at: Nanos,
    /// The price of its last fill.
    pub last_tick: i64,
    /// The quantity of its last fill; 0 in a response that is no fill, except as
    /// [`partial_fills_unbooked`](crate::Compat::partial_fills_unbooked) has it.
    pub last_lots: i64,
    /// Whether its last fill was of a resting order.
    pub maker: bool,
    /// What hftbacktest's floats have left of it, in units and with their dust, which decides
    /// where [`keeps_exact_fills`](crate::Compat::keeps_exact_fills) is on.
    pub(crate) float_leaves: f64,
}

impl Order {
    /// A limit order that is good till cancelled.
    #[must_use]
    pub const fn limit(id: u64, side: Side, tick: i64, lots: i64) -> Self {
        Self {
            id,
            side,
            order_type: OrderType::Limit,
            time_in_force: TimeInForce::GoodTillCancel,
            post_only: false,
            tick,
            lots,
            leaves: lots,
            filled: 0,
            ahead: None,
            status: Status::Pending,
            pending: None,
            local_at: Nanos::ZERO,
            exchange_at: Nanos::ZERO,
            last_tick: 0,
            last_lots: 0,
            maker: false,
            float_leaves: 0.0,
        }
    }

    /// A market order.
    #[must_use]
    pub const fn market(id: u64, side: Side, lots: i64) -> Self {
        Self { order_type: OrderType::Market, ..Self::limit(id, side, 0, lots) }
    }

    /// The same, for a time in force.
    #[must_use]
    pub const fn lasting(self, time_in_force: TimeInForce) -> Self {
        Self { time_in_force, ..self }
    }

    /// The same, which expires where it would take (GTX).
    #[must_use]
    pub const fn post_only(self) -> Self {
        Self { post_only: true, ..self }
    }

    /// Whether it rests and nothing is asked about it: a cancel or a modification may be sent.
    #[must_use]
    pub const fn is_cancellable(&self) -> bool {
        matches!(self.status, Status::Resting | Status::PartlyFilled) && self.pending.is_none()
    }
}

/// A request on its way: what is asked, and the order as its sender knows and wants it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// What is asked.
    pub kind: RequestKind,
    /// The order.
    pub order: Order,
    /// Its price and its quantity before the request.
    pub known: (i64, i64),
    /// Of a modification: how many lots the order is to be of with all that has traded when the
    /// request arrives, in the place of so many that are to be open.
    pub total: Option<i64>,
}

impl Request {
    /// The request where it arrives, at an order of which so much has traded. None when nothing is
    /// to be open.
    pub(crate) fn arrived(mut self, filled: i64) -> Option<Self> {
        self.order.filled = filled;
        if let Some(total) = self.total {
            self.order.lots = total.saturating_sub(filled);
        }
        (self.order.lots > 0).then_some(self)
    }
}

/// What a response says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The order rests.
    Entered,
    /// It has its new price and quantity.
    Modified,
    /// It is cancelled.
    Canceled,
    /// It was filled, in part or whole.
    Filled,
    /// It is over.
    Expired,
    /// A request was refused. The order is as it was; a new one is over.
    Refused,
}

/// What the exchange says about an order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Response {
    /// When it arrived.
    pub at: Nanos,
    /// What it says.
    pub answer: Answer,
    /// The request that it answers, unless the market caused it.
    pub request: Option<RequestKind>,
    /// The order as the exchange has it.
    pub order: Order,
}
