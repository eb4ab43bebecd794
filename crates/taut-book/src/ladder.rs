//! One side's price levels in order: the structure that both books search.
//!
//! A sorted array with the best level at the end. Activity clusters at the touch, so a search
//! walks from the best end before it bisects the rest, and an insertion moves only the levels that
//! are better than the new one. Prices enter as *ranks*, for which greater is better on both sides.

use alloc::{boxed::Box, vec};
use core::ops::Range;

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

/// Ranks with their values, worst first, in memory of fixed size.
#[derive(Clone, Debug)]
pub(crate) struct Ladder<V> {
    /// Apart from the values, so that a search reads eight levels in a cache line.
    ranks: Box<[i64]>,
    values: Box<[V]>,
    len: usize,
}

impl<V: Copy> Ladder<V> {
    /// A ladder with room for `capacity` levels; `blank` fills the unused places.
    pub(crate) fn with_capacity(capacity: usize, blank: V) -> Self {
        Self {
            ranks: vec![0; capacity].into_boxed_slice(),
            values: vec![blank; capacity].into_boxed_slice(),
            len: 0,
        }
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) const fn capacity(&self) -> usize {
        self.ranks.len()
    }

    pub(crate) const fn is_full(&self) -> bool {
        self.len == self.ranks.len()
    }

    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Where the rank stands, or else where it would have to be inserted.
    pub(crate) fn find(&self, rank: i64) -> Result<usize, usize> {
        let ranks = &self.ranks[..self.len];
        let near = self.len.saturating_sub(NEAR_LEVELS);
        for at in (near..self.len).rev() {
            if ranks[at] <= rank {
                return if ranks[at] == rank { Ok(at) } else { Err(at + 1) };
            }
        }
        ranks[..near].binary_search(&rank)
    }

    /// Inserts at the place that [`find`](Self::find) named. The ladder must not be full.
    pub(crate) fn insert(&mut self, at: usize, rank: i64, value: V) {
        self.ranks.copy_within(at..self.len, at + 1);
        self.values.copy_within(at..self.len, at + 1);
        self.ranks[at] = rank;
        self.values[at] = value;
        self.len += 1;
    }

    /// Removes the level at a place that [`find`](Self::find) found.
    pub(crate) fn remove(&mut self, at: usize) {
        self.ranks.copy_within(at + 1..self.len, at);
        self.values.copy_within(at + 1..self.len, at);
        self.len -= 1;
    }

    pub(crate) fn value(&self, at: usize) -> V {
        self.values[at]
    }

    pub(crate) fn set(&mut self, at: usize, value: V) {
        self.values[at] = value;
    }

    /// How many levels are better than the place `at` (which may be the place of an insertion).
    pub(crate) const fn depth(&self, at: usize) -> usize {
        self.len - 1 - at
    }

    /// The level that `depth` others are better than.
    pub(crate) fn at_depth(&self, depth: usize) -> Option<(i64, V)> {
        let at = self.len.checked_sub(depth)?.checked_sub(1)?;
        Some((self.ranks[at], self.values[at]))
    }

    /// The ranks, worst first.
    pub(crate) fn ranks(&self) -> &[i64] {
        &self.ranks[..self.len]
    }

    /// Inserts a run of levels at a place; they must belong there, and there must be room.
    pub(crate) fn insert_run(&mut self, at: usize, run: impl ExactSizeIterator<Item = (i64, V)>) {
        let end = at + run.len();
        self.ranks.copy_within(at..self.len, end);
        self.values.copy_within(at..self.len, end);
        self.len += run.len();
        for (place, (rank, value)) in (at..end).zip(run) {
            self.ranks[place] = rank;
            self.values[place] = value;
        }
    }

    /// Removes the levels at these places.
    pub(crate) fn remove_run(&mut self, run: Range<usize>) {
        self.ranks.copy_within(run.end..self.len, run.start);
        self.values.copy_within(run.end..self.len, run.start);
        self.len -= run.len();
    }

    pub(crate) fn best(&self) -> Option<(i64, V)> {
        self.at_depth(0)
    }

    /// Best first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (i64, V)> + ExactSizeIterator {
        let ranks = self.ranks[..self.len].iter().rev();
        ranks.zip(self.values[..self.len].iter().rev()).map(|(&rank, &value)| (rank, value))
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
        let mut ladder = Ladder::with_capacity(100, 0u32);
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
