//! What risk must know about an instrument.

use alloc::boxed::Box;

use taut_types::{ContractKind, Instrument, Lots, Price, Side, TickTable};

use super::ticks::Ticks;
use crate::amount::Amount;

/// Decimals of the quantities that amounts are made of.
const QUANTITY_DECIMALS: u8 = 9;

/// An instrument, as far as risk is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RiskInstrument {
    /// What prices are whole numbers of.
    pub ticks: TickTable,
    /// The smallest order.
    pub lots_min: Lots,
    /// What an order is worth at least.
    pub notional_min: Amount,
    /// The quantity of one lot at 1e-9, times what one of it is worth at a price of 1 in the
    /// currency of the accounts: a contract's multiplier. Below 0 for an inverse contract, which is
    /// worth that quantity divided by the price, in the currency that it is settled in.
    pub lot_value: i64,
    /// The group that it belongs to in permissions, below 64.
    pub group: u8,
}

impl RiskInstrument {
    /// An instrument whose lots are worth their quantity times multiplier and price, in group 0.
    /// `None` when a lot times the multiplier has digits below 1e-9, or does not fit 63 bits at
    /// that.
    #[must_use]
    pub fn of(instrument: &Instrument) -> Option<Self> {
        let lot = instrument.lot().with_decimals(QUANTITY_DECIMALS)?.mantissa;
        let multiplier = instrument.multiplier();
        let scale = 10_i128.checked_pow(multiplier.decimals.into())?;
        let value = i128::from(lot) * i128::from(multiplier.mantissa);
        let lot_value = i64::try_from(value / scale).ok().filter(|_| value % scale == 0)?;
        Some(Self {
            ticks: *instrument.ticks(),
            lots_min: instrument.lots_min(),
            notional_min: Amount::at_price_scale(instrument.notional_min()),
            lot_value: match instrument.kind() {
                ContractKind::Linear => lot_value,
                ContractKind::Inverse => -lot_value,
            },
            group: 0,
        })
    }

    /// What a lot is worth at a price, bought or sold: of an inverse contract in the currency that
    /// it is settled in, rounded towards 0 to 1e-18.
    #[must_use]
    pub fn lot_worth(&self, price: Price) -> Amount {
        Amount::size_of_lot(price.0, self.lot_value)
    }
}

/// Whether an instrument can be traded now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum InstrumentStatus {
    /// The venue does not trade it, or has not said that it does.
    #[default]
    Halted,
    /// The venue trades it.
    Trading,
    /// The venue trades it, but its book cannot be trusted.
    StaleBook,
}

/// What few instruments have, beside the rows, which are many orders' memory.
#[derive(Clone, Debug)]
pub(super) struct FurtherRules {
    ticks: TickTable,
    notional_min: Amount,
}

impl FurtherRules {
    /// Those of an instrument, if it has any.
    pub(super) fn of(instrument: &RiskInstrument) -> Option<Box<Self>> {
        let RiskInstrument { ticks, notional_min, .. } = *instrument;
        let has_any = !ticks.steps().is_empty() || notional_min > Amount::ZERO;
        has_any.then(|| Box::new(Self { ticks, notional_min }))
    }

    /// Whether a price is positive and one of the table.
    pub(super) fn fit(&self, price: Price) -> bool {
        price.0 > 0 && self.ticks.fits(price)
    }

    /// Whether an order is worth enough.
    pub(super) fn is_enough(&self, worth: Amount) -> bool {
        worth >= self.notional_min
    }
}

/// An instrument's row: what it is, its state, its mark and its own orders.
#[derive(Clone, Copy, Debug)]
pub(super) struct InstrumentRow {
    pub(super) ticks: Ticks,
    pub(super) lots_min: Lots,
    /// 0 while the instrument is not known.
    pub(super) lot_value: i64,
    /// The price that positions are valued at; 0 before there is one.
    mark: Price,
    /// What a lot is worth there, bought or sold: several checks of each order ask for it.
    lot: Amount,
    /// Own orders of each side lie here or further from the market; no price when none is open.
    best: [Option<Price>; 2],
    open_orders: [u32; 2],
    pub(super) group: u8,
    pub(super) status: InstrumentStatus,
    /// Its [`FurtherRules`] have one.
    pub(super) has_notional_min: bool,
}

impl InstrumentRow {
    pub(super) const UNKNOWN: Self = Self {
        ticks: Ticks::NONE,
        lots_min: Lots(i64::MAX),
        lot_value: 0,
        mark: Price(0),
        lot: Amount::ZERO,
        best: [None; 2],
        open_orders: [0; 2],
        group: 0,
        status: InstrumentStatus::Halted,
        has_notional_min: false,
    };

    pub(super) fn define(&mut self, instrument: &RiskInstrument) {
        self.ticks = Ticks::of(&instrument.ticks);
        self.lots_min = instrument.lots_min;
        self.has_notional_min = instrument.notional_min > Amount::ZERO;
        self.lot_value = instrument.lot_value;
        self.group = instrument.group;
        self.lot = self.lot_at(self.mark);
    }

    /// What a lot is worth at the mark, bought or sold.
    #[inline]
    pub(super) const fn lot(&self) -> Amount {
        self.lot
    }

    /// What a lot is worth at a price, bought or sold.
    #[inline]
    pub(super) fn lot_at(&self, price: Price) -> Amount {
        Amount::size_of_lot(price.0, self.lot_value)
    }

    /// What who holds a lot earns when it is worth so much more: of an inverse contract, which is
    /// worth less when its price rises, the opposite.
    #[inline]
    pub(super) fn gain(&self, more: Amount) -> Amount {
        if self.lot_value < 0 { -more } else { more }
    }

    #[inline]
    pub(super) const fn has_mark(&self) -> bool {
        self.mark.0 > 0
    }

    #[inline]
    pub(super) fn set_mark(&mut self, price: Price) {
        (self.mark, self.lot) = (price, self.lot_at(price));
    }

    /// Whether an order of this side at this price, at any without one, may meet an own order; as
    /// far as the row knows, which keeps a bound.
    #[inline]
    pub(super) fn may_meet(&self, side: Side, price: Option<Price>) -> bool {
        let Some(best) = self.best[side.opposite().index()] else { return false };
        price.is_none_or(|price| match side {
            Side::Buy => price >= best,
            Side::Sell => price <= best,
        })
    }

    /// The best price of own orders of a side is known exactly.
    pub(super) const fn set_best(&mut self, side: Side, best: Option<Price>) {
        self.best[side.index()] = best;
    }

    /// An own order may rest at this price.
    #[inline]
    pub(super) fn rests(&mut self, side: Side, price: Price) {
        let best = &mut self.best[side.index()];
        *best = Some(best.map_or(price, |best| match side {
            Side::Buy => best.max(price),
            Side::Sell => best.min(price),
        }));
    }

    #[inline]
    pub(super) const fn opened(&mut self, side: Side) {
        self.open_orders[side.index()] += 1;
    }

    #[inline]
    pub(super) const fn ended(&mut self, side: Side) {
        let open_orders = &mut self.open_orders[side.index()];
        *open_orders = open_orders.saturating_sub(1);
        if *open_orders == 0 {
            self.best[side.index()] = None;
        }
    }
}
