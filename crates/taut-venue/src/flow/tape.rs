//! A recorded book as steps: what its levels are to be, and when.

use std::collections::BTreeMap;

use taut_market_data::LevelUpdate;
use taut_types::{HalfTicks, Instrument, Lots, Nanos, Price, Qty, Side};

use crate::flow::market::Key;

/// A recording of one instrument's book, read and checked.
#[derive(Clone, Debug)]
pub(super) struct Tape {
    /// The levels at the start.
    pub(super) first: Vec<(Key, Lots)>,
    /// The last update that they contain.
    pub(super) first_id: u64,
    pub(super) steps: Vec<TapeStep>,
    /// The most levels that a side ever has.
    pub(super) levels_max: usize,
}

/// What happens, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TapeStep {
    /// From the first step.
    pub(super) at: Nanos,
    pub(super) change: TapeChange,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TapeChange {
    /// A level shall have this total.
    Level(Key, Lots),
    /// A trade was told.
    Trade { price: Price, lots: Lots, aggressor: Side },
    /// The book is as the update with this number left it.
    Whole(u64),
}

/// The levels of a recorded book while it is read, in its instrument's units. What is wrong with
/// one is told in words that name the value.
#[derive(Debug)]
pub(super) struct Levels {
    instrument: Instrument,
    /// Of recorded sizes.
    size_decimals: u8,
    /// Bids and asks.
    sides: [BTreeMap<HalfTicks, Lots>; 2],
    count_max: usize,
}

impl Levels {
    /// Recorded sizes have so many decimals.
    pub(super) fn new(instrument: Instrument, size_decimals: u8) -> Self {
        let sides = [BTreeMap::new(), BTreeMap::new()];
        Self { instrument, size_decimals, sides, count_max: 0 }
    }

    /// The level at a price.
    pub(super) fn key(&self, side: Side, price: Price) -> Result<Key, String> {
        match self.instrument.half_ticks(price) {
            Ok(HalfTicks(half_ticks)) if half_ticks > 0 && half_ticks % 2 == 0 => {
                Ok((side, HalfTicks(half_ticks)))
            }
            _ => {
                let tick = self.instrument.tick();
                Err(format!("the price {price} is no multiple of the instrument's tick, {tick}"))
            }
        }
    }

    /// A recorded size in lots of the instrument.
    pub(super) fn lots(&self, size: Lots) -> Result<Lots, String> {
        let size = Qty { mantissa: size.0, decimals: self.size_decimals };
        self.instrument.lots(size).map_err(|_| {
            let lot = self.instrument.lot();
            format!("the size {size} is no multiple of the instrument's lot, {lot}")
        })
    }

    /// Sets recorded levels, and says what was set.
    pub(super) fn set_all(&mut self, levels: &[LevelUpdate]) -> Result<Vec<(Key, Lots)>, String> {
        let mut set = Vec::with_capacity(levels.len());
        for level in levels {
            let key = self.key(level.side, level.price)?;
            let lots = self.lots(level.lots)?;
            self.set(key, lots);
            set.push((key, lots));
        }
        Ok(set)
    }

    pub(super) fn set(&mut self, (side, price): Key, lots: Lots) {
        let [bids, asks] = &mut self.sides;
        let levels = if side == Side::Buy { bids } else { asks };
        if lots > Lots::ZERO {
            levels.insert(price, lots);
        } else {
            levels.remove(&price);
        }
        self.count_max = self.count_max.max(levels.len());
    }

    /// Whether the best bid is below the best offer: orders of a crossed book would trade with each
    /// other for ever.
    pub(super) fn check(&self) -> Result<(), String> {
        let [bids, asks] = &self.sides;
        match (bids.last_key_value(), asks.first_key_value()) {
            (Some((&bid, _)), Some((&ask, _))) if bid >= ask => {
                let [bid, ask] =
                    [bid, ask].map(|price| self.instrument.price(price).unwrap_or(Price(0)));
                Err(format!("the book is crossed: bid {bid}, offered {ask}"))
            }
            _ => Ok(()),
        }
    }

    /// All levels there are, the bids first, from the lowest price up.
    pub(super) fn all(&self) -> Vec<(Key, Lots)> {
        let of = |(side, levels): (Side, &BTreeMap<HalfTicks, Lots>)| -> Vec<(Key, Lots)> {
            levels.iter().map(|(&price, &lots)| ((side, price), lots)).collect()
        };
        Side::BOTH.into_iter().zip(&self.sides).flat_map(of).collect()
    }

    /// The most levels that a side ever had.
    pub(super) const fn count_max(&self) -> usize {
        self.count_max
    }
}
