//! Requests of the WebSocket API as text.

use taut_types::{OrderFlags, OrderType, Price, Qty, Side, TimeInForce};

use super::signature::request_text;
use crate::json::{Key, Object, key};
use crate::sign::Ed25519Key;
use crate::text::{NUMBER_BYTES_MAX, decimal};

/// What a logon signs: the API key, the time, their names.
const LOGON_BYTES_MAX: usize = 256;

/// When a request was made, and how long it is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Milliseconds of UTC by the venue's clock.
    pub timestamp_ms: u64,
    /// How much later the venue may be when it takes the request, in milliseconds: at most 60,000.
    /// The venue looks when the request arrives, and again before the matching engine.
    pub window_ms: u64,
}

/// Which order is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which<'a> {
    /// By the client's name of it.
    Name(&'a [u8]),
    /// By the venue's.
    Id(u64),
}

/// What the venue does when an order would trade with one of the same account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SelfTrade {
    /// What the symbol's own rule is.
    #[default]
    Default,
    /// They trade.
    None,
    /// What is left of the incoming order ends.
    ExpireTaker,
    /// The resting order ends.
    ExpireMaker,
    /// Both end.
    ExpireBoth,
    /// Both become smaller by what would have traded.
    Decrement,
    /// As `Decrement`; between accounts of the same owner it is transferred, where both orders ask
    /// for it.
    Transfer,
}

impl SelfTrade {
    const fn name(self) -> Option<&'static [u8]> {
        match self {
            Self::Default => None,
            Self::None => Some(b"NONE"),
            Self::ExpireTaker => Some(b"EXPIRE_TAKER"),
            Self::ExpireMaker => Some(b"EXPIRE_MAKER"),
            Self::ExpireBoth => Some(b"EXPIRE_BOTH"),
            Self::Decrement => Some(b"DECREMENT"),
            Self::Transfer => Some(b"TRANSFER"),
        }
    }
}

/// An order to be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewOrder<'a> {
    /// The venue's name of the instrument, in capital letters.
    pub symbol: &'a [u8],
    /// Buy or sell.
    pub side: Side,
    /// How much, in units of the base asset.
    pub quantity: Qty,
    /// Limit or market; with a stop, what it becomes.
    pub order_type: OrderType,
    /// The limit price; not looked at for a market order.
    pub price: Price,
    /// It waits until something trades at this price.
    pub stop: Option<Price>,
    /// How long a limit order lives.
    pub time_in_force: TimeInForce,
    /// A post-only order is one of type `LIMIT_MAKER`, which is refused when it would trade.
    pub flags: OrderFlags,
    /// How much of it the book shows; all when nothing is said.
    pub shown: Option<Qty>,
    /// The client's name of it, at most 36 letters, digits, `-` and `_`.
    pub name: &'a [u8],
    /// What it does where it would trade with one of the same account.
    pub self_trade: SelfTrade,
}

/// What is asked for. All but the first ones need a session that is logged on.
#[derive(Clone, Copy, Debug)]
pub enum Request<'a> {
    /// `time`: the venue's clock.
    Time,
    /// `exchangeInfo` of these symbols.
    Symbols {
        /// Their names at the venue.
        names: &'a [&'a str],
    },
    /// `session.logon`: from here on the connection is the key's.
    LogOn {
        /// The API key.
        api_key: &'a [u8],
        /// Its private key: the venue takes no other kind.
        key: &'a Ed25519Key,
        /// When.
        stamp: Stamp,
    },
    /// `userDataStream.subscribe`: what happens to the account's orders.
    UserData,
    /// `order.place`, answered as short as can be: what happens to the order is told by events.
    Place {
        /// The order.
        order: NewOrder<'a>,
        /// When.
        stamp: Stamp,
    },
    /// `order.cancel`.
    Cancel {
        /// The instrument.
        symbol: &'a [u8],
        /// The order.
        which: Which<'a>,
        /// The client's name of this cancel, by which its event is known.
        name: &'a [u8],
        /// When.
        stamp: Stamp,
    },
    /// `order.cancelReplace` of an order that has not traded: another one takes its place, or
    /// nothing happens.
    Replace {
        /// The order that ends.
        which: Which<'a>,
        /// The client's name of its end.
        name: &'a [u8],
        /// The order that takes its place.
        order: NewOrder<'a>,
        /// When.
        stamp: Stamp,
    },
    /// `order.amend.keepPriority`: the order becomes smaller, and stays where it stands.
    Amend {
        /// The instrument.
        symbol: &'a [u8],
        /// The order.
        which: Which<'a>,
        /// The order's name from here on.
        name: &'a [u8],
        /// How large it is then: below what it was, above what has traded.
        quantity: Qty,
        /// When.
        stamp: Stamp,
    },
    /// `order.status`.
    Status {
        /// The instrument.
        symbol: &'a [u8],
        /// The order.
        which: Which<'a>,
        /// When.
        stamp: Stamp,
    },
    /// `openOrders.status` of all symbols.
    OpenOrders {
        /// When.
        stamp: Stamp,
    },
}

impl Request<'_> {
    /// Writes the request. Nothing when there is no room for it, or the venue has no such order.
    #[inline]
    pub fn write<'o>(&self, id: u64, room: &'o mut [u8]) -> Option<&'o [u8]> {
        let mut out = Object::begin(room, b"{");
        out.number(key!("id"), id);
        out.text(key!("method"), self.method());
        if matches!(self, Self::Time | Self::UserData) {
            return out.finish(b"}");
        }
        out.nest(b",\"params\":{");
        self.parameters(&mut out)?;
        out.finish(b"}}")
    }

    /// The method's name.
    #[must_use]
    pub const fn method(&self) -> &'static [u8] {
        match self {
            Self::Time => b"time",
            Self::Symbols { .. } => b"exchangeInfo",
            Self::LogOn { .. } => b"session.logon",
            Self::UserData => b"userDataStream.subscribe",
            Self::Place { .. } => b"order.place",
            Self::Cancel { .. } => b"order.cancel",
            Self::Replace { .. } => b"order.cancelReplace",
            Self::Amend { .. } => b"order.amend.keepPriority",
            Self::Status { .. } => b"order.status",
            Self::OpenOrders { .. } => b"openOrders.status",
        }
    }

    /// What it costs of the weight that an address may spend in a minute. Orders and cancels that
    /// succeed are given back by the venue, which is not counted on.
    #[must_use]
    pub const fn weight(&self) -> u32 {
        match self {
            Self::Time | Self::Place { .. } | Self::Cancel { .. } | Self::Replace { .. } => 1,
            Self::LogOn { .. } | Self::UserData => 2,
            Self::Amend { .. } | Self::Status { .. } => 4,
            Self::Symbols { .. } => 20,
            Self::OpenOrders { .. } => 80,
        }
    }

    fn parameters(&self, out: &mut Object<'_>) -> Option<()> {
        match *self {
            Self::Time | Self::UserData => {}
            Self::Symbols { names } => {
                out.texts(key!("symbols"), names.iter().map(|name| name.as_bytes()));
            }
            Self::LogOn { api_key, key, stamp } => {
                let (mut room, mut time, mut window) =
                    ([0; LOGON_BYTES_MAX], [0; NUMBER_BYTES_MAX], [0; NUMBER_BYTES_MAX]);
                let text = request_text(
                    &[
                        (b"apiKey", api_key),
                        (b"recvWindow", decimal(stamp.window_ms, &mut window)),
                        (b"timestamp", decimal(stamp.timestamp_ms, &mut time)),
                    ],
                    &mut room,
                )?;
                out.text(key!("apiKey"), api_key);
                stamp.write(out);
                out.text(key!("signature"), &key.sign_base64(text));
            }
            Self::Place { ref order, stamp } => {
                order.parameters(out)?;
                stamp.write(out);
            }
            Self::Cancel { symbol, which, name, stamp } => {
                out.text(key!("symbol"), symbol);
                which.write([key!("orderId"), key!("origClientOrderId")], out);
                out.text(key!("newClientOrderId"), name);
                stamp.write(out);
            }
            Self::Replace { which, name, ref order, stamp } => {
                order.parameters(out)?;
                out.text(key!("cancelReplaceMode"), b"STOP_ON_FAILURE");
                which.write([key!("cancelOrderId"), key!("cancelOrigClientOrderId")], out);
                out.text(key!("cancelNewClientOrderId"), name);
                out.text(key!("cancelRestrictions"), b"ONLY_NEW");
                stamp.write(out);
            }
            Self::Amend { symbol, which, name, quantity, stamp } => {
                out.text(key!("symbol"), symbol);
                which.write([key!("orderId"), key!("origClientOrderId")], out);
                out.text(key!("newClientOrderId"), name);
                out.decimal_text(key!("newQty"), quantity);
                stamp.write(out);
            }
            Self::Status { symbol, which, stamp } => {
                out.text(key!("symbol"), symbol);
                which.write([key!("orderId"), key!("origClientOrderId")], out);
                stamp.write(out);
            }
            Self::OpenOrders { stamp } => stamp.write(out),
        }
        Some(())
    }
}

/// The venue's own type of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderKind {
    /// `LIMIT`.
    Limit,
    /// `LIMIT_MAKER`: refused when it would trade at once.
    LimitMaker,
    /// `MARKET`.
    Market,
    /// `STOP_LOSS`: a market order at its stop.
    StopLoss,
    /// `STOP_LOSS_LIMIT`: a limit order at its stop.
    StopLossLimit,
}

impl OrderKind {
    /// Whether it says how long it lives.
    #[must_use]
    pub const fn has_force(self) -> bool {
        matches!(self, Self::Limit | Self::StopLossLimit)
    }

    const fn name(self) -> &'static [u8] {
        match self {
            Self::Limit => b"LIMIT",
            Self::LimitMaker => b"LIMIT_MAKER",
            Self::Market => b"MARKET",
            Self::StopLoss => b"STOP_LOSS",
            Self::StopLossLimit => b"STOP_LOSS_LIMIT",
        }
    }
}

impl NewOrder<'_> {
    /// What it is at the venue. Nothing for an order that the venue does not have: one that only
    /// reduces a position, one that lives for a day, one that is post-only and not good till
    /// cancelled.
    #[inline]
    #[must_use]
    pub const fn kind(&self) -> Option<OrderKind> {
        let is_post_only = self.flags.contains(OrderFlags::POST_ONLY);
        let is_day = matches!(self.time_in_force, TimeInForce::Day);
        let is_till_cancel = matches!(self.time_in_force, TimeInForce::GoodTillCancel);
        if self.flags.contains(OrderFlags::REDUCE_ONLY)
            || is_day
            || (is_post_only && !is_till_cancel)
        {
            return None;
        }
        match (self.order_type, self.stop.is_some(), is_post_only) {
            (OrderType::Limit, false, true) => Some(OrderKind::LimitMaker),
            (OrderType::Limit, false, false) => Some(OrderKind::Limit),
            (OrderType::Market, false, false) => Some(OrderKind::Market),
            (OrderType::Limit, true, false) => Some(OrderKind::StopLossLimit),
            (OrderType::Market, true, false) => Some(OrderKind::StopLoss),
            (OrderType::Market, ..) | (OrderType::Limit, true, true) => None,
        }
    }

    /// Nothing for an order that the venue does not have.
    fn parameters(&self, out: &mut Object<'_>) -> Option<()> {
        let kind = self.kind()?;
        out.text(key!("symbol"), self.symbol);
        out.text(
            key!("side"),
            match self.side {
                Side::Buy => b"BUY",
                Side::Sell => b"SELL",
            },
        );
        out.text(key!("type"), kind.name());
        if kind.has_force() {
            out.text(key!("timeInForce"), force(self.time_in_force));
        }
        out.decimal_text(key!("quantity"), self.quantity);
        if self.order_type == OrderType::Limit {
            out.decimal_text(key!("price"), price(self.price));
        }
        self.stop.into_iter().for_each(|stop| out.decimal_text(key!("stopPrice"), price(stop)));
        self.shown.into_iter().for_each(|shown| out.decimal_text(key!("icebergQty"), shown));
        out.text(key!("newClientOrderId"), self.name);
        out.text(key!("newOrderRespType"), b"ACK");
        let mode = self.self_trade.name();
        mode.into_iter().for_each(|mode| out.text(key!("selfTradePreventionMode"), mode));
        Some(())
    }
}

const fn force(time_in_force: TimeInForce) -> &'static [u8] {
    match time_in_force {
        // An order of the day has no kind.
        TimeInForce::GoodTillCancel | TimeInForce::Day => b"GTC",
        TimeInForce::ImmediateOrCancel => b"IOC",
        TimeInForce::FillOrKill => b"FOK",
    }
}

impl Which<'_> {
    fn write(self, [id_key, name_key]: [Key; 2], out: &mut Object<'_>) {
        match self {
            Self::Id(id) => out.number(id_key, id),
            Self::Name(name) => out.text(name_key, name),
        }
    }
}

impl Stamp {
    fn write(self, out: &mut Object<'_>) {
        out.number(key!("recvWindow"), self.window_ms);
        out.number(key!("timestamp"), self.timestamp_ms);
    }
}

const fn price(price: Price) -> Qty {
    Qty { mantissa: price.0, decimals: Price::DECIMALS }
}
