//! Money, exact.

use core::fmt;
use core::ops::{Add, AddAssign, Neg, Sub, SubAssign};

use taut_types::Price;

/// An amount of an account's currency at 1e-18: a price at 1e-9 times a quantity at 1e-9, so that
/// no product is rounded. From -1.7e20 to +1.7e20 of the currency; sums saturate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount(pub i128);

impl Amount {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// More than any other.
    pub const MAX: Self = Self(i128::MAX);
    /// Units in one of the currency.
    pub const SCALE: i128 = 1_000_000_000_000_000_000;

    /// So many of the currency.
    #[must_use]
    pub const fn whole(units: i64) -> Self {
        Self(units as i128 * Self::SCALE)
    }

    /// So much of the currency as this price says.
    #[must_use]
    pub(crate) fn at_price_scale(price: Price) -> Self {
        Self(i128::from(price.0) * (Self::SCALE / i128::from(Price::SCALE)))
    }

    /// The sum, unless it is beyond the largest.
    #[must_use]
    #[inline]
    pub(crate) const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }

    /// The amount next to what is beyond all amounts.
    #[cold]
    const fn limit(is_below: bool) -> Self {
        Self(if is_below { i128::MIN } else { i128::MAX })
    }

    /// What lots are worth of which one is worth `lot`.
    #[must_use]
    #[inline]
    pub(crate) fn of_lots(lots: i64, lot: Self) -> Self {
        let worth = Self::of_size(lots.unsigned_abs(), lot.0.unsigned_abs());
        // It is not below 0: its negative fits.
        if (lots < 0) == (lot.0 < 0) { worth } else { Self(-worth.0) }
    }

    /// What so much is worth of which one is worth `unit`.
    #[must_use]
    #[inline]
    pub(crate) fn of_size(size: u64, unit: u128) -> Self {
        let [low, high] = [unit as u64, (unit >> 64) as u64].map(|half| wide(size, half));
        let (product, is_over) = low.overflowing_add(high << 64);
        let is_over = is_over || high >> 63 != 0 || product >> 127 != 0;
        Self(if is_over { i128::MAX } else { product.cast_signed() })
    }

    /// What one lot is worth at a price; `lot_value` is its quantity at 1e-9. Below 0 it is that of
    /// an inverse contract: the quantity divided by the price, below 0 as well, so that who holds
    /// one earns when the price rises. That is rounded towards 0 to 1e-18; nothing without a price.
    #[must_use]
    #[inline]
    pub(crate) fn of_lot(price: i64, lot_value: i64) -> Self {
        if lot_value < 0 {
            return Self::of_inverse_lot(price, lot_value);
        }
        Self(i128::from(price) * i128::from(lot_value))
    }

    #[cold]
    fn of_inverse_lot(price: i64, lot_value: i64) -> Self {
        // At most 2^63 times 2^60.
        Self((i128::from(lot_value) * Self::SCALE).checked_div(price.into()).unwrap_or(0))
    }

    /// As [`Amount::of_lot`], whatever the direction: what a limit counts.
    #[must_use]
    #[inline]
    pub(crate) fn size_of_lot(price: i64, lot_value: i64) -> Self {
        let worth = Self::of_lot(price, lot_value);
        if lot_value < 0 { Self(-worth.0) } else { worth }
    }
}

/// A product that needs one instruction.
#[inline]
fn wide(a: u64, b: u64) -> u128 {
    u128::from(a) * u128::from(b)
}

impl Add for Amount {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        self.checked_add(other).unwrap_or_else(|| Self::limit(other.0 < 0))
    }
}

impl Sub for Amount {
    type Output = Self;

    #[inline]
    fn sub(self, other: Self) -> Self {
        let difference = self.0.checked_sub(other.0).map(Self);
        difference.unwrap_or_else(|| Self::limit(other.0 > 0))
    }
}

impl Neg for Amount {
    type Output = Self;

    #[inline]
    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl AddAssign for Amount {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Amount {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

/// The shortest exact decimal.
impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scale = Self::SCALE.unsigned_abs();
        let (whole, mut rest) = (self.0.unsigned_abs() / scale, self.0.unsigned_abs() % scale);
        let sign = if self.0 < 0 { "-" } else { "" };
        write!(f, "{sign}{whole}")?;
        if rest == 0 {
            return Ok(());
        }
        let mut digits = 18;
        while rest % 10 == 0 {
            rest /= 10;
            digits -= 1;
        }
        write!(f, ".{rest:0digits$}")
    }
}

#[cfg(test)]
mod tests {
    use super::Amount;
    use std::string::ToString;

    #[test]
    fn prints_the_shortest_exact_decimal() {
        for (units, text) in [
            (0, "0"),
            (1, "0.000000000000000001"),
            (-1_500_000_000_000_000_000, "-1.5"),
            (Amount::SCALE * 42, "42"),
            (Amount::SCALE + 10, "1.00000000000000001"),
        ] {
            assert_eq!(Amount(units).to_string(), text);
        }
    }

    #[test]
    fn a_product_is_exact_and_saturates() {
        for lots in [0, 1, -1, 7, i64::MAX, i64::MIN, -3_000_000_000_000] {
            for lot in [0, 1, -5, 1 << 62, 1 << 63, 1 << 64, -(1 << 64), 1 << 90, 1 << 126] {
                let exact = i128::from(lots).checked_mul(lot);
                let saturated = if (lots < 0) == (lot < 0) { i128::MAX } else { -i128::MAX };
                let expected = Amount(exact.unwrap_or(saturated).max(-i128::MAX));
                assert_eq!(Amount::of_lots(lots, Amount(lot)), expected, "{lots} x {lot}");
            }
        }
        assert_eq!(Amount::MAX + Amount(1), Amount::MAX);
        assert_eq!(Amount(-2) - Amount::MAX, Amount(i128::MIN));
        assert_eq!(Amount(i128::MIN) + Amount(-1), Amount(i128::MIN));
        assert_eq!(Amount::MAX - Amount(-1), Amount::MAX);
        assert_eq!(
            Amount::of_lot(i64::MIN, i64::MAX).0,
            i128::from(i64::MIN) * i128::from(i64::MAX)
        );
    }
}
