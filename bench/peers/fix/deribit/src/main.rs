//! deribit-fix against taut's Deribit-style acceptor:
//!
//!     fix-peer-deribit PORT CLIENT_ID SECRET
//!     fix-peer-deribit day PRICE
//!
//! It logs on (nonce, SHA-256), sends an order, waits for its echo and logs out, and prints the
//! same lines as ../go/main.go; `refused` when it is not let in. A day is played captive, around a
//! price of the market.

mod day;

use std::time::Duration;

use deribit_fix::prelude::*;

/// The value of a tag of the next message of this type, within some seconds.
async fn next(client: &DeribitFixClient, msg_type: &str, tag: u32) -> Option<String> {
    let wait = async {
        loop {
            let message = client.receive_message().await.ok()?;
            match message {
                Some(message) if message.get_field(35).is_some_and(|kind| kind == msg_type) => {
                    return Some(message.get_field(tag).cloned().unwrap_or_default());
                }
                Some(message) if message.get_field(35).is_some_and(|kind| kind == "5") => {
                    return None;
                }
                Some(_) => {}
                None => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(10), wait).await.ok().flatten()
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, word, price] = &arguments[..]
        && word == "day"
    {
        let day = day::play(price.parse().expect("a price")).await;
        if let Err(error) = &day {
            eprintln!("{error}");
        }
        std::process::exit(day.is_err().into());
    }
    let [_, port, client_id, secret] = &arguments[..] else {
        eprintln!("fix-peer-deribit PORT CLIENT_ID SECRET | day PRICE");
        std::process::exit(2);
    };
    let config = DeribitFixConfig::new()
        .with_credentials(client_id.clone(), secret.clone())
        .with_endpoint("127.0.0.1".to_owned(), port.parse().expect("a port"))
        .with_ssl(false)
        .with_heartbeat_interval(30)
        .with_connection_timeout(Duration::from_secs(5))
        .with_session_ids("GUEST".to_owned(), "DERIBITSERVER".to_owned());
    let mut client = DeribitFixClient::new(&config).await.expect("a client");
    client.connect().await.expect("a connection");
    if next(&client, "A", 108).await.is_none() {
        println!("refused");
        return;
    }
    println!("logon");
    let order = NewOrderRequest::limit_buy("BTC-PERPETUAL".to_owned(), 10.0, 50_000.0);
    let id = client.send_order(order).await.expect("sent");
    if next(&client, "D", 11).await.is_some_and(|echo| echo == id) {
        println!("order");
    }
    client.disconnect().await.expect("a Logout");
    println!("logout");
}
