//! An order as its owner sees it.

use serde_json::{Value, json};
use taut_engine::PostOnly;
use taut_types::{OrderId, Side};
use taut_venue::FIRST_DOOR_ORDER;

use crate::decimal::{UNITS, number};
use crate::deribit::instruments::Kind;
use crate::deribit::market::{Market, direction};

/// The first order's number.
const FIRST_NUMBER: u64 = 80_000_000_001;

/// Where an order is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Open,
    Untriggered,
    Filled,
    Cancelled,
    Rejected,
}

impl State {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Untriggered => "untriggered",
            Self::Filled => "filled",
            Self::Cancelled => "cancelled",
            Self::Rejected => "rejected",
        }
    }

    pub const fn is_live(self) -> bool {
        matches!(self, Self::Open | Self::Untriggered)
    }
}

#[derive(Clone, Debug)]
pub struct Order {
    pub id: OrderId,
    pub account: usize,
    pub place: usize,
    /// The connection that made it; 0 for one of HTTP.
    pub connection: u64,
    pub side: Side,
    /// `limit`, `market`, `stop_limit`, ...
    pub kind: &'static str,
    /// Of a limit order, at 1e-9.
    pub price: Option<i128>,
    pub lots: i64,
    pub filled: i64,
    /// Of what traded: price times lots.
    pub notional: i128,
    pub label: String,
    /// What the client called it over FIX, else empty.
    pub client_id: String,
    pub time_in_force: &'static str,
    pub post_only: PostOnly,
    pub reduce_only: bool,
    pub display: Option<i64>,
    pub trigger_price: Option<i128>,
    pub state: State,
    pub cancel_reason: Option<&'static str>,
    pub replaced: bool,
    pub is_triggered: bool,
    pub created_ms: i64,
    pub updated_ms: i64,
}

impl Order {
    pub const fn open_lots(&self) -> i64 {
        self.lots - self.filled
    }

    /// At 1e-9; 0 before the first fill.
    pub fn average(&self) -> i128 {
        self.notional.checked_div(i128::from(self.filled)).unwrap_or(0)
    }

    pub fn json(&self, market: &Market) -> Value {
        let amount = market.book.amount(self.lots);
        let price = match self.price {
            Some(price) => number(price),
            None if self.trigger_price.is_some() => json!("market_price"),
            None if self.filled > 0 => number(self.average()),
            None => number(market.mark()),
        };
        let mut order = json!({
            "order_id": order_id(self.id, market),
            "instrument_name": market.settings.name,
            "order_state": self.state.name(),
            "order_type": self.kind,
            "direction": direction(self.side),
            "price": price,
            "amount": number(amount),
            "contracts": number(amount * UNITS / market.sizes.contract),
            "filled_amount": number(market.book.amount(self.filled)),
            "average_price": number(self.average()),
            "label": self.label,
            "time_in_force": self.time_in_force,
            "post_only": self.post_only != PostOnly::No,
            "reduce_only": self.reduce_only,
            "replaced": self.replaced,
            "api": true,
            "web": false,
            "mmp": false,
            "is_liquidation": false,
            "risk_reducing": false,
            "creation_timestamp": self.created_ms,
            "last_update_timestamp": self.updated_ms,
        });
        let Some(map) = order.as_object_mut() else { return order };
        let mut put = |key: &str, value: Value| _ = map.insert(key.to_owned(), value);
        if self.post_only == PostOnly::Reject {
            put("reject_post_only", json!(true));
        }
        if let Some(display) = self.display {
            put("display_amount", number(market.book.amount(display)));
        }
        if let Some(trigger) = self.trigger_price {
            put("trigger", json!("last_price"));
            put("trigger_price", number(trigger));
            put("triggered", json!(self.is_triggered));
        }
        if let Some(reason) = self.cancel_reason {
            put("cancel_reason", json!(reason));
        }
        order
    }
}

/// The text of an order's number: with the currency before it, unless it is BTC.
pub fn order_id(id: OrderId, market: &Market) -> String {
    let number = id.0.wrapping_sub(FIRST_DOOR_ORDER).wrapping_add(FIRST_NUMBER);
    format!("{}{number}", prefix(market))
}

/// The text of a trade's number.
pub fn trade_id(number: u64, market: &Market) -> String {
    format!("{}{}", prefix(market), 100_000_000 + number)
}

/// The number of an order's text.
pub fn parse_order_id(text: &str) -> Option<OrderId> {
    let digits = text.rsplit('-').next()?;
    let number: u64 = digits.parse().ok()?;
    Some(OrderId(number.checked_sub(FIRST_NUMBER)?.checked_add(FIRST_DOOR_ORDER)?))
}

fn prefix(market: &Market) -> String {
    let settings = &market.settings;
    let currency = if settings.kind == Kind::Pair { &settings.quote } else { &settings.settlement };
    if settings.base == "BTC" && currency == "BTC" { String::new() } else { format!("{currency}-") }
}
