//! Whether a price is a whole number of ticks, without a division.

use taut_types::{Price, TickTable};

/// A tick, prepared: `price * inverse` turns a multiple of the tick into its quotient and anything
/// else into a larger number (Granlund and Montgomery, "Division by invariant integers using
/// multiplication", 1994, section 9). Of a table it is the smallest, up to the first step: what is
/// dearer is looked up in the table, so that an instrument of one tick pays nothing for the others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticks {
    inverse: u64,
    quotient_max: u64,
    shift: u32,
}

impl Ticks {
    /// No price is a multiple of it.
    pub(super) const NONE: Self = Self { inverse: 0, quotient_max: 0, shift: 0 };

    /// Up to the first step of the table.
    pub(super) fn of(table: &TickTable) -> Self {
        let end = table.steps().first().map_or(u64::MAX, |step| step.from.0.cast_unsigned());
        Self::up_to(table.smallest(), end)
    }

    /// No price is a multiple of a tick that is not positive.
    const fn up_to(tick: Price, end: u64) -> Self {
        if tick.0 <= 0 {
            return Self::NONE;
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
        Self { inverse, quotient_max: end / tick, shift }
    }

    /// Whether a price is positive, a whole number of ticks, and not above the first step.
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
    use taut_types::TickStep;

    #[test]
    fn agrees_with_the_remainder() {
        for_each_seed(0..200, |_, mut random| {
            for _ in 0..1_000 {
                let mut draw = || (random.u64(..) >> random.u32(1..64)).cast_signed();
                let (tick, number) = (draw().max(1), draw());
                let ticks = Ticks::up_to(Price(tick), u64::MAX);
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
        assert!(!Ticks::NONE.fit(Price(5)) && !Ticks::up_to(Price(-1), u64::MAX).fit(Price(5)));
        for price in [0, -5, i64::MIN] {
            assert!(!Ticks::up_to(Price(5), u64::MAX).fit(Price(price)));
        }
    }

    #[test]
    fn what_lies_above_the_first_step_is_left_to_the_table() {
        let steps = [TickStep { from: Price(20), tick: Price(10) }];
        let table = TickTable::new(Price(2)).and_then(|table| table.with_steps(&steps));
        let ticks = Ticks::of(&table.expect("a table"));
        let fit: std::vec::Vec<i64> = (-2..50).filter(|at| ticks.fit(Price(*at))).collect();
        assert_eq!(fit, [2, 4, 6, 8, 10, 12, 14, 16, 18, 20]);
    }
}
