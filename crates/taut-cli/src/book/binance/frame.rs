//! Frames: `local_ts json` lines.

use std::fmt;

use serde::Deserialize;
use taut_types::{DecimalError, Lots, Price, parse_decimal};

/// Decimals of a size: Binance has up to eight.
const SIZE_DECIMALS: u8 = 8;

/// What a line says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// The book as a REST answer.
    Snapshot(Snapshot),
    /// A depth update.
    Update(Update),
    /// The best prices after the update of this id.
    Ticker(u64, Ticker),
    /// Something else, a trade for example.
    Other,
}

/// A price level: zero lots delete it.
pub(super) type Quote = (Price, Lots);

/// The whole book, or its best levels.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Snapshot {
    pub(super) last_id: u64,
    pub(super) bids: Vec<Quote>,
    pub(super) asks: Vec<Quote>,
}

/// Changes of levels by the updates `first_id` to `last_id`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Update {
    pub(super) first_id: u64,
    pub(super) last_id: u64,
    /// The last id of the frame before, which only the futures streams say.
    pub(super) previous_id: Option<u64>,
    pub(super) bids: Vec<Quote>,
    pub(super) asks: Vec<Quote>,
}

/// Best bid and best ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ticker {
    pub(super) bid: Quote,
    pub(super) ask: Quote,
}

impl fmt::Display for Ticker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = |lots: Lots| {
            let unit = 10_i64.pow(u32::from(SIZE_DECIMALS));
            format!("{}.{:08}", lots.0 / unit, lots.0 % unit)
        };
        let (bid, ask) = (self.bid, self.ask);
        write!(f, "{}@{} / {}@{}", size(bid.1), bid.0, size(ask.1), ask.0)
    }
}

/// A frame of a combined stream.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    stream: Option<&'a str>,
    #[serde(borrow)]
    data: Option<&'a serde_json::value::RawValue>,
}

type Pairs<'a> = Vec<(&'a str, &'a str)>;

#[derive(Deserialize)]
struct SnapshotJson<'a> {
    #[serde(rename = "lastUpdateId")]
    last_id: u64,
    #[serde(borrow)]
    bids: Pairs<'a>,
    #[serde(borrow)]
    asks: Pairs<'a>,
}

#[derive(Deserialize)]
struct UpdateJson<'a> {
    #[serde(rename = "U")]
    first_id: u64,
    #[serde(rename = "u")]
    last_id: u64,
    pu: Option<u64>,
    #[serde(borrow, rename = "b")]
    bids: Pairs<'a>,
    #[serde(borrow, rename = "a")]
    asks: Pairs<'a>,
}

#[derive(Deserialize)]
struct TickerJson<'a> {
    u: u64,
    b: &'a str,
    #[serde(rename = "B")]
    bid_size: &'a str,
    a: &'a str,
    #[serde(rename = "A")]
    ask_size: &'a str,
}

/// Reads a line.
///
/// # Errors
/// What is wrong with it, and where.
pub(super) fn parse(line: &str) -> Result<Frame, String> {
    let (time, json) = line.split_once(' ').ok_or("expected a receive time, a space and JSON")?;
    if time.is_empty() || !time.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("expected a receive time in nanoseconds before the JSON".to_owned());
    }
    let envelope: Envelope<'_> = from_json(json)?;
    let Some(data) = envelope.data.map(serde_json::value::RawValue::get) else {
        return if json.contains("\"lastUpdateId\"") { snapshot(json) } else { Ok(Frame::Other) };
    };
    let stream = envelope.stream.unwrap_or_default();
    if stream.contains("@depth") {
        update(data)
    } else if stream.ends_with("@bookTicker") {
        ticker(data)
    } else {
        Ok(Frame::Other)
    }
}

fn from_json<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, String> {
    serde_json::from_str(json).map_err(|error| format!("JSON: {error}"))
}

fn snapshot(json: &str) -> Result<Frame, String> {
    let SnapshotJson { last_id, bids, asks } = from_json(json)?;
    Ok(Frame::Snapshot(Snapshot { last_id, bids: quotes(&bids)?, asks: quotes(&asks)? }))
}

fn update(json: &str) -> Result<Frame, String> {
    let UpdateJson { first_id, last_id, pu, bids, asks } = from_json(json)?;
    if first_id > last_id {
        return Err(format!("its first id U {first_id} is above its last id u {last_id}"));
    }
    let (bids, asks) = (quotes(&bids)?, quotes(&asks)?);
    Ok(Frame::Update(Update { first_id, last_id, previous_id: pu, bids, asks }))
}

fn ticker(json: &str) -> Result<Frame, String> {
    let TickerJson { u, b, bid_size, a, ask_size } = from_json(json)?;
    Ok(Frame::Ticker(u, Ticker { bid: quote(b, bid_size)?, ask: quote(a, ask_size)? }))
}

fn quotes(pairs: &[(&str, &str)]) -> Result<Vec<Quote>, String> {
    pairs.iter().map(|&(price, size)| quote(price, size)).collect()
}

fn quote(price: &str, size: &str) -> Result<Quote, String> {
    let wrong = |what: &str, text: &str, error: DecimalError| {
        let text: String = text.chars().take(40).collect();
        format!("the {what} \"{text}\" is no decimal ({error:?})")
    };
    let at = Price::parse(price.as_bytes()).map_err(|error| wrong("price", price, error))?;
    let lots = parse_decimal(size.as_bytes(), SIZE_DECIMALS).map_err(|e| wrong("size", size, e))?;
    if at <= Price(0) || lots < 0 {
        return Err(format!("the level {price} x {size} is not positive"));
    }
    Ok((at, Lots(lots)))
}
