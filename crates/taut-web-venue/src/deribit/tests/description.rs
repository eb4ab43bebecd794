//! Everything that the venue says in any test is valid by the interface's own description
//! (OpenAPI 3), which stands beside the repository.

use std::collections::BTreeSet;
use std::fs;
use std::sync::OnceLock;

use serde_json::{Value, json};
use taut_engine::Phase;

use super::rig::{PERPETUAL, Rig};
use crate::front::Front;

const FILE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/venues/deribit/deribit_api_v2.json");

/// Names that stand among the required fields and mean another.
const SLIPS: [(&str, &str); 6] = [
    ("best_add_price", "best_ask_price"),
    ("best_add_amount", "best_ask_amount"),
    ("relized_profit_loss", "realized_profit_loss"),
    ("instrument", "instrument_name"),
    ("base currency", "base_currency"),
    ("min_confirmation", "min_confirmations"),
];

/// Where recorded frames have another type than the description, which has a number: statistics
/// without a trade are null, and the name of an underlying is text.
const FRAMES: [&str; 6] = [
    ".stats.high",
    ".stats.low",
    ".stats.volume",
    ".stats.price_change",
    "[].high",
    ".underlying_index",
];

struct Description(Value);

impl Description {
    fn read() -> Option<Self> {
        let text = fs::read_to_string(FILE).ok()?;
        Some(Self(serde_json::from_str(&text).expect("the description")))
    }

    fn find(&self, reference: &str) -> Option<&Value> {
        self.0.pointer(reference.strip_prefix('#')?)
    }

    fn answer(&self, method: &str) -> Option<&Value> {
        let path = &self.0["paths"][format!("/{method}")];
        let verb = if path.get("get").is_some() { &path["get"] } else { &path["post"] };
        let schema = &verb["responses"]["200"]["content"]["application/json"]["schema"];
        schema.is_object().then_some(schema)
    }

    fn channel(&self, name: &str) -> Option<&Value> {
        let matches = |pattern: &str| {
            let (pattern, name): (Vec<_>, Vec<_>) =
                (pattern.split('.').collect(), name.split('.').collect());
            let one = |(it, part): (&&str, &&str)| it == part || it.starts_with('{');
            pattern.len() == name.len() && pattern.iter().zip(&name).all(one)
        };
        let all = self.0["components"]["x-subscriptions"].as_object()?;
        // The one with the most fixed words.
        let found = all.iter().filter(|(pattern, _)| matches(pattern));
        let found = found.min_by_key(|(pattern, _)| pattern.matches('{').count())?;
        let schema = &found.1["notifications"]["schema"];
        // Described as a list for one form and as an object for the other: the venue sends the
        // object for both.
        Some(if name.starts_with("user.changes.") {
            schema.get("items").unwrap_or(schema)
        } else {
            schema
        })
    }

    fn check(&self, schema: &Value, value: &Value, at: &str, wrong: &mut BTreeSet<String>) {
        if let Some(reference) = schema["$ref"].as_str() {
            // Four references of the file lead nowhere.
            if let Some(schema) = self.find(reference) {
                self.check(schema, value, at, wrong);
            }
            return;
        }
        // The words say more than the types.
        let words = schema["description"].as_str().unwrap_or_default();
        if value.is_null() && (schema["nullable"] == true || words.contains("`null`")) {
            return;
        }
        if FRAMES.iter().any(|it| at.ends_with(it)) && (value.is_null() || value.is_string()) {
            return;
        }
        for schema in schema["allOf"].as_array().into_iter().flatten() {
            self.check(schema, value, at, wrong);
        }
        if let Some(choices) = schema["oneOf"].as_array() {
            let fits = |schema: &Value| {
                let mut wrong = BTreeSet::new();
                self.check(schema, value, at, &mut wrong);
                wrong.is_empty()
            };
            if !choices.iter().any(fits) {
                wrong.insert(format!("{at}: {value} is none of the choices"));
            }
        }
        let is_type = match schema["type"].as_str() {
            Some("object") => value.is_object(),
            Some("array") => value.is_array(),
            Some("string") => value.is_string(),
            Some("boolean") => value.is_boolean(),
            Some("integer") => value.is_i64() || value.is_u64(),
            Some("number") => value.is_number(),
            _ => true,
        };
        if !is_type {
            wrong.insert(format!("{at}: {value} is no {}", schema["type"]));
        }
        if schema["enum"].as_array().is_some_and(|all| !all.contains(value)) {
            wrong.insert(format!("{at}: {value} is none of {}", schema["enum"]));
        }
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            let meant =
                SLIPS.iter().find(|(slip, _)| *slip == name).map_or(name, |(_, meant)| *meant);
            let words = schema["properties"][name]["description"].as_str().unwrap_or_default();
            if words.contains("available when parameter") {
                continue;
            }
            if value.is_object() && value.get(meant).is_none() && value.get(name).is_none() {
                wrong.insert(format!("{at}.{name}: absent"));
            }
        }
        for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
            if let Some(value) = value.get(name) {
                self.check(schema, value, &format!("{at}.{name}"), wrong);
            }
        }
        if schema["items"].is_object() {
            for value in value.as_array().into_iter().flatten() {
                self.check(&schema["items"], value, &format!("{at}[]"), wrong);
            }
        }
    }
}

/// The description, where it is there.
fn description() -> Option<&'static Description> {
    static DESCRIPTION: OnceLock<Option<Description>> = OnceLock::new();
    DESCRIPTION.get_or_init(Description::read).as_ref()
}

/// Whether a notification, if it is one, is as the description says.
pub fn check_notification(message: &Value) {
    let (Some(description), Some(channel)) = (description(), message["params"]["channel"].as_str())
    else {
        return;
    };
    let schema = description.channel(channel).unwrap_or_else(|| panic!("no {channel}"));
    let mut wrong = BTreeSet::new();
    description.check(schema, &message["params"]["data"], channel, &mut wrong);
    assert!(wrong.is_empty(), "{}", wrong.into_iter().collect::<Vec<_>>().join("\n"));
}

/// Whether an answer to this request is.
pub fn check_answer(method: &str, answer: &Value) {
    let Some(description) = description() else { return };
    let mut wrong = BTreeSet::new();
    if answer.get("error").is_some() {
        let (code, message) = (&answer["error"]["code"], &answer["error"]["message"]);
        assert!(code.is_i64() && message.is_string(), "{method}: {answer}");
        return;
    }
    if method == "private/get_user_trades_by_order" {
        // Described as if the message were the list.
        let schema = description.find("#/components/schemas/user_trade").expect("a trade's");
        for trade in answer["result"].as_array().expect("a list") {
            description.check(schema, trade, method, &mut wrong);
        }
    } else if let Some(schema) = description.answer(method) {
        description.check(schema, answer, method, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.into_iter().collect::<Vec<_>>().join("\n"));
}

#[test]
fn every_message_is_valid_by_the_interfaces_description() {
    let Some(description) = description() else {
        println!("skipped: no description of the interface at {FILE}");
        return;
    };
    let mut rig = Rig::new();
    rig.log_on(1, "one");
    rig.log_on(2, "two");
    let mut kinds = BTreeSet::new();
    // The rig checks what comes.
    let mut ask = |rig: &mut Rig, method: &str, params: Value| -> Value {
        rig.pass(1_000);
        assert!(description.answer(method).is_some(), "no description of {method}");
        kinds.insert(method.to_owned());
        rig.result(1, method, params)
    };
    let mut channels: Vec<String> = ["raw", "100ms", "agg2"]
        .iter()
        .flat_map(|interval| {
            [
                "book.BTC-PERPETUAL",
                "ticker.BTC-PERPETUAL",
                "ticker.BTC-25DEC26-60000-C",
                "trades.BTC-PERPETUAL",
                "trades.future.BTC",
                "user.orders.BTC-PERPETUAL",
                "user.orders.future.BTC",
                "user.trades.BTC-PERPETUAL",
                "user.trades.any.any",
                "user.changes.any.any",
            ]
            .map(|it| format!("{it}.{interval}"))
        })
        .collect();
    channels.extend(
        [
            "quote.BTC-PERPETUAL",
            "deribit_price_index.btc_usd",
            "book.BTC-PERPETUAL.none.10.100ms",
            "user.portfolio.btc",
            "instrument.state.any.any",
            "instrument.state.future.BTC",
            "platform_state",
            "platform_state.public_methods_state",
        ]
        .map(str::to_owned),
    );
    ask(&mut rig, "public/subscribe", json!({"channels": channels}));
    let instrument = json!({"instrument_name": PERPETUAL});
    let order = json!({"instrument_name": PERPETUAL, "amount": 100, "price": 60_000, "label": "l"});
    let placed = ask(&mut rig, "private/buy", order.clone());
    let id = placed["order"]["order_id"].clone();
    rig.limit(2, "private/sell", 40, 60_000.0);
    ask(&mut rig, "private/edit", json!({"order_id": id, "amount": 120, "price": 60_000.5}));
    ask(
        &mut rig,
        "private/edit_by_label",
        json!({"label": "l", "instrument_name": PERPETUAL, "amount": 130, "price": 60_000.5}),
    );
    ask(&mut rig, "private/get_order_state", json!({"order_id": id}));
    let by_label = json!({"currency": "BTC", "label": "l"});
    ask(&mut rig, "private/get_order_state_by_label", by_label.clone());
    ask(&mut rig, "private/get_open_orders_by_label", by_label);
    ask(&mut rig, "private/get_open_orders", json!({}));
    ask(&mut rig, "private/get_open_orders_by_currency", json!({"currency": "BTC"}));
    ask(&mut rig, "private/get_open_orders_by_instrument", instrument.clone());
    ask(&mut rig, "private/get_user_trades_by_instrument", instrument.clone());
    ask(&mut rig, "private/get_user_trades_by_currency", json!({"currency": "BTC"}));
    ask(&mut rig, "private/get_user_trades_by_order", json!({"order_id": id}));
    let span = json!({"instrument_name": PERPETUAL, "currency": "BTC", "start_timestamp": 0,
                      "end_timestamp": 4_102_444_800_000_u64});
    for method in [
        "private/get_user_trades_by_instrument_and_time",
        "private/get_user_trades_by_currency_and_time",
        "public/get_last_trades_by_instrument_and_time",
        "public/get_last_trades_by_currency_and_time",
    ] {
        ask(&mut rig, method, span.clone());
    }
    ask(&mut rig, "private/get_order_history_by_instrument", instrument.clone());
    ask(&mut rig, "private/get_account_summaries", json!({}));
    ask(&mut rig, "private/get_position", instrument.clone());
    ask(&mut rig, "private/get_positions", json!({"currency": "BTC"}));
    ask(&mut rig, "private/get_account_summary", json!({"currency": "BTC", "extended": true}));
    ask(&mut rig, "private/cancel", json!({"order_id": id}));
    ask(&mut rig, "private/get_order_history_by_currency", json!({"currency": "BTC"}));
    rig.limit(2, "private/buy", 10, 59_000.0);
    ask(
        &mut rig,
        "private/sell",
        json!({"instrument_name": PERPETUAL, "amount": 10, "type": "market"}),
    );
    for method in
        ["cancel_all", "cancel_all_by_instrument", "cancel_all_by_currency", "cancel_by_label"]
    {
        let params = json!({"instrument_name": PERPETUAL, "currency": "BTC", "label": "l"});
        ask(&mut rig, &format!("private/{method}"), params);
    }
    let kind = json!({"currency": "BTC", "kind": "future"});
    ask(&mut rig, "private/cancel_all_by_kind_or_type", kind);
    ask(&mut rig, "private/enable_cancel_on_disconnect", json!({}));
    ask(&mut rig, "private/get_cancel_on_disconnect", json!({}));
    ask(&mut rig, "private/disable_cancel_on_disconnect", json!({}));
    rig.set_phase(0, Phase::Halted);
    rig.front.on_maintenance(true);
    for method in ["get_instrument", "ticker"] {
        ask(&mut rig, &format!("public/{method}"), instrument.clone());
    }
    rig.front.on_maintenance(false);
    rig.set_phase(0, Phase::Continuous);
    for method in [
        "get_instrument",
        "get_order_book",
        "ticker",
        "get_last_trades_by_instrument",
        "get_book_summary_by_instrument",
    ] {
        ask(&mut rig, &format!("public/{method}"), instrument.clone());
    }
    let option = json!({"instrument_name": "BTC-25DEC26-60000-C"});
    for method in ["get_instrument", "get_order_book", "ticker"] {
        ask(&mut rig, &format!("public/{method}"), option.clone());
    }
    for method in ["get_instruments", "get_last_trades_by_currency", "get_book_summary_by_currency"]
    {
        ask(&mut rig, &format!("public/{method}"), json!({"currency": "BTC"}));
    }
    for method in
        ["test", "get_time", "get_currencies", "status", "disable_heartbeat", "unsubscribe_all"]
    {
        ask(&mut rig, &format!("public/{method}"), json!({}));
    }
    ask(&mut rig, "public/hello", json!({"client_name": "c", "client_version": "1"}));
    ask(&mut rig, "public/get_index_price", json!({"index_name": "btc_usd"}));
    ask(&mut rig, "public/set_heartbeat", json!({"interval": 30}));
    let credentials =
        json!({"grant_type": "client_credentials", "client_id": "one", "client_secret": "ABCD"});
    ask(&mut rig, "public/auth", credentials);
    rig.pass(2_000);

    let mut told = BTreeSet::new();
    for message in rig.inbox.entry(1).or_default().drain(..) {
        let Some(channel) = message["params"]["channel"].as_str() else { continue };
        told.insert(channel.to_owned());
    }
    let silent: Vec<_> = channels.iter().filter(|it| !told.contains(*it)).collect();
    assert!(silent.is_empty(), "nothing came of {silent:?}");
    let some = json!({"channels": ["ticker.BTC-PERPETUAL.raw"]});
    for method in ["private/subscribe", "private/unsubscribe", "public/unsubscribe"] {
        ask(&mut rig, method, some.clone());
    }
    ask(&mut rig, "private/unsubscribe_all", json!({}));
    println!("{} methods and {} channels are as they are described", kinds.len(), told.len());
}
