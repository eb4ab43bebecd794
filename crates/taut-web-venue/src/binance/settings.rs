//! What is traded and by whom, as the file says it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::decimal;

/// What the venue trades and who may trade it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BinanceSettings {
    /// What is traded: the places of the exchange, in this order.
    pub instruments: Vec<SymbolSettings>,
    /// Who trades.
    pub accounts: Vec<BinanceAccountSettings>,
}

/// The venue's market that a symbol is traded in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SymbolMarket {
    /// The spot market.
    #[default]
    #[serde(rename = "spot")]
    SpotMarket,
    /// USD-margined futures: their market data are played, and nobody's orders are taken.
    UsdM,
}

/// A currency pair, or its perpetual, in a file of settings; decimals are texts, exact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SymbolSettings {
    /// Its name at the venue: `BTCUSDT`.
    pub name: String,
    /// The market that it is traded in.
    #[serde(default)]
    pub market: SymbolMarket,
    /// What is bought and sold: `BTC`.
    pub base: String,
    /// What is paid with: `USDT`.
    pub quote: String,
    /// PRICE_FILTER: the price step, and the lowest price.
    pub tick: String,
    /// PRICE_FILTER: the highest price.
    #[serde(default = "max_price")]
    pub max_price: String,
    /// LOT_SIZE: the step of quantities, and the smallest.
    pub step: String,
    /// LOT_SIZE: the largest quantity.
    #[serde(default = "max_quantity")]
    pub max_quantity: String,
    /// NOTIONAL: the least that an order is worth.
    #[serde(default = "min_notional")]
    pub min_notional: String,
    /// MAX_NUM_ORDERS: open orders of an account.
    #[serde(default = "max_orders")]
    pub max_orders: u32,
    /// Where the crowd's market begins.
    pub start_price: String,
    /// Its part of the crowd's commands; 0 is no crowd.
    #[serde(default = "one")]
    pub weight: u32,
}

fn max_price() -> String {
    "1000000".to_owned()
}

fn max_quantity() -> String {
    "9000".to_owned()
}

fn min_notional() -> String {
    "5".to_owned()
}

const fn max_orders() -> u32 {
    200
}

const fn one() -> u32 {
    1
}

/// An account in a file of settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BinanceAccountSettings {
    /// What it is called in this file.
    pub name: String,
    /// Its keys.
    pub keys: Vec<ApiKeySettings>,
    /// What it has: decimals in quotes by asset.
    pub balances: BTreeMap<String, String>,
    /// Of what is received, for who rests.
    #[serde(default = "commission")]
    pub maker_commission: String,
    /// Of what is received, for who takes.
    #[serde(default = "commission")]
    pub taker_commission: String,
    /// ORDERS: unfilled orders in ten seconds.
    #[serde(default = "orders_per_10s")]
    pub orders_per_10s: u32,
    /// ORDERS: unfilled orders a day.
    #[serde(default = "orders_per_day")]
    pub orders_per_day: u32,
}

fn commission() -> String {
    "0.001".to_owned()
}

const fn orders_per_10s() -> u32 {
    100
}

const fn orders_per_day() -> u32 {
    200_000
}

/// A key in a file of settings: a secret for HMAC-SHA256, or a public key for Ed25519. It is worth
/// nothing but on this simulator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApiKeySettings {
    /// The API key.
    pub id: String,
    /// What HMAC-SHA256 signs with.
    #[serde(default)]
    pub secret: Option<String>,
    /// The public key for Ed25519 in base64: the 32 bytes, or what stands between the lines of a
    /// PEM file.
    #[serde(default)]
    pub public_key: Option<String>,
    /// Whether it may only look.
    #[serde(default)]
    pub read_only: bool,
}

/// The decimals of a market, at 1e-9.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub tick: i128,
    pub max_price: i128,
    pub step: i128,
    pub max_quantity: i128,
    pub min_notional: i128,
    pub start: i128,
}

/// A decimal, or which setting cannot be one.
pub(crate) fn read(of: &str, key: &str, text: &str) -> Result<i128, String> {
    let amount = decimal::parse(text).filter(|it| *it >= 0);
    amount.ok_or_else(|| format!("{of}: {key} = {text:?}: a decimal of at most nine places"))
}

impl SymbolSettings {
    /// Its decimals, or the one that cannot be.
    pub(crate) fn sizes(&self) -> Result<Sizes, String> {
        let step = |key: &str, text: &str| match read(&self.name, key, text)? {
            units if units > 0 && units % 10 == 0 => Ok(units),
            _ => Err(format!("{}: {key} = {text:?}: more than zero, of eight places", self.name)),
        };
        Ok(Sizes {
            tick: step("tick", &self.tick)?,
            max_price: step("max_price", &self.max_price)?,
            step: step("step", &self.step)?,
            max_quantity: step("max_quantity", &self.max_quantity)?,
            min_notional: read(&self.name, "min_notional", &self.min_notional)?,
            start: step("start_price", &self.start_price)?,
        })
    }
}
