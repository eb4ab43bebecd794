//! One position, carried at its average price.

use taut_types::{Lots, Price, Side};

use super::trade::{PositionKey, PositionReport, Trade};
use crate::amount::Amount;

/// A position and what it has earned since the day began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Bought less sold.
    lots: i64,
    bought: i64,
    sold: i64,
    /// What the lots were bought for, or (negative) sold for.
    cost: Amount,
    realised: Amount,
    fees: Amount,
}

impl Position {
    /// Lots, bought and sold; cost, realised and fees at 1e-18: to be written down and read again.
    #[must_use]
    pub const fn to_numbers(&self) -> ([i64; 3], [i128; 3]) {
        ([self.lots, self.bought, self.sold], [self.cost.0, self.realised.0, self.fees.0])
    }

    /// What [`Position::to_numbers`] said.
    #[must_use]
    pub const fn from_numbers(
        [lots, bought, sold]: [i64; 3],
        [cost, realised, fees]: [i128; 3],
    ) -> Self {
        let (cost, realised, fees) = (Amount(cost), Amount(realised), Amount(fees));
        Self { lots, bought, sold, cost, realised, fees }
    }

    /// A trade of ours counts; one of less than no lots takes an earlier one back.
    pub fn count(&mut self, trade: &Trade, lot_value: i64) {
        let lots = Lots(trade.lots.0.saturating_abs());
        let trade_back = Trade { lots, ..*trade };
        match trade.lots < Lots::ZERO {
            true => self.bust(&trade_back, lot_value),
            false => self.fill(trade, lot_value),
        }
    }

    /// The same position, whose amounts were counted for lots of `from` (their quantity at 1e-9),
    /// with lots of `to`, both of linear contracts or both (below 0) of inverse ones: within 1e-18,
    /// and exact where `from` divides `to`.
    #[must_use]
    pub fn rescaled(self, from: i64, to: i64) -> Self {
        let (from, to) = (from.unsigned_abs().max(1), to.unsigned_abs());
        let (from, to) = (i128::from(from), i128::from(to));
        let scaled = |amount: Amount| {
            let (whole, rest) = (amount.0 / from, amount.0 % from);
            Amount(whole.saturating_mul(to).saturating_add(rest * to / from))
        };
        let (cost, realised, fees) = (scaled(self.cost), scaled(self.realised), self.fees);
        Self { cost, realised, fees, ..self }
    }

    /// Bought less sold.
    #[must_use]
    pub const fn lots(&self) -> Lots {
        Lots(self.lots)
    }

    /// Bought since the day began.
    #[must_use]
    pub const fn bought(&self) -> Lots {
        Lots(self.bought)
    }

    /// Sold since the day began.
    #[must_use]
    pub const fn sold(&self) -> Lots {
        Lots(self.sold)
    }

    /// What the lots were bought for, or (negative) sold for.
    #[must_use]
    pub const fn cost(&self) -> Amount {
        self.cost
    }

    /// Profit of what was closed since the day began, before fees.
    #[must_use]
    pub const fn realised(&self) -> Amount {
        self.realised
    }

    /// Fees since the day began.
    #[must_use]
    pub const fn fees(&self) -> Amount {
        self.fees
    }

    /// Profit of what is open, valued at a price.
    #[must_use]
    pub fn unrealised(&self, mark: Price, lot_value: i64) -> Amount {
        Amount::of_lots(self.lots, Amount::of_lot(mark.0, lot_value)) - self.cost
    }

    /// At what price it is carried, rounded to 1e-9; none when it is flat. Of an inverse contract
    /// it comes out of a cost that is rounded to 1e-18 a lot, and may be 2e-18 times its square by
    /// the quantity of a lot off: 2e-9 at 100,000 with lots of ten.
    #[must_use]
    pub fn average(&self, lot_value: i64) -> Option<Price> {
        if lot_value < 0 {
            return self.inverse_average(lot_value);
        }
        let units =
            i128::from(self.lots).checked_mul(lot_value.into()).filter(|lots| *lots != 0)?;
        let (price, rest) = (self.cost.0.checked_div(units)?, self.cost.0.checked_rem(units)?);
        let is_half = rest.unsigned_abs() >= units.unsigned_abs().div_ceil(2);
        let away = if is_half { rest.signum() * units.signum() } else { 0 };
        i64::try_from(price + away).ok().map(Price)
    }

    /// Of an inverse contract: what a lot is, divided by what one cost.
    #[cold]
    fn inverse_average(&self, lot_value: i64) -> Option<Price> {
        let lot = self.cost.0.checked_div(self.lots.into()).filter(|lot| *lot != 0)?;
        let quantity = i128::from(lot_value) * Amount::SCALE;
        let (price, rest) = (quantity.checked_div(lot)?, quantity.checked_rem(lot)?);
        let is_half = rest.unsigned_abs() >= lot.unsigned_abs().div_ceil(2);
        i64::try_from(price + i128::from(is_half)).ok().map(Price)
    }

    pub(super) fn fill(&mut self, trade: &Trade, lot_value: i64) {
        let side = match trade.side {
            Side::Buy => &mut self.bought,
            Side::Sell => &mut self.sold,
        };
        *side = side.saturating_add(trade.lots.0);
        self.fees += trade.fee;
        self.trade(trade.lots.0.saturating_mul(trade.side.sign()), worth(trade, lot_value));
    }

    /// Takes a fill back.
    pub(super) fn bust(&mut self, trade: &Trade, lot_value: i64) {
        let side = match trade.side {
            Side::Buy => &mut self.bought,
            Side::Sell => &mut self.sold,
        };
        *side = side.saturating_sub(trade.lots.0);
        self.fees -= trade.fee;
        let (lot, sign) = (worth(trade, lot_value), trade.side.sign());
        let (back, held) = (-trade.lots.0.saturating_mul(sign), self.lots.saturating_mul(sign));
        if held >= trade.lots.0 {
            // It had opened: what it cost leaves the average.
            self.open(back, lot);
            if self.lots == 0 {
                self.realised -= self.cost;
                self.cost = Amount::ZERO;
            }
        } else if held < 0 {
            // It had closed: what it closed is open again, at the average, which it left alone.
            self.close(back, lot);
        } else {
            self.trade(back, lot);
        }
    }

    /// Values it at a price from here on: what that earns is realised.
    pub(super) fn settle(&mut self, price: Price, lot_value: i64) {
        let unrealised = self.unrealised(price, lot_value);
        self.realised += unrealised;
        self.cost += unrealised;
    }

    /// Counts from 0 again; lots and their average price stay.
    pub(super) const fn start_day(&mut self) {
        (self.bought, self.sold) = (0, 0);
        (self.realised, self.fees) = (Amount::ZERO, Amount::ZERO);
    }

    pub(super) fn report(
        &self,
        key: PositionKey,
        lot_value: i64,
        mark: Option<Price>,
    ) -> PositionReport {
        PositionReport {
            key,
            lots: self.lots(),
            bought: self.bought(),
            sold: self.sold(),
            average: self.average(lot_value),
            mark,
            realised: self.realised,
            unrealised: mark.map_or(Amount::ZERO, |mark| self.unrealised(mark, lot_value)),
            fees: self.fees,
        }
    }

    /// Lots bought, or (negative) sold, of which one was worth `lot`.
    fn trade(&mut self, lots: i64, lot: Amount) {
        let is_opening = self.lots == 0 || (self.lots < 0) == (lots < 0);
        // As many as there are; the rest opens the other way.
        let closing = match self.lots {
            _ if is_opening => 0,
            held if held < 0 => lots.min(held.saturating_neg()),
            held => lots.max(-held),
        };
        self.close(closing, lot);
        self.open(lots.saturating_sub(closing), lot);
    }

    /// The position changes by lots at their own price.
    fn open(&mut self, lots: i64, lot: Amount) {
        self.cost += Amount::of_lots(lots, lot);
        self.lots = self.lots.saturating_add(lots);
    }

    /// The position changes by lots at the average price; what their own differs is realised.
    fn close(&mut self, lots: i64, lot: Amount) {
        let cost = self.cost_of(lots);
        self.realised += cost - Amount::of_lots(lots, lot);
        self.cost += cost;
        self.lots = self.lots.saturating_add(lots);
    }

    /// What so many lots cost at the average price, rounded towards 0; exact for all of them.
    fn cost_of(&self, lots: i64) -> Amount {
        let held = i128::from(self.lots);
        if held == 0 {
            return Amount::ZERO;
        }
        let (whole, rest) = (self.cost.0.wrapping_div(held), self.cost.0.wrapping_rem(held));
        let lots = i128::from(lots);
        Amount(whole.saturating_mul(lots).saturating_add(rest * lots / held))
    }
}

/// What a lot of a trade was worth.
fn worth(trade: &Trade, lot_value: i64) -> Amount {
    Amount::of_lot(trade.price.0, lot_value)
}
