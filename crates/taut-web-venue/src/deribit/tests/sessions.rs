//! Who is let in, how long, and what becomes of its orders when it goes.

use serde_json::json;
use taut_order_entry::deribit::{HttpRequest as Signed, client_signature};
use taut_order_entry::sign::HmacKey;

use super::rig::{PERPETUAL, Rig};
use crate::front::Front;

#[test]
fn a_signature_is_good_once() {
    let mut rig = Rig::new();
    rig.open(1);
    let key = HmacKey::new(b"ABCD");
    let timestamp = rig.now.utc.0 / 1_000_000;
    let signed = client_signature(&key, timestamp as u64, b"nonce", b"");
    let params = json!({"grant_type": "client_signature", "client_id": "one",
        "timestamp": timestamp, "nonce": "nonce", "signature": String::from_utf8_lossy(&signed)});
    let result = rig.result(1, "public/auth", params.clone());
    assert_eq!(result["token_type"], "bearer");
    assert_eq!(rig.code(1, "public/auth", params), 13004, "used");
    let refresh = json!({"grant_type": "refresh_token", "refresh_token": result["refresh_token"]});
    let again = rig.result(1, "public/auth", refresh.clone());
    assert_ne!(again["access_token"], result["access_token"]);
    assert_eq!(rig.code(1, "public/auth", refresh), 13004, "used");
    let wrong =
        json!({"grant_type": "client_credentials", "client_id": "one", "client_secret": "x"});
    assert_eq!(rig.code(1, "public/auth", wrong), 13004);
}

#[test]
fn http_requests_say_who_asks_in_three_ways() {
    let mut rig = Rig::new();
    let target = "/api/v2/private/buy?instrument_name=BTC-PERPETUAL&amount=10&price=59000&label=1";
    assert_eq!(rig.http(9, target, "")["error"]["code"], 10000);
    let key = HmacKey::new(b"ABCD");
    let timestamp = (rig.now.utc.0 / 1_000_000) as u64;
    let signed = Signed { method: b"GET", uri: target.as_bytes(), body: b"" };
    let mut room = [0; 512];
    let header = signed.authorization(b"one", &key, timestamp, b"n", &mut room).expect("room");
    let header = String::from_utf8_lossy(header).into_owned();
    assert_eq!(rig.http(9, target, &header)["result"]["order"]["label"], "1");
    let used = &rig.http(9, target, &header)["error"];
    // What a client that sends a request again may know it by.
    assert_eq!((&used["code"], &used["data"]), (&json!(13004), &json!({"invalid": "nonce"})));
    let orders = "/api/v2/private/get_open_orders";
    // one:ABCD
    let basic = rig.http(9, orders, "Basic b25lOkFCQ0Q=");
    assert_eq!(basic["result"].as_array().map(Vec::len), Some(1));
    let auth = "/api/v2/public/auth?grant_type=client_credentials&client_id=one&client_secret=ABCD";
    let token =
        rig.http(9, auth, "")["result"]["access_token"].as_str().expect("a token").to_owned();
    assert_eq!(rig.http(9, orders, &format!("bearer {token}"))["result"], basic["result"]);
    // A connection's token is good there only.
    let of_socket = rig.log_on(1, "one")["access_token"].as_str().expect("a token").to_owned();
    assert_eq!(rig.http(9, orders, &format!("bearer {of_socket}"))["error"]["code"], 13009);
}

#[test]
fn a_reader_does_not_trade() {
    let mut rig = Rig::new();
    rig.log_on(1, "reader");
    assert_eq!(rig.result(1, "private/get_open_orders", json!({})), json!([]));
    let order = json!({"instrument_name": PERPETUAL, "amount": 10, "price": 59_000});
    assert_eq!(rig.code(1, "private/buy", order), 13021);
}

#[test]
fn orders_go_with_their_connection_where_asked_and_stay_at_a_logout() {
    let mut rig = Rig::new();
    rig.log_on(1, "one");
    rig.log_on(2, "one");
    rig.limit(1, "private/buy", 10, 59_000.0);
    rig.result(1, "private/enable_cancel_on_disconnect", json!({}));
    rig.limit(2, "private/buy", 10, 58_000.0);
    rig.front.closed(rig.now, 1);
    rig.pump();
    let left = rig.result(2, "private/get_open_orders", json!({}));
    assert_eq!((left.as_array().map(Vec::len), &left[0]["price"]), (Some(1), &json!(58_000.0)));
    let history =
        rig.result(2, "private/get_order_history_by_currency", json!({"currency": "BTC"}));
    assert_eq!(history[0]["cancel_reason"], "cancel_on_disconnect");
    rig.result(2, "private/enable_cancel_on_disconnect", json!({}));
    let logout = json!({"jsonrpc": "2.0", "id": 77, "method": "private/logout"}).to_string();
    rig.front.text(rig.now, 2, &logout);
    rig.pump();
    rig.pump();
    assert_eq!(rig.closed, [2]);
    assert!(rig.inbox[&2].iter().all(|it| it["id"] != 77), "no answer");
    rig.log_on(3, "one");
    assert_eq!(
        rig.result(3, "private/get_open_orders", json!({})).as_array().map(Vec::len),
        Some(1)
    );
}

#[test]
fn who_does_not_answer_a_test_request_is_gone() {
    let mut rig = Rig::new();
    rig.log_on(1, "one");
    assert_eq!(rig.code(1, "public/set_heartbeat", json!({"interval": 9})), -32602);
    rig.result(1, "public/set_heartbeat", json!({"interval": 10}));
    rig.pass(9_999);
    assert!(rig.inbox[&1].is_empty());
    rig.pass(1);
    let kinds: Vec<_> = rig.inbox[&1].iter().map(|it| it["params"]["type"].clone()).collect();
    assert_eq!(kinds, ["heartbeat", "test_request"]);
    rig.result(1, "public/test", json!({}));
    rig.pass(10_000);
    assert!(rig.closed.is_empty(), "it answered");
    rig.pass(10_000);
    assert_eq!(rig.closed, [1]);
}

#[test]
fn who_asks_too_much_is_told_so_and_ended() {
    let mut rig = Rig::new();
    rig.log_on(1, "one");
    let code =
        (0..200).find_map(|_| rig.call(1, "public/test", json!({}))["error"]["code"].as_i64());
    assert_eq!((code, rig.closed.as_slice()), (Some(10028), &[1][..]));
}

#[test]
fn orders_have_credits_of_their_own_over_http_too() {
    let mut rig = Rig::new();
    let mut cancel = || rig.http(9, "/api/v2/private/cancel_all", "Basic b25lOkFCQ0Q=");
    let served = (0..99).take_while(|_| cancel()["result"] == 0).count();
    assert_eq!((served, &cancel()["error"]["code"]), (20, &json!(10028)));
    rig.pass(200);
    let again = rig.http(9, "/api/v2/private/cancel_all", "Basic b25lOkFCQ0Q=");
    assert_eq!(again["result"], 0, "five a second");
}

#[test]
fn methods_that_are_not_there_and_those_for_sockets_have_codes() {
    let mut rig = Rig::new();
    rig.open(1);
    assert_eq!(rig.code(1, "public/nothing", json!({})), -32601);
    assert_eq!(rig.code(1, "private/get_positions", json!({})), 10000);
    assert_eq!(rig.code(1, "public/test", json!({"expected_result": "exception"})), 10001);
    assert_eq!(rig.http(9, "/api/v2/public/subscribe?channels=[]", "")["error"]["code"], 10030);
    assert_eq!(rig.http(9, "/elsewhere", "")["error"]["code"], -32601);
}
