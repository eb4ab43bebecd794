//! Accounts of a venue: keys, balances, positions.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use taut_order_entry::sign::HmacKey;

use crate::decimal::{self, UNITS};

/// An account in a file of settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccountSettings {
    /// Its name, which the venue shows as the user's.
    pub name: String,
    /// Its keys.
    pub keys: Vec<KeySettings>,
    /// What it has: decimals in quotes by currency.
    pub balances: BTreeMap<String, String>,
    /// An order that meets the account's own: `reject_taker` or `cancel_maker`.
    #[serde(default = "reject_taker")]
    pub self_trading: String,
    /// Requests to the matching engine a second.
    #[serde(default = "matching_rate")]
    pub matching_rate: u32,
    /// Of these, at once.
    #[serde(default = "matching_burst")]
    pub matching_burst: u32,
}

/// A key in a file of settings. It is worth nothing but on this simulator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeySettings {
    /// What it is known by: `client_id`, or the API key.
    pub id: String,
    /// What it signs with.
    pub secret: String,
    /// Whether it may only look.
    #[serde(default)]
    pub read_only: bool,
}

fn reject_taker() -> String {
    "reject_taker".to_owned()
}

const fn matching_rate() -> u32 {
    5
}

const fn matching_burst() -> u32 {
    20
}

/// The money of an account's settings at 1e-9, or which of it cannot be.
pub fn read_balances(
    settings: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, i128>, String> {
    let read = |(currency, text): (&String, &String)| {
        let amount = decimal::parse(text).filter(|amount| *amount >= 0);
        let amount = amount.ok_or_else(|| {
            format!("accounts.balances.{currency} = {text:?}: a decimal of at most nine places")
        })?;
        Ok((currency.clone(), amount))
    };
    settings.iter().map(read).collect()
}

/// An account.
#[derive(Debug)]
pub struct Account {
    pub settings: AccountSettings,
    pub keys: Vec<(KeySettings, HmacKey)>,
    /// At 1e-9.
    pub balances: BTreeMap<String, i128>,
    /// By the market's place.
    pub positions: BTreeMap<usize, Position>,
    /// Orders of later connections die with them, too.
    pub cancels_on_disconnect: bool,
}

impl Account {
    /// The account of these settings, or which of them cannot be.
    pub fn new(settings: &AccountSettings) -> Result<Self, String> {
        let key = |key: &KeySettings| (key.clone(), HmacKey::new(key.secret.as_bytes()));
        Ok(Self {
            keys: settings.keys.iter().map(key).collect(),
            balances: read_balances(&settings.balances)?,
            settings: settings.clone(),
            positions: BTreeMap::new(),
            cancels_on_disconnect: false,
        })
    }

    pub fn balance(&self, currency: &str) -> i128 {
        self.balances.get(currency).copied().unwrap_or(0)
    }

    pub fn pay(&mut self, currency: &str, amount: i128) {
        *self.balances.entry(currency.to_owned()).or_default() += amount;
    }
}

/// Units in a coin, where a contract's part of it is counted.
const COINS: i128 = UNITS * UNITS;

/// What an account holds of a contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Signed, in the market's unit of amounts, at 1e-9.
    pub size: i128,
    /// The price at which it was entered, at 1e-9.
    pub average: i128,
    /// Profit taken so far, in the settlement currency, at 1e-9.
    pub realized: i128,
}

impl Position {
    /// Takes a trade in: the signed amount that was closed by it.
    pub fn trade(&mut self, signed: i128, price: i128, is_inverse: bool) -> i128 {
        if self.size == 0 || (self.size > 0) == (signed > 0) {
            let total = self.size + signed;
            self.average = if self.size == 0 {
                price
            } else if is_inverse {
                // The coins of both parts, added: at 1e-18, as a contract is few of them.
                let coins = |size: i128, price: i128| size.saturating_mul(COINS).div_euclid(price);
                let both = coins(self.size, self.average.max(1)) + coins(signed, price.max(1));
                total.saturating_mul(COINS).checked_div_euclid(both).unwrap_or(price)
            } else {
                (self.size * self.average + signed * price).checked_div(total).unwrap_or(price)
            };
            self.size = total;
            return 0;
        }
        let closed = if signed.abs() <= self.size.abs() { -signed } else { self.size };
        self.size += signed;
        if self.size == 0 {
            self.average = 0;
        } else if (self.size > 0) == (signed > 0) {
            self.average = price;
        }
        closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: i128 = decimal::UNITS;

    #[test]
    fn a_position_averages_what_it_opens_and_tells_what_it_closes() {
        let mut position = Position::default();
        assert_eq!(position.trade(10 * ONE, 100 * ONE, false), 0);
        assert_eq!(position.trade(10 * ONE, 200 * ONE, false), 0);
        assert_eq!((position.size, position.average), (20 * ONE, 150 * ONE));
        assert_eq!(position.trade(-5 * ONE, 300 * ONE, false), 5 * ONE);
        assert_eq!((position.size, position.average), (15 * ONE, 150 * ONE));
        assert_eq!(position.trade(-25 * ONE, 90 * ONE, false), 15 * ONE, "through zero");
        assert_eq!((position.size, position.average), (-10 * ONE, 90 * ONE));
        assert_eq!(position.trade(10 * ONE, 90 * ONE, false), -10 * ONE);
        assert_eq!((position.size, position.average), (0, 0));
    }

    #[test]
    fn an_inverse_position_averages_coins() {
        let mut position = Position::default();
        position.trade(100 * ONE, 100 * ONE, true);
        position.trade(100 * ONE, 200 * ONE, true);
        // 1 coin and half a coin for 200 dollars.
        assert_eq!(position.average / 1_000, 133_333_333, "133.333333");
    }
}
