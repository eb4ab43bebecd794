//! Orders, their ends, and what they do to money.

use serde_json::{Value, json};

use super::rig::{Rig, SYMBOL};

const ORDER: &str = "/api/v3/order";

fn query(parts: &str) -> String {
    format!("symbol={SYMBOL}&{parts}")
}

fn balance(rig: &mut Rig, key: &str, asset: &str) -> (String, String) {
    let account = rig.ok("GET", "/api/v3/account", "", key);
    let all = account["balances"].as_array().expect("balances");
    let it = all.iter().find(|it| it["asset"] == asset).expect("the asset");
    let text = |key: &str| it[key].as_str().expect("a decimal").to_owned();
    (text("free"), text("locked"))
}

#[test]
fn an_order_is_partly_filled_and_cancelled_and_the_money_adds_up() {
    let mut rig = Rig::new();
    let placed = rig.limit("one", "BUY", "1", "60000");
    assert_eq!((&placed["status"], &placed["fills"]), (&json!("NEW"), &json!([])));
    assert_eq!(
        balance(&mut rig, "one", "USDT"),
        ("940000.00000000".into(), "60000.00000000".into())
    );
    let taken = rig.limit("two", "SELL", "0.4", "59000");
    assert_eq!(taken["status"], "FILLED");
    let fill = &taken["fills"][0];
    assert_eq!((&fill["price"], &fill["qty"]), (&json!("60000.00000000"), &json!("0.40000000")));
    assert_eq!(
        (&fill["commission"], &fill["commissionAsset"]),
        (&json!("48.00000000"), &json!("USDT"))
    );
    let by_id = query(&format!("orderId={}", placed["orderId"]));
    let asked = rig.ok("GET", ORDER, &by_id, "one");
    assert_eq!(
        (&asked["status"], &asked["executedQty"]),
        (&json!("PARTIALLY_FILLED"), &json!("0.40000000"))
    );
    assert_eq!(
        balance(&mut rig, "one", "USDT"),
        ("940000.00000000".into(), "36000.00000000".into())
    );
    assert_eq!(balance(&mut rig, "one", "BTC"), ("10.39960000".into(), "0.00000000".into()));
    assert_eq!(balance(&mut rig, "two", "USDT"), ("1023952.00000000".into(), "0.00000000".into()));
    let cancelled = rig.ok("DELETE", ORDER, &(by_id.clone() + "&newClientOrderId=bye"), "one");
    assert_eq!(
        (&cancelled["status"], &cancelled["clientOrderId"]),
        (&json!("CANCELED"), &json!("bye"))
    );
    assert_eq!(cancelled["origClientOrderId"], placed["clientOrderId"]);
    assert_eq!(balance(&mut rig, "one", "USDT"), ("976000.00000000".into(), "0.00000000".into()));
    assert_eq!(rig.code("DELETE", ORDER, &by_id, "one"), -2011);
    assert_eq!(rig.code("GET", ORDER, &by_id, "two"), -2013, "another's");
    let trades = rig.ok("GET", "/api/v3/myTrades", &query(""), "one");
    assert_eq!(
        (&trades[0]["isMaker"], &trades[0]["commission"]),
        (&json!(true), &json!("0.00040000"))
    );
}

#[test]
fn what_cannot_be_an_order_is_refused_by_its_code() {
    let mut rig = Rig::new();
    rig.limit("two", "SELL", "1", "60000");
    for (parts, code) in [
        ("side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=60000.001", -1013),
        ("side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=60000.123456789", -1111),
        ("side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=6e4", -1100),
        ("side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.000001&price=60000", -1013),
        ("side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.00001&price=60000", -1013),
        ("side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=2000000", -1013),
        ("side=BUY&type=LIMIT&quantity=1&price=60000", -1102),
        ("side=BUY&type=LIMIT&timeInForce=GTD&quantity=1&price=60000", -1115),
        ("side=HOLD&type=LIMIT&timeInForce=GTC&quantity=1&price=60000", -1117),
        ("side=BUY&type=NONE&quantity=1", -1116),
        ("side=BUY&type=STOP_LOSS&quantity=1&stopPrice=5", -2010),
        ("side=BUY&type=MARKET&quantity=1&price=60000", -1106),
        ("side=BUY&type=MARKET", -1102),
        ("side=BUY&type=LIMIT_MAKER&quantity=1&price=60000", -2010),
        ("side=BUY&type=LIMIT&timeInForce=GTC&quantity=100&price=60000", -2010),
        ("side=SELL&type=MARKET&quantity=11", -2010),
        ("side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=1&newClientOrderId=%20", -1100),
        ("side=BUY&type=MARKET&quantity=1&selfTradePreventionMode=TRANSFER", -1013),
    ] {
        assert_eq!(rig.code("POST", ORDER, &query(parts), "one"), code, "{parts}");
    }
    assert_eq!(rig.code("POST", ORDER, "symbol=NONE&side=BUY", "one"), -1121);
    assert_eq!(rig.code("POST", ORDER, &query("side=BUY&type=MARKET&quantity=1"), "reader"), -2015);
    // As many as MAX_NUM_ORDERS, and no id twice among them.
    let twice = query("side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=9&newClientOrderId=a");
    rig.ok("POST", ORDER, &twice, "one");
    assert_eq!(rig.code("POST", ORDER, &twice, "one"), -2010);
    for _ in 0..4 {
        rig.limit("one", "BUY", "1", "9");
    }
    let more = query("side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=9");
    assert_eq!(rig.code("POST", ORDER, &more, "one"), -1013);
    // Nothing of this has moved money or left an order.
    let cancelled = rig.ok("DELETE", "/api/v3/openOrders", &query(""), "one");
    assert_eq!(cancelled.as_array().map(Vec::len), Some(5));
    assert_eq!(rig.code("DELETE", "/api/v3/openOrders", &query(""), "one"), -2011);
    assert_eq!(balance(&mut rig, "one", "USDT"), ("1000000.00000000".into(), "0.00000000".into()));
}

#[test]
fn an_order_without_an_answer_is_found_by_its_clients_id() {
    let mut rig = Rig::new();
    let named = "side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=9&newClientOrderId=mine";
    let by_name = query("origClientOrderId=mine");
    assert_eq!(rig.code("GET", ORDER, &by_name, "one"), -2013, "not there yet");
    let placed = rig.ok("POST", ORDER, &query(named), "one");
    assert_eq!(rig.ok("GET", ORDER, &by_name, "one")["orderId"], placed["orderId"]);
    assert_eq!(rig.code("GET", ORDER, &query(""), "one"), -1128, "neither id");
    let both = query(&format!("orderId={}&origClientOrderId=other", placed["orderId"]));
    assert_eq!(rig.code("DELETE", ORDER, &both, "one"), -2011, "both, and not of one order");
    rig.ok("DELETE", ORDER, &by_name, "one");
    // The id is free again; asked for, it is the last order's.
    let again = rig.ok("POST", ORDER, &query(named), "one");
    assert_eq!(rig.ok("GET", ORDER, &by_name, "one")["orderId"], again["orderId"]);
    let all = rig.ok("GET", "/api/v3/allOrders", &query(""), "one");
    assert_eq!(all.as_array().map(Vec::len), Some(2));
}

#[test]
fn orders_that_do_not_trade_are_counted_by_account() {
    let mut rig = Rig::new();
    let missed = query("side=BUY&type=LIMIT&timeInForce=IOC&quantity=1&price=9");
    for _ in 0..100 {
        assert_eq!(rig.ok("POST", ORDER, &missed, "one")["status"], "EXPIRED");
    }
    let over = rig.signed("POST", ORDER, &missed, "one");
    assert_eq!((over.status, &over.body["code"]), (429, &json!(-1015)));
    assert_eq!(rig.ok("POST", ORDER, &missed, "two")["status"], "EXPIRED", "another's count");
    let limits = rig.ok("GET", "/api/v3/rateLimit/order", "", "one");
    assert_eq!((&limits[0]["count"], &limits[1]["count"]), (&json!(100), &json!(100)));
    rig.pass(10_000);
    rig.ok("POST", ORDER, &missed, "one");
}

#[test]
fn what_does_not_rest_expires() {
    let mut rig = Rig::new();
    rig.limit("two", "SELL", "0.5", "60000");
    let status = |answer: &Value| (answer["status"].clone(), answer["executedQty"].clone());
    let killed = "side=BUY&type=LIMIT&timeInForce=FOK&quantity=1&price=60000";
    let killed = rig.ok("POST", ORDER, &query(killed), "one");
    assert_eq!(status(&killed), (json!("EXPIRED"), json!("0.00000000")));
    let quoted = query("side=BUY&type=MARKET&quoteOrderQty=6000");
    let quoted = rig.ok("POST", ORDER, &quoted, "one");
    assert_eq!(status(&quoted), (json!("FILLED"), json!("0.10000000")));
    assert_eq!(quoted["origQuoteOrderQty"], "6000.00000000");
    let cut = query("side=BUY&type=LIMIT&timeInForce=IOC&quantity=1&price=60000");
    let cut = rig.ok("POST", ORDER, &cut, "one");
    assert_eq!(status(&cut), (json!("EXPIRED"), json!("0.40000000")));
    let nobody = rig.ok("POST", ORDER, &query("side=BUY&type=MARKET&quantity=1"), "one");
    assert_eq!(status(&nobody), (json!("EXPIRED"), json!("0.00000000")));
    assert_eq!(rig.ok("GET", "/api/v3/openOrders", "", "one"), json!([]));
}

#[test]
fn a_cancel_replace_tells_both_halves() {
    let mut rig = Rig::new();
    rig.limit("two", "SELL", "1", "60000");
    let placed = rig.limit("one", "BUY", "1", "50000");
    let replace = |mode: &str, cancel: &Value, price: &str| {
        query(&format!(
            "side=BUY&type=LIMIT&timeInForce=GTC&quantity=10&price={price}\
             &cancelReplaceMode={mode}&cancelOrderId={cancel}"
        ))
    };
    let path = "/api/v3/order/cancelReplace";
    // All the money is there once the first order is gone.
    let done = replace("STOP_ON_FAILURE", &placed["orderId"], "55000");
    let done = rig.ok("POST", path, &done, "one");
    assert_eq!(
        (&done["cancelResult"], &done["newOrderResult"]),
        (&json!("SUCCESS"), &json!("SUCCESS"))
    );
    let id = done["newOrderResponse"]["orderId"].clone();
    let stopped = replace("STOP_ON_FAILURE", &placed["orderId"], "55000");
    let stopped = rig.signed("POST", path, &stopped, "one");
    assert_eq!((stopped.status, stopped.body["code"].as_i64()), (400, Some(-2022)));
    assert_eq!(stopped.body["data"]["newOrderResult"], "NOT_ATTEMPTED");
    assert_eq!(stopped.body["data"]["cancelResponse"]["code"], -2011);
    let poor = replace("ALLOW_FAILURE", &id, "59000").replace("quantity=10", "quantity=100");
    let half = rig.signed("POST", path, &poor, "one");
    assert_eq!((half.status, half.body["code"].as_i64()), (409, Some(-2021)));
    assert_eq!(half.body["data"]["cancelResponse"]["status"], "CANCELED");
    assert_eq!(half.body["data"]["newOrderResponse"]["code"], -2010);
    assert_eq!(rig.ok("GET", "/api/v3/openOrders", "", "one"), json!([]));
    let filtered = replace("ALLOW_FAILURE", &id, "0.001");
    assert_eq!(rig.code("POST", path, &filtered, "one"), -1013, "filters come first");
}

#[test]
fn an_amend_makes_smaller_and_keeps_the_place() {
    let mut rig = Rig::new();
    let first = rig.limit("one", "BUY", "1", "50000");
    rig.limit("two", "BUY", "1", "50000");
    let path = "/api/v3/order/amend/keepPriority";
    let amend = |quantity: &str| query(&format!("orderId={}&newQty={quantity}", first["orderId"]));
    let amended = rig.ok("PUT", path, &amend("0.4"), "one");
    let order = &amended["amendedOrder"];
    assert_eq!(
        (&order["qty"], &order["executedQty"]),
        (&json!("0.40000000"), &json!("0.00000000"))
    );
    assert_eq!(order["origClientOrderId"], first["clientOrderId"]);
    assert_ne!(order["clientOrderId"], first["clientOrderId"], "one of the venue's");
    for (quantity, code) in [("0.4", -2038), ("0.5", -2038), ("0.000001", -1013)] {
        assert_eq!(rig.code("PUT", path, &amend(quantity), "one"), code, "{quantity}");
    }
    let sold = query("side=SELL&type=MARKET&quantity=0.4&selfTradePreventionMode=NONE");
    rig.ok("POST", ORDER, &sold, "two");
    let asked = rig.ok("GET", ORDER, &query(&format!("orderId={}", first["orderId"])), "one");
    assert_eq!(asked["status"], "FILLED", "it was still the first");
}

#[test]
fn an_account_does_not_trade_with_itself_unless_it_says_so() {
    for (mode, taker, maker) in [
        ("NONE", "FILLED", "FILLED"),
        ("EXPIRE_TAKER", "EXPIRED_IN_MATCH", "NEW"),
        ("EXPIRE_MAKER", "NEW", "EXPIRED_IN_MATCH"),
        ("EXPIRE_BOTH", "EXPIRED_IN_MATCH", "EXPIRED_IN_MATCH"),
        ("DECREMENT", "EXPIRED_IN_MATCH", "EXPIRED_IN_MATCH"),
    ] {
        let mut rig = Rig::new();
        let resting = rig.limit("one", "BUY", "1", "50000");
        let met = format!(
            "side=SELL&type=LIMIT&timeInForce=GTC&quantity=1&price=50000\
             &selfTradePreventionMode={mode}"
        );
        let met = rig.ok("POST", ORDER, &query(&met), "one");
        assert_eq!(met["status"], taker, "{mode}");
        let asked = rig.ok("GET", ORDER, &query(&format!("orderId={}", resting["orderId"])), "one");
        assert_eq!(asked["status"], maker, "{mode}");
    }
}
