//! Where in a table something stands, by a number that is mixed from its name.

use alloc::boxed::Box;

const EMPTY: u32 = u32::MAX;

/// Open addressing with linear probing at half load; what is removed lets the ones behind it move
/// up, so that nothing is ever rebuilt. The names themselves stay with the caller.
#[derive(Clone, Debug)]
pub struct HashIndex {
    /// Places in the caller's table.
    places: Box<[u32]>,
    shift: u32,
}

impl HashIndex {
    /// Room for so many.
    pub fn with_capacity(capacity: usize) -> Self {
        let len = (capacity.max(4) * 2).next_power_of_two();
        let places = core::iter::repeat_n(EMPTY, len).collect();
        Self { places, shift: 64 - len.trailing_zeros() }
    }

    /// The place of the one with this mixed number for which `is_it` holds.
    #[inline]
    pub fn find(&self, mixed: u64, is_it: impl Fn(usize) -> bool) -> Option<usize> {
        let mut at = self.start(mixed);
        loop {
            match self.places[at] {
                EMPTY => return None,
                place if is_it(place as usize) => return Some(place as usize),
                _ => at = self.next(at),
            }
        }
    }

    /// Notes a place. The caller never notes more than the capacity.
    pub fn insert(&mut self, mixed: u64, place: usize) {
        let mut at = self.start(mixed);
        while self.places[at] != EMPTY {
            at = self.next(at);
        }
        self.places[at] = place as u32;
    }

    /// Forgets a place; `mixed_of` gives the mixed number of any place that is noted.
    pub fn remove(&mut self, mixed: u64, place: usize, mixed_of: impl Fn(usize) -> u64) {
        let mut hole = self.start(mixed);
        while self.places[hole] != place as u32 {
            if self.places[hole] == EMPTY {
                return;
            }
            hole = self.next(hole);
        }
        // Whoever was pushed past the hole moves into it.
        let mut at = self.next(hole);
        while self.places[at] != EMPTY {
            let home = self.start(mixed_of(self.places[at] as usize));
            let mask = self.places.len() - 1;
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.places[hole] = self.places[at];
                hole = at;
            }
            at = self.next(at);
        }
        self.places[hole] = EMPTY;
    }

    #[inline]
    const fn start(&self, mixed: u64) -> usize {
        (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    #[inline]
    const fn next(&self, at: usize) -> usize {
        (at + 1) & (self.places.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::HashIndex;
    use std::vec::Vec;

    #[test]
    fn finds_what_is_noted_and_nothing_else_while_others_come_and_go() {
        let mut index = HashIndex::with_capacity(64);
        let mut noted: Vec<Option<u64>> = std::vec![None; 64];
        let mut random = 1_u64;
        for turn in 0..20_000_u64 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(turn);
            let (place, name) = ((random >> 40) as usize % 64, (random >> 50) % 97);
            let taken = noted.contains(&Some(name));
            match noted[place] {
                Some(old) => {
                    index.remove(old, place, |at| noted[at].unwrap());
                    noted[place] = None;
                }
                None if !taken => {
                    index.insert(name, place);
                    noted[place] = Some(name);
                }
                None => {}
            }
            for name in 0..97 {
                let expected = noted.iter().position(|it| *it == Some(name));
                assert_eq!(index.find(name, |at| noted[at] == Some(name)), expected);
            }
        }
    }
}
