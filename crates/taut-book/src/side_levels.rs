//! One side's levels for a book whose prices crowd around the touch.
//!
//! A window of consecutive prices lies around the best one: an array of handles and a bitmap of
//! those that are in use, so that a level is found, made and dropped in a few instructions however
//! many there are. The few prices outside the window stand in a sorted [`Ladder`]. When the touch
//! has left the window for so long that moving it pays, the window follows.

use alloc::{boxed::Box, vec};

use crate::bitmap::{BITS_MAX, Bitmap};
use crate::ladder::Ladder;
use crate::pool::NONE;

/// Work outside the window, in levels, that is borne before a small book's window moves.
const FAR_WORK_MIN: usize = 32;

/// Handles of levels by rank (greater is better), in memory of fixed size.
#[derive(Clone, Debug)]
pub(crate) struct SideLevels {
    best_rank: i64,
    /// The best level; `NONE` when there is none.
    best: u32,
    len: usize,
    /// The rank of the window's first place.
    base: i64,
    /// The window: handles, `NONE` where there is no level.
    window: Box<[u32]>,
    used: Bitmap,
    far: Ladder<u32>,
    /// How often a level came or went outside the window since it moved.
    far_work: usize,
}

impl SideLevels {
    /// Room for so many levels, and a window of about so many prices.
    pub(crate) fn new(capacity: usize, window: usize) -> Self {
        let places = window.clamp(256, BITS_MAX).next_power_of_two();
        Self {
            best_rank: 0,
            best: NONE,
            len: 0,
            base: 0,
            window: vec![NONE; places].into_boxed_slice(),
            used: Bitmap::new(places),
            far: Ladder::with_capacity(capacity),
            far_work: 0,
        }
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) const fn capacity(&self) -> usize {
        self.far.capacity()
    }

    pub(crate) const fn is_full(&self) -> bool {
        self.len == self.far.capacity()
    }

    /// The best rank and its level.
    #[inline(always)]
    pub(crate) const fn best(&self) -> Option<(i64, u32)> {
        if self.best == NONE { None } else { Some((self.best_rank, self.best)) }
    }

    /// The level at this rank.
    #[inline(always)]
    pub(crate) fn find(&self, rank: i64) -> Option<u32> {
        let offset = rank.wrapping_sub(self.base).cast_unsigned();
        match self.window.get(usize::try_from(offset).unwrap_or(usize::MAX)) {
            Some(&level) => Some(level).filter(|&level| level != NONE),
            None => self.find_far(rank),
        }
    }

    /// The best level that is worse than this rank.
    pub(crate) fn behind(&self, rank: i64) -> Option<u32> {
        // Places of the window that are worse: none of a rank below it, all of one above it.
        let worse = match self.place(rank) {
            Some(place) => place,
            None if rank < self.base => 0,
            None => self.window.len(),
        };
        let near = self.used.last_below(worse).map(|place| (self.rank_at(place), place));
        let at = self.far.ranks().partition_point(|&other| other < rank);
        let far = at.checked_sub(1).map(|at| (self.far.ranks()[at], at));
        match (near, far) {
            (Some((near, place)), far) if far.is_none_or(|(far, _)| near > far) => {
                Some(self.window[place])
            }
            (_, far) => far.map(|(_, at)| self.far.value(at)),
        }
    }

    #[inline(never)]
    fn find_far(&self, rank: i64) -> Option<u32> {
        self.far.find(rank).ok().map(|at| self.far.value(at))
    }

    /// Enters a level at a rank that has none; the side must not be full.
    pub(crate) fn insert(&mut self, rank: i64, level: u32) {
        if self.len == 0 {
            self.center(rank);
        }
        match self.place(rank) {
            Some(place) => {
                self.window[place] = level;
                self.used.insert(place);
            }
            None => self.insert_far(rank, level),
        }
        self.len += 1;
        if self.best == NONE || rank > self.best_rank {
            (self.best_rank, self.best) = (rank, level);
        }
        self.follow();
    }

    /// Drops the level at a rank that has one.
    pub(crate) fn remove(&mut self, rank: i64) {
        match self.place(rank) {
            Some(place) => {
                self.window[place] = NONE;
                self.used.remove(place);
            }
            None => self.remove_far(rank),
        }
        self.len -= 1;
        if rank == self.best_rank {
            self.find_best();
        }
        self.follow();
    }

    pub(crate) fn clear(&mut self) {
        self.window.fill(NONE);
        self.used.clear();
        self.far.clear();
        (self.len, self.best) = (0, NONE);
    }

    /// The handles, best first.
    pub(crate) fn iter(&self) -> Levels<'_> {
        let below = self.far_below();
        Levels {
            levels: self,
            left: self.len,
            above: (below, self.far.len()),
            window: (0, self.window.len()),
            below: (0, below),
        }
    }

    /// The window's place for this rank, if it has one.
    fn place(&self, rank: i64) -> Option<usize> {
        let offset = rank.wrapping_sub(self.base).cast_unsigned();
        (offset < self.window.len() as u64).then_some(offset as usize)
    }

    fn rank_at(&self, place: usize) -> i64 {
        self.base.wrapping_add_unsigned(place as u64)
    }

    /// How many levels are worse than the window.
    fn far_below(&self) -> usize {
        self.far.ranks().partition_point(|&rank| rank < self.base)
    }

    fn find_best(&mut self) {
        let near = self.used.last().map(|place| (self.rank_at(place), self.window[place]));
        let best = match (near, self.far.best()) {
            (Some(near), Some(far)) => Some(if near.0 > far.0 { near } else { far }),
            (near, far) => near.or(far),
        };
        (self.best_rank, self.best) = best.unwrap_or((0, NONE));
    }

    #[cold]
    fn insert_far(&mut self, rank: i64, level: u32) {
        if let Err(at) = self.far.find(rank) {
            self.far.insert(at, rank, level);
        }
        self.far_work += 1;
    }

    #[cold]
    fn remove_far(&mut self, rank: i64) {
        if let Ok(at) = self.far.find(rank) {
            self.far.remove(at);
        }
        self.far_work += 1;
    }

    /// Moves the window to the touch if that has left it and the work outside has paid for it.
    fn follow(&mut self) {
        if self.far_work > FAR_WORK_MIN && self.far_work > self.len {
            self.far_work = 0;
            if self.best != NONE && self.place(self.best_rank).is_none() {
                self.move_window();
            }
        }
    }

    /// Places the window so that the rank is in it, with a quarter of it above.
    fn center(&mut self, rank: i64) {
        let places = i64::try_from(self.window.len()).unwrap_or(0);
        self.base = rank.saturating_sub(places / 4 * 3).min(i64::MAX - places);
    }

    /// Cost: linear in the levels, not in the window.
    #[cold]
    fn move_window(&mut self) {
        let at = self.far_below();
        let Self { far, used, window, base, len, .. } = self;
        let mut next = 0;
        let near = (0..*len - far.len()).map(|_| {
            let place = used.first_from(next).unwrap_or_default();
            next = place + 1;
            used.remove(place);
            let level = core::mem::replace(&mut window[place], NONE);
            (base.wrapping_add_unsigned(place as u64), level)
        });
        far.insert_run(at, near);
        self.center(self.best_rank);
        let first = self.far_below();
        let mut end = first;
        while let Some(place) = self.far.ranks().get(end).and_then(|&rank| self.place(rank)) {
            self.window[place] = self.far.value(end);
            self.used.insert(place);
            end += 1;
        }
        self.far.remove_run(first..end);
    }
}

/// A side's levels, best first: those above the window, those in it, those below it.
#[derive(Clone, Debug)]
pub(crate) struct Levels<'a> {
    levels: &'a SideLevels,
    left: usize,
    /// Places in the far ladder that are still to come, from the end.
    above: (usize, usize),
    /// Places in the window that are still to come, from the end.
    window: (usize, usize),
    below: (usize, usize),
}

impl Iterator for Levels<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        self.left = self.left.checked_sub(1)?;
        if self.above.0 < self.above.1 {
            self.above.1 -= 1;
            return Some(self.levels.far.value(self.above.1));
        }
        let place = self.levels.used.last_below(self.window.1);
        if let Some(place) = place.filter(|&place| place >= self.window.0) {
            self.window.1 = place;
            return Some(self.levels.window[place]);
        }
        self.window.1 = self.window.0;
        self.below.1 -= 1;
        Some(self.levels.far.value(self.below.1))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl DoubleEndedIterator for Levels<'_> {
    fn next_back(&mut self) -> Option<u32> {
        self.left = self.left.checked_sub(1)?;
        if self.below.0 < self.below.1 {
            self.below.0 += 1;
            return Some(self.levels.far.value(self.below.0 - 1));
        }
        let place = self.levels.used.first_from(self.window.0);
        if let Some(place) = place.filter(|&place| place < self.window.1) {
            self.window.0 = place + 1;
            return Some(self.levels.window[place]);
        }
        self.window.0 = self.window.1;
        self.above.0 += 1;
        Some(self.levels.far.value(self.above.0 - 1))
    }
}

impl ExactSizeIterator for Levels<'_> {}

#[cfg(test)]
mod tests {
    use super::SideLevels;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::vec::Vec;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn behaves_like_a_sorted_map_wherever_the_touch_goes(
            steps in proptest::collection::vec((0i64..40, 0usize..9), 1..500),
            origins in proptest::collection::vec(any::<i64>(), 3),
        ) {
            let (mut levels, mut map) = (SideLevels::new(64, 256), BTreeMap::new());
            let origins = [&origins[..], &[0, 200, 300, i64::MAX - 39, i64::MIN]].concat();
            for (n, (offset, origin)) in (0u32..).zip(steps) {
                let rank = origins.get(origin).map_or(250, |o| *o).saturating_add(offset * 7);
                if map.remove(&rank).is_some() {
                    levels.remove(rank);
                } else if !levels.is_full() {
                    levels.insert(rank, n);
                    map.insert(rank, n);
                }
                prop_assert_eq!(levels.best(), map.last_key_value().map(|(r, l)| (*r, *l)));
                prop_assert_eq!(levels.find(rank), map.get(&rank).copied());
            }
            for rank in map.keys().flat_map(|&rank| [rank.saturating_sub(1), rank]) {
                let behind = map.range(..rank).next_back().map(|(_, level)| *level);
                prop_assert_eq!(levels.behind(rank), behind);
            }
            let best = map.range(..i64::MAX).next_back().map(|(_, level)| *level);
            prop_assert_eq!(levels.behind(i64::MAX), best);
            let sorted: Vec<u32> = map.values().rev().copied().collect();
            prop_assert_eq!(levels.len(), sorted.len());
            prop_assert_eq!(levels.iter().collect::<Vec<_>>(), sorted.clone());
            let mut both = levels.iter();
            let mut met = Vec::new();
            while let Some(level) = both.next() {
                met.push(level);
                met.extend(both.next_back());
            }
            met.sort_unstable();
            prop_assert_eq!(met, { let mut all = sorted; all.sort_unstable(); all });
            prop_assert!(map.iter().all(|(rank, level)| levels.find(*rank) == Some(*level)));
        }
    }

    #[test]
    fn the_window_follows_a_touch_that_has_left_it() {
        let mut levels = SideLevels::new(64, 256);
        levels.insert(0, 0);
        levels.insert(1_000_000, 1);
        for n in 0..40 {
            levels.insert(1_000_001 + n % 2, 2);
            levels.remove(1_000_001 + n % 2);
        }
        assert!(levels.place(1_000_000).is_some() && levels.place(0).is_none());
        assert_eq!((levels.far.len(), levels.best()), (1, Some((1_000_000, 1))));
    }
}
