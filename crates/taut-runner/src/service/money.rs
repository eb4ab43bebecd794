//! Amounts of money in settings.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use taut_oms::Amount;

/// An amount, written as a whole number or as a decimal in quotes: a float would not be exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Money(pub Amount);

impl FromStr for Money {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = "must be a decimal from 0 on, such as \"2500.50\"";
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let is_digits = |text: &str| {
            (1..=18).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        if !is_digits(whole) || !is_digits(part) {
            return Err(wrong);
        }
        let units: i128 = format!("{whole}{part:0<18}").parse().map_err(|_| wrong)?;
        Ok(Self(Amount(units)))
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "must be a whole number, or a decimal in quotes")]
        enum Written {
            Whole(u64),
            Decimal(String),
        }
        let text = match Written::deserialize(from)? {
            Written::Whole(whole) => whole.to_string(),
            Written::Decimal(text) => text,
        };
        text.parse().map_err(|wrong| de::Error::custom(format!("{text} {wrong}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_is_exact_and_prints_as_it_was() {
        for text in ["0", "1", "2500.5", "999999999999999999", "0.000000000000000001"] {
            assert_eq!(text.parse::<Money>().map(|money| money.to_string()), Ok(text.to_owned()));
        }
        assert_eq!("7".parse(), Ok(Money(Amount::whole(7))));
        for wrong in ["", "-1", "1.", ".5", "1e3", "1_000", "0.0000000000000000001"] {
            assert!(wrong.parse::<Money>().is_err(), "{wrong}");
        }
    }
}
