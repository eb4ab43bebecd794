//! A client's day at a venue that speaks as Deribit, found by the crate's own default address over
//! TLS. A line for each step: "STEP: ok", or what went wrong, at which it ends. What the crate does
//! not have (changes, open orders, the account) is not there; its subscription to a book has no
//! MDUpdateType (265), which the venue's documents ask for, and is therefore refused.

use std::time::Duration;

use deribit_fix::model::message::FixMessage;
use deribit_fix::prelude::{DeribitFixClient, DeribitFixConfig, DeribitFixError, NewOrderRequest};

type Outcome = Result<(), String>;

const NAME: &str = "BTC-PERPETUAL";

fn said(message: &FixMessage, tag: u32) -> &str {
    message.get_field(tag).map_or("", String::as_str)
}

/// The next message that is wanted.
async fn heard(
    client: &DeribitFixClient,
    what: &str,
    is_wanted: impl Fn(&FixMessage) -> bool,
) -> Result<FixMessage, String> {
    let wait = async {
        loop {
            match client.receive_message().await {
                Ok(Some(message)) if is_wanted(&message) => return Ok(message),
                Ok(Some(message)) if said(&message, 35) == "5" => {
                    return Err(format!("{what}: the venue ends: {}", said(&message, 58)));
                }
                Ok(Some(_)) => {}
                Ok(None) => tokio::time::sleep(Duration::from_millis(2)).await,
                Err(error) => return Err(format!("{what}: {error}")),
            }
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(20), wait).await;
    waited.unwrap_or_else(|_| Err(format!("{what} did not come within 20 s")))
}

/// A session of account one.
async fn log_on(secret: &str) -> Result<DeribitFixClient, String> {
    let config = DeribitFixConfig::new()
        .with_credentials("one".to_owned(), secret.to_owned())
        .with_endpoint("fix-test.deribit.com".to_owned(), 9883)
        .with_ssl(true)
        .with_report_fills_as_exec_reports(true);
    let words = |error: DeribitFixError| error.to_string();
    let mut client = DeribitFixClient::new(&config).await.map_err(words)?;
    client.connect().await.map_err(words)?;
    heard(&client, "a Logon", |message| said(message, 35) == "A").await?;
    Ok(client)
}

fn report<'a>(name: &'a str, exec_type: &'a str) -> impl Fn(&FixMessage) -> bool + 'a {
    move |message| {
        said(message, 35) == "8" && said(message, 41) == name && said(message, 150) == exec_type
    }
}

fn step(name: &str, outcome: Outcome) -> Outcome {
    println!("{name}: {}", outcome.as_ref().err().map_or("ok", String::as_str));
    outcome
}

/// Buys so many contracts; the answer.
async fn buy(
    client: &DeribitFixClient,
    name: &str,
    contracts: f64,
    price: f64,
) -> Result<FixMessage, String> {
    let mut order = NewOrderRequest::limit_buy(NAME.to_owned(), contracts, price);
    order.client_order_id = Some(name.to_owned());
    client.send_order(order).await.map_err(|error| error.to_string())?;
    let answer = heard(client, "an answer to an order", |message| {
        report(name, "I")(message) || report(name, "8")(message)
    });
    let answer = answer.await?;
    match said(&answer, 150) {
        "I" => Ok(answer),
        _ => Err(format!("{name} is refused: {}", said(&answer, 58))),
    }
}

async fn cancel(client: &DeribitFixClient, name: &str, id: &str) -> Outcome {
    client.cancel_order(id.to_owned()).await.map_err(|error| error.to_string())?;
    let answer = heard(client, "an answer to a cancel", report(name, "I")).await?;
    match said(&answer, 39) {
        "4" => Ok(()),
        other => Err(format!("OrdStatus (39) is {other}")),
    }
}

/// Plays it around this price.
pub async fn play(price: f64) -> Outcome {
    let refused = log_on("wrong").await.err();
    let is_refused = refused.as_ref().is_some_and(|it| it.ends_with("invalid_credentials"));
    step("logon_refused", is_refused.then_some(()).ok_or(format!("{refused:?}")))?;
    let mut client =
        log_on("secret-of-one").await.inspect_err(|error| println!("logon: {error}"))?;
    step("logon", Ok(()))?;

    client.subscribe_market_data(NAME.to_owned()).await.map_err(|error| error.to_string())?;
    let answer = heard(&client, "an answer", |it| matches!(said(it, 35), "W" | "Y")).await?;
    let is_refused = said(&answer, 35) == "Y" && said(&answer, 281) == "5";
    match is_refused {
        true => println!("watch_book: refused, as the crate sends no MDUpdateType (265)"),
        false => step("watch_book", Err(format!("{answer:?}")))?,
    }

    let resting = buy(&client, "resting", 20.0, (price * 0.95).round()).await?;
    let id = said(&resting, 11).to_owned();
    let is_open = said(&resting, 39) == "0" && said(&resting, 151) == "20";
    step("create", is_open.then_some(()).ok_or(format!("{resting:?}")))?;

    // More than stands there up to that price.
    let taker = buy(&client, "taker", 20_000.0, (price * 1.003).round()).await?;
    let trade = heard(&client, "a report of a trade", report("taker", "F")).await?;
    let is_partial = said(&taker, 39) == "1" && said(&trade, 880) != "";
    step("partial_fill", is_partial.then_some(()).ok_or(format!("{taker:?}")))?;
    step("cancel", cancel(&client, "taker", said(&taker, 11)).await)?;

    let positions = client.get_positions().await.map_err(|error| error.to_string())?;
    let is_long = positions.iter().any(|it| it.instrument_name == NAME && it.size > 0.0);
    step("positions", is_long.then_some(()).ok_or(format!("{positions:?}")))?;

    client.disconnect().await.map_err(|error| error.to_string())?;
    client = log_on("secret-of-one").await?;
    step("reconnect", Ok(()))?;
    step("reconcile", cancel(&client, "resting", &id).await)?;
    step("logout", client.disconnect().await.map_err(|error| error.to_string()))
}
