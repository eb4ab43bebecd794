//! Who asks, how often, and what connections are told.

use serde_json::{Value, json};

use super::rig::{Rig, SYMBOL, settings, sign_ed25519, sign_hmac};
use crate::binance::Binance;
use crate::front::{Front, HttpRequest, Refusal};

#[test]
fn signatures_are_those_of_the_venues_documents() {
    // The key and the texts of the documents' examples.
    let mut of_documents = settings();
    let key = &mut of_documents.accounts[0].keys[0];
    key.id = "vmPUZE6mv9SD5VNHk4HlWFsOr6aKE2zvsw0MuIgwCIPy6utIco14y7Ju91duEh8A".to_owned();
    key.secret =
        Some("NhqPtmdSJYdKjVHjA7PZj4Mge3R5YNiP1e3UZjInClVN65XAbvqqM6A7H5fATj0j".to_owned());
    let id = key.id.clone();
    let mut rig = Rig::of(Binance::new(&of_documents).expect("settings"), 2);
    rig.now.utc.0 = 1_499_827_319_559 * 1_000_000;
    let rest = "side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=0.1&recvWindow=5000\
                &timestamp=1499827319559";
    let signed = "c8db56825ae71d6d79447849e617115f4a920fa2acdcab2b053c4b2838bd6b71";
    let path = "/api/v3/order";
    let whole = format!("symbol=LTCBTC&{rest}");
    // Right as a query, as a body and in parts: the symbol is unknown here, the signature is not.
    let in_query = rig.rest("POST", &format!("{path}?{whole}&signature={signed}"), &id);
    let body = format!("{whole}&signature={signed}");
    let in_body = rig.rest_with_body("POST", path, &id, &body);
    for answer in [in_query, in_body] {
        assert_eq!(answer.body["code"], -1121, "{}", answer.body);
    }
    let wrong = rig.rest("POST", &format!("{path}?{whole}&signature={}", &signed[1..]), &id);
    assert_eq!((wrong.status, &wrong.body["code"]), (400, &json!(-1022)));
    let encoded = "symbol=%EF%BC%91%EF%BC%92%EF%BC%93%EF%BC%94%EF%BC%95%EF%BC%96";
    let signed = "e1353ec6b14d888f1164ae9af8228a3dbd508bc82eb867db8ab6046442f33ef3";
    let answer = rig.rest("POST", &format!("{path}?{encoded}&{rest}&signature={signed}"), &id);
    assert_eq!(answer.body["code"], -1121, "{}", answer.body);
    rig.now.utc.0 = 1_645_423_376_532 * 1_000_000;
    rig.open(1, "/ws-api/v3");
    let params = json!({
        "apiKey": id, "price": "0.10000000", "quantity": "1.00000000", "recvWindow": 5000,
        "side": "BUY", "symbol": "１２３４５６", "timeInForce": "GTC", "timestamp": 1645423376532_i64,
        "type": "LIMIT",
        "signature": "b33892ae8e687c939f4468c6268ddd4c40ac1af18ad19a064864c47bae0752cd",
    });
    assert_eq!(rig.call(1, "order.place", params, "")["error"]["code"], -1121);
}

#[test]
fn who_asks_is_checked_in_its_order() {
    let mut rig = Rig::new();
    let path = "/api/v3/account";
    let code = |rig: &mut Rig, query: &str, key: &str| {
        let answer = rig.rest("GET", &format!("{path}?{query}"), key);
        (answer.status, answer.body["code"].as_i64().unwrap_or(0))
    };
    let at = |ms: i64| {
        let query = format!("timestamp={ms}");
        let signature = sign_hmac(&query);
        format!("{query}&signature={signature}")
    };
    let now = rig.ms();
    assert_eq!(code(&mut rig, &at(now), ""), (401, -2014));
    assert_eq!(code(&mut rig, &at(now), "nobody"), (401, -2015));
    assert_eq!(code(&mut rig, "timestamp=1", "one"), (400, -1102), "no signature");
    assert_eq!(code(&mut rig, &at(now - 5_000), "one"), (200, 0));
    assert_eq!(code(&mut rig, &at(now - 5_001), "one"), (400, -1021));
    assert_eq!(code(&mut rig, &at(now + 999), "one"), (200, 0));
    assert_eq!(code(&mut rig, &at(now + 1_000), "one"), (400, -1021));
    assert_eq!(code(&mut rig, &at(now * 1_000), "one"), (200, 0), "microseconds");
    let wide = format!("timestamp={}&recvWindow=60001", now);
    let wide = format!("{wide}&signature={}", sign_hmac(&wide));
    assert_eq!(code(&mut rig, &wide, "one"), (400, -1131));
    // Ed25519 in base64, percent-encoded.
    let query = format!("timestamp={now}");
    let signature = sign_ed25519(&query).replace('+', "%2B").replace('/', "%2F");
    let query = format!("{query}&signature={}", signature.replace('=', "%3D"));
    assert_eq!(code(&mut rig, &query, "ed"), (200, 0));
}

#[test]
fn weight_is_told_and_its_limit_kept() {
    let mut rig = Rig::new();
    let deep = format!("/api/v3/depth?symbol={SYMBOL}&limit=5000");
    let header = |answer: &crate::rig::Answer, name: &str| {
        let found = answer.headers.iter().find(|(it, _)| it.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.clone())
    };
    let answer = rig.rest("GET", &deep, "");
    assert_eq!(header(&answer, "x-mbx-used-weight-1m").as_deref(), Some("250"));
    for _ in 0..23 {
        assert_eq!(rig.rest("GET", &deep, "").status, 200);
    }
    let answer = rig.rest("GET", &deep, "");
    assert_eq!((answer.status, &answer.body["code"]), (429, &json!(-1003)));
    let seconds: i64 = header(&answer, "retry-after").expect("a header").parse().expect("seconds");
    rig.pass(seconds * 1_000);
    assert_eq!(rig.rest("GET", &deep, "").status, 200);
    // An order that is placed weighs nothing, one that is refused does.
    let order = "side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=9";
    let order = format!("symbol={SYMBOL}&{order}");
    let placed = rig.signed("POST", "/api/v3/order", &order, "one");
    assert_eq!(header(&placed, "x-mbx-used-weight-1m").as_deref(), Some("250"));
    assert_eq!(header(&placed, "x-mbx-order-count-10s").as_deref(), Some("1"));
    let refused = rig.signed("POST", "/api/v3/order", "symbol=NONE", "one");
    assert_eq!(header(&refused, "x-mbx-used-weight-1m").as_deref(), Some("251"));
}

#[test]
fn streams_are_opened_and_closed_and_ids_echoed_as_they_came() {
    let mut rig = Rig::new();
    rig.open(1, "/ws/btcusdt@trade");
    for (id, echo) in [("1", "1"), ("\"0x1f\"", "\"0x1f\""), ("null", "null"), ("-7", "-7")] {
        let text =
            format!(r#"{{"method":"SUBSCRIBE","params":["btcusdt@depth","nonsense"],"id":{id}}}"#);
        rig.say(1, &text);
        let told = rig.texts.remove(&1).and_then(|mut all| all.pop()).expect("an answer");
        assert_eq!(told, format!("{{\"result\":null,\"id\":{echo}}}"));
        rig.pass(500);
    }
    rig.take(1);
    rig.pass(1_000);
    let mut ask = |text: &str| {
        rig.say(1, text);
        rig.pass(300);
        rig.take(1).pop().expect("an answer")
    };
    assert_eq!(
        ask(r#"{"method":"LIST_SUBSCRIPTIONS","id":3}"#)["result"],
        json!(["btcusdt@trade", "btcusdt@depth", "nonsense"])
    );
    ask(r#"{"method":"UNSUBSCRIBE","params":["nonsense"],"id":4}"#);
    assert_eq!(ask(r#"{"method":"GET_PROPERTY","params":["combined"],"id":5}"#)["result"], false);
    ask(r#"{"method":"SET_PROPERTY","params":["combined",true],"id":6}"#);
    for (text, code) in [
        ("{", 3),
        (r#"{"id":1}"#, 2),
        (r#"{"method":"SUBSCRIBE","params":[1],"id":1}"#, 2),
        (r#"{"method":"OTHER","id":1}"#, 2),
        (r#"{"method":"SUBSCRIBE","params":["a"],"id":1.5}"#, 2),
        (r#"{"method":"SET_PROPERTY","params":["other",true],"id":1}"#, 0),
        (r#"{"method":"SET_PROPERTY","params":["combined",1],"id":1}"#, 1),
    ] {
        assert_eq!(ask(text)["code"], code, "{text}");
    }
    rig.limit("one", "BUY", "1", "50000");
    rig.pass(1_000);
    let frame = rig.take(1).pop().expect("a frame");
    assert_eq!((&frame["stream"], &frame["data"]["s"]), (&json!("btcusdt@depth"), &json!(SYMBOL)));
    // More than five messages in a second end the connection.
    for _ in 0..6 {
        rig.say(1, r#"{"method":"LIST_SUBSCRIPTIONS","id":1}"#);
    }
    assert_eq!(rig.closed, [1]);
}

#[test]
fn the_api_serves_a_session_that_has_logged_on() {
    let mut rig = Rig::new();
    rig.open(1, "/ws-api/v3");
    rig.open(2, "/ws-api/v3?returnRateLimits=false");
    for id in ["70", "\"7d-9\"", "null"] {
        rig.say(1, &format!(r#"{{"id":{id},"method":"ping"}}"#));
        let told = rig.texts.remove(&1).and_then(|mut all| all.pop()).expect("an answer");
        assert!(
            told.starts_with(&format!("{{\"id\":{id},\"status\":200,\"result\":{{}}")),
            "{told}"
        );
    }
    // Two connections weigh two each.
    assert_eq!(rig.call(1, "time", json!({}), "")["rateLimits"][0]["count"], 8);
    assert!(rig.call(2, "time", json!({}), "").get("rateLimits").is_none());
    assert_eq!(rig.call(1, "nonsense", json!({}), "")["status"], 400);
    let order = json!({"symbol": SYMBOL, "side": "BUY", "type": "LIMIT", "timeInForce": "GTC",
                       "quantity": "1", "price": "50000"});
    let placed = rig.call(1, "order.place", order.clone(), "one");
    assert_eq!((&placed["status"], &placed["result"]["status"]), (&json!(200), &json!("NEW")));
    assert_eq!(placed["rateLimits"].as_array().map(Vec::len), Some(3));
    // Nobody is on the session yet, and an HMAC key cannot be.
    assert_eq!(rig.call(1, "account.status", json!({}), "")["status"], 401);
    assert_eq!(rig.call(1, "session.logon", json!({}), "one")["error"]["code"], -4056);
    let logon = rig.result(1, "session.logon", json!({}), "ed");
    assert_eq!(logon["apiKey"], "ed");
    let now = rig.ms();
    let mine = rig.result(1, "openOrders.status", json!({"timestamp": now}), "");
    assert_eq!(mine[0]["orderId"], placed["result"]["orderId"]);
    assert_eq!(rig.call(1, "openOrders.status", json!({}), "")["error"]["code"], -1102);
    let id = &placed["result"]["orderId"];
    let cancel = json!({"symbol": SYMBOL, "orderId": id, "timestamp": now});
    assert_eq!(rig.result(1, "order.cancel", cancel, "")["status"], "CANCELED");
    rig.result(1, "session.logout", json!({}), "");
    assert_eq!(rig.result(1, "session.status", json!({}), "")["apiKey"], Value::Null);
    assert_eq!(rig.call(1, "order.place", order, "")["status"], 401);
}

#[test]
fn owners_hear_of_their_orders_by_subscription_and_by_listen_key() {
    let mut rig = Rig::new();
    rig.open(1, "/ws-api/v3");
    assert_eq!(rig.call(1, "userDataStream.subscribe", json!({}), "")["status"], 401);
    let first = rig.result(1, "userDataStream.subscribe.signature", json!({}), "one");
    let second = rig.result(1, "userDataStream.subscribe.signature", json!({}), "two");
    assert_eq!((&first["subscriptionId"], &second["subscriptionId"]), (&json!(0), &json!(1)));
    let key = rig.rest("POST", "/api/v3/userDataStream", "one").body["listenKey"].clone();
    let key = key.as_str().expect("a key").to_owned();
    rig.open(2, &format!("/ws/{key}"));
    let placed = rig.limit("one", "BUY", "1", "50000");
    rig.limit("two", "SELL", "0.25", "50000");
    let told = rig.take(1);
    let of = |id: u64| -> Vec<(Value, Value)> {
        let events = told.iter().filter(|it| it["subscriptionId"] == id).map(|it| &it["event"]);
        events.map(|it| (it["e"].clone(), it["x"].clone())).collect()
    };
    let (report, position) = (json!("executionReport"), json!("outboundAccountPosition"));
    let seen = |kind: &str| (report.clone(), json!(kind));
    let money = (position, Value::Null);
    assert_eq!(of(0), [seen("NEW"), money.clone(), seen("TRADE"), money.clone()]);
    assert_eq!(of(1), [seen("NEW"), seen("TRADE"), money]);
    let trade = told.iter().find(|it| it["event"]["x"] == "TRADE" && it["event"]["m"] == true);
    let trade = &trade.expect("a trade")["event"];
    assert_eq!((&trade["X"], &trade["i"]), (&json!("PARTIALLY_FILLED"), &placed["orderId"]));
    assert_eq!(
        (&trade["l"], &trade["n"], &trade["N"]),
        (&json!("0.25000000"), &json!("0.00025000"), &json!("BTC"))
    );
    let raw = rig.take(2);
    assert_eq!(raw.iter().filter(|it| it["e"] == "executionReport").count(), 2);
    // A cancel: its id in front, the order's behind.
    let path = format!("symbol={SYMBOL}&orderId={}&newClientOrderId=bye", placed["orderId"]);
    rig.ok("DELETE", "/api/v3/order", &path, "one");
    let cancel = &rig.take(1)[0]["event"];
    assert_eq!(
        (&cancel["x"], &cancel["c"], &cancel["C"]),
        (&json!("CANCELED"), &json!("bye"), &placed["clientOrderId"])
    );
    let gone = rig.result(1, "userDataStream.unsubscribe", json!({"subscriptionId": 0}), "");
    assert_eq!(gone, json!({}));
    assert_eq!(rig.take(1)[0]["event"]["e"], "eventStreamTerminated");
    assert_eq!(
        rig.result(1, "session.subscriptions", json!({}), ""),
        json!([{"subscriptionId": 1}])
    );
    let target = format!("/api/v3/userDataStream?listenKey={key}");
    assert_eq!(rig.rest("PUT", &target, "one").status, 200);
    assert_eq!(rig.rest("DELETE", &target, "one").status, 200);
    assert_eq!(rig.rest("PUT", &target, "one").body["code"], -1125);
}

#[test]
fn bad_days_have_their_codes() {
    let mut rig = Rig::new();
    let refused = |rig: &mut Rig, method: &str, path: &str, why| {
        let request = HttpRequest {
            method: method.to_owned(),
            path: path.to_owned(),
            ..HttpRequest::default()
        };
        rig.front.refuse_request(rig.now, 0, request, why);
        rig.pump();
        let answer = rig.answers.pop().expect("an answer");
        (answer.status, answer.body["code"].as_i64().unwrap_or(0))
    };
    assert_eq!(refused(&mut rig, "GET", "/api/v3/ping", Refusal::Maintenance), (503, -1016));
    assert_eq!(refused(&mut rig, "GET", "/api/v3/ping", Refusal::TooMany), (429, -1003));
    assert_eq!(refused(&mut rig, "POST", "/api/v3/order", Refusal::Busy), (503, -1008));
    assert_eq!(refused(&mut rig, "GET", "/api/v3/ping", Refusal::Busy), (200, 0));
    assert_eq!(refused(&mut rig, "POST", "/api/v3/order", Refusal::Expired), (401, -2015));
    assert_eq!(refused(&mut rig, "GET", "/api/v3/ping", Refusal::Expired), (200, 0));
    assert_eq!(rig.rest("GET", "/api/v3/nonsense", "").status, 404);
    // A day is the longest life of a connection.
    rig.open(1, "/ws/btcusdt@trade");
    rig.open(2, "/stream?streams=btcusdt@trade");
    rig.pass(86_338_000);
    assert!(rig.texts.is_empty());
    // It is announced a minute before.
    rig.pass(2_500);
    let announced = rig.texts.values().flatten().filter(|it| it.contains("serverShutdown"));
    assert_eq!(announced.count(), 2, "{:?}", rig.texts);
    rig.pass(58_500);
    assert!(rig.closed.is_empty());
    rig.pass(2_000);
    assert_eq!(rig.closed, [1, 2]);
}
