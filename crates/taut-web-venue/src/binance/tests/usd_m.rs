//! USD-margined futures: which streams are where, what they say, and what is answered.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use taut_engine::{Command, NewOrder};
use taut_types::{HalfTicks, Lots, OrderId, Side};

use super::rig::{FUTURES, Rig, SYMBOL, with_futures};
use super::shapes::{file, shape};
use crate::binance::Binance;
use crate::front::Front;

fn rig() -> Rig {
    Rig::of(Binance::new(&with_futures()).expect("settings"), FUTURES + 1)
}

/// An order of the crowd, at so many dollars.
fn trade(rig: &mut Rig, id: u64, side: Side, dollars: i64, lots: i64) {
    let order = NewOrder::limit(OrderId(id), 1, side, HalfTicks(200 * dollars), Lots(lots));
    let mut events = Vec::new();
    rig.engines[FUTURES].execute(Command::New(order), &mut |event| events.push(event));
    rig.front.on_events(rig.now, FUTURES, &events);
    rig.pump();
}

/// Which kinds came on a connection.
fn kinds(rig: &mut Rig, connection: u64) -> BTreeSet<String> {
    let kind = |it: &Value| it["e"].as_str().map(str::to_owned);
    rig.take(connection).iter().filter_map(kind).collect()
}

const ALL: &str = "btcusdt@depth@100ms/btcusdt@trade/btcusdt@bookTicker/btcusdt@aggTrade/\
                   btcusdt@markPrice@1s/btcusdt@kline_1m";

#[test]
fn a_stream_comes_where_its_class_is_and_is_silent_elsewhere() {
    let mut rig = rig();
    let places = [
        ("", "/public", &["bookTicker", "depthUpdate", "trade"][..]),
        ("fstream.binance.com", "/public", &["bookTicker", "depthUpdate", "trade"]),
        ("", "/market", &["aggTrade", "kline", "markPriceUpdate"]),
        // Where it was before, and at the spot market.
        ("fstream.binance.com", "", &[]),
        ("", "", &[]),
    ];
    for (connection, (host, class, _)) in (1..).zip(places) {
        assert_eq!(rig.open_as(connection, (host, &format!("{class}/ws/{ALL}")), ""), Ok(()));
    }
    trade(&mut rig, 1, Side::Sell, 60_000, 5);
    trade(&mut rig, 2, Side::Buy, 60_000, 2);
    rig.pass(1_000);
    for (connection, (host, class, expected)) in (1..).zip(places) {
        let came = kinds(&mut rig, connection);
        assert!(came.iter().eq(expected), "{host}{class}: {came:?}");
    }
    let denied = rig.open_as(9, ("", "/private/ws"), "").expect_err("not played");
    assert_eq!(denied.status, 404);
}

#[test]
fn partial_depth_has_the_best_levels_and_the_numbers_of_the_change() {
    let mut rig = rig();
    rig.open(1, "/public/stream?streams=btcusdt@depth@100ms/btcusdt@depth5@100ms");
    rig.pass(1);
    for id in 1..=7 {
        trade(&mut rig, id, Side::Buy, 59_000 + id as i64, 1);
    }
    rig.pass(100);
    let frames = rig.take(1);
    let [change, partial] = &frames[..] else { panic!("{frames:?}") };
    for key in ["e", "s", "U", "u", "pu"] {
        assert_eq!(change["data"][key], partial["data"][key], "{key}");
    }
    let bids = partial["data"]["b"].as_array().expect("levels");
    assert_eq!((bids.len(), &bids[0][0]), (5, &json!("59007.00000000")));
}

#[test]
fn update_ids_leap_and_name_the_ones_before() {
    let mut rig = rig();
    rig.open(1, "/public/stream?streams=btcusdt@depth@100ms");
    rig.pass(1);
    let mut last = None;
    for id in 1..=5 {
        trade(&mut rig, 2 * id, Side::Buy, 59_000 + id as i64, 1);
        trade(&mut rig, 2 * id + 1, Side::Sell, 61_000 + id as i64, 1);
        rig.pass(100);
        let frames = rig.take(1);
        let [frame] = &frames[..] else { panic!("{frames:?}") };
        let number = |key: &str| frame["data"][key].as_u64().expect("a number");
        let (first, end, previous) = (number("U"), number("u"), number("pu"));
        assert!(last.is_none_or(|last| previous == last && first > last + 1), "{frame}");
        assert!(first < end, "{frame}");
        last = Some(end);
    }
    assert_eq!(last, Some(rig.front.markets[FUTURES].update_id));
}

#[test]
fn the_mark_and_its_funding_are_told_each_second() {
    let mut rig = rig();
    trade(&mut rig, 1, Side::Buy, 59_990, 5);
    trade(&mut rig, 2, Side::Sell, 60_010, 5);
    rig.open(1, "/market/ws/btcusdt@markPrice@1s");
    rig.pass(1_000);
    rig.pass(1_000);
    let told = rig.take(1);
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(
        (&told[1]["p"], &told[1]["i"]),
        (&json!("60000.00000000"), &json!("60000.00000000"))
    );
    let (at, funding) = (told[1]["E"].as_i64(), told[1]["T"].as_i64());
    let wait = funding.expect("a time") - at.expect("a time");
    assert!((1..=8 * 3_600_000).contains(&wait), "{told:?}");
}

#[test]
fn books_and_symbols_are_answered_and_orders_are_not_taken() {
    let mut settings = with_futures();
    settings.instruments[FUTURES].name = "SOLUSDT".to_owned();
    let mut rig = Rig::of(Binance::new(&settings).expect("settings"), FUTURES + 1);
    trade(&mut rig, 1, Side::Buy, 150, 5);
    rig.open(1, "/ws-fapi/v1");
    let asked = |limit: u32| json!({"symbol": "SOLUSDT", "limit": limit});
    let book = rig.result(1, "depth", asked(1_000), "");
    assert_eq!(book["bids"], json!([["150.00000000", "0.00005000"]]));
    assert_eq!(book["lastUpdateId"], json!(rig.front.markets[FUTURES].update_id));
    for (method, params, code) in [
        ("depth", asked(7), -4021),
        ("depth", json!({"symbol": SYMBOL, "limit": 5}), -1121),
        ("order.place", json!({}), -1100),
        ("exchangeInfo", json!({}), -1100),
    ] {
        assert_eq!(rig.call(1, method, params, "")["error"]["code"], code, "{method}");
    }
    assert_eq!(
        rig.rest("GET", "/fapi/v1/depth?symbol=SOLUSDT&limit=5", "").body["bids"],
        book["bids"]
    );
    let names = |rig: &mut Rig, path: &str| {
        let info = rig.rest("GET", path, "").body;
        let all = info["symbols"].as_array().expect("symbols").clone();
        all.iter().map(|it| it["symbol"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&mut rig, "/fapi/v1/exchangeInfo"), ["SOLUSDT"]);
    assert_eq!(names(&mut rig, "/api/v3/exchangeInfo"), [SYMBOL, "ETHUSDT"]);
    let order = "symbol=SOLUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=150";
    assert_eq!(rig.code("POST", "/api/v3/order", order, "one"), -1121);
    let snapshot = rig.rest("GET", "/api/v3/depth?symbol=SOLUSDT", "");
    assert_eq!(snapshot.body["code"], -1121);
}

#[test]
fn messages_have_the_keys_order_and_types_of_recorded_ones() {
    let Some(recorded) = file("frames/binance-usdm.ws.txt") else { return };
    let mut rig = rig();
    rig.open(1, &format!("/public/stream?streams={ALL}"));
    rig.open(2, &format!("/market/stream?streams={ALL}"));
    trade(&mut rig, 1, Side::Buy, 59_990, 5);
    trade(&mut rig, 2, Side::Sell, 60_000, 5);
    trade(&mut rig, 3, Side::Buy, 60_000, 2);
    rig.pass(1_000);
    let mut said = BTreeMap::new();
    for text in [1, 2].into_iter().flat_map(|it| rig.texts.remove(&it).unwrap_or_default()) {
        let frame: Value = serde_json::from_str(&text).expect("JSON");
        let kind = frame["stream"].as_str().and_then(|it| it.split_once('@')).expect("a name").1;
        said.entry(kind.to_owned()).or_insert(text);
    }
    let whole = |it: &str| it.replace("b:[],", "b:[[text]],").replace("a:[]", "a:[[text]]");
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
        assert_eq!(whole(&shape(ours)), whole(&shape(&text)), "{kind}: {ours}");
        let known = ["depth@100ms", "bookTicker", "aggTrade", "kline_1m"];
        let kind = known.iter().find(|it| **it == kind).expect("a kind that is known");
        *checked.entry(kind).or_default() += 1;
    }
    println!("recorded frames of the same shape: {checked:?}");
    assert_eq!(checked.len(), 4);
}
