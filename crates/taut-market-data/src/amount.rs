//! Amounts as lots.

use taut_types::{Lots, Qty};

use crate::error::Expected;
use crate::scan::Scanner;

/// How the amounts of an instrument become its lots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AmountScale {
    /// Decimal places with which an amount is read: one at the least, as many venues write `10.0`.
    decimals: u8,
    /// A lot at this scale.
    unit: i64,
    lot_decimals: u8,
}

impl AmountScale {
    /// Of an instrument whose amounts are counted at so many decimals.
    pub(crate) const fn of_decimals(decimals: u8) -> Self {
        Self { decimals, unit: 1, lot_decimals: decimals }
    }

    /// Of an instrument with this lot; nothing when the lot is zero, or too fine or coarse to
    /// count in.
    pub(crate) fn of_lot(lot: Qty) -> Option<Self> {
        let decimals = lot.decimals.max(1);
        let unit = lot.with_decimals(decimals)?.mantissa;
        (unit > 0 && decimals <= 18).then_some(Self { decimals, unit, lot_decimals: lot.decimals })
    }

    /// Decimal places of a lot.
    #[inline]
    pub(crate) const fn lot_decimals(self) -> u8 {
        self.lot_decimals
    }

    /// Decimal places of what [`lots`](Self::lots) takes.
    #[inline]
    pub(crate) const fn decimals(self) -> u8 {
        self.decimals
    }

    /// An amount in lots, if it is so many of them and not less than none.
    #[inline]
    pub(crate) const fn lots(self, amount: i64) -> Option<Lots> {
        if amount < 0 {
            return None;
        }
        if self.unit == 1 {
            return Some(Lots(amount));
        }
        if amount % self.unit == 0 { Some(Lots(amount / self.unit)) } else { None }
    }

    /// The amount of so many lots, at [`decimals`](Self::decimals).
    #[inline]
    pub(crate) const fn amount(self, lots: Lots) -> i64 {
        lots.0.saturating_mul(self.unit)
    }

    /// An amount in lots, written as a JSON number.
    #[inline]
    pub(crate) fn read(self, scanner: &mut Scanner<'_>) -> Option<Lots> {
        let amount = scanner.decimal(self.decimals)?;
        match self.lots(amount) {
            Some(lots) => Some(lots),
            None => scanner.refuse(Expected::Size),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lot: Qty, text: &str) -> Option<i64> {
        let scale = AmountScale::of_lot(lot).unwrap();
        scale.read(&mut Scanner::new(text.as_bytes())).map(|lots| lots.0)
    }

    #[test]
    fn an_amount_is_so_many_lots_or_none() {
        let ten = Qty { mantissa: 10, decimals: 0 };
        for (text, lots) in
            [("20.0", Some(2)), ("1e3", Some(100)), ("0", Some(0)), ("15.0", None), ("-10", None)]
        {
            assert_eq!(read(ten, text), lots, "{text}");
        }
        let tenth = Qty { mantissa: 1, decimals: 1 };
        assert_eq!([read(tenth, "4714.0"), read(tenth, "0.05")], [Some(47_140), None]);
        let fine = Qty { mantissa: 5, decimals: 5 };
        assert_eq!([read(fine, "5e-5"), read(fine, "6e-5")], [Some(1), None]);
    }

    #[test]
    fn a_lot_must_be_something_to_count_in() {
        for (mantissa, decimals) in [(0, 1), (1, 19), (i64::MAX, 0), (-1, 2)] {
            assert_eq!(AmountScale::of_lot(Qty { mantissa, decimals }), None);
        }
    }
}
