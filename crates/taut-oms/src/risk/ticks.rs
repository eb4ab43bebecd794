//! Whether a price is a whole number of ticks, without a division.

use taut_types::Price;

/// A tick, prepared: `price * inverse` turns a multiple of the tick into its quotient and anything
/// else into a larger number (Granlund and Montgomery, "Division by invariant integers using
/// multiplication", 1994, section 9).
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticks {
    inverse: u64,
    quotient_max: u64,
    shift: u32,
}

impl Ticks {
    /// No price is a multiple of a tick that is not positive.
    pub(super) const fn of(tick: Price) -> Self {
        if tick.0 <= 0 {
            return Self { inverse: 0, quotient_max: 0, shift: 0 };
        }
        let tick = tick.0.cast_unsigned();
        let shift = tick.trailing_zeros();
        let odd = tick >> shift;
        // Newton's iteration modulo 2^64: right in 3 bits at first, then in 6, 12, 24, 48, 96.
        let (mut inverse, mut step) = (odd, 0);
        while step < 5 {
            inverse = inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)));
            step += 1;
        }
        Self { inverse, quotient_max: u64::MAX / tick, shift }
    }

    /// Whether a price is positive and a whole number of ticks.
    #[inline]
    pub(super) const fn fit(self, price: Price) -> bool {
        let product = price.0.cast_unsigned().wrapping_mul(self.inverse);
        price.0 > 0 && self.inverse != 0 && product.rotate_right(self.shift) <= self.quotient_max
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taut_testkit::for_each_seed;

    #[test]
    fn agrees_with_the_remainder() {
        for_each_seed(0..200, |_, mut random| {
            for _ in 0..1_000 {
                let mut draw = || (random.u64(..) >> random.u32(1..64)).cast_signed();
                let (tick, number) = (draw().max(1), draw());
                let ticks = Ticks::of(Price(tick));
                for price in [number, number - number % tick, i64::MAX, i64::MAX - i64::MAX % tick]
                {
                    let fits = price > 0 && price % tick == 0;
                    assert_eq!(ticks.fit(Price(price)), fits, "{price} of {tick}");
                }
            }
        });
    }

    #[test]
    fn nothing_fits_a_tick_that_is_none_and_nothing_below_one_fits() {
        assert!(!Ticks::of(Price(0)).fit(Price(5)) && !Ticks::of(Price(-1)).fit(Price(5)));
        for price in [0, -5, i64::MIN] {
            assert!(!Ticks::of(Price(5)).fit(Price(price)));
        }
    }
}
