//! Recorded frames, and what serde_json reads in them.

use std::io::Read;
use std::path::PathBuf;

use serde::Deserialize;
use taut_market_data::binance::BinanceJson;
use taut_market_data::{
    Batch, BestPrices, Context, Event, EventKind, InstrumentKey, LevelPlace, LevelUpdate,
    MarketDataError, SequenceRange, Trade,
};
use taut_types::{Lots, Nanos, OrderId, Price, Side, parse_decimal};

/// The frames of a capture with their receive times; nothing, with a notice, where it is absent.
pub fn capture(name: &str) -> Option<Vec<(Nanos, Vec<u8>)>> {
    let folder =
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/binance"));
    let Ok(file) = std::fs::File::open(folder.join(name)) else {
        println!("skipped: {name} is not there");
        return None;
    };
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(file).read_to_string(&mut text).unwrap();
    let split = |line: &str| {
        let (time, frame) = line.split_once(' ').unwrap();
        (Nanos(time.parse().unwrap()), frame.as_bytes().to_vec())
    };
    Some(text.lines().map(split).collect())
}

/// One event with what its context says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    pub symbol: Vec<u8>,
    pub exchange_time: Nanos,
    pub sequence: SequenceRange,
    pub event: EventKind,
}

/// What the decoder says.
pub fn decode(decoder: &mut BinanceJson, frame: &[u8]) -> Result<Vec<Told>, MarketDataError> {
    let mut told = Vec::new();
    let mut sink = |context: &Context<'_>, event: &Event| {
        let InstrumentKey::Symbol(symbol) = context.instrument else {
            unreachable!("Binance names its symbols")
        };
        told.push(Told {
            symbol: symbol.to_vec(),
            exchange_time: event.exchange_time,
            sequence: context.sequence,
            event: event.kind,
        });
    };
    decoder.decode(Nanos(0), frame, &mut sink).map(|_| told)
}

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
    #[serde(rename = "E")]
    event_time: Option<u64>,
    #[serde(rename = "T")]
    transaction_time: Option<u64>,
    #[serde(borrow)]
    bids: Pairs<'a>,
    #[serde(borrow)]
    asks: Pairs<'a>,
}

#[derive(Deserialize)]
struct DepthJson<'a> {
    s: &'a str,
    #[serde(rename = "E")]
    event_time: Option<u64>,
    #[serde(rename = "T")]
    transaction_time: Option<u64>,
    #[serde(rename = "U")]
    first_id: u64,
    u: u64,
    pu: Option<u64>,
    #[serde(borrow)]
    b: Pairs<'a>,
    #[serde(borrow)]
    a: Pairs<'a>,
}

#[derive(Deserialize)]
struct TickerJson<'a> {
    s: &'a str,
    #[serde(rename = "E")]
    event_time: Option<u64>,
    #[serde(rename = "T")]
    transaction_time: Option<u64>,
    u: u64,
    b: &'a str,
    #[serde(rename = "B")]
    bid_size: &'a str,
    a: &'a str,
    #[serde(rename = "A")]
    ask_size: &'a str,
}

#[derive(Deserialize)]
struct TradeJson<'a> {
    s: &'a str,
    #[serde(rename = "E")]
    event_time: Option<u64>,
    #[serde(rename = "T")]
    transaction_time: Option<u64>,
    t: u64,
    p: &'a str,
    q: &'a str,
    m: bool,
}

fn time(transaction: Option<u64>, event: Option<u64>) -> Nanos {
    let time = transaction.or(event).unwrap_or(0);
    let unit = if time < 100_000_000_000_000 { 1_000_000 } else { 1_000 };
    Nanos(i64::try_from(time).unwrap_or(i64::MAX).saturating_mul(unit))
}

fn quote((price, size): (&str, &str)) -> Option<(Price, Lots)> {
    let price = Price::parse(price.as_bytes()).ok()?;
    let lots = parse_decimal(size.as_bytes(), BinanceJson::SIZE_DECIMALS).ok()?;
    (price >= Price(0) && lots >= 0).then_some((price, Lots(lots)))
}

fn batch(batch: Batch, bids: &Pairs<'_>, asks: &Pairs<'_>) -> Option<Vec<EventKind>> {
    let place = LevelPlace::ByPrice;
    let mut events = vec![EventKind::Begin(batch)];
    for (side, pairs) in [(Side::Buy, bids), (Side::Sell, asks)] {
        for &pair in pairs {
            let (price, lots) = quote(pair).filter(|&(price, _)| price > Price(0))?;
            events.push(EventKind::Level(LevelUpdate { side, price, lots, order_count: 0, place }));
        }
    }
    events.push(EventKind::End { is_final: true });
    Some(events)
}

/// What serde_json reads in a frame of a combined stream, or a snapshot; nothing when it, or the
/// rules of the decoder, refuse it.
pub fn oracle(frame: &[u8]) -> Option<Vec<Told>> {
    let envelope: Envelope<'_> = serde_json::from_slice(frame).ok()?;
    let stream = envelope.stream.unwrap_or_default();
    let tell = |symbol: &str, exchange_time, sequence, events: Vec<EventKind>| {
        let in_stream = stream.split('@').next().unwrap_or_default();
        let symbol = if symbol.is_empty() { in_stream } else { symbol }.as_bytes().to_vec();
        let of = |event| Told { symbol: symbol.clone(), exchange_time, sequence, event };
        Some(events.into_iter().map(of).collect())
    };
    let Some(data) = envelope.data.map(serde_json::value::RawValue::get) else {
        let Ok(json) = serde_json::from_slice::<SnapshotJson<'_>>(frame) else {
            return Some(Vec::new());
        };
        let time = time(json.transaction_time, json.event_time);
        let events = batch(Batch::Snapshot, &json.bids, &json.asks)?;
        return tell("", time, SequenceRange::one(json.last_id), events);
    };
    if stream.contains("@depth") {
        let json: DepthJson<'_> = serde_json::from_str(data).ok()?;
        let time = time(json.transaction_time, json.event_time);
        let ids = SequenceRange { first: json.first_id, last: json.u, previous: json.pu };
        // A lost `@` makes changes every 100 ms the best 100 levels.
        let behind = stream.split_once('@').and_then(|(_, name)| name.as_bytes().get(5));
        let is_best = behind.is_some_and(u8::is_ascii_digit);
        let kind = if is_best { Batch::BestLevels } else { Batch::Update };
        let events = batch(kind, &json.b, &json.a)?;
        (ids.first <= ids.last).then(|| tell(json.s, time, ids, events))?
    } else if stream.ends_with("@bookTicker") {
        let json: TickerJson<'_> = serde_json::from_str(data).ok()?;
        let time = time(json.transaction_time, json.event_time);
        let (bid, ask) = (quote((json.b, json.bid_size))?, quote((json.a, json.ask_size))?);
        tell(
            json.s,
            time,
            SequenceRange::one(json.u),
            vec![EventKind::Top(BestPrices::quoted(bid, ask))],
        )
    } else {
        let json: TradeJson<'_> = serde_json::from_str(data).ok()?;
        let time = time(json.transaction_time, json.event_time);
        let (price, lots) = quote((json.p, json.q))?;
        let aggressor = Some(if json.m { Side::Sell } else { Side::Buy });
        let (trade_id, resting_order) = (json.t, OrderId(0));
        let trade = Trade { trade_id, price, lots, aggressor, resting_order };
        tell(json.s, time, SequenceRange::one(json.t), vec![EventKind::Trade(trade)])
    }
}
