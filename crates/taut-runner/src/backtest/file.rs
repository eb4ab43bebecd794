//! What a backtest is told: a file of settings, and the recordings that it names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use taut_backtest::{
    Chance, Compat, ConstantLatency, EngineExchange, Exchange, ExchangeSide, FeeBasis, Fees,
    FillModel, InterpolatedLatency, Latency, LevelExchange, OrderExchange, Probability, Recording,
    RiskAverse, RowKind,
};
use taut_gateway::Strategy;
use taut_recording::hft;
use taut_types::{Instrument, Nanos};
use toml::Table;

use super::driver::{BacktestMarket, BacktestSettings, run};
use super::outcome::BacktestOutcome;
use super::own_orders::SimulatedExchange;
use crate::error::RunnerError;
use crate::mistakes::{self, FileSettings, Mistake};
use crate::reading;
use crate::service::{GatewayRisk, SymbolRule, risk_of};
use crate::settings::{InstrumentSettings, build_fees, build_instruments};
use crate::start::NoParameters;

/// A backtest's file with every key, for people to start from.
pub const BACKTEST_SAMPLE: &str = include_str!("sample.toml");

/// How own orders stand among the others at their price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueKey {
    /// Over levels: nobody before them leaves but by a trade.
    RiskAverse,
    /// Over levels: who leaves stood behind them by a power of what stands behind and before.
    Power,
    /// The same, of what stands behind and of all.
    Power2,
    /// The same, of what stands before and of all.
    Power3,
    /// As `power`, by the logarithm.
    Log,
    /// As `power2`, by the logarithm.
    Log2,
    /// Over orders one by one: they stand in the market's own queues.
    Fifo,
    /// Over orders one by one: in taut's own engine, which plays the recorded orders with theirs
    /// among them, so that what they take is gone for the market.
    Engine,
}

impl QueueKey {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RiskAverse => "risk-averse",
            Self::Power => "power",
            Self::Power2 => "power2",
            Self::Power3 => "power3",
            Self::Log => "log",
            Self::Log2 => "log2",
            Self::Fifo => "fifo",
            Self::Engine => "engine",
        }
    }
}

/// How much of an order trades.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FillsKey {
    /// All of it or nothing.
    Whole,
    /// What there is for it.
    #[default]
    Partial,
}

/// Whose exchange it is to be like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CompatKey {
    /// An exchange.
    #[default]
    None,
    /// The one of hftbacktest, row for row.
    HftBacktest,
}

/// What fees are a part of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FeeBasisKey {
    /// Of the worth of a trade.
    #[default]
    Value,
    /// So much for a quantity of 1.
    Quantity,
    /// So much for each trade.
    Fill,
}

/// `[exchange]`: the rules of the simulated exchange.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExchangeKeys {
    /// How own orders stand among the others at their price; without it "fifo" over orders one by
    /// one and "risk-averse" over levels.
    pub queue: Option<QueueKey>,
    /// The exponent of "power", "power2" and "power3".
    pub exponent: f64,
    /// How much of an order trades.
    pub fills: FillsKey,
    /// Whose exchange it is to be like.
    pub compat: CompatKey,
    /// What the fees of the instruments are a part of.
    pub fee_basis: FeeBasisKey,
}

impl Default for ExchangeKeys {
    fn default() -> Self {
        Self {
            queue: None,
            exponent: 2.0,
            fills: FillsKey::Partial,
            compat: CompatKey::None,
            fee_basis: FeeBasisKey::Value,
        }
    }
}

/// `[latency]`: how long requests and responses are on their way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LatencyKeys {
    /// From sending a request to the exchange, in nanoseconds.
    pub entry_ns: Option<u32>,
    /// From a change at the exchange to us, in nanoseconds.
    pub response_ns: Option<u32>,
    /// Measured round trips in their place: hftbacktest's file of order latencies (npz).
    pub file: Option<PathBuf>,
}

/// What both are where the file says nothing: half a millisecond.
const LATENCY_NS: u32 = 500_000;

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
    /// The rules of the simulated exchange.
    pub exchange: ExchangeKeys,
    /// How long requests and responses are on their way.
    pub latency: LatencyKeys,
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
    exchange: ExchangeKeys,
    #[serde(default)]
    latency: LatencyKeys,
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
    parameters: Option<P>,
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
        let Keys { instruments, data, exchange, latency, risk, symbols, .. } = keys;
        let Keys { orders, timer_ms, sample_ms, parameters, .. } = keys;
        let parameters = match parameters {
            Some(parameters) => parameters,
            // As if the table were there and empty.
            None => reading::parsed(Table::new()).map_err(|e| format!("[parameters]: {e}"))?,
        };
        Ok(Self {
            instruments,
            data,
            exchange,
            latency,
            risk,
            symbols,
            orders,
            timer_ms,
            sample_ms,
            parameters,
        })
    }
}

impl<P: DeserializeOwned> FileSettings for BacktestFile<P> {
    fn start_paths_at(&mut self, folder: &Path) {
        let files = self.data.values_mut().flatten().chain(&mut self.latency.file);
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
        let ExchangeKeys { exponent, .. } = self.exchange;
        if !(exponent > 0.0 && exponent <= 100.0) {
            found.push(Mistake::new("exchange.exponent", exponent, "above 0 and at most 100"));
        }
        if self.exchange.queue == Some(QueueKey::Engine) {
            let must_be = "left out with exchange.queue = \"engine\", which fills in parts";
            if self.exchange.fills == FillsKey::Whole {
                found.push(Mistake::new("exchange.fills", "whole", must_be));
            }
            if self.exchange.compat == CompatKey::HftBacktest {
                let must_be =
                    "left out with exchange.queue = \"engine\", which hftbacktest has not";
                found.push(Mistake::new("exchange.compat", "hftbacktest", must_be));
            }
        }
        if let (Some(_), Some(entry)) = (&self.latency.file, self.latency.entry_ns) {
            let must_be = "left out beside latency.file, which says it";
            found.push(Mistake::new("latency.entry_ns", entry, must_be));
        }
        if let (Some(_), Some(response)) = (&self.latency.file, self.latency.response_ns) {
            let must_be = "left out beside latency.file, which says it";
            found.push(Mistake::new("latency.response_ns", response, must_be));
        }
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

    /// Reads the recordings of the instruments, in the instruments' order; `tell` is told of each
    /// file before it is read.
    ///
    /// # Errors
    /// What is wrong with a file, or that an instrument has none.
    pub fn load(&self, tell: &mut dyn FnMut(&Path)) -> Result<Vec<Recording>, RunnerError> {
        let instruments = self.built()?;
        let mut recordings = Vec::with_capacity(instruments.len());
        for instrument in &instruments {
            let symbol = instrument.symbol();
            let files = self.data.get(symbol.as_str()).filter(|files| !files.is_empty());
            let files = files.ok_or_else(|| {
                let text = format!(
                    "data.{symbol}: no recording is named; name its files in [data], or with \
                     --data {symbol}=FILE"
                );
                RunnerError::Settings(text)
            })?;
            let mut rows = Vec::new();
            for file in files {
                tell(file);
                let read = hft::read_rows(file);
                rows.extend(read.map_err(|error| RunnerError::Settings(error.to_string()))?);
            }
            let recording = hft::recording(&rows, instrument.tick(), instrument.lot());
            let recording = recording.map_err(|error| {
                let names: Vec<_> = files.iter().map(|it| it.display().to_string()).collect();
                RunnerError::Settings(format!("{}: {error}", names.join(" and ")))
            })?;
            self.check_queue(&recording, &files[0])?;
            recordings.push(recording);
        }
        Ok(recordings)
    }

    /// A queue of orders needs orders, and one over levels levels.
    fn check_queue(&self, recording: &Recording, file: &Path) -> Result<(), RunnerError> {
        let Some(queue) = self.exchange.queue else { return Ok(()) };
        let has_orders = recording.orders() > 0;
        let has_levels = recording.rows().iter().any(|row| row.kind() == RowKind::Level);
        let wrong = match (queue, has_orders, has_levels) {
            (QueueKey::Fifo | QueueKey::Engine, false, _) => {
                "it has levels, and no orders one by one; take another"
            }
            (QueueKey::Fifo | QueueKey::Engine, ..) | (_, _, true) => return Ok(()),
            (_, true, false) => {
                "it has orders one by one, and no levels; take \"fifo\" or \"engine\""
            }
            (_, false, false) => "it has no levels; record the book too",
        };
        let (file, queue) = (file.display(), queue.name());
        Err(RunnerError::Settings(format!("exchange.queue = \"{queue}\": {file}: {wrong}")))
    }

    /// What is traded where, over these recordings.
    ///
    /// # Errors
    /// What is wrong with a setting, or with the file of latencies.
    pub fn markets<'r>(
        &self,
        recordings: &'r [Recording],
    ) -> Result<Vec<BacktestMarket<'r>>, RunnerError> {
        let latency = self.latency()?;
        let basis = match self.exchange.fee_basis {
            FeeBasisKey::Value => FeeBasis::Value,
            FeeBasisKey::Quantity => FeeBasis::Quantity,
            FeeBasisKey::Fill => FeeBasis::Fill,
        };
        let parts = self.built()?.into_iter().zip(build_fees(&self.instruments)?).zip(recordings);
        parts
            .map(|((instrument, rates), recording)| {
                let exchange = self.exchange(&instrument, recording, latency.clone())?;
                let fees = Fees { basis, rates };
                Ok(BacktestMarket { instrument, fees, recording, exchange })
            })
            .collect()
    }

    fn latency(&self) -> Result<Ways, RunnerError> {
        let LatencyKeys { entry_ns, response_ns, file } = &self.latency;
        let Some(file) = file else {
            let of = |key: Option<u32>| i64::from(key.unwrap_or(LATENCY_NS));
            let (entry, response) = (of(*entry_ns), of(*response_ns));
            return Ok(Ways::Constant(ConstantLatency { entry, response }));
        };
        let rows = hft::read_latencies(file);
        let rows = rows.map_err(|error| RunnerError::Settings(error.to_string()))?;
        let latency = InterpolatedLatency::new(rows).map_err(|error| {
            RunnerError::Settings(format!("latency.file = {}: {error}", file.display()))
        })?;
        Ok(Ways::Measured(latency))
    }

    fn exchange<'r>(
        &self,
        instrument: &Instrument,
        recording: &'r Recording,
        latency: Ways,
    ) -> Result<Box<dyn SimulatedExchange + 'r>, RunnerError> {
        let ExchangeKeys { queue, exponent, fills, compat, .. } = self.exchange;
        let fills = match fills {
            FillsKey::Whole => FillModel::Whole,
            FillsKey::Partial => FillModel::Partial,
        };
        let compat = match compat {
            CompatKey::None => Compat::NONE,
            CompatKey::HftBacktest => Compat::HFTBACKTEST,
        };
        let default = if recording.orders() > 0 { QueueKey::Fifo } else { QueueKey::RiskAverse };
        let chance = match queue.unwrap_or(default) {
            QueueKey::Fifo => {
                return boxed(recording, OrderExchange::new(recording, latency, fills, compat));
            }
            QueueKey::Engine => return boxed(recording, EngineExchange::new(recording, latency)),
            QueueKey::RiskAverse => {
                let exchange = LevelExchange::new(recording, RiskAverse, latency, fills, compat);
                return boxed(recording, exchange);
            }
            QueueKey::Power => Chance::Power(exponent),
            QueueKey::Power2 => Chance::Power2(exponent),
            QueueKey::Power3 => Chance::Power3(exponent),
            QueueKey::Log => Chance::Log,
            QueueKey::Log2 => Chance::Log2,
        };
        let queue = Probability::new(chance, instrument.lot());
        boxed(recording, LevelExchange::new(recording, queue, latency, fills, compat))
    }

    /// Reads the recordings and runs a strategy over them: [`run`] with all that the file says.
    ///
    /// # Errors
    /// What is wrong with the file or the recordings; as [`run`].
    pub fn run<S: Strategy>(
        &self,
        make: impl FnOnce(Nanos) -> S,
    ) -> Result<BacktestOutcome, RunnerError> {
        let recordings = self.load(&mut |_| {})?;
        run(self.markets(&recordings)?, &self.settings()?, make, &mut |_| true)
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
        })
    }
}

fn boxed<'r, X: Exchange + 'r>(
    recording: &'r Recording,
    exchange: Result<X, taut_backtest::BacktestError>,
) -> Result<Box<dyn SimulatedExchange + 'r>, RunnerError> {
    let exchange = exchange.map_err(|error| RunnerError::Settings(error.to_string()))?;
    Ok(Box::new(ExchangeSide::new(recording, exchange)))
}

/// Always the same latency, or measured ones.
#[derive(Clone, Debug)]
enum Ways {
    Constant(ConstantLatency),
    Measured(InterpolatedLatency),
}

impl Latency for Ways {
    fn entry(&self, at: i64) -> i64 {
        match self {
            Self::Constant(latency) => latency.entry(at),
            Self::Measured(latency) => latency.entry(at),
        }
    }

    fn response(&self, at: i64) -> i64 {
        match self {
            Self::Constant(latency) => latency.response(at),
            Self::Measured(latency) => latency.response(at),
        }
    }
}
