//! Requests as serde_json reads them, held against the venue's own description of its methods.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use taut_order_entry::deribit::{Amount, NewOrder, Request, Secret, Trigger};
use taut_order_entry::sign::HmacKey;
use taut_types::{OrderFlags, OrderType, Price, Qty, Side, TimeInForce};

const ORDER: NewOrder<'static> = NewOrder {
    instrument: b"BTC-PERPETUAL",
    side: Side::Buy,
    amount: Amount::Units(Qty { mantissa: 405, decimals: 1 }),
    order_type: OrderType::Limit,
    price: Price(61_837_500_000_000),
    stop: None,
    time_in_force: TimeInForce::GoodTillCancel,
    flags: OrderFlags::NONE,
    shown: None,
    label: b"0000000000000001",
    valid_until_ms: None,
};

fn read(request: &Request<'_>) -> Value {
    let mut room = [0; 1024];
    serde_json::from_slice(request.write(7, &mut room).unwrap()).unwrap()
}

fn everything(key: &HmacKey) -> Vec<Request<'_>> {
    let stop = NewOrder {
        side: Side::Sell,
        amount: Amount::Contracts(4),
        order_type: OrderType::Market,
        stop: Some((Trigger::Mark, Price(60_000_000_000_000))),
        time_in_force: TimeInForce::FillOrKill,
        flags: OrderFlags::REDUCE_ONLY,
        shown: Some(Qty::whole(10)),
        valid_until_ms: Some(1_789_000_000_000),
        ..ORDER
    };
    let nonce = b"fdbmmz79";
    let (client_id, timestamp_ms) = (b"me", 1_554_883_365_000);
    let auth = Request::Authenticate { client_id, key, timestamp_ms, nonce, scope: b"connection" };
    let amount = ORDER.amount;
    let (order_id, price, flags) = (b"ETH-584864807", ORDER.price, OrderFlags::POST_ONLY);
    vec![
        auth,
        Request::Refresh { token: Secret(b"token") },
        Request::Test,
        Request::Time,
        Request::Heartbeat { interval_s: 10 },
        Request::CancelOnDisconnect,
        Request::Subscribe { is_private: false, channels: &[b"book.BTC-PERPETUAL.100ms"] },
        Request::Subscribe { is_private: true, channels: &[b"user.changes.any.any.raw"] },
        Request::Unsubscribe { is_private: false, channels: &[] },
        Request::Unsubscribe { is_private: true, channels: &[b"a", b"b"] },
        Request::Place(ORDER),
        Request::Place(stop),
        Request::Edit { order_id, amount, price, flags, valid_until_ms: None },
        Request::Cancel { order_id },
        Request::CancelByLabel { label: b"0000000000000001" },
        Request::CancelAll,
        Request::CancelAllOf { instrument: b"BTC-PERPETUAL" },
        Request::OpenOrders,
        Request::OpenOrdersOf { instrument: b"BTC-PERPETUAL" },
        Request::Positions,
        Request::EditByLabel {
            label: b"0000000000000001",
            instrument: b"BTC-PERPETUAL",
            amount: Amount::Units(Qty::whole(50)),
            price: Price(61_837_500_000_000),
            flags: OrderFlags::POST_ONLY,
        },
        Request::OrderState { order_id: b"ETH-584864807" },
        Request::OrderByLabel { currency: b"BTC", label: b"0000000000000001" },
    ]
}

#[test]
fn an_order_says_what_it_is_in_exact_decimals() {
    let mut room = [0; 512];
    let text = Request::Place(ORDER).write(7, &mut room).unwrap();
    let expected = concat!(
        r#"{"jsonrpc":"2.0","id":7,"method":"private/buy","params":{"#,
        r#""instrument_name":"BTC-PERPETUAL","amount":40.5,"type":"limit","price":61837.5,"#,
        r#""time_in_force":"good_til_cancelled","label":"0000000000000001"}}"#
    );
    assert_eq!(core::str::from_utf8(text), Ok(expected));
    // Exponents are none of ours.
    let small = NewOrder { price: Price(22_880), ..ORDER };
    let text = Request::Place(small).write(7, &mut room).unwrap();
    assert!(String::from_utf8_lossy(text).contains(r#""price":0.00002288,"#));
}

#[test]
fn a_stop_a_post_only_order_and_a_connection_say_theirs() {
    let key = HmacKey::new(b"ABCD");
    let requests = everything(&key);
    let expected = json!({
        "instrument_name": "BTC-PERPETUAL", "contracts": 4, "type": "stop_market",
        "trigger": "mark_price", "trigger_price": 60_000, "time_in_force": "fill_or_kill",
        "reduce_only": true, "display_amount": 10, "label": "0000000000000001",
        "valid_until": 1_789_000_000_000_u64,
    });
    assert_eq!(read(&requests[11])["params"], expected);
    let edit = &read(&requests[12])["params"];
    assert_eq!((&edit["post_only"], &edit["reject_post_only"]), (&json!(true), &json!(true)));
    let auth = &read(&requests[0])["params"];
    let signature = "e20c9cd5639d41f8bbc88f4d699c4baf94a4f0ee320e9a116b72743c449eb994";
    assert_eq!(auth["signature"], json!(signature));
}

#[test]
fn what_does_not_fit_is_not_written_and_nothing_allocates() {
    let key = HmacKey::new(b"ABCD");
    let requests = everything(&key);
    let mut room = [0; 1024];
    let info = allocation_counter::measure(|| {
        for request in &requests {
            let len = request.write(u64::MAX, &mut room).unwrap().len();
            for less in 0..len {
                assert_eq!(request.write(u64::MAX, &mut room[..less]), None);
            }
        }
    });
    assert_eq!(info.count_total, 0);
}

/// Every method is one of the venue's, every parameter one of its method's, and none that must be
/// there is missing.
#[test]
fn every_request_is_one_that_the_venue_describes() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/data/venues/deribit/deribit_api_v2.json"
    );
    let Ok(text) = std::fs::read_to_string(path) else {
        println!("skipped: deribit_api_v2.json is not there");
        return;
    };
    let api: Value = serde_json::from_str(&text).unwrap();
    let key = HmacKey::new(b"ABCD");
    let mut methods = BTreeSet::new();
    for request in everything(&key) {
        let json = read(&request);
        let method = format!("/{}", json["method"].as_str().unwrap());
        let described = &api["paths"][&method]["get"]["parameters"];
        let described: Vec<&Value> =
            described.as_array().into_iter().flatten().map(|one| resolve(&api, one)).collect();
        assert!(!api["paths"][&method].is_null(), "{method}");
        let given = json["params"].as_object().unwrap();
        for name in given.keys() {
            let is_known = described.iter().any(|one| one["name"] == json!(name));
            assert!(is_known, "{method} has no {name}");
        }
        for one in described.iter().filter(|one| one["required"] == json!(true)) {
            let name = one["name"].as_str().unwrap();
            // A grant type has no use for the credentials of the others.
            let is_other = method == "/public/auth" && name != "grant_type";
            assert!(given.contains_key(name) || is_other, "{method} lacks {name}");
        }
        methods.insert(method);
    }
    println!("{} methods: {methods:?}", methods.len());
}

/// What a reference such as `#/components/parameters/price` stands for.
fn resolve<'a>(api: &'a Value, value: &'a Value) -> &'a Value {
    match value["$ref"].as_str().and_then(|path| path.strip_prefix('#')) {
        Some(path) => api.pointer(path).unwrap(),
        None => value,
    }
}
