//! From an order's id to its place in the pool.

use alloc::{boxed::Box, vec};

use crate::pool::NONE;

/// An open-addressed hash table with linear probing, at most half full and never resized.
///
/// An entry is eight bytes: the handle and 32 bits of the id's hash. The id itself stands in the
/// order, which the caller is about to touch anyway; `is` looks there, and only when the 32 bits
/// agree. Ids hash by the golden ratio in blocks of 64 that stay together, so consecutive ids lie
/// in consecutive memory and dense ones never collide; any other `u64` is as welcome. It does not
/// defend against ids that are chosen to collide.
///
/// Entries stand in the order of their homes (Robin Hood hashing), so a search ends at the first
/// that is nearer to its home than the sought one would be, and a removal moves back only those
/// behind it that are not at home: probes stay short for ever, without tombstones.
#[derive(Clone, Debug)]
pub(crate) struct IdIndex {
    entries: Box<[Entry]>,
    shift: u32,
}

/// A place is free when it holds no handle.
#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: u32,
    handle: u32,
}

const FREE: Entry = Entry { hash: 0, handle: NONE };
const GOLDEN_RATIO: u64 = 0x9E37_79B9_7F4A_7C15;
/// Ids whose place is neighbouring, as a power of two: eight cache lines of entries, which the
/// processor fetches ahead.
const BLOCK_BITS: u32 = 6;
const BLOCK_MASK: u32 = (1 << BLOCK_BITS) - 1;

/// Where an absent id belongs; valid until the index changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vacancy {
    at: usize,
    hash: u32,
}

impl IdIndex {
    /// An index for up to `capacity` ids, 2^30 at most.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        let places = (capacity.clamp(32, 1 << 30) * 2).next_power_of_two();
        Self {
            entries: vec![FREE; places].into_boxed_slice(),
            shift: u32::BITS - places.trailing_zeros(),
        }
    }

    /// The handle stored with this id.
    pub(crate) fn get(&self, id: u64, is: impl Fn(u32) -> bool) -> Option<u32> {
        self.probe(id, is).ok().map(|at| self.entries[at].handle)
    }

    /// The place for an id, unless it is present.
    pub(crate) fn vacancy(&self, id: u64, is: impl Fn(u32) -> bool) -> Option<Vacancy> {
        self.probe(id, is).err()
    }

    /// Stores a handle at the place that [`vacancy`](Self::vacancy) found; what stands there and
    /// behind moves on by one.
    #[inline]
    pub(crate) fn fill(&mut self, vacancy: Vacancy, handle: u32) {
        let mask = self.mask();
        let mut carried = Entry { hash: vacancy.hash, handle };
        let mut at = vacancy.at & mask;
        while carried.handle != NONE {
            core::mem::swap(&mut self.entries[at], &mut carried);
            at = (at + 1) & mask;
        }
    }

    /// Forgets the id and tells the handle that was stored with it.
    #[inline]
    pub(crate) fn remove(&mut self, id: u64, is: impl Fn(u32) -> bool) -> Option<u32> {
        let mut hole = self.probe(id, is).ok()?;
        let handle = self.entries[hole].handle;
        let mut next = (hole + 1) & self.mask();
        while self.entries[next].handle != NONE && self.distance_at(next) > 0 {
            self.entries[hole] = self.entries[next];
            (hole, next) = (next, (next + 1) & self.mask());
        }
        self.entries[hole] = FREE;
        Some(handle)
    }

    /// Forgets all ids.
    pub(crate) fn clear(&mut self) {
        self.entries.fill(FREE);
    }

    const fn mask(&self) -> usize {
        self.entries.len() - 1
    }

    /// The hash of the block in the high bits, the place within it in the low ones.
    const fn hash(id: u64) -> u32 {
        let block = (id >> BLOCK_BITS).wrapping_mul(GOLDEN_RATIO) >> u32::BITS;
        (block as u32 & !BLOCK_MASK) | (id as u32 & BLOCK_MASK)
    }

    const fn home(&self, hash: u32) -> usize {
        ((hash >> self.shift) & !BLOCK_MASK | hash & BLOCK_MASK) as usize
    }

    /// How far the entry at this place is from its home.
    #[inline]
    fn distance_at(&self, at: usize) -> usize {
        at.wrapping_sub(self.home(self.entries[at].hash)) & self.mask()
    }

    /// The place of this id, or the place where it belongs.
    #[inline(always)]
    fn probe(&self, id: u64, is: impl Fn(u32) -> bool) -> Result<usize, Vacancy> {
        let (mask, hash) = (self.mask(), Self::hash(id));
        let mut at = self.home(hash) & mask;
        let mut distance = 0;
        loop {
            let entry = self.entries[at];
            if entry.hash == hash && entry.handle != NONE && is(entry.handle) {
                return Ok(at);
            }
            if entry.handle == NONE || self.distance_at(at) < distance {
                return Err(Vacancy { at, hash });
            }
            at = (at + 1) & mask;
            distance += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;
    use std::vec::Vec;

    #[test]
    fn removal_leaves_no_tombstones() {
        let mut index = IdIndex::with_capacity(8);
        for id in 0..10_000u64 {
            let vacancy = index.vacancy(id, |_| true).expect("absent");
            index.fill(vacancy, 1);
            assert_eq!(index.remove(id, |_| true), Some(1));
        }
        assert!(index.entries.iter().all(|entry| entry.handle == NONE));
    }

    #[test]
    fn consecutive_ids_are_neighbours_and_dense_ids_do_not_collide() {
        let index = IdIndex::with_capacity(1 << 16);
        let home = |id| index.home(IdIndex::hash(id));
        assert!((0..64).all(|id| home(640 + id) == home(640) + usize::try_from(id).unwrap()));
        let mut homes: Vec<usize> = (1_000_000..1_060_000).map(home).collect();
        homes.sort_unstable();
        homes.dedup();
        assert!(homes.len() > 59_000, "{} places for 60,000 ids", homes.len());
    }

    proptest! {
        #[test]
        fn behaves_like_a_map_of_eight_colliding_ids(
            steps in proptest::collection::vec((0usize..12, any::<bool>()), 1..200)
        ) {
            // Twelve ids in 64 places, all at home in the last two: long probes that wrap.
            // Their handles are their numbers, so that equal hashes can be told apart.
            let mut index = IdIndex::with_capacity(8);
            let candidates = (0u64..).filter(|&id| index.home(IdIndex::hash(id)) >= 62).take(12);
            let ids: Vec<u64> = candidates.collect();
            let mut map = HashMap::new();
            for (which, add) in steps {
                let (id, handle) = (ids[which], u32::try_from(which).unwrap());
                let is = |other| other == handle;
                if add && map.len() < 8 && !map.contains_key(&id) {
                    let vacancy = index.vacancy(id, is).expect("absent");
                    index.fill(vacancy, handle);
                    map.insert(id, handle);
                } else if !add {
                    prop_assert_eq!(index.remove(id, is), map.remove(&id));
                }
                for (n, id) in (0u32..).zip(&ids) {
                    prop_assert_eq!(index.get(*id, |other| other == n), map.get(id).copied());
                }
            }
        }
    }
}
