//! Positions and profit of every account, strategy and instrument.
//!
//! Fixed in size and exact: amounts are integers at 1e-18 ([`Amount`]). A position is carried at
//! its average price. What a mark makes of it, with what was realised, is exact at any time; how
//! the two share it is exact whenever the position is flat, and within 1e-18 for each trade that
//! reduced it since.

use alloc::boxed::Box;
use alloc::vec::Vec;

use taut_types::{AccountId, InstrumentId, Lots, Price, Side};

use crate::amount::Amount;
use crate::balance::{Balance, Balances, Settlement};

mod average;
mod trade;

pub use average::Position;
pub use trade::{PositionError, PositionKey, PositionReport, Trade};

/// An instrument, as far as positions are concerned.
#[derive(Clone, Copy, Debug, Default)]
struct Worth {
    /// The quantity of a lot at 1e-9, below 0 of an inverse contract; 0 while it is not known.
    lot_value: i64,
    mark: Option<Price>,
}

/// No position is here.
const FREE: u32 = u32::MAX;

/// All positions, in the order in which they were opened first.
#[derive(Debug)]
pub struct Positions {
    positions: Vec<(PositionKey, Position)>,
    capacity: usize,
    /// Where a key's position is: linear probing from its hash, twice as many places as positions.
    places: Box<[u32]>,
    instruments: Box<[Worth]>,
    balances: Balances,
}

impl Positions {
    /// Room for so many positions, in instruments with the numbers below `instrument_count`.
    #[must_use]
    pub fn with_capacity(position_capacity: usize, instrument_count: usize) -> Self {
        let place_count = (2 * position_capacity).next_power_of_two();
        Self {
            positions: Vec::with_capacity(position_capacity),
            capacity: position_capacity.min(FREE as usize),
            places: core::iter::repeat_n(FREE, place_count).collect(),
            instruments: core::iter::repeat_n(Worth::default(), instrument_count).collect(),
            balances: Balances::default(),
        }
    }

    /// Says what a lot of an instrument is worth: its quantity at 1e-9, as in
    /// [`RiskInstrument::lot_value`](crate::RiskInstrument::lot_value). It must not change
    /// while there are positions.
    pub fn define(&mut self, instrument: InstrumentId, lot_value: i64) {
        if let Some(worth) = self.instruments.get_mut(instrument.0 as usize) {
            worth.lot_value = lot_value;
        }
    }

    /// Values positions in an instrument at this price from here on.
    #[inline]
    pub fn mark(&mut self, instrument: InstrumentId, price: Price) {
        if let Some(worth) = self.instruments.get_mut(instrument.0 as usize) {
            worth.mark = Some(price);
        }
    }

    /// A trade. Returns the position after it.
    ///
    /// # Errors
    /// When there is no room, the instrument is not known, or the quantity is not positive; then
    /// nothing changes.
    pub fn filled(&mut self, key: PositionKey, trade: &Trade) -> Result<Position, PositionError> {
        let lot_value = self.check(key, trade)?;
        self.change(key, lot_value, |position| position.fill(trade, lot_value))
    }

    /// A trade that was told is no trade. Profit at a mark is as if it had never been; what was
    /// realised is too, when the trades since then did not change the average price.
    ///
    /// # Errors
    /// As with [`Positions::filled`].
    pub fn busted(&mut self, key: PositionKey, trade: &Trade) -> Result<Position, PositionError> {
        let lot_value = self.check(key, trade)?;
        self.change(key, lot_value, |position| position.bust(trade, lot_value))
    }

    /// A trade was another one than was told.
    ///
    /// # Errors
    /// As with [`Positions::filled`].
    pub fn corrected(
        &mut self,
        key: PositionKey,
        told: &Trade,
        trade: &Trade,
    ) -> Result<Position, PositionError> {
        self.check(key, trade)?;
        self.busted(key, told)?;
        self.filled(key, trade)
    }

    /// Makes an account's position what the venue says that it is: what differs is booked to this
    /// strategy at this price, as a trade without a fee. Returns the difference, bought or (when
    /// negative) sold without our knowing.
    ///
    /// # Errors
    /// As with [`Positions::filled`].
    pub fn recover(
        &mut self,
        key: PositionKey,
        venue: Lots,
        price: Price,
    ) -> Result<Lots, PositionError> {
        let own = self.account(key.account, key.instrument);
        let difference = Lots(venue.0.saturating_sub(own.0));
        let side = if difference >= Lots::ZERO { Side::Buy } else { Side::Sell };
        let lots = Lots(difference.0.saturating_abs());
        if lots > Lots::ZERO {
            self.filled(key, &Trade { side, lots, price, fee: Amount::ZERO })?;
        }
        Ok(difference)
    }

    /// Takes a position up as it stands: out of a journal.
    ///
    /// # Errors
    /// When there is no room.
    pub fn restore(&mut self, key: PositionKey, position: Position) -> Result<(), PositionError> {
        let worth = self.instruments.get(key.instrument.0 as usize).copied().unwrap_or_default();
        self.change(key, worth.lot_value, |own| *own = position).map(drop)
    }

    /// What a position earned on the days before, less fees: out of a journal, for the balances.
    pub fn restore_earned(&mut self, key: PositionKey, amount: Amount) {
        self.balances.earned(key, amount);
    }

    /// Follows these balances from here on: before positions are restored, which move them.
    pub fn follow_balances(&mut self, balances: Balances) {
        self.balances = balances;
    }

    /// Says how an instrument that comes later is settled, for the balances.
    pub fn settle(&mut self, instrument: InstrumentId, settlement: Settlement) {
        self.balances.settle(instrument, settlement);
    }

    /// The balances that are followed.
    #[must_use]
    pub const fn balances(&self) -> &Balances {
        &self.balances
    }

    /// A balance that has changed since this was called last.
    pub fn poll_balance(&mut self) -> Option<Balance> {
        self.balances.poll_changed()
    }

    /// A new day: bought, sold, realised and fees count from 0. Positions are carried at the
    /// settlement price, which is asked for with the instrument and what it is valued at, or at
    /// their average where there is none; what that earns is in the balances. `closed` gets each
    /// position of the old day as it was, settled.
    pub fn roll(
        &mut self,
        settlement: impl Fn(InstrumentId, Option<Price>) -> Option<Price>,
        mut closed: impl FnMut(&PositionReport),
    ) {
        let Self { positions, instruments, balances, .. } = self;
        for (key, position) in positions {
            let worth = instruments.get(key.instrument.0 as usize).copied();
            let mut worth = worth.unwrap_or_default();
            if let Some(price) = settlement(key.instrument, worth.mark) {
                worth.mark = Some(price);
                let before = *position;
                position.settle(price, worth.lot_value);
                balances.moved(*key, &before, position, worth.lot_value);
            }
            let report = position.report(*key, worth.lot_value, worth.mark);
            position.start_day();
            closed(&report);
        }
    }

    /// What positions in an instrument are valued at, once it was marked.
    #[must_use]
    pub fn mark_of(&self, instrument: InstrumentId) -> Option<Price> {
        self.instruments.get(instrument.0 as usize)?.mark
    }

    /// A position, if there ever was one.
    #[must_use]
    pub fn get(&self, key: PositionKey) -> Option<&Position> {
        let place = self.places.get(self.place(key))?;
        self.positions.get(*place as usize).map(|(_, position)| position)
    }

    /// An account's position in an instrument, over all strategies. Walks all positions.
    #[must_use]
    pub fn account(&self, account: AccountId, instrument: InstrumentId) -> Lots {
        let of = |key: &PositionKey| key.account == account && key.instrument == instrument;
        let own = self.positions.iter().filter(|(key, _)| of(key));
        Lots(own.fold(0, |sum: i64, (_, position)| sum.saturating_add(position.lots().0)))
    }

    /// Every position, valued at its mark.
    pub fn reports(&self) -> impl Iterator<Item = PositionReport> {
        self.positions.iter().map(|(key, position)| {
            let worth = self.instruments.get(key.instrument.0 as usize).copied();
            let Worth { lot_value, mark } = worth.unwrap_or_default();
            position.report(*key, lot_value, mark)
        })
    }

    fn change(
        &mut self,
        key: PositionKey,
        lot_value: i64,
        act: impl FnOnce(&mut Position),
    ) -> Result<Position, PositionError> {
        let position = self.position_mut(key)?;
        let before = *position;
        act(position);
        let after = *position;
        if !self.balances.is_empty() {
            self.balances.moved(key, &before, &after, lot_value);
        }
        Ok(after)
    }

    /// What a lot is worth, if the trade can be taken.
    fn check(&self, key: PositionKey, trade: &Trade) -> Result<i64, PositionError> {
        if trade.lots <= Lots::ZERO {
            return Err(PositionError::Quantity);
        }
        let worth = self.instruments.get(key.instrument.0 as usize);
        let lot_value = worth.map(|worth| worth.lot_value).filter(|value| *value != 0);
        lot_value.ok_or(PositionError::UnknownInstrument)
    }

    /// The position of a key, opened if there is none yet.
    fn position_mut(&mut self, key: PositionKey) -> Result<&mut Position, PositionError> {
        let place = self.place(key);
        let place = self.places.get_mut(place).ok_or(PositionError::Full)?;
        if *place == FREE {
            if self.positions.len() == self.capacity {
                return Err(PositionError::Full);
            }
            *place = self.positions.len() as u32;
            self.positions.push((key, Position::default()));
        }
        let position = self.positions.get_mut(*place as usize);
        position.map(|(_, position)| position).ok_or(PositionError::Full)
    }

    /// The place that says where a key's position is, or where it will.
    fn place(&self, key: PositionKey) -> usize {
        let mask = self.places.len() - 1;
        let word = u64::from(key.instrument.0) << 16
            | u64::from(key.account.0) << 8
            | u64::from(key.strategy.0)
            | u64::from(key.user.0) << 48;
        // Fibonacci hashing: the upper half of the product depends on all bits of the key.
        let mut place = (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        // Half of the places are free: it ends.
        while let Some((own, _)) = self.positions.get(self.places[place] as usize)
            && *own != key
        {
            place = (place + 1) & mask;
        }
        place
    }
}

#[cfg(test)]
mod tests;
