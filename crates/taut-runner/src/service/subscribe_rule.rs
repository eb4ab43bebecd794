//! What a file says of instruments that it names by a pattern, and what the venue says of them.

use serde::{Deserialize, Serialize};
use taut_market_data::native::InstrumentDefinition;
use taut_types::{InstrumentId, Qty};

use crate::settings::{Contract, InstrumentSettings};

/// Instruments of the venue by their names, and what its definitions do not say of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubscribeRule {
    /// A name, or a regular expression over a whole name.
    pub pattern: String,
    /// As of [`InstrumentSettings`].
    #[serde(default)]
    pub contract: Contract,
    /// The same.
    #[serde(default)]
    pub currency: Option<String>,
    /// The same.
    #[serde(default)]
    pub base: Option<String>,
    /// The same.
    #[serde(default)]
    pub maker_fee: Option<String>,
    /// The same.
    #[serde(default)]
    pub taker_fee: Option<String>,
}

/// What the venue said of the instruments of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscribed {
    /// So many are written in the file, and come first.
    pub written: usize,
    /// The venue's number of each.
    pub numbers: Vec<InstrumentId>,
}

impl SubscribeRule {
    /// The instrument that the venue defines so.
    pub(super) fn settings(&self, definition: &InstrumentDefinition) -> InstrumentSettings {
        let InstrumentDefinition { tick, lot_mantissa, lot_decimals, symbol, .. } = *definition;
        let lot = Qty { mantissa: lot_mantissa, decimals: lot_decimals };
        let is_plain = lot_mantissa == 1;
        InstrumentSettings {
            symbol: symbol.to_string(),
            tick: tick.to_string(),
            lot_decimals: if is_plain { lot_decimals } else { 0 },
            lot: (!is_plain).then(|| lot.to_string()),
            contract: self.contract,
            currency: self.currency.clone(),
            base: self.base.clone(),
            maker_fee: self.maker_fee.clone(),
            taker_fee: self.taker_fee.clone(),
            ..InstrumentSettings::default()
        }
    }
}
