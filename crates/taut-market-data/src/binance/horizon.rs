//! How deep a book is known that began with a snapshot of so many levels a side.
//!
//! A snapshot of 1,000 levels says nothing about those behind. Updates tell of levels at any price,
//! but only of those that change: behind the snapshot's last level the book has some and lacks
//! others. While the best level of a side is there, better ones may be that nobody told of.

use taut_book::{LevelBook, TopOfBook};
use taut_types::{Price, Side};

/// The numbers of levels that a snapshot can be asked for, for spot and futures. A side with fewer
/// levels than that is all there is.
const SNAPSHOT_LEVELS: [usize; 8] = [5, 10, 20, 50, 100, 500, 1_000, 5_000];

/// The last price of each side that a snapshot had; nothing where the side is known to its end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Horizon {
    bid: Option<Price>,
    ask: Option<Price>,
}

impl Horizon {
    /// Of a snapshot that was just loaded, of at most so many levels a side; where that is not
    /// said, as many as one can be asked for.
    pub(super) fn of(snapshot: &LevelBook, limit: Option<usize>) -> Self {
        let edge = |side| {
            let count = snapshot.level_count(side);
            let is_cut = match limit {
                Some(limit) => count >= limit,
                None => SNAPSHOT_LEVELS.contains(&count),
            };
            snapshot.iter(side).next_back().filter(|_| is_cut).map(|level| level.price)
        };
        Self { bid: edge(Side::Buy), ask: edge(Side::Sell) }
    }

    pub(super) const fn edge(&self, side: Side) -> Option<Price> {
        match side {
            Side::Buy => self.bid,
            Side::Sell => self.ask,
        }
    }

    /// Whether these are the best levels for certain.
    #[inline]
    pub(super) fn contains(&self, top: &TopOfBook) -> bool {
        let bid = self.bid.is_none_or(|edge| top.bid.is_some_and(|best| best.price >= edge));
        let ask = self.ask.is_none_or(|edge| top.ask.is_some_and(|best| best.price <= edge));
        bid && ask
    }

    /// The best levels as far as they are known.
    pub(super) fn known(&self, top: TopOfBook) -> TopOfBook {
        let bid = top.bid.filter(|best| self.bid.is_none_or(|edge| best.price >= edge));
        let ask = top.ask.filter(|best| self.ask.is_none_or(|edge| best.price <= edge));
        TopOfBook { bid, ask }
    }
}
