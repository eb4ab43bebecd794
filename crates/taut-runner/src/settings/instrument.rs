//! What is traded.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use taut_fix::parse_timestamp;
use taut_oms::RiskInstrument;
use taut_types::{
    ContractKind, FeeRates, Instrument, InstrumentId, Lots, Nanos, Price, Qty, Symbol, TickStep,
    parse_decimal,
};

use crate::error::RunnerError;

/// More than any venue of one thread has.
pub(crate) const INSTRUMENTS_MAX: usize = 10_000;

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

/// From a price on, another tick.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TickStepSettings {
    /// From this price on: a decimal in quotes.
    pub from: String,
    /// By this tick, a whole number of the smallest one: a decimal in quotes.
    pub tick: String,
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
    /// Where prices have larger ticks from some price on: up to seven such steps.
    pub tick_steps: Vec<TickStepSettings>,
    /// Decimal places of a quantity, which is a whole number of the smallest on the order session.
    pub lot_decimals: u8,
    /// The smallest quantity, where that is no power of ten below 1: a decimal in quotes.
    pub lot: Option<String>,
    /// What quantities are worth: times the price ("linear"), or divided by the price ("inverse").
    pub contract: Contract,
    /// What a quantity of 1 is worth at a price of 1, where that is not 1: a decimal in quotes.
    pub multiplier: Option<String>,
    /// The smallest order, where that is more than a lot: a decimal in quotes.
    pub quantity_min: Option<String>,
    /// What an order must be worth: a decimal in quotes.
    pub notional_min: Option<String>,
    /// Until when it trades: `20261225-08:00:00`, UTC.
    pub expiry: Option<String>,
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
            tick_steps: Vec::new(),
            lot_decimals: 0,
            lot: None,
            contract: Contract::Linear,
            multiplier: None,
            quantity_min: None,
            notional_min: None,
            expiry: None,
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
        let plain = Instrument::new(id, symbol, tick, lot).map_err(|_| {
            RunnerError::setting(&tick_key, &self.tick, "above 0, and even at 1e-9")
        })?;
        self.with_reference_data(key, plain.with_kind(kind))
    }

    /// The same instrument with its tick steps, multiplier, smallest order and expiry.
    fn with_reference_data(&self, key: &str, plain: Instrument) -> Result<Instrument, RunnerError> {
        let wrong = |name: &str, text: &str, must_be: &str| {
            RunnerError::setting(&format!("{key}.{name}"), text, must_be)
        };
        let mut steps = Vec::with_capacity(self.tick_steps.len());
        for (at, TickStepSettings { from, tick }) in self.tick_steps.iter().enumerate() {
            let price = |name: &str, text: &String| {
                let price = Price::parse(text.as_bytes());
                let decimal = "a decimal of at most nine places, such as \"0.05\"";
                price.map_err(|_| wrong(&format!("tick_steps[{at}].{name}"), text, decimal))
            };
            let (from, tick) = (price("from", from)?, price("tick", tick)?);
            steps.push(TickStep { from, tick });
            // The first one that cannot be there is named.
            plain.with_tick_steps(&steps).map_err(|error| {
                let text = &self.tick_steps[at].from;
                wrong(&format!("tick_steps[{at}]"), text, &error.to_string())
            })?;
        }
        let stepped = plain.with_tick_steps(&steps);
        let mut instrument =
            stepped.map_err(|error| wrong("tick_steps", "", &error.to_string()))?;
        if let Some(text) = &self.multiplier {
            let multiplier = Qty::parse(text.as_bytes()).ok();
            let with = multiplier.and_then(|by| instrument.with_multiplier(by).ok());
            let above = "a decimal above 0, such as \"50\"";
            instrument = with.ok_or_else(|| wrong("multiplier", text, above))?;
            // Else nothing could be said of the worth of an order.
            let exact = "one by which a lot has at most nine decimals, and is below 9 billion";
            let counted = RiskInstrument::of(&instrument);
            counted.ok_or_else(|| wrong("multiplier", text, exact))?;
        }
        let lots_min = self.quantity_min.as_ref().map_or(Ok(Lots(1)), |text| {
            let lots = Qty::parse(text.as_bytes()).ok().and_then(|qty| instrument.lots(qty).ok());
            let whole = || format!("a whole number of the lot, {}, above 0", instrument.lot());
            lots.filter(|lots| lots.0 > 0).ok_or_else(|| wrong("quantity_min", text, &whole()))
        })?;
        let notional_min = self.notional_min.as_ref().map_or(Ok(Price(0)), |text| {
            let worth = Price::parse(text.as_bytes()).ok().filter(|worth| worth.0 >= 0);
            worth.ok_or_else(|| wrong("notional_min", text, "a decimal from 0 on, such as \"5\""))
        })?;
        if let Ok(with) = instrument.with_minima(lots_min, notional_min) {
            instrument = with;
        }
        if let Some(text) = &self.expiry {
            let expiry = parse_timestamp(text.as_bytes()).filter(|at| *at > Nanos::ZERO);
            let form = "a date and a time in UTC, such as \"20261225-08:00:00\"";
            instrument = instrument.with_expiry(expiry.ok_or_else(|| wrong("expiry", text, form))?);
        }
        Ok(instrument)
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

    #[test]
    fn reference_data_are_those_of_the_file() {
        let text = r#"
            symbol = "BTC-25DEC26-C"
            tick = "0.0001"
            tick_steps = [{ from = "0.005", tick = "0.0005" }, { from = "0.1", tick = "0.01" }]
            lot = "0.1"
            multiplier = "2.5"
            quantity_min = "0.3"
            notional_min = "0.02"
            expiry = "20261225-08:00:00"
        "#;
        let settings: InstrumentSettings = toml::from_str(text).expect("settings");
        let built = settings.build().expect("an instrument");
        let at = |text: &str| built.ticks().at(Price::parse(text.as_bytes()).expect("a price"));
        let ticks = ["0.0049", "0.005", "0.2"].map(at);
        assert_eq!(ticks, [Price(100_000), Price(500_000), Price(10_000_000)]);
        assert_eq!(built.multiplier(), Qty { mantissa: 25, decimals: 1 });
        assert_eq!((built.lots_min(), built.notional_min()), (Lots(3), Price(20_000_000)));
        let expiry = Nanos::from_secs(1_798_185_600);
        assert_eq!(built.expiry(), Some(expiry));
    }

    #[test]
    fn reference_data_that_cannot_be_are_named() {
        for (text, key) in [
            ("tick_steps = [{ from = \"x\", tick = \"1\" }]", "tick_steps[0].from = x"),
            ("tick_steps = [{ from = \"1\", tick = \"\" }]", "tick_steps[0].tick"),
            (
                "tick_steps = [{ from = \"1\", tick = \"0.1\" }, { from = \"1\", tick = \"1\" }]",
                "tick_steps[1] = 1",
            ),
            ("multiplier = \"0\"", "multiplier = 0"),
            ("lot_decimals = 8\nmultiplier = \"0.01\"", "multiplier = 0.01"),
            ("lot = \"10\"\nquantity_min = \"15\"", "quantity_min = 15"),
            ("quantity_min = \"0\"", "quantity_min = 0"),
            ("notional_min = \"-1\"", "notional_min = -1"),
            ("expiry = \"2026-12-25\"", "expiry = 2026-12-25"),
        ] {
            let settings: InstrumentSettings = toml::from_str(text).expect(text);
            let told = settings.mistake(3).expect(text).to_string();
            assert!(told.contains(&format!("instruments[3].{key}")), "{told}");
        }
    }
}
