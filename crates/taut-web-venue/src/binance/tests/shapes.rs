//! What the venue says has the keys and types of what was recorded at the venue, and of the
//! examples in its documents. Both stand beside the repository.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::rig::{Rig, SYMBOL};

const VENUES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/venues");

/// Keys that documents' examples have and an order of the kind that is asked about has not: those
/// of trailing stops, strategies and prevented matches; and since removed ones.
const OTHERS: [&str; 8] = [
    "trailingDelta",
    "trailingTime",
    "strategyId",
    "strategyType",
    "preventedMatchId",
    "preventedQuantity",
    // The order ids of a trade stream's trade.
    "b",
    "a",
];

/// An object's keys and values in the order in which they stand.
struct Pairs(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Pairs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        from.deserialize_map(Reader)
    }
}

/// Keys in their order with the types behind them; of a list, its first entry.
pub fn shape(text: &str) -> String {
    if let Ok(Pairs(pairs)) = serde_json::from_str(text) {
        let of = |(key, value): &(String, Box<RawValue>)| format!("{key}:{}", shape(value.get()));
        return format!("{{{}}}", pairs.iter().map(of).collect::<Vec<_>>().join(","));
    }
    if let Ok(list) = serde_json::from_str::<Vec<Box<RawValue>>>(text) {
        // An empty side of a book is a list all the same.
        return format!("[{}]", list.first().map_or_else(String::new, |it| shape(it.get())));
    }
    kind(&serde_json::from_str(text).expect("JSON")).to_owned()
}

const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}

pub fn file(path: &str) -> Option<String> {
    let text = fs::read_to_string(format!("{VENUES}/{path}"));
    if text.is_err() {
        println!("skipped: {path} is not beside the repository");
    }
    text.ok()
}

/// A venue on which everything has happened: what each stream said first, by its kind.
fn said() -> BTreeMap<String, String> {
    let mut rig = Rig::new();
    let kinds = [
        "depth@100ms",
        "bookTicker",
        "aggTrade",
        "kline_1m",
        "trade",
        "ticker",
        "miniTicker",
        "depth5@100ms",
    ];
    let names: Vec<String> = kinds.iter().map(|kind| format!("btcusdt@{kind}")).collect();
    rig.open(1, &format!("/stream?streams={}", names.join("/")));
    rig.open(2, "/ws-api/v3");
    rig.result(2, "userDataStream.subscribe.signature", json!({}), "one");
    rig.limit("one", "BUY", "1", "50000");
    rig.limit("one", "SELL", "1", "60000");
    rig.pass(200);
    rig.limit("two", "SELL", "0.5", "50000");
    rig.limit("two", "BUY", "0.1", "60000");
    rig.limit("two", "SELL", "1", "61000");
    rig.pass(2_000);
    let mut said = BTreeMap::new();
    for text in rig.texts.remove(&1).unwrap_or_default() {
        let frame: Value = serde_json::from_str(&text).expect("JSON");
        let kind = frame["stream"].as_str().and_then(|it| it.split_once('@')).expect("a name").1;
        let is_full = kind != "depth@100ms" || frame["data"]["b"] != json!([]);
        if is_full {
            said.entry(kind.to_owned()).or_insert(text);
        }
    }
    for text in rig.texts.remove(&2).unwrap_or_default() {
        let frame: Value = serde_json::from_str(&text).expect("JSON");
        if let Some(kind) = frame["event"]["e"].as_str() {
            said.entry(kind.to_owned()).or_insert(text);
        }
    }
    said
}

#[test]
fn stream_messages_have_the_keys_order_and_types_of_recorded_ones() {
    let Some(recorded) = file("frames/binance-spot.ws.txt") else { return };
    let said = said();
    let mut checked = BTreeMap::<&str, usize>::new();
    for line in recorded.lines() {
        let Some((_, text)) = line.split_once(": {").filter(|(time, _)| !time.contains(' ')) else {
            continue;
        };
        let text = format!("{{{text}");
        let frame: Value = serde_json::from_str(&text).expect("JSON");
        let name = frame["stream"].as_str().expect("a name");
        let kind = name.split_once('@').expect("a kind").1;
        let ours = &said[kind];
        let whole = |it: &str| it.replace("b:[],", "b:[[text]],").replace("a:[]", "a:[[text]]");
        assert_eq!(whole(&shape(ours)), whole(&shape(&text)), "{kind}: {ours}");
        let known = ["depth@100ms", "bookTicker", "aggTrade", "kline_1m"];
        let kind = known.iter().find(|it| **it == kind).expect("a kind that is known");
        *checked.entry(kind).or_default() += 1;
    }
    println!("recorded frames of the same shape: {checked:?}");
    assert_eq!((checked.len(), checked.values().sum::<usize>()), (4, 265));
}

/// Whether an example's keys are all in an answer, with its types, and none beside them; what
/// differs.
fn compare(example: &Value, ours: &Value, at: &str, differences: &mut BTreeSet<String>) {
    match (example, ours) {
        (Value::Object(example), Value::Object(ours)) => {
            for (key, value) in example.iter().filter(|(key, _)| !OTHERS.contains(&key.as_str())) {
                match ours.get(key) {
                    Some(own) => compare(value, own, &format!("{at}.{key}"), differences),
                    None => _ = differences.insert(format!("{at}.{key} is missing")),
                }
            }
        }
        (Value::Array(example), Value::Array(ours)) => {
            if let (Some(example), Some(ours)) = (example.first(), ours.first()) {
                compare(example, ours, &format!("{at}[]"), differences);
            }
        }
        (example, ours) if kind(example) != kind(ours) => {
            differences.insert(format!("{at}: {} and not {}", kind(ours), kind(example)));
        }
        _ => {}
    }
}

#[test]
fn streams_and_events_have_what_the_documents_examples_have() {
    let said = said();
    let mut differences = BTreeSet::new();
    for (path, kind) in [
        ("ExchangeData/Trades", "trade"),
        ("ExchangeData/Ticker", "ticker"),
        ("ExchangeData/MiniTicker", "miniTicker"),
        ("ExchangeData/PartialBook", "depth5@100ms"),
        ("ExchangeData/BookTicker", "bookTicker"),
        ("ExchangeData/AggregatedTrades", "aggTrade"),
        ("ExchangeData/Klines", "kline_1m"),
        ("Account/Order", "executionReport"),
        ("Account/AccountPosition", "outboundAccountPosition"),
    ] {
        let Some(text) = file(&format!("binance-net/Subscriptions/Spot/{path}.txt")) else {
            return;
        };
        let (_, example) = text.split_once("\n= ").expect("an example");
        let example = serde_json::from_str(example).expect("JSON");
        let ours = serde_json::from_str(&said[kind]).expect("JSON");
        compare(&example, &ours, kind, &mut differences);
    }
    assert_eq!(differences, BTreeSet::new());
}

#[test]
fn answers_have_what_the_documents_examples_have() {
    let mut rig = Rig::new();
    let placed = rig.limit("one", "BUY", "1", "50000");
    rig.limit("one", "SELL", "1", "60000");
    let own = format!("symbol={SYMBOL}");
    let id = format!("{own}&orderId={}", placed["orderId"]);
    let sold = "side=SELL&type=LIMIT&timeInForce=GTC&quantity=0.5&price=50000";
    let sold = format!("{own}&{sold}&selfTradePreventionMode=NONE");
    let again = "side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.5&price=49000";
    let again = format!("{own}&{again}&cancelReplaceMode=ALLOW_FAILURE&cancelOrderId=");
    let again = format!("{again}{}", placed["orderId"]);
    let candles = format!("{own}&interval=1m");
    let tested = format!("{sold}&computeCommissionRates=true");
    let mut differences = BTreeSet::new();
    for (path, verb, target, query) in [
        ("Trading/PlaceOrder", "POST", "order", sold.as_str()),
        ("Trading/PlaceTestOrder", "POST", "order/test", &tested),
        ("Trading/GetOrder", "GET", "order", &id),
        ("Trading/GetOpenOrders", "GET", "openOrders", &own),
        ("Trading/GetOrders", "GET", "allOrders", &own),
        ("Trading/GetUserTrades", "GET", "myTrades", &own),
        ("Trading/ReplaceOrder", "POST", "order/cancelReplace", &again),
        ("Trading/CancelAllOrders", "DELETE", "openOrders", &own),
        ("ExchangeData/GetAggregatedTradeHistory", "GET", "aggTrades", &own),
        ("ExchangeData/GetAvgPrice", "GET", "avgPrice", &own),
        ("ExchangeData/GetBookPrice", "GET", "ticker/bookTicker", &own),
        ("ExchangeData/GetExchangeInfo", "GET", "exchangeInfo", &own),
        ("ExchangeData/GetKlines", "GET", "klines", &candles),
        ("ExchangeData/GetPrice", "GET", "ticker/price", &own),
        ("ExchangeData/GetRecentTrades", "GET", "trades", &own),
        ("ExchangeData/GetTicker", "GET", "ticker/24hr", &own),
        ("ExchangeData/GetServerTime", "GET", "time", ""),
    ] {
        let Some(text) = file(&format!("binance-net/Endpoints/Spot/{path}.txt")) else { return };
        let body: Vec<&str> = text.lines().skip(3).collect();
        let mut example: Value = serde_json::from_str(&body.join("\n")).expect("JSON");
        if path == "Trading/ReplaceOrder" {
            // The library that the examples come from has wrapped it.
            example = example["data"].take();
        }
        let ours = rig.ok(verb, &format!("/api/v3/{target}"), query, "one");
        compare(&example, &ours, path, &mut differences);
    }
    let text = file("binance-net/Socket/Spot/Account/GetAccountInfo.txt").expect("the others are");
    let (_, example) = text.split_once("\n= ").expect("an example");
    let example: Value = serde_json::from_str(example).expect("JSON");
    rig.open(1, "/ws-api/v3");
    let ours = rig.call(1, "account.status", json!({}), "one");
    let differing = [&example, &ours].map(|it| {
        let mut it = it.clone();
        it["id"] = Value::Null;
        it
    });
    compare(&differing[0], &differing[1], "account.status", &mut differences);
    assert_eq!(differences, BTreeSet::new());
}
