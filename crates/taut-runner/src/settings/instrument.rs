//! What is traded.

use serde::{Deserialize, Serialize};
use taut_types::{Instrument, InstrumentId, Price, Qty, Symbol};

use crate::error::RunnerError;

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
}

impl Default for InstrumentSettings {
    fn default() -> Self {
        Self { symbol: "TAUT".to_owned(), tick: "0.01".to_owned(), lot_decimals: 0 }
    }
}

impl InstrumentSettings {
    /// The instrument.
    ///
    /// # Errors
    /// The setting that cannot be.
    pub fn build(&self) -> Result<Instrument, RunnerError> {
        let symbol = Symbol::new(self.symbol.as_bytes()).ok_or_else(|| {
            RunnerError::setting(
                "instrument.symbol",
                &self.symbol,
                "1 to 15 letters without a space",
            )
        })?;
        let tick = Price::parse(self.tick.as_bytes()).map_err(|_| {
            RunnerError::setting(
                "instrument.tick",
                &self.tick,
                "a decimal of at most nine places, such as 0.01",
            )
        })?;
        let lot = Qty { mantissa: 1, decimals: self.lot_decimals };
        Instrument::new(InstrumentId(0), symbol, tick, lot).map_err(|_| {
            RunnerError::setting("instrument.tick", &self.tick, "above 0, and even at 1e-9")
        })
    }
}
