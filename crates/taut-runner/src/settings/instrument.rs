//! What is traded.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use taut_types::{Instrument, InstrumentId, Price, Qty, Symbol};

use crate::error::RunnerError;

/// More than any venue of one thread has.
const INSTRUMENTS_MAX: usize = 10_000;

/// An instrument in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InstrumentSettings {
    /// Its name at the venue.
    pub symbol: String,
    /// Its price step, a decimal in quotes: a float would not be exact.
    pub tick: String,
    /// Decimal places of a quantity, which is a whole number of the smallest on the order session.
    pub lot_decimals: u8,
    /// The currency of its prices, where balances are followed.
    pub currency: Option<String>,
    /// What is bought, where that is a currency too: each trade moves both. Without it only profit
    /// that is realised moves.
    pub base: Option<String>,
    /// Its part of the simulator's commands, in relation to those of the others.
    pub weight: u32,
}

impl Default for InstrumentSettings {
    fn default() -> Self {
        Self {
            symbol: "TAUT".to_owned(),
            tick: "0.01".to_owned(),
            lot_decimals: 0,
            currency: None,
            base: None,
            weight: 1,
        }
    }
}

impl InstrumentSettings {
    /// The instrument.
    ///
    /// # Errors
    /// The setting that cannot be.
    pub fn build(&self) -> Result<Instrument, RunnerError> {
        self.build_as(InstrumentId(0), "instrument")
    }

    /// What is wrong with the instrument that stands there in the settings.
    pub(crate) fn mistake(&self, number: usize) -> Option<RunnerError> {
        self.build_as(InstrumentId(0), &format!("instruments[{number}]")).err()
    }

    /// The instrument with this number; `key` is where it stands in the settings.
    fn build_as(&self, id: InstrumentId, key: &str) -> Result<Instrument, RunnerError> {
        let (symbol_key, tick_key) = (format!("{key}.symbol"), format!("{key}.tick"));
        let symbol = Symbol::new(self.symbol.as_bytes()).ok_or_else(|| {
            RunnerError::setting(&symbol_key, &self.symbol, "1 to 15 letters without a space")
        })?;
        let tick = Price::parse(self.tick.as_bytes()).map_err(|_| {
            let remedy = "a decimal of at most nine places, such as 0.01";
            RunnerError::setting(&tick_key, &self.tick, remedy)
        })?;
        let lot = Qty { mantissa: 1, decimals: self.lot_decimals };
        Instrument::new(id, symbol, tick, lot)
            .map_err(|_| RunnerError::setting(&tick_key, &self.tick, "above 0, and even at 1e-9"))
    }
}

/// These instruments, numbered from 0, or else the one.
pub(super) fn build_all(
    one: &InstrumentSettings,
    several: &[InstrumentSettings],
) -> Result<Vec<Instrument>, RunnerError> {
    if several.is_empty() {
        return Ok(vec![one.build()?]);
    }
    if *one != InstrumentSettings::default() {
        let text =
            "[instrument] and [[instruments]] both say what is traded; leave one of them out";
        return Err(RunnerError::Settings(text.to_owned()));
    }
    build_instruments(several)
}

/// These instruments, numbered from 0.
pub(crate) fn build_instruments(
    several: &[InstrumentSettings],
) -> Result<Vec<Instrument>, RunnerError> {
    if several.len() > INSTRUMENTS_MAX {
        let (count, remedy) = (several.len(), format!("at most {INSTRUMENTS_MAX}"));
        return Err(RunnerError::setting("instruments", count, remedy));
    }
    let mut symbols = BTreeSet::new();
    let mut built = Vec::with_capacity(several.len());
    for (number, settings) in (0..).zip(several) {
        let key = format!("instruments[{number}]");
        if !symbols.insert(&settings.symbol) {
            let remedy = "another symbol: an instrument before it has this one";
            let key = format!("{key}.symbol");
            return Err(RunnerError::setting(&key, &settings.symbol, remedy));
        }
        built.push(settings.build_as(InstrumentId(number), &key)?);
    }
    Ok(built)
}
