//! Requests as text.

use taut_types::{OrderFlags, OrderType, Price, Qty, Side, TimeInForce};

use super::secret::Secret;
use super::signature::client_signature;
use crate::json::{Object, key};
use crate::sign::HmacKey;

/// How much: the venue takes either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Dollars for inverse futures and perpetuals, coins for all else.
    Units(Qty),
    /// Contracts.
    Contracts(u64),
}

/// Which price a stop waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// The index.
    Index,
    /// The mark price.
    Mark,
    /// The last trade.
    Last,
}

/// An order to be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewOrder<'a> {
    /// The venue's name of the instrument.
    pub instrument: &'a [u8],
    /// Buy or sell.
    pub side: Side,
    /// How much.
    pub amount: Amount,
    /// Limit or market; with a stop, what it becomes.
    pub order_type: OrderType,
    /// The limit price; not looked at for a market order.
    pub price: Price,
    /// It waits until this price comes to be.
    pub stop: Option<(Trigger, Price)>,
    /// How long it lives.
    pub time_in_force: TimeInForce,
    /// What it must not do. A post-only order that would trade is refused, and not moved.
    pub flags: OrderFlags,
    /// How much of it the book shows; all when nothing is said.
    pub shown: Option<Qty>,
    /// The client's name of the order, at most 64 bytes; none when it is empty.
    pub label: &'a [u8],
    /// The venue refuses what comes later, milliseconds of UTC.
    pub valid_until_ms: Option<u64>,
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub enum Request<'a> {
    /// `public/auth` by a signature.
    Authenticate {
        /// The client's id.
        client_id: &'a [u8],
        /// The secret.
        key: &'a HmacKey,
        /// Milliseconds of UTC.
        timestamp_ms: u64,
        /// Good for one request.
        nonce: &'a [u8],
        /// Such as `connection` or `session:name`; the key's own when it is empty.
        scope: &'a [u8],
    },
    /// `public/auth` by the token that the last one brought.
    Refresh {
        /// The refresh token.
        token: Secret<'a>,
    },
    /// `public/test`: the answer to a test request.
    Test,
    /// `public/get_time`.
    Time,
    /// `public/set_heartbeat`.
    Heartbeat {
        /// At least ten.
        interval_s: u64,
    },
    /// `private/enable_cancel_on_disconnect`, for this connection.
    CancelOnDisconnect,
    /// `public/subscribe`, or `private/subscribe`, which takes public channels too.
    Subscribe {
        /// Whether one of the channels is private.
        is_private: bool,
        /// Their names.
        channels: &'a [&'a [u8]],
    },
    /// `public/unsubscribe`, or `private/unsubscribe`.
    Unsubscribe {
        /// Whether one of the channels is private.
        is_private: bool,
        /// Their names.
        channels: &'a [&'a [u8]],
    },
    /// `private/buy` or `private/sell`.
    Place(NewOrder<'a>),
    /// `private/edit`.
    Edit {
        /// The venue's name of the order.
        order_id: &'a [u8],
        /// The new total, what has traded included.
        amount: Amount,
        /// The new price.
        price: Price,
        /// Post-only stays so only if it is said again.
        flags: OrderFlags,
        /// The venue refuses what comes later, milliseconds of UTC.
        valid_until_ms: Option<u64>,
    },
    /// `private/edit_by_label`: of an order whose answer has not come.
    EditByLabel {
        /// The client's name of the order.
        label: &'a [u8],
        /// The venue's name of the instrument.
        instrument: &'a [u8],
        /// The new total, what has traded included.
        amount: Amount,
        /// The new price.
        price: Price,
        /// Post-only stays so only if it is said again.
        flags: OrderFlags,
    },
    /// `private/cancel`.
    Cancel {
        /// The venue's name of the order.
        order_id: &'a [u8],
    },
    /// `private/cancel_by_label`.
    CancelByLabel {
        /// The client's name of the order.
        label: &'a [u8],
    },
    /// `private/cancel_all`: of the whole account, whoever made them.
    CancelAll,
    /// `private/cancel_all_by_instrument`.
    CancelAllOf {
        /// The venue's name of the instrument.
        instrument: &'a [u8],
    },
    /// `public/get_instrument`.
    Instrument {
        /// The venue's name of the instrument.
        instrument: &'a [u8],
    },
    /// `private/get_open_orders`.
    OpenOrders,
    /// `private/get_open_orders_by_instrument`.
    OpenOrdersOf {
        /// The venue's name of the instrument.
        instrument: &'a [u8],
    },
    /// `private/get_positions`: of all currencies.
    Positions,
    /// `private/get_order_state`.
    OrderState {
        /// The venue's name of the order.
        order_id: &'a [u8],
    },
    /// `private/get_order_state_by_label`: what became of an order whose answer did not come.
    OrderByLabel {
        /// Such as `BTC`.
        currency: &'a [u8],
        /// The client's name of the order.
        label: &'a [u8],
    },
}

impl Request<'_> {
    /// Writes the request with this id; nothing when there is no room for it. Cost: one pass over
    /// what is written.
    #[inline]
    pub fn write<'o>(&self, id: u64, room: &'o mut [u8]) -> Option<&'o [u8]> {
        let mut out = Object::begin(room, b"{\"jsonrpc\":\"2.0\",");
        out.number(key!("id"), id);
        out.word(key!("method"), self.method());
        out.nest(b",\"params\":{");
        self.parameters(&mut out);
        out.finish(b"}}")
    }

    /// The method's name.
    #[must_use]
    pub const fn method(&self) -> &'static [u8] {
        match self {
            Self::Authenticate { .. } | Self::Refresh { .. } => b"public/auth",
            Self::Test => b"public/test",
            Self::Time => b"public/get_time",
            Self::Heartbeat { .. } => b"public/set_heartbeat",
            Self::CancelOnDisconnect => b"private/enable_cancel_on_disconnect",
            Self::Subscribe { is_private: false, .. } => b"public/subscribe",
            Self::Subscribe { is_private: true, .. } => b"private/subscribe",
            Self::Unsubscribe { is_private: false, .. } => b"public/unsubscribe",
            Self::Unsubscribe { is_private: true, .. } => b"private/unsubscribe",
            Self::Place(NewOrder { side: Side::Buy, .. }) => b"private/buy",
            Self::Place(NewOrder { side: Side::Sell, .. }) => b"private/sell",
            Self::Edit { .. } => b"private/edit",
            Self::EditByLabel { .. } => b"private/edit_by_label",
            Self::Cancel { .. } => b"private/cancel",
            Self::CancelByLabel { .. } => b"private/cancel_by_label",
            Self::CancelAll => b"private/cancel_all",
            Self::CancelAllOf { .. } => b"private/cancel_all_by_instrument",
            Self::Instrument { .. } => b"public/get_instrument",
            Self::OpenOrders => b"private/get_open_orders",
            Self::OpenOrdersOf { .. } => b"private/get_open_orders_by_instrument",
            Self::Positions => b"private/get_positions",
            Self::OrderState { .. } => b"private/get_order_state",
            Self::OrderByLabel { .. } => b"private/get_order_state_by_label",
        }
    }

    #[inline]
    fn parameters(&self, out: &mut Object<'_>) {
        match *self {
            Self::Authenticate { client_id, key, timestamp_ms, nonce, scope } => {
                out.word(key!("grant_type"), b"client_signature");
                out.text(key!("client_id"), client_id);
                out.number(key!("timestamp"), timestamp_ms);
                out.text(key!("nonce"), nonce);
                out.text(key!("data"), b"");
                out.text(key!("signature"), &client_signature(key, timestamp_ms, nonce, b""));
                if !scope.is_empty() {
                    out.text(key!("scope"), scope);
                }
            }
            Self::Refresh { token } => {
                out.word(key!("grant_type"), b"refresh_token");
                out.text(key!("refresh_token"), token.0);
            }
            Self::Heartbeat { interval_s } => out.number(key!("interval"), interval_s),
            Self::CancelOnDisconnect => out.text(key!("scope"), b"connection"),
            Self::Subscribe { channels, .. } | Self::Unsubscribe { channels, .. } => {
                out.texts(key!("channels"), channels.iter().copied());
            }
            Self::Place(ref order) => order.parameters(out),
            Self::Edit { order_id, amount, price, flags, valid_until_ms } => {
                out.text(key!("order_id"), order_id);
                amount.write(out);
                out.decimal(key!("price"), qty(price));
                write_flags(flags, out);
                valid_until_ms.into_iter().for_each(|ms| out.number(key!("valid_until"), ms));
            }
            Self::EditByLabel { label, instrument, amount, price, flags } => {
                out.text(key!("label"), label);
                out.text(key!("instrument_name"), instrument);
                amount.write(out);
                out.decimal(key!("price"), qty(price));
                write_flags(flags, out);
            }
            Self::Cancel { order_id } | Self::OrderState { order_id } => {
                out.text(key!("order_id"), order_id)
            }
            Self::CancelByLabel { label } => out.text(key!("label"), label),
            Self::CancelAllOf { instrument }
            | Self::OpenOrdersOf { instrument }
            | Self::Instrument { instrument } => {
                out.text(key!("instrument_name"), instrument);
            }
            Self::Positions => out.text(key!("currency"), b"any"),
            Self::OrderByLabel { currency, label } => {
                out.text(key!("currency"), currency);
                out.text(key!("label"), label);
            }
            Self::Test | Self::Time | Self::CancelAll | Self::OpenOrders => {}
        }
    }
}

impl NewOrder<'_> {
    #[inline]
    fn parameters(&self, out: &mut Object<'_>) {
        out.text(key!("instrument_name"), self.instrument);
        self.amount.write(out);
        out.word(
            key!("type"),
            match (self.order_type, self.stop) {
                (OrderType::Limit, None) => b"limit",
                (OrderType::Market, None) => b"market",
                (OrderType::Limit, Some(_)) => b"stop_limit",
                (OrderType::Market, Some(_)) => b"stop_market",
            },
        );
        if self.order_type == OrderType::Limit {
            out.decimal(key!("price"), qty(self.price));
        }
        if let Some((trigger, price)) = self.stop {
            out.word(
                key!("trigger"),
                match trigger {
                    Trigger::Index => b"index_price",
                    Trigger::Mark => b"mark_price",
                    Trigger::Last => b"last_price",
                },
            );
            out.decimal(key!("trigger_price"), qty(price));
        }
        out.word(
            key!("time_in_force"),
            match self.time_in_force {
                TimeInForce::GoodTillCancel => b"good_til_cancelled",
                TimeInForce::ImmediateOrCancel => b"immediate_or_cancel",
                TimeInForce::FillOrKill => b"fill_or_kill",
                TimeInForce::Day => b"good_til_day",
            },
        );
        write_flags(self.flags, out);
        self.shown.into_iter().for_each(|shown| out.decimal(key!("display_amount"), shown));
        if !self.label.is_empty() {
            out.text(key!("label"), self.label);
        }
        self.valid_until_ms.into_iter().for_each(|ms| out.number(key!("valid_until"), ms));
    }
}

impl Amount {
    #[inline(always)]
    fn write(self, out: &mut Object<'_>) {
        match self {
            Self::Units(units) => out.decimal(key!("amount"), units),
            Self::Contracts(contracts) => out.number(key!("contracts"), contracts),
        }
    }
}

#[inline(always)]
fn write_flags(flags: OrderFlags, out: &mut Object<'_>) {
    if flags.contains(OrderFlags::POST_ONLY) {
        out.flag(key!("post_only"), true);
        out.flag(key!("reject_post_only"), true);
    }
    if flags.contains(OrderFlags::REDUCE_ONLY) {
        out.flag(key!("reduce_only"), true);
    }
}

const fn qty(price: Price) -> Qty {
    Qty { mantissa: price.0, decimals: Price::DECIMALS }
}
