//! Floats of files that have nothing else, as the decimals that they stand for, and back.
//!
//! A float stands for the shortest decimal that is read as it: 0.1 is one tenth.

use taut_types::{DECIMAL_BYTES_MAX, Price, Qty, format_decimal};

/// The most decimals of a quantity.
pub const DECIMALS_MAX: u8 = 18;
/// Powers of ten that a float holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];
/// All whole numbers below it are floats.
const EXACT: f64 = 9_007_199_254_740_992.0;
/// Decimals that are tried before the float is written out.
const TRIED: usize = 9;

/// The decimal that a float stands for, with as many decimals as it needs; none of what is no
/// number, has more digits than 64 bits hold, or more decimals than a quantity can be written with.
pub(crate) fn decimal(value: f64) -> Option<Qty> {
    for (decimals, power) in (0..).zip(POWERS.into_iter().take(TRIED + 1)) {
        if let Some(mantissa) = scaled(value, power) {
            return Some(Qty { mantissa, decimals });
        }
    }
    if !value.is_finite() {
        return None;
    }
    let found = Qty::parse(value.to_string().as_bytes()).ok();
    found.filter(|found| found.decimals <= DECIMALS_MAX)
}

/// The price that a float stands for.
pub(crate) fn price(value: f64) -> Option<Price> {
    if let Some(mantissa) = scaled(value, Price::SCALE as f64) {
        return Some(Price(mantissa));
    }
    decimal(value)?.with_decimals(Price::DECIMALS).map(|qty| Price(qty.mantissa))
}

/// How many of so small units it is, where that is a whole number that gives the float again.
fn scaled(value: f64, power: f64) -> Option<i64> {
    // Half away from zero; what is no number becomes one that is not it.
    let scaled = value * power;
    let mantissa = (scaled + 0.5_f64.copysign(scaled)) as i64;
    let whole = mantissa as f64;
    // The division rounds as reading the decimal does: both of its sides are exact.
    #[expect(clippy::float_cmp, reason = "it is the same float or not the one meant")]
    let is_it = whole.abs() < EXACT && whole / power == value;
    is_it.then_some(mantissa)
}

/// The float next to a decimal.
pub(crate) fn of_decimal(mantissa: i64, decimals: u8) -> f64 {
    let float = mantissa as f64;
    match POWERS.get(usize::from(decimals)) {
        Some(power) if float.abs() < EXACT => float / power,
        _ => {
            let mut text = [0; DECIMAL_BYTES_MAX];
            let len = format_decimal(mantissa, decimals, &mut text);
            let text = text.get(..len).and_then(|text| std::str::from_utf8(text).ok());
            text.and_then(|text| text.parse().ok()).unwrap_or(float)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_float_is_the_decimal_that_was_meant_and_comes_back() {
        for text in [
            "0",
            "61800.3",
            "0.1",
            "0.139",
            "-2.5",
            "1e-9",
            "123456.789012345",
            "9007199254740993",
            "31.20000001",
            "0.000000000001",
            "2251799813685249.5",
            "-0",
        ] {
            let value: f64 = text.parse().expect("a float");
            let found = decimal(value).expect("a decimal");
            assert_eq!(of_decimal(found.mantissa, found.decimals), value, "{text}");
            if !text.contains('e') && text != "9007199254740993" && text != "-0" {
                assert_eq!(found.to_string(), text);
            }
        }
        for value in [f64::NAN, f64::INFINITY, 1e300, 1e-40] {
            assert_eq!((decimal(value), price(value)), (None, None), "{value}");
        }
    }

    #[test]
    fn a_price_is_read_at_its_scale_or_not_at_all() {
        assert_eq!(price(61_800.3), Some(Price(61_800_300_000_000)));
        assert_eq!(price(9_100_000.123), Some(Price(9_100_000_123_000_000)));
        assert_eq!(price(1e-10), None);
        assert_eq!(price(1e10), None);
        let mut value = 0.01;
        for step in 0..10_000 {
            let found = price(value).expect("a price");
            assert_eq!(of_decimal(found.0, Price::DECIMALS), value, "{step}");
            value = of_decimal(found.0 + 10_000_000 * step, Price::DECIMALS);
        }
    }
}
