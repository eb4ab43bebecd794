//! Our gateway, and the strategy that trades there and shows the book that it sees.

use std::io::Write;
use std::process::Command;

use serde_json::{Value, json};
use taut_gateway::{GatewayEvent, OrderUpdate, Strategy, TouchConfig, TouchStrategy, Trading};
use taut_market_data::Event;
use taut_runner::service::Attach;
use taut_testkit::{DEADLINE, Process, until};
use taut_types::{InstrumentId, Lots, Nanos, Side};

use super::dialect::Dialect;
use super::hand::{Book, Hand, number};
use crate::gateway::{Settings, status};
use crate::{DAY, Venue, taut};

/// The gateway that the strategy's process attaches to, and the lots of its orders.
const GATEWAY: &str = "TAUT_AGREEMENT_GATEWAY";
const LOTS: &str = "TAUT_AGREEMENT_LOTS";
/// The process is this test alone.
const STRATEGY: &str = "agreement::strategy::plays_the_strategy_of_the_tests_above";
/// The first instrument of the gateway's file.
const BOOK: InstrumentId = InstrumentId(0);
/// A book that has not changed for so long is shown.
const QUIET: Nanos = Nanos::from_millis(200);
/// Its orders a second, at the most.
const ORDERS_PER_SECOND: u32 = 100;

/// A gateway by its file, and its strategy.
pub struct Ours {
    settings: Settings,
    _gateway: Process,
    strategy: Process,
}

impl Ours {
    /// As the account `three`.
    pub fn start(dialect: &Dialect, venue: &Venue) -> Self {
        let mut settings = match dialect.name {
            "deribit" => Settings::at(venue),
            _ => Settings::at_binance(venue).with_key(),
        };
        settings.text =
            settings.text.replace("\"one\"", "\"three\"").replace("\"one-ed", "\"three-ed");
        std::fs::write(settings.path(), &settings.text).expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
        command.args(["gateway", "--config"]).arg(settings.path());
        let mut gateway = Process::start(command.env("DERIBIT_SECRET", "secret-of-three"));
        gateway.stderr_line("where it listens", |line| line.contains("meet it at").then_some(()));
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args([STRATEGY, "--exact", "--ignored", "--nocapture", "--quiet"]);
        command.env(GATEWAY, settings.control()).env(LOTS, dialect.lots.to_string());
        let strategy = Process::start(&mut command);
        Self { settings, _gateway: gateway, strategy }
    }

    pub fn count(&self, what: &str) -> u64 {
        self.status()["counters"][what].as_u64().unwrap_or(0)
    }

    fn status(&self) -> Value {
        status(&self.settings.control())
    }

    fn told(&self, what: &str) -> Value {
        let said = taut(&["gateway", what, "--json", "--gateway", &self.settings.control()]);
        let text = String::from_utf8_lossy(&said.stdout);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{what}: {error}: {text}"))
    }

    /// Has no order open, knows what became of each, and sees its books.
    pub fn come_to_rest(&self) {
        let killed = taut(&["gateway", "kill", "--gateway", &self.settings.control()]);
        assert!(killed.status.success(), "{}", String::from_utf8_lossy(&killed.stderr));
        until("the gateway has no order open and sound books", DAY, || {
            let status = self.status();
            status["open_orders"] == 0
                && status["order_entry"] == true
                && status["books_sound"] == true
                && status["counters"]["unanswered"].as_u64().unwrap_or(0) == 0
        });
    }

    /// Sees what the venue has; what it counted.
    pub fn expect_same(&self, hand: &Hand<'_>, engine: &Book) -> String {
        // The number of the change is the venue's alone.
        until("the gateway's book is the engine's", DEADLINE, || {
            let said = self.strategy.stdout();
            let last = said.lines().rev().find_map(|line| line.strip_prefix("book "));
            let shown = last.and_then(|shown| serde_json::from_str(shown).ok());
            shown.is_some_and(|it| hand.book_of(&it).levels_hash == engine.levels_hash)
        });
        assert_eq!(hand.account("three")["orders"], json!([]), "the venue's, at rest");
        assert_eq!(self.told("orders"), json!([]));
        for line in self.told("positions").as_array().expect("positions") {
            let symbol = line["symbol"].as_str().expect("a symbol");
            let held = hand.held("three", symbol);
            assert_eq!(number(&line["quantity"]), held, "{symbol}: {line}, and the venue's");
        }
        let [acks, fills] = ["acks", "fills"].map(|what| self.count(what));
        let [lost, gaps] = ["lost_requests", "gaps"].map(|what| self.count(what));
        format!("{acks} orders, {fills} fills, {lost} requests lost, {gaps} gaps in its feed")
    }
}

/// Trades as `taut strategy touch` does, and shows the book whenever that has become quiet.
struct Shown {
    touch: TouchStrategy,
    changed: Option<Nanos>,
}

impl Strategy for Shown {
    fn on_market(&mut self, now: Nanos, event: &Event, trading: &mut impl Trading) {
        if event.instrument == BOOK {
            self.changed = Some(now);
        }
        self.touch.on_market(now, event, trading);
    }

    fn on_order(&mut self, now: Nanos, update: &OrderUpdate, trading: &mut impl Trading) {
        self.touch.on_order(now, update, trading);
    }

    fn on_gateway(&mut self, now: Nanos, event: &GatewayEvent, trading: &mut impl Trading) {
        self.touch.on_gateway(now, event, trading);
    }

    fn on_timer(&mut self, now: Nanos, trading: &mut impl Trading) {
        if self.changed.is_some_and(|at| now.since(at) >= QUIET) {
            self.changed = None;
            show(&*trading);
        }
        self.touch.on_timer(now, trading);
    }

    fn on_stop(&mut self, now: Nanos, trading: &mut impl Trading) {
        self.touch.on_stop(now, trading);
    }

    fn is_idle(&self) -> bool {
        self.touch.is_idle()
    }
}

fn show(trading: &impl Trading) {
    let (Some(book), Some(instrument)) = (trading.book(BOOK), trading.instrument_of(BOOK)) else {
        return;
    };
    let side = |side: Side| -> Vec<[String; 2]> {
        let quantity = |lots| instrument.qty(lots).expect("a quantity").to_string();
        book.iter(side).map(|level| [level.price.to_string(), quantity(level.lots)]).collect()
    };
    let shown = json!({ "bids": side(Side::Buy), "asks": side(Side::Sell) });
    // What the test's harness prints stands on lines of its own.
    writeln!(std::io::stdout(), "\nbook {shown}").expect("standard output");
}

#[test]
#[ignore = "a process of the tests above"]
fn plays_the_strategy_of_the_tests_above() {
    let Ok(gateway) = std::env::var(GATEWAY) else { return };
    let lots = std::env::var(LOTS).expect("lots").parse().expect("a number");
    let config = TouchConfig {
        orders_per_second: ORDERS_PER_SECOND,
        lots: Lots(lots),
        ..TouchConfig::default()
    };
    let make = |now| Shown { touch: TouchStrategy::new(config, now), changed: None };
    Attach::new(&gateway, "touch").run(make, |_| ()).expect("an attachment");
}
