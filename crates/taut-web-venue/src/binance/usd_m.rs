//! USD-margined futures, as far as they are played: what their streams say, and what is answered
//! about them. Nobody trades them here but the crowd.
//!
//! Their update ids do not count one by one: the first of an event follows the last of the event
//! before, which it names (`pu`), at some distance.

use serde::Serialize;
use serde_json::{Value, json};
use taut_types::Side;

use crate::binance::error::{ApiError, error};
use crate::binance::frames::{self, Level};
use crate::binance::market::{Aggregate, Changes, Market, Print};
use crate::binance::params::Params;
use crate::binance::state::Binance;
use crate::decimal::fixed8;

/// How many levels a side a snapshot can have.
const LEVELS: [i64; 7] = [5, 10, 20, 50, 100, 500, 1_000];
/// How many it has when it is not said.
const LEVELS_USUAL: i64 = 500;
/// Funding is paid so often.
const FUNDING_MS: i64 = 8 * 60 * 60_000;
/// What longs pay each time.
const FUNDING_RATE: &str = "0.00010000";

/// `<symbol>@depth@100ms`, and `<symbol>@depth5@100ms`.
#[derive(Serialize)]
struct DepthUpdate<'a> {
    e: &'static str,
    #[serde(rename = "E")]
    event_ms: i64,
    #[serde(rename = "T")]
    transaction_ms: i64,
    s: &'a str,
    #[serde(rename = "U")]
    first: u64,
    #[serde(rename = "u")]
    last: u64,
    #[serde(rename = "pu")]
    previous: u64,
    #[serde(rename = "b")]
    bids: Vec<Level>,
    #[serde(rename = "a")]
    asks: Vec<Level>,
}

/// `<symbol>@bookTicker`.
#[derive(Serialize)]
struct BookTicker<'a> {
    e: &'static str,
    #[serde(rename = "u")]
    update: u64,
    s: &'a str,
    #[serde(rename = "b")]
    bid: String,
    #[serde(rename = "B")]
    bid_quantity: String,
    #[serde(rename = "a")]
    ask: String,
    #[serde(rename = "A")]
    ask_quantity: String,
    #[serde(rename = "T")]
    transaction_ms: i64,
    #[serde(rename = "E")]
    event_ms: i64,
}

/// `<symbol>@trade`.
#[derive(Serialize)]
struct Trade<'a> {
    e: &'static str,
    #[serde(rename = "E")]
    event_ms: i64,
    #[serde(rename = "T")]
    trade_ms: i64,
    s: &'a str,
    #[serde(rename = "t")]
    id: u64,
    p: String,
    q: String,
    #[serde(rename = "X")]
    kind: &'static str,
    #[serde(rename = "m")]
    buyer_is_maker: bool,
}

/// `<symbol>@aggTrade`.
#[derive(Serialize)]
struct AggTrade<'a> {
    e: &'static str,
    #[serde(rename = "E")]
    event_ms: i64,
    #[serde(rename = "a")]
    id: u64,
    s: &'a str,
    p: String,
    q: String,
    #[serde(rename = "f")]
    first: u64,
    #[serde(rename = "l")]
    last: u64,
    #[serde(rename = "T")]
    trade_ms: i64,
    #[serde(rename = "m")]
    buyer_is_maker: bool,
}

/// `<symbol>@markPrice@1s`.
#[derive(Serialize)]
struct MarkPrice<'a> {
    e: &'static str,
    #[serde(rename = "E")]
    event_ms: i64,
    s: &'a str,
    #[serde(rename = "p")]
    mark: String,
    #[serde(rename = "ap")]
    average: String,
    #[serde(rename = "P")]
    settlement: String,
    #[serde(rename = "i")]
    index: String,
    #[serde(rename = "r")]
    rate: &'static str,
    #[serde(rename = "T")]
    next_funding_ms: i64,
}

pub fn depth_update(market: &Market, changes: &Changes, ms: i64) -> String {
    let levels = |side| market.changed_levels(changes, side);
    update(market, changes, ms, [levels(Side::Buy), levels(Side::Sell)])
}

/// `<symbol>@depth5@100ms`: the best levels, with the numbers of what has changed.
pub fn partial_depth(market: &Market, count: usize, changes: &Changes, ms: i64) -> String {
    let best = market.depth(count);
    update(market, changes, ms, [best.bids, best.asks])
}

fn update(market: &Market, changes: &Changes, ms: i64, [bids, asks]: [Vec<Level>; 2]) -> String {
    frames::text(&DepthUpdate {
        e: "depthUpdate",
        event_ms: ms,
        transaction_ms: ms,
        s: &market.settings.name,
        first: changes.first,
        last: changes.last,
        previous: changes.previous,
        bids,
        asks,
    })
}

pub fn book_ticker(market: &Market, ms: i64) -> String {
    let [(bid, bid_quantity), (ask, ask_quantity)] = market.best();
    frames::text(&BookTicker {
        e: "bookTicker",
        update: market.update_id,
        s: &market.settings.name,
        bid: fixed8(bid),
        bid_quantity: fixed8(bid_quantity),
        ask: fixed8(ask),
        ask_quantity: fixed8(ask_quantity),
        transaction_ms: ms,
        event_ms: ms,
    })
}

pub fn trade(market: &Market, print: &Print, ms: i64) -> String {
    frames::text(&Trade {
        e: "trade",
        event_ms: ms,
        trade_ms: print.ms,
        s: &market.settings.name,
        id: print.id,
        p: fixed8(print.price),
        q: fixed8(market.book.amount(print.lots)),
        kind: "MARKET",
        buyer_is_maker: print.buyer_is_maker,
    })
}

pub fn aggregate(market: &Market, it: &Aggregate, ms: i64) -> String {
    frames::text(&AggTrade {
        e: "aggTrade",
        event_ms: ms,
        id: it.id,
        s: &market.settings.name,
        p: fixed8(it.price),
        q: fixed8(market.book.amount(it.lots)),
        first: it.first,
        last: it.last,
        trade_ms: it.ms,
        buyer_is_maker: it.buyer_is_maker,
    })
}

/// Positions are valued at the middle of the market; the index is what was traded last.
pub fn mark_price(market: &Market, ms: i64) -> String {
    let last = market.last_price();
    let mark = fixed8(market.book.middle().unwrap_or(last));
    frames::text(&MarkPrice {
        e: "markPriceUpdate",
        event_ms: ms,
        s: &market.settings.name,
        average: mark.clone(),
        settlement: mark.clone(),
        mark,
        index: fixed8(last),
        rate: FUNDING_RATE,
        next_funding_ms: (ms / FUNDING_MS + 1) * FUNDING_MS,
    })
}

impl Binance {
    /// A snapshot of the book.
    pub(super) fn usd_m_depth(&self, params: &Params) -> Result<Value, ApiError> {
        let name = params.needed("symbol")?;
        let is_it = |it: &&Market| !it.is_spot() && it.settings.name == name;
        let market = self.markets.iter().find(is_it).ok_or_else(|| error(-1121))?;
        let limit = params.integer("limit")?.unwrap_or(LEVELS_USUAL);
        if !LEVELS.contains(&limit) {
            return Err(ApiError::new(-4021, &format!("{limit} is not valid depth limit.")));
        }
        let (book, ms) = (market.depth(limit as usize), self.ms());
        Ok(json!({
            "lastUpdateId": book.last,
            "E": ms,
            "T": ms,
            "bids": book.bids,
            "asks": book.asks,
        }))
    }

    /// The symbols, as far as clients must know them who follow their market data.
    pub(super) fn usd_m_info(&self) -> Value {
        let futures = self.markets.iter().filter(|it| !it.is_spot());
        let mut info = self.no_futures();
        info["symbols"] = futures.map(description).collect();
        info
    }
}

fn description(market: &Market) -> Value {
    let it = &market.settings;
    json!({
        "symbol": it.name,
        "pair": it.name,
        "contractType": "PERPETUAL",
        "status": "TRADING",
        "baseAsset": it.base,
        "quoteAsset": it.quote,
        "marginAsset": it.quote,
        "filters": [
            {
                "filterType": "PRICE_FILTER",
                "minPrice": it.tick,
                "maxPrice": it.max_price,
                "tickSize": it.tick,
            },
            {
                "filterType": "LOT_SIZE",
                "minQty": it.step,
                "maxQty": it.max_quantity,
                "stepSize": it.step,
            },
            { "filterType": "MIN_NOTIONAL", "notional": it.min_notional },
        ],
        "orderTypes": [],
        "timeInForce": [],
    })
}
