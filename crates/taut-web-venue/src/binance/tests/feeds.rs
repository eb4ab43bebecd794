//! Books as clients keep them equal the engine's.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use taut_types::Side;

use super::rig::{Rig, SYMBOL};

/// A client's book by the rules of the interface: a snapshot, and the events behind it.
#[derive(Default)]
struct Book {
    last: Option<u64>,
    has_begun: bool,
    sides: [BTreeMap<String, String>; 2],
    events: usize,
}

impl Book {
    fn snapshot(&mut self, data: &Value) {
        self.last = data["lastUpdateId"].as_u64();
        self.take_levels(data, ["bids", "asks"]);
    }

    fn take(&mut self, data: &Value) {
        let id = |key: &str| data[key].as_u64().expect("an id");
        let last = self.last.expect("a snapshot");
        if id("u") <= last {
            return;
        }
        if self.has_begun {
            assert_eq!(id("U"), last + 1, "no gap and nothing twice");
        } else {
            assert!(id("U") <= last + 1 && last < id("u"), "the first covers the snapshot");
        }
        self.has_begun = true;
        self.last = Some(id("u"));
        self.events += 1;
        self.take_levels(data, ["b", "a"]);
    }

    fn take_levels(&mut self, data: &Value, names: [&str; 2]) {
        for (side, name) in self.sides.iter_mut().zip(names) {
            for level in data[name].as_array().expect("levels") {
                let text = |at: usize| level[at].as_str().expect("a decimal").to_owned();
                match text(1).as_str() {
                    "0.00000000" => _ = side.remove(&text(0)),
                    quantity => _ = side.insert(text(0), quantity.to_owned()),
                }
            }
        }
    }
}

/// An engine's book in the interface's texts.
fn truth(rig: &Rig) -> [BTreeMap<String, String>; 2] {
    [Side::Buy, Side::Sell].map(|side| {
        let book = rig.engines[0].book();
        let level = |price: i64, lots: i64| {
            let cents = price / 2;
            (
                format!("{}.{:02}000000", cents / 100, cents % 100),
                format!("{}.{:05}000", lots / 100_000, lots % 100_000),
            )
        };
        book.levels(side).map(|it| level(it.price.0, it.lots.0)).collect()
    })
}

#[test]
fn books_of_the_streams_equal_the_engines_and_the_top_is_the_book_tickers() {
    let mut rig = Rig::new();
    rig.limit("one", "BUY", "0.001", "59999.00");
    let names = "btcusdt@depth@100ms/btcusdt@depth/btcusdt@bookTicker/btcusdt@depth5@100ms";
    rig.open(1, &format!("/stream?streams={names}"));
    rig.pass(1);
    let target = format!("/api/v3/depth?symbol={SYMBOL}");
    let mut books = [Book::default(), Book::default()];
    let asked = rig.rest("GET", &target, "").body;
    books.iter_mut().for_each(|book| book.snapshot(&asked));
    let (mut tops, mut partial) = (0, Value::Null);
    let mut random: u64 = 7;
    for turn in 0..400 {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let dice = (random >> 33) as i64;
        let key = if random >> 63 == 0 { "one" } else { "two" };
        let price = format!("{}.{:02}", 59_999, dice % 9);
        let cancelled = format!("symbol={SYMBOL}");
        match dice % 4 {
            0 => _ = rig.signed("DELETE", "/api/v3/openOrders", &cancelled, key),
            1 => _ = rig.signed("POST", "/api/v3/order", &order("SELL", 1 + dice % 7, &price), key),
            _ => _ = rig.signed("POST", "/api/v3/order", &order("BUY", 1 + dice % 5, &price), key),
        }
        // The top of the moment, before a folded event.
        let best = truth(&rig)[0].last_key_value().map(|(price, _)| price.clone());
        let frames = rig.take(1);
        let top = frames.iter().rfind(|it| it["stream"] == "btcusdt@bookTicker");
        if let Some(data) = top.map(|it| &it["data"]) {
            assert_eq!(data["b"].as_str(), best.as_deref().or(Some("0.00000000")), "{data}");
            tops += 1;
        }
        rig.pass(110);
        let is_checked = turn % 10 == 9;
        if is_checked {
            // All is told after a second of quiet.
            rig.pass(1_000);
        }
        for frame in frames.iter().chain(&rig.take(1)) {
            let data = &frame["data"];
            match frame["stream"].as_str().expect("a stream") {
                "btcusdt@depth@100ms" => books[0].take(data),
                "btcusdt@depth" => books[1].take(data),
                "btcusdt@depth5@100ms" => partial = data.clone(),
                _ => {}
            }
        }
        if !is_checked {
            continue;
        }
        let bids: Vec<_> = truth(&rig)[0].clone().into_iter().rev().take(5).collect();
        assert_eq!(partial["bids"], json!(bids));
        let asked = rig.rest("GET", &target, "").body;
        for book in &books {
            assert_eq!(book.last, asked["lastUpdateId"].as_u64());
            assert_eq!(book.sides, truth(&rig));
        }
    }
    assert!(books[0].events > 150 && books[1].events > 30, "{}", books[0].events);
    assert!(tops > 50, "{tops}");
}

fn order(side: &str, lots: i64, price: &str) -> String {
    format!(
        "symbol={SYMBOL}&side={side}&type=LIMIT&timeInForce=GTC&quantity=0.{:05}&price={price}",
        100 * lots
    )
}

#[test]
fn trades_candles_and_tickers_agree() {
    let mut rig = Rig::new();
    rig.limit("one", "SELL", "0.002", "60000");
    rig.limit("one", "SELL", "0.001", "60001");
    rig.open(1, "/ws/btcusdt@trade/btcusdt@aggTrade/btcusdt@kline_1m/btcusdt@ticker");
    rig.pass(1_000);
    rig.limit("two", "BUY", "0.001", "60000");
    rig.limit("two", "BUY", "0.0015", "60001");
    rig.pass(1_000);
    let frames = rig.take(1);
    let of = |kind: &str| -> Vec<&Value> { frames.iter().filter(|it| it["e"] == kind).collect() };
    let (trades, all) = (of("trade"), of("aggTrade"));
    assert_eq!((trades.len(), all.len()), (3, 3), "{frames:?}");
    assert_eq!(trades[1]["t"].as_u64(), trades[0]["t"].as_u64().map(|id| id + 1));
    assert_eq!((&all[1]["f"], &all[1]["q"]), (&trades[1]["t"], &json!("0.00100000")));
    assert_eq!(trades[0]["m"], false, "the buyer took");
    let candle = &of("kline").pop().expect("a candle")["k"];
    assert_eq!((&candle["n"], &candle["v"]), (&json!(3), &json!("0.00250000")));
    assert_eq!((&candle["h"], &candle["V"]), (&json!("60001.00000000"), &json!("0.00250000")));
    let ticker = of("24hrTicker").pop().expect("a ticker");
    assert_eq!((&ticker["v"], &ticker["q"]), (&candle["v"], &candle["q"]));
    assert_eq!(ticker["a"], "60001.00000000");
    // The candle ends with its minute.
    rig.pass(60_000);
    let closed = rig.take(1).into_iter().find(|it| it["k"]["x"] == true).expect("an end");
    assert_eq!((&closed["k"]["t"], &closed["k"]["n"]), (&candle["t"], &json!(3)));
    let target = format!("/api/v3/klines?symbol={SYMBOL}&interval=1m");
    let asked = rig.rest("GET", &target, "").body;
    assert_eq!((&asked[0][5], &asked[0][8]), (&candle["v"], &json!(3)));
    assert_eq!((&asked[1][5], &asked[1][4]), (&json!("0.00000000"), &candle["c"]), "flat");
}
