//! What is traded, and the checked conversions between interchange and engine units.

use core::fmt;

use crate::{HalfTicks, InstrumentId, Lots, Price, Qty, Side, Symbol};

/// Why a price or a quantity is not one of this instrument's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstrumentError {
    /// The price is not a whole number of half ticks.
    OffTick,
    /// The quantity is not a whole number of lots.
    OffLot,
    /// The value does not fit 64 bits.
    OutOfRange,
    /// The tick is not positive and even at 1e-9, or the lot is not positive.
    BadIncrement,
}

impl fmt::Display for InstrumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OffTick => "the price is no whole number of half ticks",
            Self::OffLot => "the quantity is no whole number of lots",
            Self::OutOfRange => "the value does not fit 64 bits",
            Self::BadIncrement => "the tick must be positive and even at 1e-9, the lot positive",
        })
    }
}

impl core::error::Error for InstrumentError {}

/// What a quantity is worth at a price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContractKind {
    /// The quantity times the price, in the currency of the price: shares, coins, most futures.
    #[default]
    Linear,
    /// The quantity divided by the price. The quantity is an amount of the price's currency, and
    /// the contract is settled in what is priced: so many dollars of bitcoin, in bitcoin.
    Inverse,
}

/// An instrument: its name, the price step, the quantity step, and what quantities are worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instrument {
    id: InstrumentId,
    symbol: Symbol,
    tick: Price,
    lot: Qty,
    kind: ContractKind,
}

impl Instrument {
    /// An instrument whose prices move by `tick` and quantities by `lot`.
    ///
    /// # Errors
    /// [`InstrumentError::BadIncrement`] when the tick cannot be halved exactly or a step is not
    /// positive.
    pub const fn new(
        id: InstrumentId,
        symbol: Symbol,
        tick: Price,
        lot: Qty,
    ) -> Result<Self, InstrumentError> {
        if tick.0 <= 0 || tick.0 % 2 != 0 || lot.mantissa <= 0 {
            return Err(InstrumentError::BadIncrement);
        }
        Ok(Self { id, symbol, tick, lot, kind: ContractKind::Linear })
    }

    /// The same instrument as a contract of this kind.
    #[must_use]
    pub const fn with_kind(self, kind: ContractKind) -> Self {
        Self { kind, ..self }
    }

    /// What its quantities are worth.
    #[must_use]
    pub const fn kind(&self) -> ContractKind {
        self.kind
    }

    /// The venue's number for it.
    #[must_use]
    pub const fn id(&self) -> InstrumentId {
        self.id
    }

    /// The same instrument by another number.
    #[must_use]
    pub const fn with_id(self, id: InstrumentId) -> Self {
        Self { id, ..self }
    }

    /// Its name.
    #[must_use]
    pub const fn symbol(&self) -> Symbol {
        self.symbol
    }

    /// The smallest price step.
    #[must_use]
    pub const fn tick(&self) -> Price {
        self.tick
    }

    /// The smallest quantity.
    #[must_use]
    pub const fn lot(&self) -> Qty {
        self.lot
    }

    /// The price that is so many ticks behind this one: lower for a bid, higher for an offer; ahead
    /// of it when there are less than none of them.
    #[must_use]
    pub const fn behind(&self, side: Side, price: Price, ticks: i64) -> Price {
        let away = self.tick.0.saturating_mul(ticks);
        match side {
            Side::Buy => Price(price.0.saturating_sub(away)),
            Side::Sell => Price(price.0.saturating_add(away)),
        }
    }

    /// The nearest whole tick that is not ahead of this price: a bid is rounded down, an offer up.
    #[must_use]
    pub const fn rounded(&self, side: Side, price: Price) -> Price {
        let over = price.0.rem_euclid(self.tick.0);
        let down = price.0.saturating_sub(over);
        match side {
            Side::Sell if over != 0 => Price(down.saturating_add(self.tick.0)),
            _ => Price(down),
        }
    }

    /// The price in half ticks. Cost: one 64-bit division.
    ///
    /// # Errors
    /// [`InstrumentError::OffTick`] when it lies between two half ticks.
    pub const fn half_ticks(&self, price: Price) -> Result<HalfTicks, InstrumentError> {
        let half = self.tick.0 / 2;
        if price.0 % half != 0 {
            return Err(InstrumentError::OffTick);
        }
        Ok(HalfTicks(price.0 / half))
    }

    /// The price of this many half ticks.
    ///
    /// # Errors
    /// [`InstrumentError::OutOfRange`] when it does not fit.
    pub const fn price(&self, half_ticks: HalfTicks) -> Result<Price, InstrumentError> {
        match half_ticks.0.checked_mul(self.tick.0 / 2) {
            Some(units) => Ok(Price(units)),
            None => Err(InstrumentError::OutOfRange),
        }
    }

    /// The quantity in lots, however many decimals it is written with.
    ///
    /// # Errors
    /// [`InstrumentError::OffLot`] when it is no whole number of lots, or too large to tell.
    #[inline]
    pub const fn lots(&self, qty: Qty) -> Result<Lots, InstrumentError> {
        if qty.decimals != self.lot.decimals {
            return match qty.with_decimals(self.lot.decimals) {
                Some(qty) => self.lots(qty),
                None => Err(InstrumentError::OffLot),
            };
        }
        if qty.mantissa % self.lot.mantissa != 0 {
            return Err(InstrumentError::OffLot);
        }
        Ok(Lots(qty.mantissa / self.lot.mantissa))
    }

    /// The quantity of this many lots.
    ///
    /// # Errors
    /// [`InstrumentError::OutOfRange`] when it does not fit.
    pub const fn qty(&self, lots: Lots) -> Result<Qty, InstrumentError> {
        match lots.0.checked_mul(self.lot.mantissa) {
            Some(mantissa) => Ok(Qty { mantissa, decimals: self.lot.decimals }),
            None => Err(InstrumentError::OutOfRange),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apple() -> Instrument {
        let symbol = Symbol::new(b"AAPL").expect("a symbol");
        let tick = Price::parse(b"0.01").expect("a price");
        Instrument::new(InstrumentId(1), symbol, tick, Qty { mantissa: 1, decimals: 0 })
            .expect("an instrument")
    }

    #[test]
    fn a_midpoint_is_a_half_tick() {
        let mid = Price::parse(b"585.335").expect("a price");
        assert_eq!(apple().half_ticks(mid), Ok(HalfTicks(117_067)));
        assert_eq!(apple().price(HalfTicks(117_067)), Ok(mid));
    }

    #[test]
    fn a_price_is_rounded_away_from_the_other_side_and_moved_by_ticks() {
        let price = |text: &str| Price::parse(text.as_bytes()).expect("a price");
        for (side, from, to) in [
            (Side::Buy, "585.339", "585.33"),
            (Side::Sell, "585.331", "585.34"),
            (Side::Buy, "585.33", "585.33"),
            (Side::Sell, "585.33", "585.33"),
            (Side::Buy, "-0.001", "-0.01"),
            (Side::Sell, "-0.001", "0"),
        ] {
            assert_eq!(apple().rounded(side, price(from)), price(to), "{side:?} {from}");
        }
        let at = price("585.33");
        assert_eq!(apple().behind(Side::Buy, at, 2), price("585.31"));
        assert_eq!(apple().behind(Side::Sell, at, 2), price("585.35"));
        assert_eq!(apple().behind(Side::Sell, at, -1), price("585.32"));
        let most = Price(i64::MAX);
        assert_eq!(apple().behind(Side::Sell, most, 1), most);
    }

    #[test]
    fn refuses_what_is_off_tick_off_lot_or_too_large() {
        let off = Price::parse(b"585.3333").expect("a price");
        assert_eq!(apple().half_ticks(off), Err(InstrumentError::OffTick));
        assert_eq!(apple().price(HalfTicks(i64::MAX)), Err(InstrumentError::OutOfRange));
        let half = Qty { mantissa: 5, decimals: 1 };
        assert_eq!(apple().lots(half), Err(InstrumentError::OffLot));
    }

    #[test]
    fn a_quantity_is_lots_with_any_decimals() {
        let lot = Qty { mantissa: 2, decimals: 5 };
        let symbol = Symbol::new(b"BTC").expect("a symbol");
        let coin = Instrument::new(InstrumentId(2), symbol, Price(10_000_000), lot);
        let coin = coin.expect("an instrument");
        for (text, lots) in [("0.00002", 1), ("1", 50_000), ("0.10", 5_000), ("1.5000000", 75_000)]
        {
            let qty = Qty::parse(text.as_bytes()).expect("a quantity");
            assert_eq!(coin.lots(qty), Ok(Lots(lots)), "{text}");
            let back = coin.qty(Lots(lots)).expect("a quantity");
            assert_eq!(back.with_decimals(qty.decimals), Some(qty), "{text}");
        }
        for text in ["0.00001", "0.000021", "92233720368547758.07"] {
            let qty = Qty::parse(text.as_bytes()).expect("a quantity");
            assert_eq!(coin.lots(qty), Err(InstrumentError::OffLot), "{text}");
        }
        assert_eq!(coin.lots(Qty { mantissa: 0, decimals: 200 }), Ok(Lots::ZERO));
    }

    #[test]
    fn refuses_increments_that_cannot_be_halved_or_are_not_positive() {
        let lot = Qty { mantissa: 1, decimals: 0 };
        let symbol = Symbol::new(b"X").expect("a symbol");
        for tick in [0, -2, 3] {
            let made = Instrument::new(InstrumentId(1), symbol, Price(tick), lot);
            assert_eq!(made, Err(InstrumentError::BadIncrement));
        }
    }
}
