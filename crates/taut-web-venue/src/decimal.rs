//! Decimals of JSON: read exactly, exponents too, and written as JSON numbers.

use serde_json::{Number, Value};

/// Units in one: amounts of money, prices and quantities are counted at 1e-9.
pub const UNITS: i128 = 1_000_000_000;

/// Reads a JSON number, or the same in a query, exactly; `None` when it is none, has a digit below
/// 1e-9, or is too large.
pub fn parse(text: &str) -> Option<i128> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (is_negative, digits) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_decimal =
        is_digits(whole) && is_digits(fraction) && !(whole.is_empty() && fraction.is_empty());
    if !is_decimal || whole.len() + fraction.len() > 30 || exponent.abs() > 30 {
        return None;
    }
    let mut units: i128 = 0;
    for digit in whole.bytes().chain(fraction.bytes()) {
        units = units * 10 + i128::from(digit - b'0');
    }
    let mut shift = 9 + exponent - i32::try_from(fraction.len()).ok()?;
    while shift > 0 {
        units = units.checked_mul(10)?;
        shift -= 1;
    }
    while shift < 0 {
        if units % 10 != 0 {
            return None;
        }
        units /= 10;
        shift += 1;
    }
    // Room for products of two.
    (units < 1 << 90).then_some(if is_negative { -units } else { units })
}

/// The shortest exact text.
pub fn text(units: i128) -> String {
    let sign = if units < 0 { "-" } else { "" };
    let (whole, rest) =
        (units.unsigned_abs() / UNITS.unsigned_abs(), units.unsigned_abs() % UNITS.unsigned_abs());
    if rest == 0 {
        return format!("{sign}{whole}");
    }
    let fraction = format!("{rest:09}");
    format!("{sign}{whole}.{}", fraction.trim_end_matches('0'))
}

/// With eight places, as Binance writes every decimal; a ninth is cut off.
pub fn fixed8(units: i128) -> String {
    let sign = if units < 0 { "-" } else { "" };
    let hundredths = units.unsigned_abs() / 10;
    format!("{sign}{}.{:08}", hundredths / 100_000_000, hundredths % 100_000_000)
}

/// A JSON number. Up to 15 digits are written as they are; a float carries no more.
pub fn number(units: i128) -> Value {
    let float: f64 = text(units).parse().unwrap_or_default();
    Number::from_f64(float).map_or(Value::Null, Value::Number)
}

/// `a * b`, of two numbers at 1e-9, rounded down.
pub fn times(a: i128, b: i128) -> i128 {
    a.saturating_mul(b).div_euclid(UNITS)
}

/// `a / b`, of two numbers at 1e-9, rounded down; zero by zero.
pub fn over(a: i128, b: i128) -> i128 {
    a.saturating_mul(UNITS).checked_div_euclid(b).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_exactly_with_and_without_an_exponent() {
        for (given, units) in [
            ("0.5", 500_000_000),
            ("-1", -1_000_000_000),
            ("2.288e-5", 22_880),
            ("1e-9", 1),
            ("6E4", 60_000_000_000_000),
            ("10.000", 10_000_000_000),
            (".5", 500_000_000),
        ] {
            assert_eq!(parse(given), Some(units), "{given}");
        }
        for given in ["", "-", ".", "1e", "1e-10", "0x1", "1.2.3", "nan", "1e99", "1 "] {
            assert_eq!(parse(given), None, "{given}");
        }
    }

    #[test]
    fn numbers_are_written_as_they_are() {
        for given in ["0.5", "-1.25", "60000", "0.00000001", "0", "123456.789"] {
            assert_eq!(text(parse(given).expect("a number")), given);
        }
        assert_eq!(fixed8(-1_234_567_899), "-1.23456789");
        assert_eq!(fixed8(5), "0.00000000", "below the eighth place");
        assert_eq!(number(22_880).to_string(), "0.00002288");
        assert_eq!(number(60_000 * UNITS).to_string(), "60000.0");
    }
}
