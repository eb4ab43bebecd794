//! From an order's id to its place in the pool.

use alloc::{boxed::Box, vec};

use crate::pool::NONE;

/// An open-addressed hash table with linear probing, at most a quarter full and never resized.
///
/// An entry is eight bytes: the handle and the entry's home, the place that its id hashes to. The
/// id itself stands in the order, which the caller is about to touch anyway; `is` looks there, and
/// only when the homes agree. Ids hash by the golden ratio in blocks of 64 that stay together, so
/// consecutive ids lie in consecutive memory and dense ones never collide; any other `u64` is as
/// welcome. It does not defend against ids that are chosen to collide.
///
/// Entries stand in the order of their homes (Robin Hood hashing), so a search ends at the first
/// that is nearer to its home than the sought one would be, and a removal moves back only those
/// behind it that are not at home: probes stay short for ever, without tombstones. Nearly all
/// entries are at home; what the others need is out of line.
#[derive(Clone, Debug)]
pub(crate) struct IdIndex {
    entries: Box<[Entry]>,
    shift: u32,
}

/// A place is free when it holds no handle.
#[derive(Clone, Copy, Debug)]
struct Entry {
    home: u32,
    handle: u32,
}

const FREE: Entry = Entry { home: NONE, handle: NONE };
const GOLDEN_RATIO: u64 = 0x9E37_79B9_7F4A_7C15;
/// Ids whose place is neighbouring, as a power of two: eight cache lines of entries, which the
/// processor fetches ahead.
const BLOCK_BITS: u32 = 6;
const BLOCK_MASK: u32 = (1 << BLOCK_BITS) - 1;

/// Where an absent id belongs; valid until the index changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vacancy {
    at: usize,
    home: u32,
}

/// Where a present id stands.
#[derive(Clone, Copy, Debug)]
struct Found {
    at: usize,
    handle: u32,
}

impl IdIndex {
    /// An index for up to `capacity` ids, 2^30 at most.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        // Two blocks at least: a shift by all 64 bits would be none.
        let places = (capacity.clamp(32, 1 << 30) * 4).next_power_of_two();
        Self {
            entries: vec![FREE; places].into_boxed_slice(),
            shift: u64::BITS + BLOCK_BITS - places.trailing_zeros(),
        }
    }

    /// The handle stored with this id.
    #[inline]
    pub(crate) fn get(&self, id: u64, is: impl Fn(u32) -> bool) -> Option<u32> {
        self.probe(id, is).ok().map(|found| found.handle)
    }

    /// The place for an id, unless it is present.
    #[inline(always)]
    pub(crate) fn vacancy(&self, id: u64, is: impl Fn(u32) -> bool) -> Option<Vacancy> {
        self.probe(id, is).err()
    }

    /// Stores a handle at the place that [`vacancy`](Self::vacancy) found; what stands there and
    /// behind moves on by one.
    #[inline(always)]
    pub(crate) fn fill(&mut self, vacancy: Vacancy, handle: u32) {
        let at = vacancy.at & self.mask();
        let entry = Entry { home: vacancy.home, handle };
        let displaced = core::mem::replace(&mut self.entries[at], entry);
        if displaced.handle != NONE {
            self.move_on(at, displaced);
        }
    }

    /// Forgets the id and tells the handle that was stored with it.
    #[inline(always)]
    pub(crate) fn remove(&mut self, id: u64, is: impl Fn(u32) -> bool) -> Option<u32> {
        let Found { at, handle } = self.probe(id, is).ok()?;
        let next = (at + 1) & self.mask();
        if self.may_stay(next) {
            self.entries[at] = FREE;
        } else {
            self.move_back(at);
        }
        Some(handle)
    }

    /// Forgets all ids.
    pub(crate) fn clear(&mut self) {
        self.entries.fill(FREE);
    }

    #[inline(always)]
    const fn mask(&self) -> usize {
        self.entries.len() - 1
    }

    /// Blocks go where their number's hash says, ids within them to their own place.
    #[inline(always)]
    const fn home(&self, id: u64) -> u32 {
        let block = (id >> BLOCK_BITS).wrapping_mul(GOLDEN_RATIO) >> self.shift;
        (block as u32) << BLOCK_BITS | id as u32 & BLOCK_MASK
    }

    /// Whether a hole in front of this place may stay: it is free, or its entry is at home.
    #[inline(always)]
    fn may_stay(&self, at: usize) -> bool {
        let entry = self.entries[at];
        entry.handle == NONE || entry.home as usize == at
    }

    /// The place of this id, or the place where it belongs.
    #[inline(always)]
    fn probe(&self, id: u64, is: impl Fn(u32) -> bool) -> Result<Found, Vacancy> {
        let home = self.home(id);
        let at = home as usize & self.mask();
        let entry = self.entries[at];
        if entry.handle == NONE {
            return Err(Vacancy { at, home });
        }
        if entry.home == home && is(entry.handle) {
            return Ok(Found { at, handle: entry.handle });
        }
        self.probe_on(home, is)
    }

    /// As [`probe`](Self::probe), behind the home.
    #[inline(never)]
    fn probe_on(&self, home: u32, is: impl Fn(u32) -> bool) -> Result<Found, Vacancy> {
        let mask = self.mask();
        let (mut at, mut distance) = (home as usize & mask, 0);
        loop {
            (at, distance) = ((at + 1) & mask, distance + 1);
            let entry = self.entries[at];
            if entry.home == home && entry.handle != NONE && is(entry.handle) {
                return Ok(Found { at, handle: entry.handle });
            }
            let its_distance = at.wrapping_sub(entry.home as usize) & mask;
            if entry.handle == NONE || its_distance < distance {
                return Err(Vacancy { at, home });
            }
        }
    }

    /// Puts an entry behind this place, and what stands there behind that.
    #[inline(never)]
    fn move_on(&mut self, mut at: usize, mut carried: Entry) {
        while carried.handle != NONE {
            at = (at + 1) & self.mask();
            core::mem::swap(&mut self.entries[at], &mut carried);
        }
    }

    /// Moves the entries behind this place into it, as far as they are not at home.
    #[inline(never)]
    fn move_back(&mut self, mut hole: usize) {
        let mask = self.mask();
        loop {
            let next = (hole + 1) & mask;
            if self.may_stay(next) {
                break;
            }
            self.entries[hole] = self.entries[next];
            hole = next;
        }
        self.entries[hole] = FREE;
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
        let home = |id| index.home(id) as usize;
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
            // Twelve ids in 128 places, all at home in the last two: long probes that wrap.
            // Their handles are their numbers, so that equal hashes can be told apart.
            let mut index = IdIndex::with_capacity(8);
            let candidates = (0u64..).filter(|&id| index.home(id) >= 126).take(12);
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
