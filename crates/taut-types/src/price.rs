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

impl Qty {
    /// Nothing.
    pub const ZERO: Self = Self::whole(0);

    /// So many whole units.
    #[must_use]
    pub const fn whole(units: i64) -> Self {
        Self { mantissa: units, decimals: 0 }
    }

    /// Whether it is nothing.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.mantissa == 0
    }

    /// Reads a decimal exactly, with as many decimals as it needs: `1.50` has one.
    ///
    /// # Errors
    /// When the text is no decimal, or does not fit.
    #[inline]
    pub const fn parse(text: &[u8]) -> Result<Self, DecimalError> {
        match parse_decimal(text, 0) {
            Ok(units) => Ok(Self::whole(units)),
            Err(error) => Self::parse_fraction(text, error),
        }
    }

    #[cold]
    const fn parse_fraction(text: &[u8], error: DecimalError) -> Result<Self, DecimalError> {
        let mut rest = text;
        let mut decimals = 0;
        // Zeros at the end say nothing, and what is before the point is no decimal.
        while let Some((&last, before)) = rest.split_last() {
            match last {
                b'0' if decimals == 0 => {}
                b'.' if decimals <= u8::MAX as usize => {
                    return match parse_decimal(text, decimals as u8) {
                        Ok(mantissa) => Ok(Self { mantissa, decimals: decimals as u8 }),
                        Err(error) => Err(error),
                    };
                }
                _ => decimals += 1,
            }
            rest = before;
        }
        Err(error)
    }

    /// The same quantity with so many decimals, if it has one that fits 64 bits.
    #[must_use]
    pub const fn with_decimals(self, decimals: u8) -> Option<Self> {
        let Self { mut mantissa, decimals: mut from } = self;
        while from < decimals {
            match mantissa.checked_mul(10) {
                // Nothing has as many decimals as one likes.
                Some(0) => from = decimals - 1,
                Some(more) => mantissa = more,
                None => return None,
            }
            from += 1;
        }
        while from > decimals {
            if mantissa % 10 != 0 {
                return None;
            }
            mantissa /= 10;
            from -= 1;
        }
        Some(Self { mantissa, decimals })
    }
}

impl fmt::Display for Qty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; DECIMAL_BYTES_MAX];
        let len = format_decimal(self.mantissa, self.decimals, &mut text);
        f.write_str(text.get(..len).and_then(|t| core::str::from_utf8(t).ok()).unwrap_or("?"))
    }
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

/// The number alone.
impl fmt::Display for Lots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::{Lots, Price};
    use std::format;
    use std::string::ToString;

    #[test]
    fn lots_are_printed_as_a_number_with_its_sign() {
        assert_eq!(format!("{} {:+} {:>4}|", Lots(-3), Lots(2), Lots(7)), "-3 +2    7|");
    }

    #[test]
    fn prints_what_it_parsed() {
        for text in ["0", "585.33", "-0.000000001", "9223372036.854775807", "100"] {
            assert_eq!(Price::parse(text.as_bytes()).map(|p| p.to_string()), Ok(text.to_string()));
        }
    }
}
