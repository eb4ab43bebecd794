//! What the streams say, field by field in the venue's order. Decimals are texts of eight places;
//! times are milliseconds of UTC.

use serde::Serialize;

/// A payload as text.
pub fn text(payload: &impl Serialize) -> String {
    // Nothing in them can fail: no maps, no floats.
    serde_json::to_string(payload).unwrap_or_default()
}

/// Price and quantity.
pub type Level = [String; 2];

/// `<symbol>@depth`.
#[derive(Serialize)]
pub struct DepthUpdate<'a> {
    pub e: &'static str,
    #[serde(rename = "E")]
    pub event_ms: i64,
    pub s: &'a str,
    #[serde(rename = "U")]
    pub first: u64,
    #[serde(rename = "u")]
    pub last: u64,
    #[serde(rename = "b")]
    pub bids: Vec<Level>,
    #[serde(rename = "a")]
    pub asks: Vec<Level>,
}

/// `<symbol>@depth5`, and the answer to `depth`.
#[derive(Serialize)]
pub struct Depth {
    #[serde(rename = "lastUpdateId")]
    pub last: u64,
    pub bids: Vec<Level>,
    pub asks: Vec<Level>,
}

/// `<symbol>@bookTicker`.
#[derive(Serialize)]
pub struct BookTicker<'a> {
    #[serde(rename = "u")]
    pub update: u64,
    pub s: &'a str,
    #[serde(rename = "b")]
    pub bid: String,
    #[serde(rename = "B")]
    pub bid_quantity: String,
    #[serde(rename = "a")]
    pub ask: String,
    #[serde(rename = "A")]
    pub ask_quantity: String,
}

/// `<symbol>@trade`.
#[derive(Serialize)]
pub struct Trade<'a> {
    pub e: &'static str,
    #[serde(rename = "E")]
    pub event_ms: i64,
    pub s: &'a str,
    #[serde(rename = "t")]
    pub id: u64,
    pub p: String,
    pub q: String,
    #[serde(rename = "T")]
    pub trade_ms: i64,
    #[serde(rename = "m")]
    pub buyer_is_maker: bool,
    #[serde(rename = "M")]
    pub ignored: bool,
}

/// `<symbol>@aggTrade`.
#[derive(Serialize)]
pub struct AggTrade<'a> {
    pub e: &'static str,
    #[serde(rename = "E")]
    pub event_ms: i64,
    pub s: &'a str,
    #[serde(rename = "a")]
    pub id: u64,
    pub p: String,
    pub q: String,
    #[serde(rename = "f")]
    pub first: u64,
    #[serde(rename = "l")]
    pub last: u64,
    #[serde(rename = "T")]
    pub trade_ms: i64,
    #[serde(rename = "m")]
    pub buyer_is_maker: bool,
    #[serde(rename = "M")]
    pub ignored: bool,
}

/// `<symbol>@kline_1m`.
#[derive(Serialize)]
pub struct Kline<'a> {
    pub e: &'static str,
    #[serde(rename = "E")]
    pub event_ms: i64,
    pub s: &'a str,
    pub k: KlineBody<'a>,
}

/// The candle of a [`Kline`].
#[derive(Serialize)]
pub struct KlineBody<'a> {
    #[serde(rename = "t")]
    pub start_ms: i64,
    #[serde(rename = "T")]
    pub end_ms: i64,
    pub s: &'a str,
    pub i: &'static str,
    /// -1 without a trade.
    #[serde(rename = "f")]
    pub first: i64,
    #[serde(rename = "L")]
    pub last: i64,
    pub o: String,
    pub c: String,
    pub h: String,
    pub l: String,
    #[serde(rename = "v")]
    pub volume: String,
    pub n: u64,
    #[serde(rename = "x")]
    pub is_closed: bool,
    #[serde(rename = "q")]
    pub quote_volume: String,
    #[serde(rename = "V")]
    pub taker_volume: String,
    #[serde(rename = "Q")]
    pub taker_quote_volume: String,
    #[serde(rename = "B")]
    pub ignored: &'static str,
}

/// `<symbol>@ticker`.
#[derive(Serialize)]
pub struct Ticker<'a> {
    pub e: &'static str,
    #[serde(rename = "E")]
    pub event_ms: i64,
    pub s: &'a str,
    #[serde(rename = "p")]
    pub change: String,
    #[serde(rename = "P")]
    pub change_percent: String,
    #[serde(rename = "w")]
    pub average: String,
    #[serde(rename = "x")]
    pub previous_close: String,
    #[serde(rename = "c")]
    pub last: String,
    #[serde(rename = "Q")]
    pub last_quantity: String,
    #[serde(rename = "b")]
    pub bid: String,
    #[serde(rename = "B")]
    pub bid_quantity: String,
    #[serde(rename = "a")]
    pub ask: String,
    #[serde(rename = "A")]
    pub ask_quantity: String,
    #[serde(rename = "o")]
    pub open: String,
    #[serde(rename = "h")]
    pub high: String,
    #[serde(rename = "l")]
    pub low: String,
    #[serde(rename = "v")]
    pub volume: String,
    #[serde(rename = "q")]
    pub quote_volume: String,
    #[serde(rename = "O")]
    pub from_ms: i64,
    #[serde(rename = "C")]
    pub to_ms: i64,
    /// -1 without a trade.
    #[serde(rename = "F")]
    pub first_id: i64,
    #[serde(rename = "L")]
    pub last_id: i64,
    #[serde(rename = "n")]
    pub count: u64,
}

/// `<symbol>@miniTicker`.
#[derive(Serialize)]
pub struct MiniTicker<'a> {
    pub e: &'static str,
    #[serde(rename = "E")]
    pub event_ms: i64,
    pub s: &'a str,
    #[serde(rename = "c")]
    pub last: String,
    #[serde(rename = "o")]
    pub open: String,
    #[serde(rename = "h")]
    pub high: String,
    #[serde(rename = "l")]
    pub low: String,
    #[serde(rename = "v")]
    pub volume: String,
    #[serde(rename = "q")]
    pub quote_volume: String,
}

/// `<symbol>@avgPrice`.
#[derive(Serialize)]
pub struct AvgPrice<'a> {
    pub e: &'static str,
    #[serde(rename = "E")]
    pub event_ms: i64,
    pub s: &'a str,
    pub i: &'static str,
    #[serde(rename = "w")]
    pub average: String,
    #[serde(rename = "T")]
    pub last_ms: i64,
}

/// What has become of an order: the user data stream's `executionReport`.
#[derive(Serialize)]
pub struct ExecutionReport<'a> {
    pub e: &'static str,
    #[serde(rename = "E")]
    pub event_ms: i64,
    pub s: &'a str,
    #[serde(rename = "c")]
    pub client_id: &'a str,
    #[serde(rename = "S")]
    pub side: &'static str,
    #[serde(rename = "o")]
    pub kind: &'static str,
    #[serde(rename = "f")]
    pub force: &'static str,
    #[serde(rename = "q")]
    pub quantity: String,
    #[serde(rename = "p")]
    pub price: String,
    #[serde(rename = "P")]
    pub stop_price: String,
    #[serde(rename = "F")]
    pub iceberg: String,
    #[serde(rename = "g")]
    pub list: i64,
    #[serde(rename = "C")]
    pub original_id: &'a str,
    #[serde(rename = "x")]
    pub execution: &'static str,
    #[serde(rename = "X")]
    pub status: &'static str,
    #[serde(rename = "r")]
    pub reject_reason: &'static str,
    #[serde(rename = "i")]
    pub order_id: u64,
    #[serde(rename = "l")]
    pub last_quantity: String,
    #[serde(rename = "z")]
    pub filled: String,
    #[serde(rename = "L")]
    pub last_price: String,
    #[serde(rename = "n")]
    pub commission: String,
    #[serde(rename = "N")]
    pub commission_asset: Option<&'a str>,
    #[serde(rename = "T")]
    pub transaction_ms: i64,
    /// -1 without one.
    #[serde(rename = "t")]
    pub trade_id: i64,
    #[serde(rename = "v", skip_serializing_if = "Option::is_none")]
    pub prevented_match: Option<u64>,
    #[serde(rename = "I")]
    pub execution_id: u64,
    #[serde(rename = "w")]
    pub is_on_book: bool,
    #[serde(rename = "m")]
    pub is_maker: bool,
    #[serde(rename = "M")]
    pub ignored: bool,
    #[serde(rename = "O")]
    pub created_ms: i64,
    #[serde(rename = "Z")]
    pub notional: String,
    #[serde(rename = "Y")]
    pub last_notional: String,
    #[serde(rename = "Q")]
    pub quote_quantity: String,
    #[serde(rename = "W")]
    pub working_ms: i64,
    #[serde(rename = "V")]
    pub stp_mode: &'static str,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub prevention: Option<Prevention<'a>>,
}

/// What an execution report adds when two orders of one account met.
#[derive(Serialize)]
pub struct Prevention<'a> {
    #[serde(rename = "A")]
    pub prevented: String,
    #[serde(rename = "B")]
    pub last_prevented: String,
    #[serde(rename = "u")]
    pub trade_group: i64,
    #[serde(rename = "U")]
    pub counter_order: u64,
    #[serde(rename = "Cs")]
    pub counter_symbol: &'a str,
    #[serde(rename = "pl")]
    pub quantity: String,
    #[serde(rename = "pL")]
    pub price: String,
    #[serde(rename = "pY")]
    pub notional: String,
}

/// What an account has now: `outboundAccountPosition`.
#[derive(Serialize)]
pub struct AccountPosition {
    pub e: &'static str,
    #[serde(rename = "E")]
    pub event_ms: i64,
    #[serde(rename = "u")]
    pub updated_ms: i64,
    #[serde(rename = "B")]
    pub balances: Vec<AssetBalance>,
}

/// A balance of an [`AccountPosition`].
#[derive(Serialize)]
pub struct AssetBalance {
    #[serde(rename = "a")]
    pub asset: String,
    #[serde(rename = "f")]
    pub free: String,
    #[serde(rename = "l")]
    pub locked: String,
}
