//! From an order's id to its place in the pool.

use alloc::{boxed::Box, vec};

use crate::pool::NONE;

/// An open-addressed hash table with linear probing, at most half full and never resized.
///
/// An entry is eight bytes: the handle and 32 bits of the id's hash. The id itself stands in the
/// order, which the caller is about to touch anyway; `is` looks there, and only when the 32 bits
/// agree. Ids hash by the golden ratio in blocks of eight that stay together, so consecutive ids
/// share a cache line and dense ones never collide; any other `u64` is as welcome. It does not
/// defend against ids that are chosen to collide.
///
/// A removal moves the entries behind it back towards their home, so that probes stay short for
/// ever: there are no tombstones.
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
/// Ids whose place is neighbouring, as a power of two: a cache line of entries.
const BLOCK_BITS: u32 = 3;
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
        let places = (capacity.clamp(8, 1 << 30) * 2).next_power_of_two();
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

    /// Stores a handle at the place that [`vacancy`](Self::vacancy) found.
    pub(crate) fn fill(&mut self, vacancy: Vacancy, handle: u32) {
        self.entries[vacancy.at] = Entry { hash: vacancy.hash, handle };
    }

    /// Forgets the id and tells the handle that was stored with it.
    pub(crate) fn remove(&mut self, id: u64, is: impl Fn(u32) -> bool) -> Option<u32> {
        let mut hole = self.probe(id, is).ok()?;
        let handle = self.entries[hole].handle;
        let mask = self.mask();
        let mut at = (hole + 1) & mask;
        while self.entries[at].handle != NONE {
            // An entry may fill the hole if the hole is not before its home on the way round.
            let from_home = at.wrapping_sub(self.home(self.entries[at].hash)) & mask;
            if from_home >= at.wrapping_sub(hole) & mask {
                self.entries[hole] = self.entries[at];
                hole = at;
            }
            at = (at + 1) & mask;
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

    /// The place of this id, or the free place where its probing ends.
    fn probe(&self, id: u64, is: impl Fn(u32) -> bool) -> Result<usize, Vacancy> {
        let (mask, hash) = (self.mask(), Self::hash(id));
        let mut at = self.home(hash);
        loop {
            let entry = self.entries[at & mask];
            if entry.handle == NONE {
                return Err(Vacancy { at, hash });
            }
            if entry.hash == hash && is(entry.handle) {
                return Ok(at);
            }
            at = (at + 1) & mask;
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
    fn consecutive_ids_share_a_line_and_dense_ids_do_not_collide() {
        let index = IdIndex::with_capacity(1 << 16);
        let home = |id| index.home(IdIndex::hash(id));
        assert!((0..8).all(|id| home(80 + id) == home(80) + usize::try_from(id).unwrap()));
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
            // Twelve ids in sixteen places, all at home in the last two: long probes that wrap.
            // Their handles are their numbers, so that equal hashes can be told apart.
            let mut index = IdIndex::with_capacity(8);
            let candidates = (0u64..).filter(|&id| index.home(IdIndex::hash(id)) >= 14).take(12);
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
