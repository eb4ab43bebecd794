//! Decimal floats with a common exponent, as fixed point.

/// What mantissas are multiplied with, or divided by.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scale {
    Times(i64),
    Over(i64),
}

impl Scale {
    /// From a mantissa at `exponent` to an integer at `decimals` places; nothing when the two are
    /// so far apart that 64 bits hold no value.
    pub(crate) fn new(exponent: i8, decimals: u8) -> Option<Self> {
        let power = i32::from(exponent) + i32::from(decimals);
        let factor = 10_i64.checked_pow(power.unsigned_abs())?;
        Some(if power < 0 { Self::Over(factor) } else { Self::Times(factor) })
    }

    /// The value, if it can be held exactly.
    #[inline]
    pub(crate) fn apply(self, mantissa: i64) -> Option<i64> {
        match self {
            Self::Times(factor) => mantissa.checked_mul(factor),
            Self::Over(factor) => (mantissa % factor == 0).then_some(mantissa / factor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Scale;

    #[test]
    fn holds_a_value_exactly_or_not_at_all() {
        let at = |exponent, mantissa| Scale::new(exponent, 9).and_then(|s| s.apply(mantissa));
        assert_eq!(at(-2, 6_180_020), Some(61_800_200_000_000));
        assert_eq!(at(-9, 7), Some(7));
        assert_eq!(at(-10, 70), Some(7));
        assert_eq!(at(-10, 71), None);
        assert_eq!(at(0, i64::MAX), None);
        assert_eq!(at(i8::MAX, 1), None);
        assert_eq!(at(i8::MIN, 0), None);
    }
}
