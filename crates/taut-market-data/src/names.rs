//! The places of instruments that a venue names by texts of any length.

use alloc::boxed::Box;
use alloc::vec::Vec;

/// A table from a name to its place among the names. Names are told apart byte by byte: case
/// matters. It allocates when it is built and when a name is added.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// All names, one behind the other.
    bytes: Vec<u8>,
    /// Where each of them stands there.
    spans: Vec<(u32, u32)>,
    /// Places by their names' hashes; the length is a power of two, and half of it at the least
    /// is [`VACANT`].
    slots: Box<[u32]>,
}

const VACANT: u32 = u32::MAX;

impl Names {
    /// A table of these; of a name that comes twice the first place counts.
    pub(crate) fn new<'n>(names: impl Iterator<Item = &'n [u8]>) -> Self {
        let mut table = Self::default();
        names.for_each(|name| table.push(name));
        table.enter_all();
        table
    }

    /// Takes a name behind the others, unless it has a place; whether it was taken.
    pub(crate) fn add(&mut self, name: &[u8]) -> bool {
        if self.place(name).is_some() {
            return false;
        }
        self.push(name);
        if 2 * self.spans.len() > self.slots.len() {
            self.enter_all();
        } else {
            self.enter(self.spans.len() - 1);
        }
        true
    }

    fn push(&mut self, name: &[u8]) {
        let from = self.bytes.len() as u32;
        self.bytes.extend_from_slice(name);
        self.spans.push((from, self.bytes.len() as u32));
    }

    /// Has every name found by its hash.
    fn enter_all(&mut self) {
        let slot_count = (2 * self.spans.len()).next_power_of_two().max(2);
        self.slots = alloc::vec![VACANT; slot_count].into_boxed_slice();
        (0..self.spans.len()).for_each(|place| self.enter(place));
    }

    fn enter(&mut self, place: usize) {
        let slot = self.slot(self.name(place));
        if let Some(slot) = self.slots.get_mut(slot).filter(|slot| **slot == VACANT) {
            *slot = place as u32;
        }
    }

    /// The place of a name. Cost: a hash, eight bytes at a time, and mostly one comparison.
    #[inline]
    pub(crate) fn place(&self, name: &[u8]) -> Option<usize> {
        let place = *self.slots.get(self.slot(name))?;
        (place != VACANT).then_some(place as usize)
    }

    /// The name at a place; empty where there is none.
    #[inline]
    pub(crate) fn name(&self, place: usize) -> &[u8] {
        let &(from, to) = self.spans.get(place).unwrap_or(&(0, 0));
        self.bytes.get(from as usize..to as usize).unwrap_or_default()
    }

    /// Where a name stands among the slots, or would.
    #[inline]
    fn slot(&self, name: &[u8]) -> usize {
        let mask = self.slots.len().wrapping_sub(1);
        let mut slot = hash(name) as usize & mask;
        // Half of them are vacant, so that this ends; a table that was never built has none.
        while let Some(&place) = self.slots.get(slot) {
            if place == VACANT || self.name(place as usize) == name {
                break;
            }
            slot = (slot + 1) & mask;
        }
        slot
    }
}

#[inline]
fn hash(name: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let words = name.as_chunks::<8>().0;
    let mut hash = name.len() as u64;
    let mut mix = |word: u64| hash = (hash ^ word).wrapping_mul(FACTOR).rotate_left(29);
    words.iter().for_each(|word| mix(u64::from_le_bytes(*word)));
    // The last eight bytes, some of them a second time.
    mix(match name.last_chunk::<8>() {
        Some(last) => u64::from_le_bytes(*last),
        None => name.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    });
    hash ^ hash >> 32
}

#[cfg(test)]
mod tests {
    use super::Names;
    use std::format;
    use std::string::String;
    use std::vec::Vec;

    #[test]
    fn every_name_has_its_place_and_a_stranger_has_none() {
        for count in [0_usize, 1, 2, 3, 7, 2_000] {
            let names: Vec<String> =
                (0..count).map(|at| format!("BTC-{}DEC26-{}-C", at % 28, 10 * at)).collect();
            let table = Names::new(names.iter().map(String::as_bytes));
            for (at, name) in names.iter().enumerate() {
                assert_eq!(table.place(name.as_bytes()), Some(at));
                assert_eq!(table.name(at), name.as_bytes());
                assert_eq!(table.place(name.to_lowercase().as_bytes()), None);
            }
            for stranger in ["", "B", "BTC-PERPETUAL", "BTC-1DEC26-5-C"] {
                assert_eq!(table.place(stranger.as_bytes()), None, "{count} {stranger}");
            }
        }
        assert_eq!(Names::default().place(b"X"), None);
        assert_eq!(Names::new([&b"X"[..], b"Y", b"X"].into_iter()).place(b"X"), Some(0));
    }

    #[test]
    fn a_name_that_is_added_has_the_next_place_and_no_other_one_moves() {
        for first in 0..5 {
            let names: Vec<String> = (0..200).map(|at| format!("ETH-{at}")).collect();
            let mut table = Names::new(names.iter().take(first).map(String::as_bytes));
            for count in first..names.len() {
                assert!(table.add(names[count].as_bytes()));
                assert!(!table.add(names[count / 2].as_bytes()), "it has a place");
                for (at, name) in names.iter().enumerate() {
                    assert_eq!(table.place(name.as_bytes()), (at <= count).then_some(at));
                }
            }
        }
        assert!(Names::default().add(b"X"));
    }
}
