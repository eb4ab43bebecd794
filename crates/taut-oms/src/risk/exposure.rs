//! What an account has, and could have once its open orders are filled.

use taut_types::{Lots, Side};

use crate::amount::Amount;

/// An instrument's part of an account's exposure: 24 bytes, for each of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cell {
    /// Bought less sold.
    pub(super) position: i64,
    /// What open orders of each side may still trade.
    pub(super) working: [i64; 2],
}

impl Cell {
    /// The position in the direction of this side with all its open orders filled.
    #[inline]
    pub(super) const fn reach(&self, side: Side) -> i64 {
        self.position.saturating_mul(side.sign()).saturating_add(self.working[side.index()])
    }

    /// The largest position that may come of it, in either direction.
    #[inline]
    fn worst(&self) -> i64 {
        self.reach(Side::Buy).max(self.reach(Side::Sell))
    }

    /// How much larger the worst gets with so many lots more of a side.
    #[inline]
    pub(super) fn enlarged(&self, side: Side, lots: Lots) -> i64 {
        let reach = self.reach(side).saturating_add(lots.0);
        reach.saturating_sub(self.worst()).max(0)
    }
}

/// An account's sums over all instruments, each valued at its mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AccountExposure {
    pub(super) open_orders: u32,
    /// Net worth in the direction of each side with all open orders of that side filled.
    pub(super) reach: [Amount; 2],
    /// The worst of each instrument, whatever its direction.
    pub(super) gross: Amount,
    /// Net worth of the positions.
    value: Amount,
    /// Received less paid, fees too, since the day began.
    cash: Amount,
}

impl AccountExposure {
    /// Realised and unrealised profit, less fees, since the day began.
    #[inline]
    pub(super) fn profit(&self) -> Amount {
        self.cash + self.value
    }

    /// Profit counts from here.
    pub(super) fn start_day(&mut self) {
        self.cash = -self.value;
    }

    /// Changes a cell of which a lot is worth `lot`, and the sums with it.
    #[inline]
    pub(super) fn change(&mut self, cell: &mut Cell, lot: Amount, change: impl FnOnce(&mut Cell)) {
        let before = *cell;
        change(cell);
        for side in Side::BOTH {
            let lots = cell.reach(side).saturating_sub(before.reach(side));
            self.reach[side.index()] += Amount::of_lots(lots, lot);
        }
        self.gross += Amount::of_lots(cell.worst().saturating_sub(before.worst()), lot);
        let traded = cell.position.saturating_sub(before.position);
        self.value += Amount::of_lots(traded, lot);
    }

    /// More lots of a side may trade, worth `enlarged` more in gross.
    #[inline]
    pub(super) fn reserve(&mut self, cell: &mut Cell, side: Side, lots: Lots, worth: [Amount; 2]) {
        let [directed, gross] = worth;
        let working = &mut cell.working[side.index()];
        *working = working.saturating_add(lots.0);
        self.reach[side.index()] += directed;
        self.gross += gross;
    }

    /// A lot is worth `to` where it was worth `from`.
    pub(super) fn revalue(&mut self, cell: &Cell, from: Amount, to: Amount) {
        let difference = |lots| Amount::of_lots(lots, to) - Amount::of_lots(lots, from);
        for side in Side::BOTH {
            self.reach[side.index()] += difference(cell.reach(side));
        }
        self.gross += difference(cell.worst());
        self.value += difference(cell.position);
    }

    #[inline]
    pub(super) fn pay(&mut self, amount: Amount) {
        self.cash -= amount;
    }
}
