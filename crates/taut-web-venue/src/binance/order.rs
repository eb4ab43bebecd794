//! An order as its owner sees it.

use serde_json::{Map, Value, json};
use taut_engine::SelfTrade;
use taut_types::{OrderId, Side, TimeInForce};
use taut_venue::FIRST_DOOR_ORDER;

use crate::binance::market::Market;
use crate::decimal::{fixed8, times};

/// The first order's number.
const FIRST_NUMBER: u64 = 12_000_000_001;

/// What kind of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Limit,
    LimitMaker,
    Market,
}

impl Kind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Limit => "LIMIT",
            Self::LimitMaker => "LIMIT_MAKER",
            Self::Market => "MARKET",
        }
    }
}

/// Where an order is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    New,
    PartiallyFilled,
    Filled,
    Canceled,
    Expired,
    ExpiredInMatch,
}

impl Status {
    pub const fn name(self) -> &'static str {
        match self {
            Self::New => "NEW",
            Self::PartiallyFilled => "PARTIALLY_FILLED",
            Self::Filled => "FILLED",
            Self::Canceled => "CANCELED",
            Self::Expired => "EXPIRED",
            Self::ExpiredInMatch => "EXPIRED_IN_MATCH",
        }
    }

    pub const fn is_live(self) -> bool {
        matches!(self, Self::New | Self::PartiallyFilled)
    }
}

/// The modes of self-trade prevention that are offered, and the engine's.
pub const STP_MODES: [(&str, SelfTrade); 5] = [
    ("NONE", SelfTrade::Allow),
    ("EXPIRE_TAKER", SelfTrade::CancelNewest),
    ("EXPIRE_MAKER", SelfTrade::CancelOldest),
    ("EXPIRE_BOTH", SelfTrade::CancelBoth),
    ("DECREMENT", SelfTrade::Decrement),
];

/// What is told of a fill.
#[derive(Clone, Debug)]
pub struct Fill {
    pub account: usize,
    pub place: usize,
    pub order: OrderId,
    pub trade_id: u64,
    pub price: i128,
    pub lots: i64,
    pub ms: i64,
    pub is_buyer: bool,
    pub is_maker: bool,
    pub commission: i128,
    pub commission_asset: String,
}

#[derive(Clone, Debug)]
pub struct Order {
    pub id: OrderId,
    pub account: usize,
    pub place: usize,
    pub client_id: String,
    /// The id of the cancel that ended it.
    pub cancel_id: Option<String>,
    /// Its client's id before its last amend.
    pub amended_from: Option<String>,
    pub side: Side,
    pub kind: Kind,
    pub force: TimeInForce,
    /// Of a limit order, at 1e-9.
    pub price: Option<i128>,
    pub lots: i64,
    /// What it was placed for in the quote asset, at 1e-9; zero for one of a quantity.
    pub quote_quantity: i128,
    pub iceberg: Option<i64>,
    pub filled: i64,
    /// Taken away instead of a trade with the own account.
    pub prevented: i64,
    pub prevented_match: Option<u64>,
    /// Paid or received so far in the quote asset, at 1e-9.
    pub notional: i128,
    pub stp: (&'static str, SelfTrade),
    pub status: Status,
    pub amends: u32,
    pub created_ms: i64,
    pub updated_ms: i64,
}

impl Order {
    pub const fn open_lots(&self) -> i64 {
        self.lots - self.filled - self.prevented
    }

    /// What is set aside for it, at 1e-9.
    pub fn locked(&self, market: &Market) -> i128 {
        let amount = market.book.amount(self.open_lots());
        match self.side {
            Side::Buy => times(amount, self.price.unwrap_or(0)),
            Side::Sell => amount,
        }
    }

    /// What every answer about an order has.
    fn base(&self, market: &Market) -> Map<String, Value> {
        let amount = |lots| json!(fixed8(market.book.amount(lots)));
        let pairs = [
            ("symbol", json!(market.settings.name)),
            ("orderId", json!(order_number(self.id))),
            ("orderListId", json!(-1)),
            ("clientOrderId", json!(self.client_id)),
            ("price", json!(fixed8(self.price.unwrap_or(0)))),
            ("origQty", amount(self.lots)),
            ("executedQty", amount(self.filled)),
            ("origQuoteOrderQty", json!(fixed8(self.quote_quantity))),
            ("cummulativeQuoteQty", json!(fixed8(self.notional))),
            ("status", json!(self.status.name())),
            ("timeInForce", json!(force_name(self.force))),
            ("type", json!(self.kind.name())),
            ("side", json!(side_name(self.side))),
            ("selfTradePreventionMode", json!(self.stp.0)),
        ];
        let mut map: Map<_, _> =
            pairs.map(|(key, value)| (key.to_owned(), value)).into_iter().collect();
        if let Some(iceberg) = self.iceberg {
            map.insert("icebergQty".to_owned(), amount(iceberg));
        }
        if let Some(id) = self.prevented_match {
            map.insert("preventedMatchId".to_owned(), json!(id));
            map.insert("preventedQuantity".to_owned(), amount(self.prevented));
        }
        map
    }

    /// As it is when somebody asks.
    pub fn queried(&self, market: &Market) -> Value {
        let mut map = self.base(market);
        let pairs = [
            ("stopPrice", json!(fixed8(0))),
            ("icebergQty", json!(fixed8(market.book.amount(self.iceberg.unwrap_or(0))))),
            ("time", json!(self.created_ms)),
            ("updateTime", json!(self.updated_ms)),
            ("isWorking", json!(true)),
            ("workingTime", json!(self.created_ms)),
        ];
        map.extend(pairs.map(|(key, value)| (key.to_owned(), value)));
        Value::Object(map)
    }

    /// The answer to its placing: ACK, RESULT or FULL.
    pub fn placed(&self, market: &Market, detail: Detail, fills: &[Fill]) -> Value {
        if detail == Detail::Ack {
            return json!({
                "symbol": market.settings.name,
                "orderId": order_number(self.id),
                "orderListId": -1,
                "clientOrderId": self.client_id,
                "transactTime": self.updated_ms,
            });
        }
        let mut map = self.base(market);
        map.insert("transactTime".to_owned(), json!(self.updated_ms));
        map.insert("workingTime".to_owned(), json!(self.created_ms));
        if detail == Detail::Full {
            let fill = |it: &Fill| {
                json!({
                    "price": fixed8(it.price),
                    "qty": fixed8(market.book.amount(it.lots)),
                    "commission": fixed8(it.commission),
                    "commissionAsset": it.commission_asset,
                    "tradeId": it.trade_id,
                })
            };
            map.insert("fills".to_owned(), fills.iter().map(fill).collect());
        }
        Value::Object(map)
    }

    /// As the answer to its amend tells it, with names of its own.
    pub fn amended(&self, market: &Market) -> Value {
        let amount = |lots| fixed8(market.book.amount(lots));
        json!({
            "symbol": market.settings.name,
            "orderId": order_number(self.id),
            "orderListId": -1,
            "origClientOrderId": self.amended_from,
            "clientOrderId": self.client_id,
            "price": fixed8(self.price.unwrap_or(0)),
            "qty": amount(self.lots),
            "executedQty": amount(self.filled),
            "preventedQty": amount(self.prevented),
            "quoteOrderQty": fixed8(self.quote_quantity),
            "cumulativeQuoteQty": fixed8(self.notional),
            "status": self.status.name(),
            "timeInForce": force_name(self.force),
            "type": self.kind.name(),
            "side": side_name(self.side),
            "workingTime": self.created_ms,
            "selfTradePreventionMode": self.stp.0,
        })
    }

    /// The answer to its cancel.
    pub fn cancelled(&self, market: &Market) -> Value {
        let mut map = self.base(market);
        map.insert("origClientOrderId".to_owned(), json!(self.client_id));
        map.insert("clientOrderId".to_owned(), json!(self.cancel_id));
        map.insert("transactTime".to_owned(), json!(self.updated_ms));
        Value::Object(map)
    }
}

/// How much an answer to a placing tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    Ack,
    Result,
    Full,
}

pub const fn side_name(side: Side) -> &'static str {
    match side {
        Side::Buy => "BUY",
        Side::Sell => "SELL",
    }
}

pub const fn force_name(force: TimeInForce) -> &'static str {
    match force {
        TimeInForce::ImmediateOrCancel => "IOC",
        TimeInForce::FillOrKill => "FOK",
        _ => "GTC",
    }
}

/// An order's number at the venue.
pub const fn order_number(id: OrderId) -> u64 {
    id.0.wrapping_sub(FIRST_DOOR_ORDER).wrapping_add(FIRST_NUMBER)
}

/// The order of a number.
pub fn order_of(number: i64) -> Option<OrderId> {
    let number = u64::try_from(number).ok()?.checked_sub(FIRST_NUMBER)?;
    Some(OrderId(number.checked_add(FIRST_DOOR_ORDER)?))
}
