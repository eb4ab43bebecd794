//! Files of settings, and the public cases where they are.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use taut_gateway::{TouchConfig, TouchStrategy};
use taut_market_data::{BestPrices, EventKind};
use toml::Table;

use super::*;

/// A file of the shared workloads, where it is.
pub fn workload(what: &str) -> Option<PathBuf> {
    let shared = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/workloads/backtest");
    let path = Path::new(shared).join(what);
    if !path.exists() {
        println!("skipped: no ../shared/workloads/backtest/{what} beside the repository");
        return None;
    }
    Some(path)
}

pub fn read(text: &str) -> Result<BacktestFile<Table>, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("bt.toml");
    std::fs::write(&path, text).expect("a file");
    let read = BacktestFile::read(&path).map_err(|error| error.to_string());
    read.map_err(|text| text.replace(&format!("{}:", path.display()), ""))
}

const PLAIN: &str = "[[instruments]]\nsymbol = \"BTCUSDT\"\ntick = \"0.1\"\nlot = \"0.001\"\n";

#[test]
fn what_is_left_out_is_as_in_the_sample() {
    let sample = read(BACKTEST_SAMPLE).expect("right");
    let plain = read(PLAIN).expect("right");
    assert_eq!((sample.exchange, &sample.risk), (plain.exchange, &plain.risk));
    assert_eq!((sample.orders, sample.timer_ms), (plain.orders, plain.timer_ms));
    assert_eq!((sample.sample_ms, plain.data.len()), (plain.sample_ms, 0));
    assert_eq!(sample.latency.entry_ns, Some(500_000));
    assert_eq!(sample.built(), plain.built());
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let both = format!("{PLAIN}currency = \"USDT\"\n{}", PLAIN.replace("BTC", "ETH"));
    for (text, words) in [
        (format!("{PLAIN}[exchange]\nqueu = \"fifo\"\n"), "did you mean `queue`?"),
        (format!("{PLAIN}[exchange]\nqueue = \"lifo\"\n"), "6: exchange.queue: "),
        (format!("{PLAIN}[exchange]\nexponent = 0.0\n"), "6: exchange.exponent = 0: must be"),
        (format!("{PLAIN}[data]\nETHUSDT = [\"x.npz\"]\n"), "6: data.ETHUSDT: no instrument"),
        (
            format!("{PLAIN}[latency]\nentry_ns = 1\nfile = \"x.npz\"\n"),
            "6: latency.entry_ns = 1: must be left out",
        ),
        (format!("sample_ms = 0\n{PLAIN}"), "1: sample_ms = 0: must be 1 at least"),
        (format!("{PLAIN}[risk]\nlots_max = -1\n"), "6: risk.lots_max = -1: must be"),
        (format!("{PLAIN}[risk]\nday_ends = \"22:00\"\n"), "6: risk.day_ends: a backtest has no"),
        (format!("{PLAIN}[[symbols]]\npattern = \"BTC(\"\n"), "6: symbols[0].pattern = "),
        (PLAIN.replace("0.1", "-1"), "3: instruments[0].tick = -1"),
        (both, "run them apart"),
        ("instruments = []\n".to_owned(), "none is named"),
    ] {
        let told = read(&text).expect_err(&text);
        assert!(told.contains(words), "{text}: {told}");
    }
}

#[test]
fn data_are_named_by_symbol_where_there_is_more_than_one() {
    let mut one = read(PLAIN).expect("right");
    one.set_data(["a=b.npz", "BTCUSDT=c.npz"]).expect("right");
    assert_eq!(one.data["BTCUSDT"], ["a=b.npz", "c.npz"].map(PathBuf::from));
    let mut two = read(&format!("{PLAIN}{}", PLAIN.replace("BTC", "ETH"))).expect("right");
    let told = two.set_data(["c.npz"]).expect_err("whose?").to_string();
    assert!(told.contains("SYMBOL=FILE, with one of BTCUSDT, ETHUSDT"), "{told}");
    two.set_data(["ETHUSDT=c.npz"]).expect("right");
    let told =
        two.load(&mut |_| ControlFlow::Continue(())).map(drop).expect_err("no data").to_string();
    assert!(told.contains("data.BTCUSDT: no recording is named"), "{told}");
}

#[test]
fn touch_trades_over_a_public_case() {
    let (Some(events), Some(latencies)) =
        (workload("events/btc120s.npz"), workload("events/btc120s_latency.npz"))
    else {
        return;
    };
    let latencies = latencies.display();
    let text = format!(
        "timer_ms = 10\nsample_ms = 1000\n{PLAIN}maker_fee = \"-0.00005\"\ntaker_fee = \
         \"0.0007\"\n[exchange]\nqueue = \"power3\"\nexponent = 3.0\n[latency]\nfile = \
         \"{latencies}\"\n"
    );
    let mut file = read(&text).expect("right");
    file.set_data([events.to_str().expect("a path")]).expect("right");
    let recordings = file.load(&mut |_| ControlFlow::Continue(())).expect("a recording").recordings;
    let config =
        TouchConfig { orders_per_second: 20, rest: Nanos::from_millis(500), lots: Lots(1) };
    let run = || {
        let markets = file.markets(&recordings).expect("right");
        let touch = |now| TouchStrategy::new(config, now);
        run(markets, &file.settings().expect("right"), touch, &mut |_| true).expect("a run")
    };
    let outcome = run();
    let counts = outcome.counts();
    println!("{counts:?}, {} fills, {} rows", outcome.fills.len(), outcome.rows);
    assert!(counts.orders > 1_000 && counts.traded > 300 && counts.cancelled > 300, "{counts:?}");
    assert!(outcome.fills.iter().any(|it| it.is_maker) && outcome.samples.len() > 119);
    let gateway = &outcome.gateway;
    assert_eq!((gateway.troubles, gateway.risk_rejects, gateway.refused), (0, 0, 0));
    // The gateway's table has what the exchange said.
    assert_eq!(gateway.orders, counts.orders as u64);
    assert_eq!(gateway.fills, outcome.fills.len() as u64);
    let over = counts.filled + counts.cancelled + counts.expired + counts.rejected;
    assert_eq!(over + outcome.open_orders, counts.orders);
    assert!(outcome.entry.mean_ns().is_some_and(|mean| mean > 1e6));
}

/// Bids one lot at the best bid, and one again when that is over: all that a stranger writes.
#[derive(Default)]
struct Bidder {
    quote: Option<ClientOrderId>,
}

impl Strategy for Bidder {
    fn on_market(&mut self, _: Nanos, event: &MarketEvent, trading: &mut impl Trading) {
        if let EventKind::Top(BestPrices { bid: Some((bid, _)), .. }) = event.kind {
            let terms = OrderTerms::limit(event.instrument, Side::Buy, bid, Lots(1));
            trading.keep(&mut self.quote, &terms);
        }
    }
}

#[test]
fn a_stranger_s_strategy_runs_by_a_file() {
    let Some(events) = workload("events/btc120s.npz") else { return };
    let text = format!("timer_ms = 100\n{PLAIN}[risk]\nposition_lots_max = 20\n");
    let mut file = read(&text).expect("right");
    file.set_data([events.to_str().expect("a path")]).expect("right");
    let outcome = file.run(|_| Bidder::default()).expect("a run");
    let counts = outcome.counts();
    assert!(outcome.fills.iter().all(|it| it.side == Side::Buy), "{counts:?}");
    // The market falls: bids are filled until the gateway's limit is reached.
    assert!(counts.filled == 20 && counts.modifications > 5, "{counts:?}");
    assert_eq!(outcome.instruments[0].position, 20);
    assert!(outcome.gateway.risk_rejects > 0 && outcome.gateway.troubles == 0);
}

#[test]
fn who_has_lost_as_much_as_he_may_trades_no_more() {
    let Some(events) = workload("events/btc120s.npz") else { return };
    let fees = "maker_fee = \"0.0005\"\ntaker_fee = \"0.0005\"\n";
    let text = format!("timer_ms = 100\n{PLAIN}{fees}[risk]\nloss_max = \"2\"\n");
    let mut file = read(&text).expect("right");
    file.set_data([events.to_str().expect("a path")]).expect("right");
    let config = TouchConfig { orders_per_second: 20, rest: Nanos::from_secs(1), lots: Lots(1) };
    let outcome = file.run(|now| TouchStrategy::new(config, now)).expect("a run");
    let last = outcome.fills.last().expect("trades");
    assert!(last.at.since(outcome.start) < Nanos::from_secs(60), "{last:?}");
    assert!((-2.5..-2.0).contains(&outcome.profit()), "{}", outcome.profit());
    assert!(outcome.gateway.risk_rejects > 0);
    assert_eq!((outcome.open_orders, outcome.gateway.troubles), (0, 0));
}
