//! What is traded, as the file says it and as `public/get_instruments` tells it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::decimal::{self, number};

/// A perpetual ends here, in milliseconds: the year 3000.
const NEVER_MS: i64 = 32_503_708_800_000;
/// When every instrument was created.
const CREATED_MS: i64 = 1_534_167_754_000;

/// What kind of instrument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A future or a perpetual.
    Future,
    /// An option.
    Option,
    /// One currency for another.
    #[serde(rename = "spot")]
    Pair,
}

impl Kind {
    /// As the interface writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Future => "future",
            Self::Option => "option",
            Self::Pair => "spot",
        }
    }
}

/// A price step that holds from a price on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TickStep {
    /// The price from which it holds.
    pub above: String,
    /// The step: a multiple of the one before it.
    pub tick: String,
}

/// An instrument in a file of settings; decimals are texts, exact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarketSettings {
    /// Its name at the venue.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// What it is about: `BTC`.
    pub base: String,
    /// What its price is in: `USD`, `USDC`; an inverse option's is the base.
    pub quote: String,
    /// What is paid: the base for inverse contracts, the quote for linear ones.
    pub settlement: String,
    /// The price step.
    pub tick: String,
    /// Larger steps from these prices on, the lowest first. The crowd keeps to the first.
    #[serde(default)]
    pub tick_steps: Vec<TickStep>,
    /// The smallest amount, and the step of amounts.
    pub min_trade_amount: String,
    /// The amount of a contract.
    pub contract_size: String,
    /// Of the value, for who rests.
    #[serde(default = "zero")]
    pub maker_commission: String,
    /// Of the value, for who takes.
    #[serde(default = "zero")]
    pub taker_commission: String,
    /// When it ends, in milliseconds of UTC; a perpetual has none.
    #[serde(default)]
    pub expiration_ms: Option<i64>,
    /// An option's strike.
    #[serde(default)]
    pub strike: Option<String>,
    /// `call` or `put`.
    #[serde(default)]
    pub option_type: Option<String>,
    /// Where the crowd's market begins.
    pub start_price: String,
    /// Its part of the crowd's commands; 0 is no crowd.
    #[serde(default = "one")]
    pub weight: u32,
}

fn zero() -> String {
    "0".to_owned()
}

const fn one() -> u32 {
    1
}

/// The decimals of a market, at 1e-9.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub tick: i128,
    pub lot: i128,
    pub contract: i128,
    pub maker: i128,
    pub taker: i128,
    pub start: i128,
}

impl MarketSettings {
    /// Whether its amounts are in the quote currency and its profits in the base.
    #[must_use]
    pub fn is_inverse(&self) -> bool {
        self.kind == Kind::Future && self.settlement == self.base
    }

    /// `reversed` or `linear`.
    #[must_use]
    pub fn instrument_type(&self) -> &'static str {
        if self.settlement == self.base && self.kind != Kind::Pair { "reversed" } else { "linear" }
    }

    /// `btc_usd`.
    #[must_use]
    pub fn price_index(&self) -> String {
        let quote =
            if self.kind == Kind::Option && self.quote == self.base { "USD" } else { &self.quote };
        format!("{}_{}", self.base, quote).to_lowercase()
    }

    /// Its decimals, or the one that cannot be.
    pub(crate) fn sizes(&self) -> Result<Sizes, String> {
        let read = |key: &str, text: &str| {
            let wrong =
                || format!("{}: {key} = {text:?}: a decimal of at most nine places", self.name);
            decimal::parse(text).ok_or_else(wrong)
        };
        let above_zero = |key: &str, text: &str| match read(key, text) {
            Ok(units) if units > 0 => Ok(units),
            Ok(_) => Err(format!("{}: {key} = {text:?}: more than zero", self.name)),
            Err(wrong) => Err(wrong),
        };
        Ok(Sizes {
            tick: above_zero("tick", &self.tick)?,
            lot: above_zero("min_trade_amount", &self.min_trade_amount)?,
            contract: above_zero("contract_size", &self.contract_size)?,
            maker: read("maker_commission", &self.maker_commission)?,
            taker: read("taker_commission", &self.taker_commission)?,
            start: above_zero("start_price", &self.start_price)?,
        })
    }

    /// Its larger steps, price and step at 1e-9, or the one that cannot be.
    pub(crate) fn steps(&self, lowest: i128) -> Result<Vec<(i128, i128)>, String> {
        let mut last = (0, lowest);
        let mut steps = Vec::new();
        for TickStep { above, tick } in &self.tick_steps {
            let wrong = || {
                let (name, rule) = (&self.name, "larger, and from a higher price");
                format!("{name}: tick_steps: {tick:?} above {above:?}: {rule}")
            };
            let step = decimal::parse(above).zip(decimal::parse(tick)).ok_or_else(wrong)?;
            if step.0 <= last.0 || step.1 <= last.1 || step.1 % lowest != 0 {
                return Err(wrong());
            }
            last = step;
            steps.push(step);
        }
        Ok(steps)
    }

    /// As the interface describes it in this state.
    pub(crate) fn json(&self, place: usize, sizes: &Sizes, state: &str) -> Value {
        let steps = self.steps(sizes.tick).unwrap_or_default();
        let step = |&(above, tick): &(i128, i128)| {
            let (above, tick) = (number(above), number(tick));
            json!({ "above_price": above, "tick_size": tick })
        };
        let steps: Vec<Value> = steps.iter().map(step).collect();
        let period = match (self.kind, self.expiration_ms) {
            (Kind::Pair, _) => None,
            (_, None) => Some("perpetual"),
            (_, Some(_)) => Some("month"),
        };
        let mut it = json!({
            "instrument_id": 100_000 + place,
            "instrument_name": self.name,
            "kind": self.kind.name(),
            "instrument_type": self.instrument_type(),
            "base_currency": self.base,
            "quote_currency": self.quote,
            "counter_currency": if self.kind == Kind::Option { "USD" } else { &self.quote },
            "price_index": self.price_index(),
            "tick_size": number(sizes.tick),
            "tick_size_steps": steps,
            "contract_size": number(sizes.contract),
            "min_trade_amount": number(sizes.lot),
            "maker_commission": number(sizes.maker),
            "taker_commission": number(sizes.taker),
            "block_trade_commission": number(sizes.taker),
            "block_trade_min_trade_amount": number(sizes.lot * 1_000),
            "block_trade_tick_size": number(sizes.tick),
            "creation_timestamp": CREATED_MS,
            "is_active": state == "open",
            "state": state,
            "rfq": false,
        });
        let Some(map) = it.as_object_mut() else { return it };
        let mut put = |key: &str, value: Value| _ = map.insert(key.to_owned(), value);
        if self.kind != Kind::Pair {
            put("settlement_currency", json!(self.settlement));
            put("expiration_timestamp", json!(self.expiration_ms.unwrap_or(NEVER_MS)));
        } else {
            put("expiration_timestamp", json!(NEVER_MS));
        }
        put("settlement_period", json!(period.unwrap_or("perpetual")));
        if self.kind == Kind::Future {
            put("max_leverage", json!(50));
            put("max_liquidation_commission", number(7_500_000));
            put("future_type", json!(self.instrument_type()));
        }
        if self.kind == Kind::Option {
            put(
                "strike",
                self.strike.as_deref().and_then(decimal::parse).map_or(Value::Null, number),
            );
            put("option_type", json!(self.option_type));
        }
        it
    }
}
