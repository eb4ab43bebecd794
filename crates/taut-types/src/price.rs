//! Prices and quantities: interchange units and engine units.

use core::fmt;

use crate::decimal::{DECIMAL_BYTES_MAX, DecimalError, format_decimal, parse_decimal};

/// A price at 1e-9 of its currency: the interchange unit, from -9.2 to +9.2 billion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Price(pub i64);

impl Price {
    /// Units in one of the currency.
    pub const SCALE: i64 = 1_000_000_000;
    /// Decimal places.
    pub const DECIMALS: u8 = 9;

    /// Reads a decimal such as `585.33` exactly.
    ///
    /// # Errors
    /// When the text is no decimal, has a digit below 1e-9, or does not fit.
    #[inline]
    pub const fn parse(text: &[u8]) -> Result<Self, DecimalError> {
        match parse_decimal(text, Self::DECIMALS) {
            Ok(mantissa) => Ok(Self(mantissa)),
            Err(error) => Err(error),
        }
    }

    /// Writes the shortest exact decimal into `out` and returns its length.
    pub fn format(self, out: &mut [u8; DECIMAL_BYTES_MAX]) -> usize {
        format_decimal(self.0, Self::DECIMALS, out)
    }
}

impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; DECIMAL_BYTES_MAX];
        let len = self.format(&mut text);
        f.write_str(text.get(..len).and_then(|t| core::str::from_utf8(t).ok()).unwrap_or("?"))
    }
}

/// A quantity: `mantissa` times ten to the power of minus `decimals`.
///
/// The scale belongs to the instrument: one fixed scale cannot hold both a Bitcoin and an order of
/// a coin worth a hundred-thousandth of a dollar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Qty {
    /// The digits.
    pub mantissa: i64,
    /// How many of them stand behind the point.
    pub decimals: u8,
}

/// A price in half ticks of its instrument, the engine's unit: a midpoint is exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HalfTicks(pub i64);

/// A quantity in lots of its instrument, the unit of engines and books.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lots(pub i64);

impl Lots {
    /// Nothing.
    pub const ZERO: Self = Self(0);
}

#[cfg(test)]
mod tests {
    use super::Price;
    use std::string::ToString;

    #[test]
    fn prints_what_it_parsed() {
        for text in ["0", "585.33", "-0.000000001", "9223372036.854775807", "100"] {
            assert_eq!(Price::parse(text.as_bytes()).map(|p| p.to_string()), Ok(text.to_string()));
        }
    }
}
