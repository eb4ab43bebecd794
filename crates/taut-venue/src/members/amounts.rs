//! Quantities and worths of different decimals, compared exactly.

use taut_types::{Price, Qty};

/// Ten to this power; what nothing reaches where it does not fit.
fn scale(decimals: u8) -> i128 {
    10_i128.checked_pow(decimals.into()).unwrap_or(i128::MAX)
}

/// Whether a quantity is more than another.
pub fn is_more(qty: Qty, max: Qty) -> bool {
    let scaled = |of: Qty, by: Qty| i128::from(of.mantissa).saturating_mul(scale(by.decimals));
    scaled(qty, max) > scaled(max, qty)
}

/// Whether price times quantity is more than this.
pub fn is_worth_more(price: Price, qty: Qty, max: Price) -> bool {
    let worth = i128::from(price.0).saturating_mul(i128::from(qty.mantissa));
    worth > i128::from(max.0).saturating_mul(scale(qty.decimals))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn qty(text: &str) -> Qty {
        Qty::parse(text.as_bytes()).expect("a quantity")
    }

    #[test]
    fn quantities_and_worths_of_different_decimals_are_compared_exactly() {
        assert!(!is_more(qty("1.5"), qty("1.50")) && is_more(qty("1.51"), qty("1.5")));
        assert!(is_more(qty("10"), qty("9.99999999")) && !is_more(qty("0.1"), qty("1")));
        let price = |text: &str| Price::parse(text.as_bytes()).expect("a price");
        assert!(!is_worth_more(price("100.5"), qty("2"), price("201")));
        assert!(is_worth_more(price("100.51"), qty("2"), price("201")));
        assert!(is_worth_more(price("9000000000"), Qty::whole(i64::MAX), price("1")));
    }
}
