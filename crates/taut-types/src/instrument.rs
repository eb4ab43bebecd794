//! What is traded, and the checked conversions between interchange and engine units.

use crate::{
    HalfTicks, InstrumentError, InstrumentId, Lots, Nanos, Price, Qty, Side, Symbol, TickStep,
    TickTable,
};

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

/// An instrument and its reference data: its name, the price steps, the quantity step, what
/// quantities are worth, and what the venue takes no less of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instrument {
    id: InstrumentId,
    symbol: Symbol,
    ticks: TickTable,
    lot: Qty,
    kind: ContractKind,
    multiplier: Qty,
    lots_min: Lots,
    notional_min: Price,
    /// 0 for one that does not expire.
    expiry: Nanos,
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
        let ticks = match TickTable::new(tick) {
            Ok(ticks) if lot.mantissa > 0 => ticks,
            _ => return Err(InstrumentError::BadIncrement),
        };
        Ok(Self {
            id,
            symbol,
            ticks,
            lot,
            kind: ContractKind::Linear,
            multiplier: Qty::whole(1),
            lots_min: Lots(1),
            notional_min: Price(0),
            expiry: Nanos::ZERO,
        })
    }

    /// The same instrument with other ticks from these prices on; its tick is the smallest.
    ///
    /// # Errors
    /// [`InstrumentError::BadSteps`].
    pub fn with_tick_steps(self, steps: &[TickStep]) -> Result<Self, InstrumentError> {
        Ok(Self { ticks: self.ticks.with_steps(steps)?, ..self })
    }

    /// The same instrument, a quantity of 1 of which is worth so many times its price.
    ///
    /// # Errors
    /// [`InstrumentError::BadTerms`] when it is not positive.
    pub const fn with_multiplier(self, multiplier: Qty) -> Result<Self, InstrumentError> {
        if multiplier.mantissa <= 0 {
            return Err(InstrumentError::BadTerms);
        }
        Ok(Self { multiplier, ..self })
    }

    /// The same instrument, of which no order may have less lots, or be worth less.
    ///
    /// # Errors
    /// [`InstrumentError::BadTerms`] when there are no lots, or the worth is below 0.
    pub const fn with_minima(self, lots: Lots, notional: Price) -> Result<Self, InstrumentError> {
        if lots.0 <= 0 || notional.0 < 0 {
            return Err(InstrumentError::BadTerms);
        }
        Ok(Self { lots_min: lots, notional_min: notional, ..self })
    }

    /// The same instrument, which trades until then, UTC.
    #[must_use]
    pub const fn with_expiry(self, expiry: Nanos) -> Self {
        Self { expiry, ..self }
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

    /// The smallest price step, and the only one of most instruments.
    #[must_use]
    pub const fn tick(&self) -> Price {
        self.ticks.smallest()
    }

    /// The price steps, by price.
    #[must_use]
    pub const fn ticks(&self) -> &TickTable {
        &self.ticks
    }

    /// What a quantity of 1 is worth at a price of 1: 50 of a future of 50 an index point.
    #[must_use]
    pub const fn multiplier(&self) -> Qty {
        self.multiplier
    }

    /// The smallest order.
    #[must_use]
    pub const fn lots_min(&self) -> Lots {
        self.lots_min
    }

    /// What an order is worth at least, in the currency of its prices, of an inverse contract in
    /// the one that it is settled in; 0 where the venue takes any.
    #[must_use]
    pub const fn notional_min(&self) -> Price {
        self.notional_min
    }

    /// Until when it trades, UTC; nothing for one that does not expire.
    #[must_use]
    pub const fn expiry(&self) -> Option<Nanos> {
        match self.expiry {
            Nanos::ZERO => None,
            expiry => Some(expiry),
        }
    }

    /// The smallest quantity.
    #[must_use]
    pub const fn lot(&self) -> Qty {
        self.lot
    }

    /// The price that is so many ticks behind this one: lower for a bid, higher for an offer; ahead
    /// of it when there are less than none of them. Ticks are those of the [table](TickTable).
    #[must_use]
    pub fn behind(&self, side: Side, price: Price, ticks: i64) -> Price {
        self.ticks.behind(side, price, ticks)
    }

    /// The nearest whole tick that is not ahead of this price: a bid is rounded down, an offer up.
    #[must_use]
    pub fn rounded(&self, side: Side, price: Price) -> Price {
        self.ticks.rounded(side, price)
    }

    /// The price in halves of the smallest tick. Cost: one 64-bit division.
    ///
    /// # Errors
    /// [`InstrumentError::OffTick`] when it lies between two half ticks.
    pub const fn half_ticks(&self, price: Price) -> Result<HalfTicks, InstrumentError> {
        let half = self.tick().0 / 2;
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
        match half_ticks.0.checked_mul(self.tick().0 / 2) {
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
    fn reference_data_is_as_it_was_given_and_what_can_be_none_is_refused() {
        let plain = apple();
        assert_eq!((plain.multiplier(), plain.lots_min()), (Qty::whole(1), Lots(1)));
        assert_eq!((plain.notional_min(), plain.expiry()), (Price(0), None));
        let steps = [TickStep { from: Price(Price::SCALE), tick: Price(Price::SCALE / 20) }];
        let future = plain.with_tick_steps(&steps).expect("steps");
        let future = future.with_multiplier(Qty::whole(50)).expect("a multiplier");
        let future = future.with_minima(Lots(5), Price(7)).expect("minima").with_expiry(Nanos(9));
        assert_eq!((future.tick(), future.ticks().steps()), (plain.tick(), &steps[..]));
        assert_eq!((future.multiplier(), future.lots_min()), (Qty::whole(50), Lots(5)));
        assert_eq!((future.notional_min(), future.expiry()), (Price(7), Some(Nanos(9))));
        let price = Price(Price::SCALE * 101 / 100);
        assert_eq!(future.rounded(Side::Buy, price), Price(Price::SCALE));
        assert_eq!(future.behind(Side::Sell, Price(Price::SCALE), 1).0, Price::SCALE * 21 / 20);

        let refused = Err(InstrumentError::BadTerms);
        assert_eq!(plain.with_multiplier(Qty::ZERO), refused);
        assert_eq!(plain.with_minima(Lots::ZERO, Price(0)), refused);
        assert_eq!(plain.with_minima(Lots(1), Price(-1)), refused);
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
