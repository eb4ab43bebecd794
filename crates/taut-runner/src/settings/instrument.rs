//! What is traded.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use taut_types::{
    ContractKind, FeeRates, Instrument, InstrumentId, Price, Qty, Symbol, parse_decimal,
};

use crate::error::RunnerError;

/// More than any venue of one thread has.
const INSTRUMENTS_MAX: usize = 10_000;

/// [`ContractKind`] in words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Contract {
    /// Quantity times price, in the price's currency.
    #[default]
    Linear,
    /// Quantity divided by price, settled in what is priced.
    Inverse,
}

/// An instrument in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InstrumentSettings {
    /// Its name: at the venue, too, unless `name` says otherwise.
    pub symbol: String,
    /// The venue's own name of it, where that is longer than a symbol may be or is to be another.
    pub name: Option<String>,
    /// Its price step, a decimal in quotes: a float would not be exact.
    pub tick: String,
    /// Decimal places of a quantity, which is a whole number of the smallest on the order session.
    pub lot_decimals: u8,
    /// The smallest quantity, where that is no power of ten below 1: a decimal in quotes.
    pub lot: Option<String>,
    /// What quantities are worth: times the price ("linear"), or divided by the price ("inverse").
    pub contract: Contract,
    /// The currency of its prices, where balances are followed; of an inverse contract the one that
    /// it is settled in, and in which limits of worth and of losses count.
    pub currency: Option<String>,
    /// What is bought, where that is a currency too: each trade moves both. Without it only profit
    /// that is realised moves.
    pub base: Option<String>,
    /// What a trade of an order that rested costs, as a part of its worth: a decimal in quotes,
    /// below 0 where it is paid to the order's owner. A venue charges it; a gateway counts it where
    /// the venue's reports say nothing.
    pub maker_fee: Option<String>,
    /// The same of an order that arrived.
    pub taker_fee: Option<String>,
    /// Its part of the simulator's commands, in relation to those of the others.
    pub weight: u32,
}

impl Default for InstrumentSettings {
    fn default() -> Self {
        Self {
            symbol: "TAUT".to_owned(),
            name: None,
            tick: "0.01".to_owned(),
            lot_decimals: 0,
            lot: None,
            contract: Contract::Linear,
            currency: None,
            base: None,
            maker_fee: None,
            taker_fee: None,
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

    /// What its trades cost.
    ///
    /// # Errors
    /// The setting that cannot be.
    pub fn fees(&self) -> Result<FeeRates, RunnerError> {
        self.fees_as("instrument")
    }

    fn fees_as(&self, key: &str) -> Result<FeeRates, RunnerError> {
        let rate = |name: &str, text: Option<&String>| {
            let Some(text) = text else { return Ok(0) };
            let rate = parse_decimal(text.as_bytes(), 9).ok();
            rate.filter(|rate| rate.abs() <= FeeRates::SCALE).ok_or_else(|| {
                let remedy = "a part of a trade's worth from -1 to 1, such as \"0.0005\"";
                RunnerError::setting(&format!("{key}.{name}"), text, remedy)
            })
        };
        Ok(FeeRates {
            maker: rate("maker_fee", self.maker_fee.as_ref())?,
            taker: rate("taker_fee", self.taker_fee.as_ref())?,
        })
    }

    /// The venue's name of it.
    pub(crate) fn venue_name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.symbol)
    }

    fn lot_as(&self, key: &str) -> Result<Qty, RunnerError> {
        let Some(text) = &self.lot else {
            return Ok(Qty { mantissa: 1, decimals: self.lot_decimals });
        };
        let wrong = |must_be: &str| Err(RunnerError::setting(&format!("{key}.lot"), text, must_be));
        if self.lot_decimals != 0 {
            return wrong("left out where lot_decimals says it");
        }
        match Qty::parse(text.as_bytes()) {
            Ok(lot) if lot.mantissa > 0 => Ok(lot),
            _ => wrong("a decimal above 0, such as \"10\" or \"0.001\""),
        }
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
        self.fees_as(key)?;
        let lot = self.lot_as(key)?;
        if self.contract == Contract::Inverse && self.base.is_some() {
            let (key, base) = (format!("{key}.base"), self.base.as_deref().unwrap_or_default());
            return Err(RunnerError::setting(&key, base, "left out of an inverse contract"));
        }
        let kind = match self.contract {
            Contract::Linear => ContractKind::Linear,
            Contract::Inverse => ContractKind::Inverse,
        };
        Instrument::new(id, symbol, tick, lot)
            .map(|instrument| instrument.with_kind(kind))
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

/// What trades of these cost, by their numbers.
pub(crate) fn build_fees(several: &[InstrumentSettings]) -> Result<Vec<FeeRates>, RunnerError> {
    several.iter().map(InstrumentSettings::fees).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fees_are_exact_parts_and_what_is_none_is_named() {
        let fees = |maker: &str, taker: &str| {
            let (maker_fee, taker_fee) = (Some(maker.to_owned()), Some(taker.to_owned()));
            let settings = InstrumentSettings { maker_fee, taker_fee, ..Default::default() };
            settings.fees_as("instruments[0]").map_err(|error| error.to_string())
        };
        let rates = FeeRates { maker: -100_000, taker: 500_000 };
        assert_eq!(fees("-0.0001", "0.0005"), Ok(rates));
        for wrong in ["", "5bp", "1.5", "0.0000000001"] {
            let told = fees("0", wrong).expect_err(wrong);
            assert!(told.contains("instruments[0].taker_fee"), "{told}");
        }
    }
}
