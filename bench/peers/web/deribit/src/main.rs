//! deribit-websocket's day at a venue that speaks as Deribit, found by the crate's own address of
//! the test venue over TLS:
//!
//!     web-peer-deribit
//!
//! A line for each step: "STEP: ok", or what went wrong, at which it ends. The crate reads open
//! orders as quotes, which plain orders are not, at the venue itself no more than here: that step
//! has a reading of its own.

use std::collections::BTreeMap;
use std::time::Duration;

use deribit_websocket::model::trading::{EditOrderRequest, OrderRequest};
use deribit_websocket::prelude::{
    DeribitWebSocketClient, JsonRpcRequest, JsonRpcResult, Value, WebSocketError, json,
};

type Outcome<T = ()> = Result<T, String>;

const NAME: &str = "BTC-PERPETUAL";
/// So long may an answer or a change of a book take.
const PATIENCE: Duration = Duration::from_secs(20);

fn words(error: WebSocketError) -> String {
    error.to_string()
}

/// Prints how a step went; what it gave.
fn step<T>(name: &str, outcome: Outcome<T>) -> Outcome<T> {
    println!("{name}: {}", outcome.as_ref().err().map_or("ok", String::as_str));
    outcome
}

fn holds(does: bool, what: impl FnOnce() -> String) -> Outcome {
    if does { Ok(()) } else { Err(what()) }
}

/// Asks for something that the crate has no method for.
async fn ask(client: &DeribitWebSocketClient, method: &str, params: Value) -> Outcome<Value> {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1 << 40);
    let id = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let request = JsonRpcRequest {
        jsonrpc: "2.0".to_owned(),
        id: json!(id),
        method: method.to_owned(),
        params: Some(params),
    };
    match client.send_request(&request).await.map_err(words)?.result {
        JsonRpcResult::Success { result } => Ok(result),
        JsonRpcResult::Error { error } => {
            Err(format!("{method}: {} {}", error.code, error.message))
        }
    }
}

async fn connect(secret: &str) -> Outcome<DeribitWebSocketClient> {
    let client = DeribitWebSocketClient::new_testnet().map_err(words)?;
    client.connect().await.map_err(words)?;
    client.authenticate("one", secret).await.map_err(words)?;
    Ok(client)
}

/// Amounts by price, bids and asks.
type Book = [BTreeMap<String, f64>; 2];

fn levels(side: &Value) -> Vec<(String, f64)> {
    let level = |level: &Value| {
        let level = level.as_array()?;
        let [price, amount] = level.last_chunk::<2>()?;
        Some((price.to_string(), amount.as_f64()?))
    };
    side.as_array().into_iter().flatten().filter_map(level).collect()
}

fn apply(book: &mut Book, data: &Value) {
    for (side, name) in book.iter_mut().zip(["bids", "asks"]) {
        for (price, amount) in levels(&data[name]) {
            if amount == 0.0 {
                side.remove(&price);
            } else {
                side.insert(price, amount);
            }
        }
    }
}

/// Follows the book, asks for it beside, and compares where both have the same change id.
async fn watch_book(client: &DeribitWebSocketClient) -> Outcome<String> {
    client.subscribe(vec![format!("book.{NAME}.100ms")]).await.map_err(words)?;
    let (mut book, mut last) = (Book::default(), None);
    let mut seen: BTreeMap<i64, Book> = BTreeMap::new();
    let mut asked: BTreeMap<i64, Value> = BTreeMap::new();
    for _ in 0..400 {
        let message = tokio::time::timeout(PATIENCE, client.receive_message()).await;
        let message = message.map_err(|_| "no change of the book".to_owned())?.map_err(words)?;
        let message: Value = serde_json::from_str(&message).map_err(|error| error.to_string())?;
        let data = &message["params"]["data"];
        let Some(id) = data["change_id"].as_i64() else { continue };
        holds(last.is_none() || data["prev_change_id"].as_i64() == last, || "a gap".to_owned())?;
        last = Some(id);
        apply(&mut book, data);
        seen.insert(id, book.clone());
        let whole = json!({ "instrument_name": NAME, "depth": 10_000 });
        let whole = ask(client, "public/get_order_book", whole).await?;
        asked.insert(whole["change_id"].as_i64().unwrap_or(0), whole);
        let same: Vec<_> = asked.iter().filter(|(id, _)| seen.contains_key(id)).collect();
        if same.len() >= 5 {
            for (id, whole) in &same {
                let mut told = Book::default();
                apply(&mut told, whole);
                holds(seen[id] == told, || format!("another book at {id}"))?;
            }
            client.unsubscribe(vec![format!("book.{NAME}.100ms")]).await.map_err(words)?;
            return Ok(format!("equal at {} ids", same.len()));
        }
    }
    Err("no five ids in common".to_owned())
}

async fn mark(client: &DeribitWebSocketClient) -> Outcome<f64> {
    let ticker = ask(client, "public/ticker", json!({ "instrument_name": NAME })).await?;
    ticker["mark_price"].as_f64().ok_or_else(|| ticker.to_string())
}

async fn play() -> Outcome {
    let refused = connect("wrong").await.err().unwrap_or_default();
    step("authenticate_refused", holds(refused.contains("13004"), || refused))?;
    let mut client = step("authenticate", connect("secret-of-one").await)?;
    let markets = json!({ "currency": "BTC", "kind": "future" });
    let markets = ask(&client, "public/get_instruments", markets).await?;
    let has = markets.as_array().into_iter().flatten().any(|it| it["instrument_name"] == NAME);
    step("load_markets", holds(has, || markets.to_string()))?;
    step("watch_book", watch_book(&client).await)?;

    let far = (mark(&client).await? * 0.95).round();
    let order = OrderRequest::limit(NAME.to_owned(), 20.0, far).with_label("resting".to_owned());
    let order = client.buy(order).await.map_err(words)?.order;
    let id = order.order_id.clone();
    step("create", holds(order.order_state == "open", || order.to_string()))?;

    // More than stands there up to that price.
    let near = (mark(&client).await? * 1.003).round();
    let taker = OrderRequest::limit(NAME.to_owned(), 200_000.0, near);
    let taker = client.buy(taker).await.map_err(words)?;
    let is_partial = taker.order.order_state == "open"
        && taker.order.filled_amount > 0.0
        && !taker.trades.is_empty();
    step("partial_fill", holds(is_partial, || taker.to_string()))?;

    let change = EditOrderRequest::new(id.clone(), 30.0).with_price(far - 100.0);
    let changed = client.edit(change).await.map_err(words)?.order;
    let is_changed = changed.amount == 30.0 && changed.price == Some(far - 100.0);
    step("edit", holds(is_changed, || changed.to_string()))?;

    let open = ask(&client, "private/get_open_orders", json!({})).await?;
    let has = open.as_array().into_iter().flatten().any(|it| it["order_id"] == id.as_str());
    step("orders", holds(has, || open.to_string()))?;
    let state = client.get_order_state(&id).await.map_err(words)?;
    step("order_state", holds(state.label == "resting", || state.to_string()))?;

    let cancelled = client.cancel(&taker.order.order_id).await.map_err(words)?;
    step("cancel", holds(cancelled.order_state == "cancelled", || cancelled.to_string()))?;
    let again = client.cancel(&taker.order.order_id).await.err().map(words).unwrap_or_default();
    step("cancel_refused", holds(again.contains("11044"), || again))?;

    let account = client.get_account_summary("BTC", Some(true)).await.map_err(words)?;
    step("balance", holds(account.equity.is_some_and(|it| it > 0.0), || format!("{account:?}")))?;
    let positions = client.get_positions(Some("BTC"), Some("future")).await.map_err(words)?;
    let is_long = positions.iter().any(|it| it.instrument_name == NAME && it.size > 0.0);
    step("positions", holds(is_long, || format!("{positions:?}")))?;

    client.disconnect().await.map_err(words)?;
    client = step("reconnect", connect("secret-of-one").await)?;
    let state = client.get_order_state(&id).await.map_err(words)?;
    step("reconcile", holds(state.order_state == "open", || state.to_string()))?;
    let count = client.cancel_all().await.map_err(words)?;
    step("cancel_all", holds(count == 1, || format!("{count} orders")))?;
    client.disconnect().await.map_err(words)
}

#[tokio::main]
async fn main() {
    deribit_websocket::install_default_crypto_provider().expect("a provider of cryptography");
    if let Err(error) = play().await {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
