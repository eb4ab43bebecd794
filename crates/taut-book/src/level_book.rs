//! The book of price levels (market by price, L2).

use taut_types::{Lots, Price, Side};

use crate::ladder::{Ladder, rank};
use crate::{BookError, BookLimit, Fnv1a, Level, LevelAction, LevelChange, TopOfBook};

/// Both sides' price levels, as a feed reports them.
///
/// Cost of an update: a short walk from the best level or a bisection, and for an inserted or
/// deleted level a move of 24 bytes for every better one.
#[derive(Clone, Debug)]
pub struct LevelBook {
    sides: [Ladder<Total>; 2],
}

/// What a level holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Total {
    lots: Lots,
    order_count: u32,
}

impl LevelBook {
    /// An empty book with room for so many levels on each side. It reserves 24 bytes for each of
    /// them, and touches those that were ever in use.
    #[must_use]
    pub fn with_capacity(levels_per_side: usize) -> Self {
        let side = Ladder::with_capacity(levels_per_side);
        Self { sides: [side.clone(), side] }
    }

    /// Sets the level to this total; zero lots delete it.
    ///
    /// # Errors
    /// [`BookError::UnknownLevel`] when there is nothing to delete, [`BookError::BadLots`] for a
    /// negative total, [`BookError::Limit`] when the side has no room for another level.
    #[inline]
    pub fn apply(
        &mut self,
        side: Side,
        price: Price,
        lots: Lots,
        order_count: u32,
    ) -> Result<LevelChange, BookError> {
        if lots < Lots::ZERO {
            return Err(BookError::BadLots);
        }
        let ladder = &mut self.sides[side.index()];
        let rank = rank(side, price.0);
        let total = Total { lots, order_count };
        let (action, depth, differs) = match (ladder.find(rank), lots) {
            (Err(_), Lots::ZERO) => return Err(BookError::UnknownLevel),
            (Err(_), _) if ladder.is_full() => return Err(BookError::Limit(BookLimit::Levels)),
            (Err(at), _) => {
                ladder.insert(at, rank, total);
                (LevelAction::Inserted, ladder.depth(at), true)
            }
            (Ok(at), Lots::ZERO) => {
                let depth = ladder.depth(at);
                ladder.remove(at);
                (LevelAction::Deleted, depth, true)
            }
            (Ok(at), _) => {
                let differs = ladder.value(at) != total;
                ladder.set(at, total);
                (LevelAction::Updated, ladder.depth(at), differs)
            }
        };
        Ok(LevelChange { action, depth, top_changed: depth == 0 && differs })
    }

    /// Asks the processor for the best levels of both sides: an update that comes soon finds them
    /// in a near cache. Costs a few instructions.
    #[inline]
    pub fn prefetch_best(&self) {
        self.sides.iter().for_each(Ladder::prefetch_best);
    }

    /// Empties both sides.
    pub fn clear(&mut self) {
        for ladder in &mut self.sides {
            ladder.clear();
        }
    }

    /// The best level of a side.
    #[must_use]
    pub fn best(&self, side: Side) -> Option<Level> {
        self.level(side, 0)
    }

    /// The best bid and the best offer.
    #[must_use]
    pub fn top(&self) -> TopOfBook {
        TopOfBook { bid: self.best(Side::Buy), ask: self.best(Side::Sell) }
    }

    /// The level that `depth` others of its side are better than; 0 is the best.
    #[must_use]
    pub fn level(&self, side: Side, depth: usize) -> Option<Level> {
        self.sides[side.index()].at_depth(depth).map(|entry| show(side, entry))
    }

    /// The level at this price.
    #[must_use]
    pub fn level_at(&self, side: Side, price: Price) -> Option<Level> {
        let ladder = &self.sides[side.index()];
        let rank = rank(side, price.0);
        let at = ladder.find(rank).ok()?;
        Some(show(side, (rank, ladder.value(at))))
    }

    /// What changes nothing when it is applied: the level at this price or, if there is none, the
    /// one at this depth; zero lots at the price where there is neither.
    #[must_use]
    pub fn stand_in(&self, side: Side, price: Price, depth: usize) -> (Price, Lots) {
        let level = self.level_at(side, price).or_else(|| self.level(side, depth));
        level.map_or((price, Lots::ZERO), |level| (level.price, level.lots))
    }

    /// How many levels are at this price or better: the depth of the next one behind it.
    #[must_use]
    pub fn levels_down_to(&self, side: Side, price: Price) -> usize {
        let ladder = &self.sides[side.index()];
        let (Ok(at) | Err(at)) = ladder.find(rank(side, price.0));
        ladder.len() - at
    }

    /// A side's levels, best first.
    pub fn iter(
        &self,
        side: Side,
    ) -> impl DoubleEndedIterator<Item = Level> + ExactSizeIterator + '_ {
        self.sides[side.index()].iter().map(move |entry| show(side, entry))
    }

    /// How many levels a side has.
    #[must_use]
    pub const fn level_count(&self, side: Side) -> usize {
        self.sides[side.index()].len()
    }

    /// How many levels a side has room for.
    #[must_use]
    pub const fn level_capacity(&self) -> usize {
        self.sides[0].capacity()
    }

    /// FNV-1a over both sides, bids first: level count, then price, lots and order count of each
    /// level, best first. Cost: linear in the levels.
    #[must_use]
    pub fn state_hash(&self) -> u64 {
        let mut hash = Fnv1a::new();
        for side in Side::BOTH {
            hash.write_u64(self.level_count(side) as u64);
            for level in self.iter(side) {
                hash.write_i64(level.price.0);
                hash.write_i64(level.lots.0);
                hash.write_u64(u64::from(level.order_count));
            }
        }
        hash.finish()
    }
}

fn show(side: Side, (rank_of_price, total): (i64, Total)) -> Level {
    let price = Price(rank(side, rank_of_price));
    Level { price, lots: total.lots, order_count: total.order_count }
}
