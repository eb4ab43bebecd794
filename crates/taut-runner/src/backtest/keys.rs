//! The tables of a backtest's file, and what can be wrong with each.

use std::path::PathBuf;

use serde::Deserialize;
use taut_recording::Source;

use crate::mistakes::Mistake;

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

impl ExchangeKeys {
    /// What is wrong with the table of this name.
    pub(super) fn mistakes(&self, table: &str) -> Vec<Mistake> {
        let mut found = Vec::new();
        let mut wrong = |key: &str, value: &dyn std::fmt::Display, must_be: &str| {
            found.push(Mistake::new(&format!("{table}.{key}"), value, must_be));
        };
        if !(self.exponent > 0.0 && self.exponent <= 100.0) {
            wrong("exponent", &self.exponent, "above 0 and at most 100");
        }
        if self.queue == Some(QueueKey::Engine) {
            if self.fills == FillsKey::Whole {
                let must_be = "left out with exchange.queue = \"engine\", which fills in parts";
                wrong("fills", &"whole", must_be);
            }
            if self.compat == CompatKey::HftBacktest {
                let must_be =
                    "left out with exchange.queue = \"engine\", which hftbacktest has not";
                wrong("compat", &"hftbacktest", must_be);
            }
        }
        found
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
    /// A run's own histograms in their place: the `stages.hlog` of its report. Each request is late
    /// by a tick-to-send of the run and by half of one of its round trips, each response by half of
    /// another one, drawn as often as they were measured.
    pub histogram: Option<PathBuf>,
    /// What the draws are made of: the same seed has the same ones.
    pub seed: u64,
}

impl LatencyKeys {
    /// What is wrong with the table of this name: measured latencies are said once.
    pub(super) fn mistakes(&self, table: &str) -> Vec<Mistake> {
        let Self { entry_ns, response_ns, file, histogram, .. } = self;
        let measured = match (file, histogram) {
            (Some(_), _) => "file",
            (None, Some(_)) => "histogram",
            (None, None) => return Vec::new(),
        };
        let must_be = format!("left out beside {table}.{measured}, which says it");
        let said = [("entry_ns", entry_ns), ("response_ns", response_ns)];
        let said = said.into_iter().filter_map(|(key, value)| Some((key, (*value)?.to_string())));
        let other = file.is_some().then_some(histogram.as_ref()).flatten();
        let other = other.map(|path| ("histogram", path.display().to_string()));
        let key = |key| format!("{table}.{key}");
        let all = said.chain(other);
        all.map(|(name, value)| Mistake::new(&key(name), value, &must_be)).collect()
    }
}

/// `[reading]`: what the files of `[data]` do not say themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReadingKeys {
    /// What they are; without it, as their contents show.
    pub format: Option<Source>,
    /// The day of LOBSTER's files, where their names do not say it: `2012-06-21`.
    pub date: Option<String>,
    /// What LOBSTER's rows take to us, in nanoseconds: they have one time.
    pub latency_ns: u32,
    /// The smallest latency after clocks that disagree were set right, in nanoseconds.
    pub base_latency_ns: u32,
}

/// `[[venues]]`: some of the instruments have other rules and latencies than the rest.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VenueKeys {
    /// Its name.
    pub name: String,
    /// What is traded there, by symbol.
    pub symbols: Vec<String>,
    /// Its rules, in the place of `[exchange]`.
    pub exchange: Option<ExchangeKeys>,
    /// Its latency, in the place of `[latency]`.
    pub latency: Option<LatencyKeys>,
}
