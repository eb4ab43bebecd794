//! Binance's own SDK for Rust (the crate binance-sdk): its day at a venue that speaks as Binance,
//! found by the SDK's own addresses over TLS:
//!
//!     web-peer-binance
//!
//! A line for each step: "STEP: ok", or what went wrong, at which it ends. Orders and questions go
//! over the WebSocket API with an Ed25519 logon, the book over streams. Every answer is read into
//! the SDK's own types.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use binance_sdk::config::{ConfigurationWebsocketApi, ConfigurationWebsocketStreams, PrivateKey};
use binance_sdk::spot::websocket_api::{
    AccountStatusParams, DepthParams, ExchangeInfoParams, OpenOrdersCancelAllParams,
    OpenOrdersStatusParams, OrderAmendKeepPriorityParams, OrderCancelParams,
    OrderCancelReplaceCancelReplaceModeEnum, OrderCancelReplaceParams, OrderCancelReplaceSideEnum,
    OrderCancelReplaceTimeInForceEnum, OrderCancelReplaceTypeEnum, OrderPlaceParams,
    OrderPlaceSideEnum, OrderPlaceTimeInForceEnum, OrderPlaceTypeEnum, OrderStatusParams,
    SessionLogonParams, UserDataStreamSubscribeParams, WebsocketApi,
};
use binance_sdk::spot::websocket_streams::{
    DiffBookDepthParams, DiffBookDepthResponse, DiffBookDepthUpdateSpeedEnum,
};
use binance_sdk::spot::{SpotWsApi, SpotWsStreams};
use rust_decimal::Decimal;

const SYMBOL: &str = "BTCUSDT";
/// The private key of "one-ed25519": the one that Binance's documents publish.
const KEY: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIIJEYWtGBrhACmb9Dvy+qa8WEf0lQOl1s4CLIAB9m89u
-----END PRIVATE KEY-----
";

/// Does a step and prints how it went.
async fn step<T>(name: &str, does: impl Future<Output = Result<T>>) -> Result<T> {
    let outcome = does.await;
    match &outcome {
        Ok(_) => println!("{name}: ok"),
        Err(error) => println!("{name}: {error:#}"),
    }
    outcome
}

async fn connect(key: &str) -> Result<WebsocketApi> {
    let settings = ConfigurationWebsocketApi::builder()
        .api_key(key)
        .private_key(PrivateKey::Raw(KEY.as_bytes().to_vec()))
        .build()?;
    SpotWsApi::production(settings).connect().await
}

async fn log_on(key: &str) -> Result<WebsocketApi> {
    let connection = connect(key).await?;
    for answer in connection.session_logon(SessionLogonParams::default()).await? {
        let who = answer.data()?;
        ensure!(who.api_key.is_some(), "{who:?}");
    }
    Ok(connection)
}

/// Quantities by price, bids and asks.
type Book = [BTreeMap<Decimal, Decimal>; 2];

fn apply(book: &mut Book, sides: [&Option<Vec<Vec<String>>>; 2]) -> Result<()> {
    for (side, levels) in book.iter_mut().zip(sides) {
        for level in levels.iter().flatten() {
            let [price, quantity] = &level[..] else { continue };
            let (price, quantity): (Decimal, Decimal) = (price.parse()?, quantity.parse()?);
            if quantity.is_zero() {
                side.remove(&price);
            } else {
                side.insert(price, quantity);
            }
        }
    }
    Ok(())
}

async fn snapshot(api: &WebsocketApi) -> Result<(i64, Book)> {
    let params = DepthParams::builder(SYMBOL.to_owned()).limit(1_000).build()?;
    let depth = api.depth(params).await?.data()?;
    let mut book = Book::default();
    apply(&mut book, [&depth.bids, &depth.asks])?;
    Ok((depth.last_update_id.context("no lastUpdateId")?, book))
}

/// A snapshot, the changes behind it, and snapshots at the same update ids.
async fn watch_book(api: &WebsocketApi) -> Result<Book> {
    let streams = SpotWsStreams::production(ConfigurationWebsocketStreams::builder().build()?);
    let streams = streams.connect().await?;
    let params = DiffBookDepthParams::builder(SYMBOL.to_lowercase())
        .update_speed(DiffBookDepthUpdateSpeedEnum::UpdateSpeed100ms)
        .build()?;
    let stream = streams.diff_book_depth(params).await?;
    let heard: Arc<Mutex<Vec<DiffBookDepthResponse>>> = Arc::default();
    let ear = Arc::clone(&heard);
    stream.on_message(move |change| ear.lock().expect("nobody panics").push(change));
    let (mut last, mut book) = (0, Book::default());
    let (mut seen, mut asked) = (BTreeMap::new(), BTreeMap::new());
    // A snapshot has a weight of 50, and a minute one of 6,000.
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(120)).await;
        let changes = std::mem::take(&mut *heard.lock().expect("nobody panics"));
        let (id, whole) = snapshot(api).await?;
        if last == 0 {
            (last, book) = (id, whole);
            continue;
        }
        asked.insert(id, whole);
        for change in changes {
            let (first, to) = (change.u_uppercase.unwrap_or(0), change.u.unwrap_or(0));
            if to <= last {
                continue;
            }
            ensure!(first <= last + 1, "a gap: {last} and then {first}");
            apply(&mut book, [&change.b, &change.a])?;
            last = to;
            seen.insert(last, book.clone());
        }
        let same: Vec<_> = asked.iter().filter(|(id, _)| seen.contains_key(id)).collect();
        if same.len() >= 3 {
            for (id, whole) in same {
                ensure!(seen[id] == *whole, "another book at {id}");
            }
            streams.disconnect().await?;
            return Ok(book);
        }
    }
    anyhow::bail!("no three ids in common")
}

/// Buys so much at a limit; the status, what was traded, and the order's id.
async fn buy(
    api: &WebsocketApi,
    name: &str,
    quantity: &str,
    price: Decimal,
) -> Result<(String, Decimal, i64)> {
    let kind = OrderPlaceTypeEnum::Limit;
    let order = OrderPlaceParams::builder(SYMBOL.to_owned(), OrderPlaceSideEnum::Buy, kind)
        .time_in_force(OrderPlaceTimeInForceEnum::Gtc)
        .price(price)
        .quantity(quantity.parse::<Decimal>()?)
        .new_client_order_id(name.to_owned())
        .build()?;
    let order = api.order_place(order).await?.data()?;
    let traded = order.executed_qty.context("no executedQty")?.parse()?;
    Ok((order.status.context("no status")?, traded, order.order_id.context("no orderId")?))
}

async fn cancel(api: &WebsocketApi, name: &str) -> Result<()> {
    let order = OrderCancelParams::builder(SYMBOL.to_owned());
    let order = order.orig_client_order_id(name.to_owned()).build()?;
    let order = api.order_cancel(order).await?.data()?;
    ensure!(order.status.as_deref() == Some("CANCELED"), "{order:?}");
    Ok(())
}

async fn play() -> Result<()> {
    step("logon_refused", async {
        let refused = log_on("nobody").await.err().context("a stranger was let in")?;
        let told = format!("{refused:#}");
        ensure!(told.contains("Invalid API-key"), "{told}");
        Ok(())
    })
    .await?;
    let mut api = step("logon", log_on("one-ed25519")).await?;
    step("load_markets", async {
        let info = api.exchange_info(ExchangeInfoParams::default()).await?;
        ensure!(info.raw.to_string().contains(SYMBOL), "{}", info.raw);
        info.data()?;
        Ok(())
    })
    .await?;
    let (_, events) =
        api.user_data_stream_subscribe(UserDataStreamSubscribeParams::default()).await?;
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let ear = Arc::clone(&told);
    events.on_message(move |event| ear.lock().expect("nobody panics").push(format!("{event:?}")));
    let book = step("watch_book", watch_book(&api)).await?;
    let best = |side: usize| {
        let side = &book[side];
        let level = side.keys().next_back().or(side.keys().next());
        level.copied().context("an empty book")
    };
    let bid = best(0)?;
    let far = (bid * Decimal::new(95, 2)).round_dp(2);
    step("create", async {
        let (status, traded, _) = buy(&api, "resting", "0.002", far).await?;
        ensure!(status == "NEW" && traded.is_zero(), "{status} {traded}");
        Ok(())
    })
    .await?;
    // More than stands there up to that price.
    step("partial_fill", async {
        let near = (bid * Decimal::new(1_003, 3)).round_dp(2);
        let (status, traded, _) = buy(&api, "taker", "1", near).await?;
        ensure!(status == "PARTIALLY_FILLED" && !traded.is_zero(), "{status} {traded}");
        Ok(())
    })
    .await?;
    step("cancel", cancel(&api, "taker")).await?;
    step("cancel_refused", async {
        let refused = cancel(&api, "taker").await.err().context("it was cancelled again")?;
        let told = format!("{refused:#}");
        ensure!(told.contains("Unknown order sent"), "{told}");
        Ok(())
    })
    .await?;
    step("amend", async {
        let smaller = OrderAmendKeepPriorityParams::builder(SYMBOL.to_owned(), "0.001".parse()?);
        let smaller = smaller.orig_client_order_id("resting".to_owned());
        let smaller = smaller.new_client_order_id("smaller".to_owned()).build()?;
        api.order_amend_keep_priority(smaller).await?.data()?;
        Ok(())
    })
    .await?;
    step("replace", async {
        let other = OrderCancelReplaceParams::builder(
            SYMBOL.to_owned(),
            OrderCancelReplaceCancelReplaceModeEnum::StopOnFailure,
            OrderCancelReplaceSideEnum::Buy,
            OrderCancelReplaceTypeEnum::Limit,
        );
        let other = other
            .cancel_orig_client_order_id("smaller".to_owned())
            .time_in_force(OrderCancelReplaceTimeInForceEnum::Gtc)
            .price(far - Decimal::ONE_HUNDRED)
            .quantity("0.003".parse::<Decimal>()?)
            .new_client_order_id("other".to_owned())
            .build()?;
        api.order_cancel_replace(other).await?.data()?;
        Ok(())
    })
    .await?;
    step("orders", open_is(&api, "other")).await?;
    step("balance", async {
        let account = api.account_status(AccountStatusParams::default()).await?.data()?;
        let balances = account.balances.context("no balances")?;
        let has = |name: &str| balances.iter().any(|it| it.asset.as_deref() == Some(name));
        ensure!(has("BTC") && has("USDT"), "{balances:?}");
        Ok(())
    })
    .await?;
    step("user_data", async {
        let said = told.lock().expect("nobody panics").concat();
        ensure!(said.contains("resting") && said.contains("TRADE"), "{said}");
        Ok(())
    })
    .await?;
    api.disconnect().await?;
    api = step("reconnect", log_on("one-ed25519")).await?;
    step("reconcile", async {
        let order = OrderStatusParams::builder(SYMBOL.to_owned());
        let order = order.orig_client_order_id("other".to_owned()).build()?;
        let order = api.order_status(order).await?.data()?;
        ensure!(order.status.as_deref() == Some("NEW"), "{order:?}");
        open_is(&api, "other").await
    })
    .await?;
    step("cancel_all", async {
        let all = OpenOrdersCancelAllParams::builder(SYMBOL.to_owned()).build()?;
        let all = api.open_orders_cancel_all(all).await?.data()?;
        ensure!(all.len() == 1, "{all:?}");
        Ok(())
    })
    .await?;
    api.disconnect().await
}

/// One order is open, and has this name.
async fn open_is(api: &WebsocketApi, name: &str) -> Result<()> {
    let open = api.open_orders_status(OpenOrdersStatusParams::default()).await?.data()?;
    let names: Vec<_> = open.iter().filter_map(|it| it.client_order_id.as_deref()).collect();
    ensure!(names == [name], "{names:?}");
    Ok(())
}

#[tokio::main]
async fn main() {
    if play().await.is_err() {
        std::process::exit(1);
    }
}
