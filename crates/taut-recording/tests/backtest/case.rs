//! A case: its settings, its events, and what the referee did.

use std::fs;
use std::io::Read;
use std::path::Path;

use serde_json::Value;
use sha2::{Digest, Sha256};
use taut_backtest::{Account, FeeBasis, Fees, FillModel, FlatBook, Terms};
use taut_recording::hft::{self, HftRow};
use taut_types::{
    ContractKind, FeeRates, Instrument, InstrumentId, Nanos, Price, Qty, Side, Symbol,
};

use crate::{convert, workload};

/// A case.
pub struct Case {
    pub name: String,
    pub instrument: Instrument,
    pub terms: Terms,
    pub queue: String,
    pub exponent: f64,
    pub fills: FillModel,
    pub latency: (i64, i64),
    pub latency_file: Option<String>,
    pub strategy: Value,
    pub summary: Value,
    pub commands: Vec<String>,
    pub responses: Vec<String>,
    pub equity: Vec<String>,
    events: String,
    rows: Option<(usize, usize)>,
}

fn json(path: &Path) -> Value {
    let text = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).expect("JSON")
}

/// A decimal of a JSON number, exactly.
fn decimal(value: &Value) -> Qty {
    let text = value.to_string();
    Qty::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn at_1e9(value: &Value) -> i64 {
    // Rates such as 5e-05 have an exponent in JSON as it is printed.
    (value.as_f64().expect("a number") * 1e9).round() as i64
}

fn lines(path: &Path) -> Vec<String> {
    let packed = path.with_extension("csv.gz");
    let text = if packed.exists() {
        let mut text = String::new();
        let file = fs::File::open(packed).expect("a file");
        flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("gzip");
        text
    } else {
        fs::read_to_string(path).expect("a file")
    };
    text.lines().skip(1).map(str::to_owned).collect()
}

impl Case {
    pub fn read(folder: &Path, name: &str) -> Self {
        let case = json(&folder.join("cases").join(name).with_extension("json"));
        let expected = folder.join("expected").join(name);
        let tick = decimal(&case["tick"]).with_decimals(Price::DECIMALS).expect("a tick");
        let kind = match case["asset"][0].as_str() {
            Some("linear") => ContractKind::Linear,
            _ => ContractKind::Inverse,
        };
        let symbol = Symbol::new(b"X").expect("a symbol");
        let instrument =
            Instrument::new(InstrumentId(1), symbol, Price(tick.mantissa), decimal(&case["lot"]));
        let instrument = instrument.expect("an instrument").with_kind(kind);
        let instrument = instrument.with_multiplier(decimal(&case["asset"][1])).expect("terms");
        let basis = match case["fee"][0].as_str() {
            Some("value") => FeeBasis::Value,
            Some("qty") => FeeBasis::Quantity,
            _ => FeeBasis::Fill,
        };
        let rates = FeeRates { maker: at_1e9(&case["fee"][1]), taker: at_1e9(&case["fee"][2]) };
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        let count = |value: &Value| usize::try_from(value.as_u64().expect("a number")).unwrap();
        let latency = &case["latency"];
        Self {
            name: name.to_owned(),
            terms: Terms::new(&instrument, Fees { basis, rates }),
            instrument,
            queue: text(&case["queue"][0]),
            exponent: case["queue"][1].as_f64().unwrap_or(0.0),
            fills: match case["exchange"].as_str() {
                Some("partial_fill") => FillModel::Partial,
                _ => FillModel::Whole,
            },
            latency: (latency[1].as_i64().unwrap_or(0), latency[2].as_i64().unwrap_or(0)),
            latency_file: latency[1].as_str().map(str::to_owned),
            strategy: case["strategy"].clone(),
            summary: json(&expected.join("summary.json")),
            commands: lines(&expected.join("commands.csv")),
            responses: lines(&expected.join("responses.csv")),
            equity: lines(&expected.join("equity.csv")),
            events: text(&case["events"]),
            rows: case["rows"].as_array().map(|rows| (count(&rows[0]), count(&rows[1]))),
        }
    }

    /// The events, read or converted, checked by the digest of their bytes.
    pub fn events(&self, folder: &Path) -> Option<Vec<HftRow>> {
        let file = folder.join("events").join(&self.events);
        let mut rows = match self.events.as_str() {
            _ if file.exists() => hft::read_rows(&file).expect("events"),
            "aapl.npz" => convert::lobster(&workload(convert::LOBSTER)?),
            "usdm_btc.npz" => convert::binance(&workload(convert::BINANCE)?),
            other => panic!("{}: no events {other}", self.name),
        };
        if let Some((from, to)) = self.rows {
            rows = rows[from..to].to_vec();
        }
        let mut digest = Sha256::new();
        rows.iter().for_each(|row| digest.update(row.to_bytes()));
        let digest: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(self.summary["events"], rows.len(), "{}", self.name);
        assert_eq!(self.summary["sha256_of_events"], digest, "{}", self.name);
        Some(rows)
    }

    /// Lots as the referee writes a quantity.
    pub fn quantity(&self, lots: i64) -> String {
        self.instrument.qty(taut_types::Lots(lots)).expect("a quantity").to_string()
    }

    /// A quantity of the referee in lots.
    pub fn lots(&self, text: &str) -> i64 {
        let quantity = Qty::parse(text.as_bytes()).expect("a quantity");
        self.instrument.lots(quantity).expect("whole lots").0
    }

    /// Holds the money against numbers of the referee, each to 1e-9 of the value traded.
    pub fn check_money(&self, account: &Account, numbers: [f64; 5], what: &str) {
        let money = account.money(&self.terms);
        let ours = [money.position, money.balance, money.fee, money.volume, money.value];
        for (ours, theirs) in ours.into_iter().zip(numbers) {
            let close = (ours - theirs).abs() <= 1e-9 * numbers[4].abs().max(10.0);
            assert!(close, "{} {what}: {ours} is not {theirs}; {money:?}", self.name);
        }
    }

    /// Holds a row of equity.csv against our side.
    pub fn check_equity(&self, line: &str, book: &FlatBook, account: &Account) {
        let fields: Vec<_> = line.split(',').collect();
        let bests = Side::BOTH.map(|side| book.best(side).map(|tick| tick.to_string()));
        let theirs = [fields[1], fields[2]].map(|tick| Some(tick.to_owned()));
        assert_eq!(bests, theirs, "{} {line}", self.name);
        assert_eq!(account.fills().to_string(), fields[3], "{} {line}", self.name);
        let numbers = [4, 5, 6, 7, 8].map(|at| fields[at].parse().expect("a number"));
        self.check_money(account, numbers, line);
    }

    /// Holds the end against summary.json.
    pub fn check_end(&self, book: &FlatBook, account: &Account) {
        let number = |key: &str| self.summary[key].as_f64().expect("a number");
        let keys = ["position", "balance", "fee", "trading_volume", "trading_value"];
        self.check_money(account, keys.map(number), "at the end");
        assert_eq!(self.summary["num_trades"], account.fills());
        for (side, key) in [(Side::Buy, "best_bid_tick"), (Side::Sell, "best_ask_tick")] {
            assert_eq!(self.summary[key], book.best(side).expect("a best"), "{}", self.name);
        }
        let equity = account.money(&self.terms).equity(&self.terms, book).expect("a middle");
        let close = (equity - number("equity")).abs() <= 1e-9 * number("trading_value");
        assert!(close, "{}: equity {equity} is not {}", self.name, number("equity"));
    }
}

/// The time at the beginning of a line.
pub fn time(line: &str) -> Nanos {
    Nanos(line.split(',').next().and_then(|time| time.parse().ok()).expect("a time"))
}
