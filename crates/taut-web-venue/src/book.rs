//! A market's displayed book, in the units of its prices and amounts.

use std::collections::BTreeMap;

use taut_book::OrderBook;
use taut_types::Side;

/// A price level that has changed: side, price in half ticks, lots before and now.
pub type LevelChange = (Side, i64, i64, i64);

/// The levels that everybody sees: lots by price in half ticks.
#[derive(Debug)]
pub struct DisplayedBook {
    /// The price step, at 1e-9.
    tick: i128,
    /// The step of amounts, at 1e-9.
    lot: i128,
    pub bids: BTreeMap<i64, i64>,
    pub asks: BTreeMap<i64, i64>,
}

impl DisplayedBook {
    /// An empty book.
    pub const fn new(tick: i128, lot: i128) -> Self {
        Self { tick, lot, bids: BTreeMap::new(), asks: BTreeMap::new() }
    }

    /// Takes over what stands in the exchange's book.
    pub fn begin(&mut self, book: &OrderBook) {
        for side in [Side::Buy, Side::Sell] {
            let levels = book.levels(side).map(|level| (level.price.0, level.lots.0));
            *self.side_mut(side) = levels.collect();
        }
    }

    pub fn side(&self, side: Side) -> &BTreeMap<i64, i64> {
        match side {
            Side::Buy => &self.bids,
            Side::Sell => &self.asks,
        }
    }

    fn side_mut(&mut self, side: Side) -> &mut BTreeMap<i64, i64> {
        match side {
            Side::Buy => &mut self.bids,
            Side::Sell => &mut self.asks,
        }
    }

    /// A level is so large now; how large it was.
    pub fn set(&mut self, side: Side, price: i64, lots: i64) -> i64 {
        let levels = self.side_mut(side);
        let before = if lots == 0 { levels.remove(&price) } else { levels.insert(price, lots) };
        before.unwrap_or(0)
    }

    /// Of so many half ticks, at 1e-9.
    pub fn price(&self, half_ticks: i64) -> i128 {
        i128::from(half_ticks) * self.tick / 2
    }

    /// In half ticks, if it is on a tick.
    pub fn half_ticks(&self, price: i128) -> Option<i64> {
        (price > 0 && price % self.tick == 0).then(|| i64::try_from(price / self.tick * 2).ok())?
    }

    /// Of so many lots, at 1e-9.
    pub fn amount(&self, lots: i64) -> i128 {
        i128::from(lots) * self.lot
    }

    /// The lots of an amount, if it is a whole number of them.
    pub fn lots(&self, amount: i128) -> Option<i64> {
        (amount > 0 && amount % self.lot == 0).then(|| i64::try_from(amount / self.lot).ok())?
    }

    /// The best price and what stands there.
    pub fn best(&self, side: Side) -> Option<(i128, i128)> {
        self.levels(side).next()
    }

    /// The levels, best first: price and amount at 1e-9.
    pub fn levels(&self, side: Side) -> Box<dyn Iterator<Item = (i128, i128)> + '_> {
        let level = |(price, lots): (&i64, &i64)| (self.price(*price), self.amount(*lots));
        match side {
            Side::Buy => Box::new(self.bids.iter().rev().map(level)),
            Side::Sell => Box::new(self.asks.iter().map(level)),
        }
    }

    /// Between the best prices, if there are two.
    pub fn middle(&self) -> Option<i128> {
        let ((bid, _), (ask, _)) = (self.best(Side::Buy)?, self.best(Side::Sell)?);
        Some((bid + ask) / 2)
    }
}
