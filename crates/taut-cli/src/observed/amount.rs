//! Sums of decimals as gateways tell them: exact, to 18 places.

/// Decimal places.
const PLACES: usize = 18;
const ONE: i128 = 1_000_000_000_000_000_000;

/// A sum; nothing as soon as something in it was no decimal, or it is too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum(Option<i128>);

impl Sum {
    /// Of nothing.
    pub const ZERO: Self = Self(Some(0));

    /// With this one more.
    pub fn plus(self, decimal: &str) -> Self {
        Self(self.0.zip(parse(decimal)).and_then(|(sum, more)| sum.checked_add(more)))
    }

    /// With this one less.
    pub fn minus(self, decimal: &str) -> Self {
        Self(self.0.zip(parse(decimal)).and_then(|(sum, less)| sum.checked_sub(less)))
    }

    /// As a decimal; `?` where it is not known.
    pub fn text(self) -> String {
        let Some(sum) = self.0 else { return "?".to_owned() };
        let sign = if sum < 0 { "-" } else { "" };
        let (whole, places) = (sum.unsigned_abs() / ONE as u128, sum.unsigned_abs() % ONE as u128);
        let text = format!("{sign}{whole}.{places:0PLACES$}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

fn parse(decimal: &str) -> Option<i128> {
    let (is_negative, digits) = match decimal.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, decimal),
    };
    let (whole, places) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || places.len() > PLACES || !is_number(whole) || !is_number(places) {
        return None;
    }
    let places: i128 = format!("{places:0<PLACES$}").parse().ok()?;
    let sum = whole.parse::<i128>().ok()?.checked_mul(ONE)?.checked_add(places)?;
    Some(if is_negative { -sum } else { sum })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact_and_what_is_no_decimal_has_none() {
        let sum = Sum::ZERO.plus("0.1").plus("-12.000000000000000001").minus("0.2");
        assert_eq!(sum.text(), "-12.100000000000000001");
        assert_eq!(Sum::ZERO.plus("7").minus("7.0").text(), "0");
        for wrong in ["", "-", "1e3", "1.2.3", "x", ".5", "1.0000000000000000001"] {
            assert_eq!(Sum::ZERO.plus(wrong).text(), "?", "{wrong}");
        }
    }
}
