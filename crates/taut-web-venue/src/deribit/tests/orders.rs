//! Orders, from their entry to their end, and what they do to money.

use serde_json::json;
use taut_order_entry::deribit::read_instrument;
use taut_types::Price;

use super::rig::{PERPETUAL, Rig};

/// It has two price steps.
const OPTION: &str = "BTC-25DEC26-60000-C";

#[test]
fn an_order_is_partly_filled_edited_and_cancelled() {
    let mut rig = Rig::new();
    rig.log_on(1, "one");
    rig.log_on(2, "two");
    let channels =
        json!({"channels": ["user.orders.BTC-PERPETUAL.raw", "user.trades.any.any.raw"]});
    rig.result(1, "private/subscribe", channels);
    let placed = rig.limit(1, "private/buy", 100, 60_000.0);
    let id = placed["order"]["order_id"].clone();
    assert_eq!(placed["order"]["order_state"], "open");
    let taken = rig.limit(2, "private/sell", 40, 60_000.0);
    assert_eq!(taken["order"]["order_state"], "filled");
    assert_eq!(taken["trades"][0]["liquidity"], "T");
    let told = rig.data(1, "user.orders.BTC-PERPETUAL.raw");
    assert_eq!(told.last().expect("an order")["filled_amount"], json!(40.0));
    let trades = rig.data(1, "user.trades.any.any.raw");
    assert_eq!((trades.len(), &trades[0][0]["order_id"]), (1, &id));
    // The amount is the new total.
    let params = json!({"order_id": id, "amount": 50, "price": 59_999.5});
    let edited = rig.result(1, "private/edit", params);
    assert_eq!(edited["order"]["amount"], json!(50.0));
    assert_eq!(edited["order"]["filled_amount"], json!(40.0));
    assert_eq!(
        (edited["order"]["replaced"].as_bool(), &edited["order"]["order_id"]),
        (Some(true), &id)
    );
    let book = rig.result(1, "public/get_order_book", json!({"instrument_name": PERPETUAL}));
    assert_eq!(book["bids"], json!([[59_999.5, 10.0]]));
    let ended = rig.result(1, "private/cancel", json!({"order_id": id}));
    assert_eq!(
        (&ended["order_state"], &ended["cancel_reason"]),
        (&json!("cancelled"), &json!("user_request"))
    );
    assert_eq!(rig.code(1, "private/cancel", json!({"order_id": id})), 11044);
    assert_eq!(rig.code(2, "private/cancel", json!({"order_id": id})), 10029);
    assert_eq!(rig.code(2, "private/cancel", json!({"order_id": "nothing"})), 10004);
    let done = rig.result(1, "private/get_order_state", json!({"order_id": id}));
    assert_eq!(done["order_state"], "cancelled");
}

#[test]
fn a_position_and_its_profit_are_in_coins() {
    let mut rig = Rig::new();
    rig.log_on(1, "one");
    rig.log_on(2, "two");
    rig.limit(2, "private/sell", 60_000, 60_000.0);
    rig.limit(1, "private/buy", 60_000, 60_000.0);
    rig.limit(2, "private/buy", 60_000, 61_000.0);
    rig.limit(1, "private/sell", 60_000, 61_000.0);
    let two = rig.result(2, "private/get_account_summary", json!({"currency": "BTC"}));
    let one = rig.result(1, "private/get_account_summary", json!({"currency": "BTC"}));
    // One coin bought at 60,000, sold at 61,000; the taker's fees: 0.0005 of 1 and of 0.98360656.
    let profit = 1.0 - 60_000.0 / 61_000.0;
    let fees = 0.0005 * (1.0 + 60_000.0 / 61_000.0);
    let near =
        |is: &serde_json::Value, was: f64| (is.as_f64().expect("a number") - was).abs() < 1e-8;
    assert!(near(&one["balance"], 10.0 + profit - fees), "{one}");
    assert!(near(&two["balance"], 10.0 - profit), "{two}");
    let position = rig.result(1, "private/get_position", json!({"instrument_name": PERPETUAL}));
    assert_eq!((&position["size"], &position["direction"]), (&json!(0.0), &json!("zero")));
    assert_eq!(
        rig.code(
            1,
            "private/buy",
            json!({"instrument_name": PERPETUAL, "amount": 60_000_000, "price": 60_000})
        ),
        10009
    );
}

#[test]
fn spot_moves_both_currencies() {
    let mut rig = Rig::new();
    rig.log_on(1, "one");
    rig.log_on(2, "two");
    let order = json!({"instrument_name": "BTC_USDC", "amount": 0.5, "price": 60_000});
    rig.result(1, "private/sell", order.clone());
    rig.result(2, "private/buy", order);
    let balance = |rig: &mut Rig, connection, currency: &str| {
        let currency = json!({"currency": currency});
        rig.result(connection, "private/get_account_summary", currency)["balance"].clone()
    };
    assert_eq!(balance(&mut rig, 1, "BTC"), json!(9.5));
    assert_eq!(balance(&mut rig, 1, "USDC"), json!(130_000.0));
    assert_eq!(balance(&mut rig, 2, "USDC"), json!(69_985.0), "a fee of 15");
    let all = json!({"instrument_name": "BTC_USDC", "amount": 2, "price": 60_000});
    assert_eq!(rig.code(2, "private/buy", all), 10009);
}

#[test]
fn what_cannot_be_an_order_is_refused_by_its_code() {
    let mut rig = Rig::new();
    rig.log_on(1, "one");
    rig.log_on(2, "two");
    rig.limit(2, "private/sell", 100, 60_000.0);
    let with = |more: serde_json::Value| {
        let mut params = json!({"instrument_name": PERPETUAL, "amount": 10, "price": 59_000});
        params.as_object_mut().expect("an object").extend(more.as_object().expect("one").clone());
        params
    };
    for (more, code) in [
        (json!({"price": 59_000.3}), 10043),
        (json!({"price": 0}), 10023),
        (json!({"price": 90_000}), 10007),
        (json!({"amount": 5}), 10002),
        (json!({"amount": 15}), -32602),
        (json!({"amount": null}), -32602),
        (json!({"instrument_name": "X"}), -32602),
        (json!({"price": 60_000, "post_only": true, "reject_post_only": true}), 11054),
        (json!({"valid_until": 1}), 13888),
        (json!({"label": "x".repeat(65)}), -32602),
        (json!({"contracts": 2}), -32602),
        (json!({"reduce_only": true}), 11030),
    ] {
        rig.pass(1_000);
        assert_eq!(rig.code(1, "private/buy", with(more.clone())), code, "{more}");
    }
    assert_eq!(rig.result(1, "private/get_open_orders", json!({})), json!([]));
    // One that may move stays just inside the spread.
    let slid = rig.result(1, "private/buy", with(json!({"price": 60_000, "post_only": true})));
    assert_eq!(slid["order"]["price"], json!(59_999.5));
    // Its own orders do not trade with each other.
    let own = rig.limit(1, "private/sell", 10, 59_999.5);
    assert_eq!(
        (&own["order"]["order_state"], own["trades"].as_array().map(Vec::len)),
        (&json!("cancelled"), Some(0))
    );
}

#[test]
fn a_stop_waits_for_a_trade() {
    let mut rig = Rig::new();
    rig.log_on(1, "one");
    rig.log_on(2, "two");
    let stop = json!({"instrument_name": PERPETUAL, "amount": 10, "type": "stop_limit",
        "price": 59_000, "trigger": "last_price", "trigger_price": 59_500});
    let placed = rig.result(1, "private/sell", stop);
    assert_eq!(placed["order"]["order_state"], "untriggered");
    rig.limit(2, "private/buy", 10, 59_500.0);
    rig.limit(2, "private/buy", 50, 59_400.0);
    rig.log_on(3, "two");
    let id = placed["order"]["order_id"].clone();
    // Account one itself hits the bid: the stop follows.
    rig.limit(1, "private/sell", 10, 59_500.0);
    let order = rig.result(1, "private/get_order_state", json!({"order_id": id}));
    assert_eq!((&order["order_state"], &order["triggered"]), (&json!("filled"), &json!(true)));
}

#[test]
fn many_are_cancelled_by_what_they_have_in_common() {
    let mut rig = Rig::new();
    rig.log_on(1, "one");
    for (nth, label) in ["a", "b", "a", "c"].iter().enumerate() {
        let price = 59_000 - nth;
        let params =
            json!({"instrument_name": PERPETUAL, "amount": 10, "price": price, "label": label});
        rig.result(1, "private/buy", params);
    }
    assert_eq!(rig.result(1, "private/cancel_by_label", json!({"label": "a"})), json!(2));
    let by = json!({"instrument_name": PERPETUAL, "label": "c", "amount": 20, "price": 58_000});
    assert_eq!(rig.result(1, "private/edit_by_label", by)["order"]["amount"], json!(20.0));
    assert_eq!(
        rig.result(1, "private/cancel_all_by_currency", json!({"currency": "ETH"})),
        json!(0)
    );
    assert_eq!(rig.result(1, "private/cancel_all", json!({})), json!(2));
    assert_eq!(
        rig.result(1, "private/get_open_orders_by_currency", json!({"currency": "BTC"})),
        json!([])
    );
}

#[test]
fn a_price_is_taken_if_and_only_if_it_is_on_the_step_that_the_venue_tells_for_it() {
    let mut rig = Rig::new();
    rig.log_on(1, "one");
    let name = json!({"instrument_name": OPTION});
    let told = rig.result(1, "public/get_instrument", name);
    let told = told.to_string();
    let told = read_instrument(told.as_bytes()).expect("an instrument");
    let lowest = told.tick.expect("a step");
    let mut refused = [0_u32; 2];
    for number in 1..400_u64 {
        // Around the bound and far from it, on a step of either kind and on none: at 1e-5.
        let units = [number, 300 + number, 7 * number, 50 * number][number as usize % 4];
        let price = Price(units as i64 * 10_000);
        rig.pass(1_000);
        let order = json!({
            "instrument_name": OPTION,
            "amount": 0.1,
            "price": units as f64 / 1e5,
            "time_in_force": "immediate_or_cancel",
        });
        let answer = rig.call(1, "private/buy", order);
        let is_off_step = answer["error"]["code"] == 10_043;
        assert_eq!(is_off_step, !told.steps.allow(price, lowest), "{units}e-5: {answer}");
        refused[usize::from(is_off_step)] += 1;
    }
    assert!(refused.iter().all(|count| *count > 50), "{refused:?}");
}
