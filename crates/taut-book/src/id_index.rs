//! From an order's id to its place in the pool.

use alloc::{boxed::Box, vec};

use crate::pool::NONE;

/// An open-addressed hash table with linear probing, at most half full and never resized.
///
/// A removal moves the entries behind it back towards their home, so that probes stay short for
/// ever: there are no tombstones. Ids hash by the golden ratio, which spreads dense ids perfectly
/// and strided ids well; it does not defend against ids that are chosen to collide.
#[derive(Clone, Debug)]
pub(crate) struct IdIndex {
    entries: Box<[Entry]>,
    shift: u32,
}

/// Four to a cache line. A place is free when it holds no handle: every id is a valid one.
#[derive(Clone, Copy, Debug)]
struct Entry {
    id: u64,
    handle: u32,
}

const FREE: Entry = Entry { id: 0, handle: NONE };
const GOLDEN_RATIO: u64 = 0x9E37_79B9_7F4A_7C15;

impl IdIndex {
    /// An index for up to `capacity` ids.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        let places = capacity.max(1).saturating_mul(2).next_power_of_two();
        Self {
            entries: vec![FREE; places].into_boxed_slice(),
            shift: u64::BITS - places.trailing_zeros(),
        }
    }

    /// The handle stored with this id.
    pub(crate) fn get(&self, id: u64) -> Option<u32> {
        let entry = self.entries[self.probe(id)];
        (entry.handle != NONE).then_some(entry.handle)
    }

    /// Stores a handle. The id must be absent and the index below its capacity.
    pub(crate) fn insert(&mut self, id: u64, handle: u32) {
        let at = self.probe(id);
        debug_assert!(self.entries[at].handle == NONE, "the id is present");
        self.entries[at] = Entry { id, handle };
    }

    /// Forgets the id.
    pub(crate) fn remove(&mut self, id: u64) -> Option<u32> {
        let mut hole = self.probe(id);
        let handle = self.entries[hole].handle;
        if handle == NONE {
            return None;
        }
        let mask = self.mask();
        let mut at = (hole + 1) & mask;
        while self.entries[at].handle != NONE {
            // An entry may fill the hole if the hole is not before its home on the way round.
            let from_home = at.wrapping_sub(self.home(self.entries[at].id)) & mask;
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

    const fn home(&self, id: u64) -> usize {
        (id.wrapping_mul(GOLDEN_RATIO) >> self.shift) as usize
    }

    /// The place of this id, or the free place where its probing ends.
    fn probe(&self, id: u64) -> usize {
        let mask = self.mask();
        let mut at = self.home(id) & mask;
        while self.entries[at].handle != NONE && self.entries[at].id != id {
            at = (at + 1) & mask;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    #[test]
    fn removal_leaves_no_tombstones() {
        let mut index = IdIndex::with_capacity(8);
        for id in 0..10_000u64 {
            index.insert(id, 1);
            assert_eq!(index.remove(id), Some(1));
        }
        assert!(index.entries.iter().all(|entry| entry.handle == NONE));
    }

    proptest! {
        #[test]
        fn behaves_like_a_map_of_eight_colliding_ids(
            steps in proptest::collection::vec((0u64..12, any::<bool>()), 1..200)
        ) {
            // Twelve ids in sixteen places, all at home in the last two: long probes that wrap.
            let mut index = IdIndex::with_capacity(8);
            let candidates = (0u64..).filter(|&id| index.home(id) >= 14).take(12);
            let ids: std::vec::Vec<u64> = candidates.collect();
            let mut map = HashMap::new();
            for (n, (which, add)) in (0u32..).zip(steps) {
                let id = ids[usize::try_from(which).unwrap()];
                if add && map.len() < 8 && !map.contains_key(&id) {
                    index.insert(id, n);
                    map.insert(id, n);
                } else if !add {
                    prop_assert_eq!(index.remove(id), map.remove(&id));
                }
                for id in &ids {
                    prop_assert_eq!(index.get(*id), map.get(id).copied());
                }
            }
        }
    }
}
