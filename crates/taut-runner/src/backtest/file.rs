//! What a backtest is told: a file of settings, and the recordings that it names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use taut_recording::midnight;
use taut_types::{Instrument, Nanos};
use toml::Table;

use super::driver::BacktestSettings;
use super::keys::{ExchangeKeys, LatencyKeys, ReadingKeys, VenueKeys};
use crate::error::RunnerError;
use crate::mistakes::{self, FileSettings, Mistake};
use crate::service::{GatewayRisk, SymbolRule, risk_of};
use crate::settings::{InstrumentSettings, build_instruments};
use crate::start::NoParameters;

/// A backtest's file with every key, for people to start from.
pub const BACKTEST_SAMPLE: &str = include_str!("sample.toml");

/// A backtest's settings, with `P` for the strategy's own `[parameters]`. All that a file can say
/// ([`BACKTEST_SAMPLE`]):
///
/// ```toml
#[doc = include_str!("sample.toml")]
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Keys<P>", bound = "P: DeserializeOwned")]
#[non_exhaustive]
pub struct BacktestFile<P = NoParameters> {
    /// What is traded.
    pub instruments: Vec<InstrumentSettings>,
    /// The recordings of each instrument by its symbol, in the order of their times.
    pub data: BTreeMap<String, Vec<PathBuf>>,
    /// What the recordings do not say themselves.
    pub reading: ReadingKeys,
    /// The rules of the simulated exchange.
    pub exchange: ExchangeKeys,
    /// How long requests and responses are on their way.
    pub latency: LatencyKeys,
    /// Where instruments have other ones.
    pub venues: Vec<VenueKeys>,
    /// Pre-trade limits, as in a gateway's file.
    pub risk: GatewayRisk,
    /// Limits of orders by instrument, as in a gateway's file.
    pub symbols: Vec<SymbolRule>,
    /// Orders that the gateway remembers at one time.
    pub orders: usize,
    /// How often the strategy's timer comes, in milliseconds.
    pub timer_ms: u32,
    /// How often the run is valued, in milliseconds.
    pub sample_ms: u32,
    /// Whether the strategy is told of each order of the market, where a recording has them.
    pub market_orders: bool,
    /// The strategy's own.
    pub parameters: P,
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound = "P: DeserializeOwned")]
struct Keys<P> {
    instruments: Vec<InstrumentSettings>,
    #[serde(default)]
    data: BTreeMap<String, Vec<PathBuf>>,
    #[serde(default)]
    reading: ReadingKeys,
    #[serde(default)]
    exchange: ExchangeKeys,
    #[serde(default)]
    latency: LatencyKeys,
    #[serde(default)]
    venues: Vec<VenueKeys>,
    #[serde(default)]
    risk: GatewayRisk,
    #[serde(default)]
    symbols: Vec<SymbolRule>,
    #[serde(default = "orders")]
    orders: usize,
    #[serde(default = "timer_ms")]
    timer_ms: u32,
    #[serde(default = "sample_ms")]
    sample_ms: u32,
    #[serde(default)]
    market_orders: bool,
    parameters: Option<P>,
    /// What a sweep goes through; a single run does without.
    #[serde(default, rename = "sweep")]
    _sweep: IgnoredAny,
}

const fn orders() -> usize {
    1 << 16
}

const fn timer_ms() -> u32 {
    1
}

const fn sample_ms() -> u32 {
    10_000
}

impl<P: DeserializeOwned> TryFrom<Keys<P>> for BacktestFile<P> {
    type Error = String;

    fn try_from(keys: Keys<P>) -> Result<Self, String> {
        let Keys { instruments, data, reading, exchange, latency, venues, .. } = keys;
        let Keys { risk, symbols, market_orders, .. } = keys;
        let Keys { orders, timer_ms, sample_ms, parameters, .. } = keys;
        let parameters = match parameters {
            Some(parameters) => parameters,
            // As if the table were there and empty.
            None => {
                crate::reading::parsed(Table::new()).map_err(|e| format!("[parameters]: {e}"))?
            }
        };
        Ok(Self {
            instruments,
            data,
            reading,
            exchange,
            latency,
            venues,
            risk,
            symbols,
            orders,
            timer_ms,
            sample_ms,
            market_orders,
            parameters,
        })
    }
}

impl<P: DeserializeOwned> FileSettings for BacktestFile<P> {
    fn start_paths_at(&mut self, folder: &Path) {
        let venues = self.venues.iter_mut().filter_map(|venue| venue.latency.as_mut());
        let latencies = venues.chain([&mut self.latency]);
        let measured = latencies.flat_map(|it| it.file.iter_mut().chain(&mut it.histogram));
        let files = self.data.values_mut().flatten().chain(measured);
        files.for_each(|file| *file = folder.join(&file));
    }

    fn mistakes(&self) -> Vec<Mistake> {
        let numbered = self.instruments.iter().enumerate();
        let wrong = numbered.filter_map(|(number, it)| it.mistake(number));
        let mut found: Vec<Mistake> = wrong.map(Mistake::from).collect();
        if self.instruments.is_empty() {
            found.push(Mistake::told("instruments", "instruments: none is named; one is needed"));
        }
        found.extend(self.risk_mistakes());
        if found.is_empty() {
            found.extend(build_instruments(&self.instruments).err().map(Mistake::from));
        }
        found.extend(self.currency_mistake());
        for symbol in self.data.keys() {
            if self.instruments.iter().all(|it| it.symbol != *symbol) {
                let text = format!(
                    "data.{symbol}: no instrument has this symbol; correct it, or \
                                    add the instrument"
                );
                found.push(Mistake::told(&format!("data.{symbol}"), text));
            }
        }
        if let Some(date) = self.reading.date.as_ref().filter(|date| midnight(date).is_none()) {
            found.push(Mistake::new("reading.date", date, "a day such as 2012-06-21"));
        }
        found.extend(self.exchange.mistakes("exchange"));
        found.extend(self.latency.mistakes("latency"));
        found.extend(self.venue_mistakes());
        if !(1..=1 << 24).contains(&self.orders) {
            found.push(Mistake::new("orders", self.orders, "from 1 to 16777216"));
        }
        for (key, value) in [("timer_ms", self.timer_ms), ("sample_ms", self.sample_ms)] {
            if value == 0 {
                found.push(Mistake::new(key, value, "1 at least"));
            }
        }
        found
    }
}

impl<P> BacktestFile<P> {
    /// What is wrong with the limits, and what of them a backtest does not have.
    fn risk_mistakes(&self) -> Vec<Mistake> {
        let mut found =
            risk_of(&self.instruments, &self.risk, &self.symbols).err().unwrap_or_default();
        let GatewayRisk { day_ends, snapshot_folder, operator_dead_man_ms, .. } = &self.risk;
        let live = [
            ("day_ends", day_ends.is_some()),
            ("snapshot_folder", snapshot_folder.is_some()),
            ("operator_dead_man_ms", operator_dead_man_ms.is_some()),
        ];
        for (key, _) in live.into_iter().filter(|(_, is_said)| *is_said) {
            let key = format!("risk.{key}");
            let text = format!("{key}: a backtest has no such thing; leave it out");
            found.push(Mistake::told(&key, text));
        }
        found
    }

    /// An instrument is traded at one venue, and each venue has another name.
    fn venue_mistakes(&self) -> Vec<Mistake> {
        let mut found = Vec::new();
        let mut told = |key: &str, text: String| found.push(Mistake::told(key, text));
        for (at, venue) in self.venues.iter().enumerate() {
            let key = format!("venues[{at}]");
            let before = self.venues.get(..at).unwrap_or_default();
            if venue.name.is_empty() || before.iter().any(|it| it.name == venue.name) {
                let key = format!("{key}.name");
                let text = format!("{key} = {:?}: each venue has a name of its own", venue.name);
                told(&key, text);
            }
            for symbol in &venue.symbols {
                let key = format!("{key}.symbols");
                if self.instruments.iter().all(|it| it.symbol != *symbol) {
                    told(&key, format!("{key}: no instrument has the symbol {symbol}"));
                }
                if let Some(other) = before.iter().find(|it| it.symbols.contains(symbol)) {
                    told(&key, format!("{key}: {symbol} is traded at {} already", other.name));
                }
            }
        }
        for (at, venue) in self.venues.iter().enumerate() {
            let key = |what: &str| format!("venues[{at}].{what}");
            let exchange = venue.exchange.map(|it| it.mistakes(&key("exchange")));
            let latency = venue.latency.as_ref().map(|it| it.mistakes(&key("latency")));
            found.extend(exchange.into_iter().chain(latency).flatten());
        }
        found
    }

    /// The rules of what is traded under a symbol.
    pub(super) fn exchange_of(&self, symbol: &str) -> ExchangeKeys {
        self.venue_of(symbol).and_then(|venue| venue.exchange).unwrap_or(self.exchange)
    }

    /// How long its requests and responses are on their way.
    pub(super) fn latency_of(&self, symbol: &str) -> &LatencyKeys {
        let venue = self.venue_of(symbol).and_then(|venue| venue.latency.as_ref());
        venue.unwrap_or(&self.latency)
    }

    fn venue_of(&self, symbol: &str) -> Option<&VenueKeys> {
        self.venues.iter().find(|venue| venue.symbols.iter().any(|it| it == symbol))
    }

    /// The sum of money in several currencies is none.
    fn currency_mistake(&self) -> Option<Mistake> {
        let first = self.instruments.first()?;
        let other = self.instruments.iter().position(|it| it.currency != first.currency)?;
        let named = |it: &InstrumentSettings| match &it.currency {
            Some(currency) => format!("in {currency}"),
            None => "in a currency that is not named".to_owned(),
        };
        let text = format!(
            "instruments[{other}].currency: {} is settled {}, and {} {}; run them apart",
            self.instruments[other].symbol,
            named(&self.instruments[other]),
            first.symbol,
            named(first),
        );
        Some(Mistake::told(&format!("instruments[{other}].currency"), text))
    }
}

impl<P: DeserializeOwned> BacktestFile<P> {
    /// The settings of a file; relative paths in it start at its folder.
    ///
    /// # Errors
    /// Everything that is wrong in it: the file, the line, the key, the key that was meant.
    pub fn read(path: &Path) -> Result<Self, RunnerError> {
        mistakes::from_file(path)
    }

    /// The settings of a table, as a program has made it; relative paths in it start at `folder`.
    ///
    /// # Errors
    /// Everything that is wrong in it, one mistake on each line.
    pub fn from_table(table: &Table, folder: &Path) -> Result<Self, RunnerError> {
        mistakes::from_table(table, folder)
    }
}

impl<P> BacktestFile<P> {
    /// What is traded, numbered from 0.
    ///
    /// # Errors
    /// The setting that cannot be.
    pub fn built(&self) -> Result<Vec<Instrument>, RunnerError> {
        build_instruments(&self.instruments)
    }

    /// Takes these files in the place of what the file says: `SYMBOL=FILE`, or `FILE` where there
    /// is one instrument; several of an instrument are in the order of their times.
    ///
    /// # Errors
    /// When it is not said whose a file is.
    pub fn set_data<'a>(
        &mut self,
        files: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), RunnerError> {
        let mut data: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
        for text in files {
            let named = text.split_once('=');
            let named =
                named.filter(|(name, _)| self.instruments.iter().any(|it| it.symbol == *name));
            let (symbol, file) = match (named, self.instruments.as_slice()) {
                (Some((symbol, file)), _) => (symbol, file),
                (None, [one]) => (one.symbol.as_str(), text),
                (None, all) => {
                    let all: Vec<&str> = all.iter().map(|it| it.symbol.as_str()).collect();
                    let text = format!(
                        "--data {text}: say whose it is, SYMBOL=FILE, with one of {}",
                        all.join(", ")
                    );
                    return Err(RunnerError::Settings(text));
                }
            };
            data.entry(symbol.to_owned()).or_default().push(PathBuf::from(file));
        }
        self.data = data;
        Ok(())
    }

    /// How it runs.
    ///
    /// # Errors
    /// The limits that cannot be.
    pub fn settings(&self) -> Result<BacktestSettings, RunnerError> {
        let risk = risk_of(&self.instruments, &self.risk, &self.symbols);
        Ok(BacktestSettings {
            risk: risk.map_err(|found| mistakes::error(&found))?,
            orders: self.orders,
            timer: Nanos::from_millis(self.timer_ms.into()),
            sample: Nanos::from_millis(self.sample_ms.into()),
            market_orders: self.market_orders,
        })
    }
}
