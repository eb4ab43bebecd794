//! What an account has, and could have once its open orders are filled.

use taut_types::{Lots, Side};

use crate::amount::Amount;

/// Positions and open quantities stop here, so that no sum of them overflows.
const LOTS_MAX: i64 = 1 << 60;

/// An instrument's part of an account's exposure: 24 bytes, for each of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cell {
    /// Bought less sold.
    position: i64,
    /// What open orders of each side may still trade.
    working: [i64; 2],
}

impl Cell {
    #[inline]
    pub(super) const fn position(&self) -> Lots {
        Lots(self.position)
    }

    #[inline]
    pub(super) const fn working(&self, side: Side) -> Lots {
        Lots(self.working[side.index()])
    }

    /// Lots were bought, or sold when they are negative.
    #[inline]
    pub(super) fn trade(&mut self, lots: Lots) {
        self.position = self.position.saturating_add(lots.0).clamp(-LOTS_MAX, LOTS_MAX);
    }

    /// So many more lots of a side may trade, or fewer when they are negative.
    #[inline]
    pub(super) fn work(&mut self, side: Side, lots: Lots) {
        let working = &mut self.working[side.index()];
        *working = working.saturating_add(lots.0).clamp(0, LOTS_MAX);
    }

    /// The position in the direction of this side with all its open orders filled.
    #[inline]
    pub(super) const fn reach(&self, side: Side) -> i64 {
        match side {
            Side::Buy => self.working[0] + self.position,
            Side::Sell => self.working[1] - self.position,
        }
    }

    /// The largest position that may come of it, in either direction: never below 0.
    #[inline]
    pub(super) fn worst(&self) -> i64 {
        self.reach(Side::Buy).max(self.reach(Side::Sell))
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
    /// Realised and unrealised, less fees, since the day began.
    pub(super) profit: Amount,
}

impl AccountExposure {
    /// Changes a cell of which a lot is worth `lot`, and the sums with it.
    #[inline]
    pub(super) fn change(&mut self, cell: &mut Cell, lot: Amount, change: impl FnOnce(&mut Cell)) {
        let before = *cell;
        change(cell);
        let add = |sum: &mut Amount, lots| {
            // A fill leaves one direction as it is, and often the worst too.
            if lots != 0 {
                *sum += Amount::of_lots(lots, lot);
            }
        };
        for side in Side::BOTH {
            add(&mut self.reach[side.index()], cell.reach(side) - before.reach(side));
        }
        add(&mut self.gross, cell.worst() - before.worst());
    }

    /// A lot is worth `to` where it was worth `from`, and who holds one has earned `profit`.
    pub(super) fn revalue(&mut self, cell: &Cell, (from, to): (Amount, Amount), profit: Amount) {
        let difference = |lots| Amount::of_lots(lots, to) - Amount::of_lots(lots, from);
        for side in Side::BOTH {
            self.reach[side.index()] += difference(cell.reach(side));
        }
        self.gross += difference(cell.worst());
        self.profit += Amount::of_lots(cell.position, profit);
    }
}
