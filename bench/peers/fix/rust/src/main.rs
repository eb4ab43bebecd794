//! quickfix-tokio's round trips over loopback, both sides in one process:
//!
//!     fix-peer-rust bench COUNT DICTIONARY
//!
//! It prints one line of JSON. The orders and reports are those of `taut-bench fix`.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use quickfix_tokio::{
    Application, ApplicationError, Engine, MemoryStoreFactory, Message, NullLogFactory, SessionId,
    Settings,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

const DISTINCT: u64 = 4096;

/// Hands each application message over: the engine forbids to send from its callback.
struct Handover(UnboundedSender<()>);

#[async_trait::async_trait]
impl Application for Handover {
    async fn from_app(&self, _: &Message, _: &SessionId) -> Result<(), ApplicationError> {
        let _ = self.0.send(());
        Ok(())
    }
}

fn settings(role: &str, us: &str, them: &str, port: u16, dictionary: &str) -> String {
    format!(
        "[SESSION]\nConnectionType={role}\nBeginString=FIX.4.4\nSenderCompID={us}\n\
         TargetCompID={them}\nSocketConnectHost=127.0.0.1\nSocketConnectPort={port}\n\
         SocketAcceptPort={port}\nHeartBtInt=30\nReconnectInterval=1\nDataDictionary={dictionary}\n"
    )
}

async fn engine(text: &str) -> (Engine, UnboundedReceiver<()>) {
    let (sender, receiver) = unbounded_channel();
    let settings = Settings::parse(text).expect("settings");
    let stores = Arc::new(MemoryStoreFactory::new());
    let engine =
        Engine::start(&settings, Arc::new(Handover(sender)), stores, Arc::new(NullLogFactory));
    (engine.await.expect("an engine"), receiver)
}

fn price(number: u64) -> String {
    let cents = number * 131 % 9973 + 1;
    format!("{}.{:02}", 100 + cents / 100, cents % 100)
}

fn id(number: u64) -> u64 {
    1_000_000_000 + number * 7919 % 999_999_937
}

fn common(message: &mut Message, number: u64) {
    message.set(11, id(number).to_string());
    message.set(38, (100 + number * 37 % 900).to_string());
    message.set(40, "2");
    message.set(44, price(number));
    message.set(54, if number.is_multiple_of(2) { "1" } else { "2" });
    message.set(55, "BTC-USD");
    let ms = 123 + number % 1000;
    message.set(60, format!("20260909-23:06:{:02}.{:03}", 40 + ms / 1000, ms % 1000));
}

fn order(number: u64) -> Message {
    let number = number % DISTINCT;
    let mut message = Message::with_type("D");
    message.set(1, "ACCT01");
    message.set(21, "1");
    message.set(59, "0");
    common(&mut message, number);
    message
}

fn report(number: u64) -> Message {
    let number = number % DISTINCT;
    let quantity = (100 + number * 37 % 900).to_string();
    let mut message = Message::with_type("8");
    message.set(6, price(number));
    message.set(14, quantity.clone());
    message.set(17, (id(number) + 7).to_string());
    message.set(31, price(number));
    message.set(32, quantity);
    message.set(37, (id(number) + 3).to_string());
    message.set(39, "2");
    message.set(150, "F");
    message.set(151, "0");
    common(&mut message, number);
    message
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, _, count, dictionary] = &arguments[..] else {
        eprintln!("fix-peer-rust bench COUNT DICTIONARY");
        std::process::exit(2);
    };
    let trips: u64 = count.parse().expect("a count");
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("an address").port();
    drop(free);
    let (venue, mut orders) =
        engine(&settings("acceptor", "VENUE", "CLIENT", port, dictionary)).await;
    let (client, mut reports) =
        engine(&settings("initiator", "CLIENT", "VENUE", port, dictionary)).await;
    let answers = venue.session("FIX.4.4", "VENUE", "CLIENT").expect("a session");
    let session = client.session("FIX.4.4", "CLIENT", "VENUE").expect("a session");
    let answered = Arc::new(AtomicU64::new(0));
    tokio::spawn(async move {
        while orders.recv().await.is_some() {
            let number = answered.fetch_add(1, Ordering::Relaxed);
            let _ = answers.send(report(number)).await;
        }
    });
    while !session.is_logged_on().await {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let mut spans = Vec::with_capacity(trips as usize);
    // The first eighth warms up and is not counted.
    for number in 0..trips + trips / 8 {
        let start = Instant::now();
        session.send(order(number)).await.expect("sent");
        reports.recv().await.expect("a report");
        if number >= trips / 8 {
            spans.push(start.elapsed().as_nanos() as u64);
        }
    }
    spans.sort_unstable();
    let at = |share: f64| spans[((spans.len() - 1) as f64 * share) as usize];
    println!(
        "{{\"peer\": \"quickfix-tokio 0.2.0\", \"round_trips\": {trips}, \"rtt_ns\": \
         {{\"p50\": {}, \"p99\": {}, \"p999\": {}}}}}",
        at(0.5),
        at(0.99),
        at(0.999)
    );
    client.stop().await;
    venue.stop().await;
}
