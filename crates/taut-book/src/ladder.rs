//! One side's price levels in order: the structure that both books search.
//!
//! A sorted array with the best level at the end. Activity clusters at the touch, so a search
//! walks from the best end before it bisects the rest, and an insertion moves only the levels that
//! are better than the new one. Prices enter as *ranks*, for which greater is better on both sides.

use alloc::vec::Vec;
use core::ops::Range;

use taut_simd::prefetch_read;
use taut_types::Side;

/// How many levels a search compares one by one before it bisects.
const NEAR_LEVELS: usize = 8;

/// A price as a number that is greater the better the price is for its side, and back again: the
/// bitwise complement reverses the order of all `i64` without overflow and is its own inverse.
pub(crate) const fn rank(side: Side, price: i64) -> i64 {
    match side {
        Side::Buy => price,
        Side::Sell => !price,
    }
}

/// Ranks with their values, worst first, in memory that is reserved at once and touched as the
/// ladder grows: what was never used costs addresses and no memory.
#[derive(Debug)]
pub(crate) struct Ladder<V> {
    /// Apart from the values, so that a search reads eight levels in a cache line.
    ranks: Vec<i64>,
    values: Vec<V>,
    capacity: usize,
}

impl<V: Copy> Ladder<V> {
    /// A ladder with room for `capacity` levels.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self { ranks: Vec::with_capacity(capacity), values: Vec::with_capacity(capacity), capacity }
    }

    pub(crate) const fn len(&self) -> usize {
        self.ranks.len()
    }

    pub(crate) const fn capacity(&self) -> usize {
        self.capacity
    }

    pub(crate) const fn is_full(&self) -> bool {
        self.ranks.len() >= self.capacity
    }

    pub(crate) fn clear(&mut self) {
        self.ranks.clear();
        self.values.clear();
    }

    /// Where the rank stands, or else where it would have to be inserted.
    pub(crate) fn find(&self, rank: i64) -> Result<usize, usize> {
        let ranks = self.ranks.as_slice();
        let near = ranks.len().saturating_sub(NEAR_LEVELS);
        for at in (near..ranks.len()).rev() {
            if ranks[at] <= rank {
                return if ranks[at] == rank { Ok(at) } else { Err(at + 1) };
            }
        }
        ranks[..near].binary_search(&rank)
    }

    /// Inserts at the place that [`find`](Self::find) named. The ladder must not be full.
    pub(crate) fn insert(&mut self, at: usize, rank: i64, value: V) {
        self.ranks.insert(at, rank);
        self.values.insert(at, value);
    }

    /// Removes the level at a place that [`find`](Self::find) found.
    pub(crate) fn remove(&mut self, at: usize) {
        self.ranks.remove(at);
        self.values.remove(at);
    }

    pub(crate) fn value(&self, at: usize) -> V {
        self.values[at]
    }

    pub(crate) fn set(&mut self, at: usize, value: V) {
        self.values[at] = value;
    }

    /// How many levels are better than the place `at` (which may be the place of an insertion).
    pub(crate) const fn depth(&self, at: usize) -> usize {
        self.ranks.len() - 1 - at
    }

    /// The level that `depth` others are better than.
    pub(crate) fn at_depth(&self, depth: usize) -> Option<(i64, V)> {
        let at = self.ranks.len().checked_sub(depth)?.checked_sub(1)?;
        Some((self.ranks[at], self.values[at]))
    }

    /// Asks for the lines that a search begins with.
    #[inline]
    pub(crate) fn prefetch_best(&self) {
        if let (Some(rank), Some(value)) = (self.ranks.last(), self.values.last()) {
            prefetch_read(rank);
            prefetch_read(value);
        }
    }

    /// The ranks, worst first.
    pub(crate) fn ranks(&self) -> &[i64] {
        &self.ranks
    }

    /// Inserts a run of levels at a place; they must belong there, and there must be room.
    pub(crate) fn insert_run(&mut self, at: usize, run: impl ExactSizeIterator<Item = (i64, V)>) {
        let count = run.len();
        for (rank, value) in run {
            self.ranks.push(rank);
            self.values.push(value);
        }
        self.ranks[at..].rotate_right(count);
        self.values[at..].rotate_right(count);
    }

    /// Removes the levels at these places.
    pub(crate) fn remove_run(&mut self, run: Range<usize>) {
        self.ranks.drain(run.clone());
        self.values.drain(run);
    }

    pub(crate) fn best(&self) -> Option<(i64, V)> {
        self.at_depth(0)
    }

    /// Best first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (i64, V)> + ExactSizeIterator {
        let values = self.values.iter().rev();
        self.ranks.iter().rev().zip(values).map(|(&rank, &value)| (rank, value))
    }
}

/// With the same room: a vector's own copy has none to spare.
impl<V: Copy> Clone for Ladder<V> {
    fn clone(&self) -> Self {
        let mut copy = Self::with_capacity(self.capacity);
        copy.ranks.extend_from_slice(&self.ranks);
        copy.values.extend_from_slice(&self.values);
        copy
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn ranks_reverse_for_offers_over_the_whole_range() {
        for side in Side::BOTH {
            for price in [i64::MIN, -1, 0, 1, i64::MAX] {
                assert_eq!(rank(side, rank(side, price)), price);
            }
        }
        assert!(rank(Side::Sell, i64::MIN) > rank(Side::Sell, i64::MAX));
        assert!(rank(Side::Sell, 1) > rank(Side::Sell, 2));
    }

    #[test]
    fn finds_near_and_far_levels_and_the_places_between_them() {
        let mut ladder = Ladder::<u32>::with_capacity(100);
        for n in [50i64, 10, 90, 30, 70] {
            let at = ladder.find(n).expect_err("not there yet");
            ladder.insert(at, n, 0);
        }
        for n in (0..100i64).filter(|n| n % 10 == 0 && !matches!(n, 10 | 30 | 50 | 70 | 90)) {
            let at = ladder.find(n).expect_err("not there yet");
            ladder.insert(at, n, 0);
        }
        for n in (0..100i64).filter(|n| n % 10 != 0) {
            let at = ladder.find(n).expect_err("not there yet");
            assert_eq!(at, usize::try_from(n).expect("positive") / 10 + 1, "between two tens");
        }
        let ranks: Vec<i64> = ladder.iter().map(|(rank, _)| rank).collect();
        assert_eq!(ranks, (0..10).rev().map(|n| n * 10).collect::<Vec<_>>());
        for n in 0..10i64 {
            let at = ladder.find(n * 10).expect("present");
            assert_eq!(ladder.depth(at), 9 - usize::try_from(n).expect("positive"));
        }
    }
}
