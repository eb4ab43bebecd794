//! What a trade costs, as a part of what it is worth.

/// Parts of a trade's worth at 1e-9: 500,000 are 0.05 %. Below 0 they are paid to the order's
/// owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeeRates {
    /// Of an order that rested.
    pub maker: i64,
    /// Of one that arrived.
    pub taker: i64,
}

impl FeeRates {
    /// Nothing.
    pub const FREE: Self = Self { maker: 0, taker: 0 };
    /// Units of a rate in one.
    pub const SCALE: i64 = 1_000_000_000;

    /// The fee of a trade that is worth so much, rounded up to a unit of its worth; saturates.
    #[must_use]
    pub const fn fee(&self, worth: i128, is_maker: bool) -> i128 {
        let rate = if is_maker { self.maker } else { self.taker } as i128;
        let scale = Self::SCALE as i128;
        // Both parts of the worth by themselves: their products fit where the fee does.
        let (whole, rest) = (worth.div_euclid(scale), worth.rem_euclid(scale));
        let of_rest = -(-(rest * rate)).div_euclid(scale);
        whole.saturating_mul(rate).saturating_add(of_rest)
    }
}

#[cfg(test)]
mod tests {
    use super::FeeRates;

    #[test]
    fn a_fee_is_exact_and_what_is_not_is_rounded_up() {
        let rates = FeeRates { maker: -100_000, taker: 500_000 };
        // 0.05 % of 1,000 at 1e-18, and a rebate of 0.01 %.
        let worth = 1_000 * 1_000_000_000_000_000_000;
        assert_eq!(rates.fee(worth, false), 500_000_000_000_000_000);
        assert_eq!(rates.fee(worth, true), -100_000_000_000_000_000);
        assert_eq!(rates.fee(-worth, false), -500_000_000_000_000_000, "taken back");
        assert_eq!((rates.fee(1, false), rates.fee(1, true)), (1, 0));
        assert_eq!(FeeRates::FREE.fee(worth, false), 0);
        let steep = FeeRates { maker: 0, taker: i64::MAX };
        assert_eq!(steep.fee(i128::MAX, false), i128::MAX);
    }
}
