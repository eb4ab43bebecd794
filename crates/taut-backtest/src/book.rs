//! Price levels in flat arrays: a tick is an index.

use alloc::boxed::Box;
use alloc::vec;
use core::ops::RangeInclusive;

use taut_types::Side;

use crate::BacktestError;

/// The levels of both sides over a range of ticks, and the best of each side.
///
/// Levels are lots by tick, one array a side. The best is kept; when it goes, the next is looked
/// for tick by tick. A new best that crosses moves the other side's best past it, while the
/// levels that it passed stay stored: a feed may yet delete them. The two sides mirror each other:
/// a side counts in *keys*, in which the better price is the greater one.
///
/// A change costs one access to an array; the two arrays take 16 bytes a tick of the range.
#[derive(Clone, Debug)]
pub struct FlatBook {
    halves: [Half; 2],
}

/// A side, in keys.
#[derive(Clone, Debug)]
struct Half {
    lots: Box<[i64]>,
    /// The key of the first element.
    first: i64,
    best: i64,
    /// No level is stored below this.
    worst: i64,
}

/// What a change of a level did, in lots and in keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub before: i64,
    pub after: i64,
    pub best_before: i64,
    pub best_after: i64,
}

/// The key of no price: below all others, and with a mirror image above all others.
pub(crate) const NONE: i64 = -i64::MAX;

/// The key of a tick: greater is better.
#[inline]
pub(crate) const fn key(side: Side, tick: i64) -> i64 {
    match side {
        Side::Buy => tick,
        Side::Sell => -tick,
    }
}

/// The tick of a key: keys mirror themselves.
#[inline]
pub(crate) const fn tick(side: Side, key: i64) -> i64 {
    self::key(side, key)
}

impl Half {
    fn new(first: i64, ticks: usize) -> Self {
        Self { lots: vec![0; ticks].into(), first, best: NONE, worst: i64::MAX }
    }

    #[inline]
    fn get(&self, key: i64) -> i64 {
        let at = usize::try_from(key.wrapping_sub(self.first)).unwrap_or(usize::MAX);
        self.lots.get(at).copied().unwrap_or(0)
    }

    #[inline]
    fn at(&mut self, key: i64) -> Option<&mut i64> {
        self.lots.get_mut(usize::try_from(key.wrapping_sub(self.first)).ok()?)
    }

    /// The best level below a key.
    fn next_below(&self, key: i64) -> i64 {
        let from = self.worst.saturating_sub(self.first);
        let end = key.saturating_sub(self.first);
        let (Ok(from), Ok(end)) = (usize::try_from(from), usize::try_from(end)) else {
            return NONE;
        };
        let end = end.min(self.lots.len());
        let Some(levels) = self.lots.get(from..end) else { return NONE };
        match levels.iter().rposition(|&lots| lots > 0) {
            Some(at) => self.first + (from + at) as i64,
            None => NONE,
        }
    }

    fn look_below(&mut self, key: i64) {
        self.best = self.next_below(key);
        if self.best == NONE {
            self.worst = i64::MAX;
        }
    }
}

impl FlatBook {
    /// How many ticks the range may have: 256 MiB a side.
    pub const TICKS_MAX: u64 = 1 << 25;

    /// An empty book over a range of ticks.
    ///
    /// # Errors
    /// When the range is empty or has more than [`TICKS_MAX`](Self::TICKS_MAX) ticks.
    pub fn new(ticks: &RangeInclusive<i64>) -> Result<Self, BacktestError> {
        Self::check(ticks)?;
        let count = (ticks.end() - ticks.start() + 1) as usize;
        Ok(Self { halves: [Half::new(*ticks.start(), count), Half::new(-*ticks.end(), count)] })
    }

    pub(crate) fn check(ticks: &RangeInclusive<i64>) -> Result<(), BacktestError> {
        let count = i128::from(*ticks.end()) - i128::from(*ticks.start()) + 1;
        match u64::try_from(count) {
            Ok(1..=Self::TICKS_MAX) => Ok(()),
            Ok(ticks) => Err(BacktestError::TooWide { ticks }),
            Err(_) => Err(BacktestError::TooWide { ticks: 0 }),
        }
    }

    /// The best tick of a side.
    #[inline]
    #[must_use]
    pub fn best(&self, side: Side) -> Option<i64> {
        let best = self.best_key(side);
        (best != NONE).then(|| tick(side, best))
    }

    /// The lots at a tick; 0 where there are none.
    #[inline]
    #[must_use]
    pub fn lots(&self, side: Side, tick: i64) -> i64 {
        self.half(side).get(key(side, tick))
    }

    /// A level now holds so many lots. False, and nothing happens, outside the range.
    pub fn set_level(&mut self, side: Side, tick: i64, lots: i64) -> bool {
        self.set(side, tick, lots).is_some()
    }

    #[inline]
    pub(crate) fn best_key(&self, side: Side) -> i64 {
        self.half(side).best
    }

    /// The key of the worst level that may be stored.
    pub(crate) fn worst_key(&self, side: Side) -> i64 {
        self.half(side).worst
    }

    #[inline]
    pub(crate) fn set(&mut self, side: Side, tick: i64, lots: i64) -> Option<Change> {
        let key = key(side, tick);
        let (half, other) = self.both(side);
        let level = half.at(key)?;
        let before = core::mem::replace(level, lots.max(0));
        let best_before = half.best;
        if lots > 0 {
            half.worst = half.worst.min(key);
            if key > best_before {
                half.best = key;
                if other.best != NONE && other.best >= -key {
                    other.best = other.next_below(-key);
                }
            }
        } else if key == best_before {
            half.look_below(key);
        }
        Some(Change { before, after: lots.max(0), best_before, best_after: half.best })
    }

    /// Changes what is stored at a level and leaves the best as it is.
    pub(crate) fn store(&mut self, side: Side, tick: i64, lots: i64) {
        if let Some(level) = self.both(side).0.at(key(side, tick)) {
            *level = lots;
        }
    }

    /// Deletes the levels of a side from the best to a tick. With `skips` the tick next to it is
    /// not looked at when the new best is sought.
    pub(crate) fn clear(&mut self, side: Side, tick: i64, skips: bool) {
        let key = key(side, tick);
        let (half, _) = self.both(side);
        let best = half.best;
        if best != NONE && best >= key {
            let from = usize::try_from(key.saturating_sub(half.first)).unwrap_or(0);
            let end = usize::try_from(best - half.first + 1).unwrap_or(0);
            if let Some(levels) = half.lots.get_mut(from..end) {
                levels.fill(0);
            }
        } else if !skips {
            return;
        }
        half.look_below(key.saturating_sub(i64::from(skips)));
    }

    /// Deletes all levels of a side.
    pub(crate) fn clear_all(&mut self, side: Side) {
        let (half, _) = self.both(side);
        half.lots.fill(0);
        (half.best, half.worst) = (NONE, i64::MAX);
    }

    #[inline]
    fn half(&self, side: Side) -> &Half {
        &self.halves[side.index()]
    }

    #[inline]
    fn both(&mut self, side: Side) -> (&mut Half, &mut Half) {
        let [bids, asks] = &mut self.halves;
        match side {
            Side::Buy => (bids, asks),
            Side::Sell => (asks, bids),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use taut_testkit::{Draw, for_each_seed};

    fn book() -> FlatBook {
        FlatBook::new(&(90..=110)).expect("a range")
    }

    #[test]
    fn the_next_best_is_found_when_the_best_goes() {
        let mut book = book();
        for (side, ticks) in [(Side::Buy, [98, 95, 99]), (Side::Sell, [104, 108, 103])] {
            for tick in ticks {
                assert!(book.set_level(side, tick, 3));
            }
        }
        assert_eq!((book.best(Side::Buy), book.best(Side::Sell)), (Some(99), Some(103)));
        for (tick, best) in [(99, Some(98)), (95, Some(98)), (98, None)] {
            book.set_level(Side::Buy, tick, 0);
            assert_eq!(book.best(Side::Buy), best, "{tick}");
        }
        assert!(!book.set_level(Side::Buy, 111, 1) && !book.set_level(Side::Sell, 89, 1));
        assert_eq!(book.lots(Side::Sell, 200), 0);
    }

    #[test]
    fn a_best_that_crosses_moves_the_other_and_leaves_its_levels() {
        let mut book = book();
        for (tick, lots) in [(100, 1), (101, 2), (103, 3)] {
            book.set_level(Side::Sell, tick, lots);
        }
        book.set_level(Side::Buy, 101, 5);
        assert_eq!((book.best(Side::Buy), book.best(Side::Sell)), (Some(101), Some(103)));
        assert_eq!((book.lots(Side::Sell, 100), book.lots(Side::Sell, 101)), (1, 2));
    }

    #[test]
    fn a_clear_finds_the_level_next_to_its_end_unless_it_skips_it() {
        for (skips, best) in [(false, Some(97)), (true, Some(96))] {
            let mut book = book();
            for tick in [96, 97, 98, 99] {
                book.set_level(Side::Buy, tick, 1);
                book.set_level(Side::Sell, 200 - tick, 1);
            }
            book.clear(Side::Buy, 98, skips);
            book.clear(Side::Sell, 102, skips);
            assert_eq!(book.best(Side::Buy), best);
            assert_eq!(book.best(Side::Sell), best.map(|tick| 200 - tick));
            assert_eq!((book.lots(Side::Buy, 98), book.lots(Side::Buy, 97)), (0, 1));
            book.clear_all(Side::Buy);
            assert_eq!((book.best(Side::Buy), book.lots(Side::Buy, 96)), (None, 0));
        }
    }

    #[test]
    fn a_range_is_not_empty_and_not_too_wide() {
        #[allow(clippy::reversed_empty_ranges)]
        for (range, ticks) in [(5..=4, 0), (0..=1 << 25, (1 << 25) + 1), (i64::MIN..=i64::MAX, 0)] {
            assert_eq!(FlatBook::new(&range).err(), Some(BacktestError::TooWide { ticks }));
        }
    }

    /// The naive twin, of one side that nothing crosses.
    #[test]
    fn the_best_is_the_greatest_level_of_a_map() {
        for_each_seed(0..50, |_, mut random| {
            let (mut book, mut map) = (book(), BTreeMap::new());
            for _ in 0..200 {
                let (tick, lots) = (90 + random.below(21) as i64, random.below(3) as i64);
                book.set_level(Side::Buy, tick, lots);
                match lots {
                    0 => map.remove(&tick),
                    lots => map.insert(tick, lots),
                };
                assert_eq!(book.best(Side::Buy), map.last_key_value().map(|(tick, _)| *tick));
                assert_eq!(book.lots(Side::Buy, tick), lots);
            }
        });
    }
}
