//! What an order has traded, exactly.

use taut_types::{Lots, Qty};

/// So many whole lots, and what is left of less than one. Venues trade whole lots; when one does
/// not, the rest is neither lost nor rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traded {
    /// Whole lots.
    pub lots: Lots,
    /// The rest, less than a lot, with as many decimals as it needs.
    pub rest: Qty,
}

impl Traded {
    /// Nothing.
    pub const ZERO: Self = Self { lots: Lots::ZERO, rest: Qty::ZERO };

    /// So many whole lots.
    #[must_use]
    pub const fn lots(lots: Lots) -> Self {
        Self { lots, rest: Qty::ZERO }
    }

    /// A quantity by the lot; nothing when it has more decimals than fit.
    #[must_use]
    #[inline]
    pub fn of(qty: Qty, lot: Qty) -> Option<Self> {
        if qty.decimals == lot.decimals && lot.mantissa > 0 {
            let (lots, rest) = (qty.mantissa / lot.mantissa, qty.mantissa % lot.mantissa);
            if rest == 0 {
                return Some(Self::lots(Lots(lots)));
            }
        }
        Self::of_any(qty, lot)
    }

    #[cold]
    fn of_any(qty: Qty, lot: Qty) -> Option<Self> {
        let decimals = qty.decimals.max(lot.decimals);
        let (qty, lot) = (units(qty, decimals)?, units(lot, decimals)?);
        if lot <= 0 {
            return None;
        }
        let lots = i64::try_from(qty.div_euclid(lot)).ok()?;
        let rest = i64::try_from(qty.rem_euclid(lot)).ok()?;
        Some(Self { lots: Lots(lots), rest: shortest(Qty { mantissa: rest, decimals }) })
    }

    /// Both together; what is more than can be counted stays the most.
    #[must_use]
    #[inline]
    pub fn plus(self, other: Self, lot: Qty) -> Self {
        if self.rest.is_zero() && other.rest.is_zero() {
            return Self::lots(Lots(self.lots.0.saturating_add(other.lots.0)));
        }
        self.joined(other, 1, lot)
    }

    /// This without the other, which may be more: then lots are below zero.
    #[must_use]
    #[inline]
    pub fn minus(self, other: Self, lot: Qty) -> Self {
        if self.rest.is_zero() && other.rest.is_zero() {
            return Self::lots(Lots(self.lots.0.saturating_sub(other.lots.0)));
        }
        self.joined(other, -1, lot)
    }

    #[cold]
    fn joined(self, other: Self, sign: i64, lot: Qty) -> Self {
        let whole = self.lots.0.saturating_add(sign.saturating_mul(other.lots.0));
        let decimals = self.rest.decimals.max(other.rest.decimals).max(lot.decimals);
        let parts = (units(self.rest, decimals), units(other.rest, decimals), units(lot, decimals));
        let (Some(own), Some(others), Some(lot)) = parts else { return Self::lots(Lots(whole)) };
        let rest = own + i128::from(sign) * others;
        let carried = i64::try_from(rest.div_euclid(lot.max(1))).unwrap_or(0);
        let mantissa = i64::try_from(rest.rem_euclid(lot.max(1))).unwrap_or(0);
        Self {
            lots: Lots(whole.saturating_add(carried)),
            rest: shortest(Qty { mantissa, decimals }),
        }
    }

    /// Whether this is more.
    #[must_use]
    #[inline]
    pub fn is_more_than(self, other: Self) -> bool {
        if self.lots != other.lots || (self.rest.is_zero() && other.rest.is_zero()) {
            return self.lots > other.lots;
        }
        let decimals = self.rest.decimals.max(other.rest.decimals);
        units(self.rest, decimals) > units(other.rest, decimals)
    }

    /// Whether there is anything, and it is not less than nothing.
    #[must_use]
    #[inline]
    pub fn is_some(self) -> bool {
        self.is_more_than(Self::ZERO)
    }

    /// The more of both.
    #[must_use]
    #[inline]
    pub fn max(self, other: Self) -> Self {
        if other.is_more_than(self) { other } else { self }
    }

    /// The less of both.
    #[must_use]
    #[inline]
    pub fn min(self, other: Self) -> Self {
        if other.is_more_than(self) { self } else { other }
    }
}

fn units(qty: Qty, decimals: u8) -> Option<i128> {
    let more = u32::from(decimals.checked_sub(qty.decimals)?);
    i128::from(qty.mantissa).checked_mul(10_i128.checked_pow(more)?)
}

/// Without the zeros at its end.
fn shortest(mut qty: Qty) -> Qty {
    while qty.decimals > 0 && qty.mantissa % 10 == 0 {
        qty = Qty { mantissa: qty.mantissa / 10, decimals: qty.decimals - 1 };
    }
    qty
}

#[cfg(test)]
mod tests {
    use super::*;

    fn qty(text: &str) -> Qty {
        Qty::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn parts_of_lots_add_up_exactly() {
        let lot = qty("0.5");
        let of = |text| Traded::of(qty(text), lot).unwrap();
        assert_eq!(of("2"), Traded::lots(Lots(4)));
        assert_eq!(of("1.2"), Traded { lots: Lots(2), rest: qty("0.2") });
        let sum = of("1.2").plus(of("0.300001"), lot);
        assert_eq!(sum, Traded { lots: Lots(3), rest: qty("0.000001") });
        assert_eq!(sum.minus(of("1.2"), lot), of("0.300001"));
        assert_eq!(of("0").minus(of("0.2"), lot), Traded { lots: Lots(-1), rest: qty("0.3") });
        assert!(sum.is_more_than(of("1.5")) && !of("1.5").is_more_than(sum));
        assert!(of("0.000001").is_some() && !Traded::ZERO.is_some());
        assert_eq!(of("0.1").max(of("0.2")), of("0.2"));
        assert_eq!(of("0.1").min(of("0.2")), of("0.1"));
    }

    #[test]
    fn whole_lots_need_no_fraction_and_nothing_overflows() {
        let hundred = Qty::whole(100);
        assert_eq!(Traded::of(Qty::whole(400), hundred), Some(Traded::lots(Lots(4))));
        let half = Traded::of(Qty::whole(450), hundred).unwrap();
        assert_eq!(half, Traded { lots: Lots(4), rest: Qty::whole(50) });
        assert_eq!(half.plus(half, hundred), Traded::lots(Lots(9)));
        let most = Traded::lots(Lots(i64::MAX));
        assert_eq!(most.plus(most, hundred), most);
        let tiny = Qty { mantissa: 1, decimals: 200 };
        assert_eq!(Traded::of(tiny, hundred), None);
    }
}
