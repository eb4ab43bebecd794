//! A fixed number of slots of fixed size that hold packets.

use alloc::boxed::Box;
use alloc::vec;

/// Packets by key; the key picks the slot (key modulo the number of slots), and a newer key takes
/// the place of an older one. Keys start at 1.
#[derive(Debug)]
pub(crate) struct Slots {
    bytes: Box<[u8]>,
    /// The key that each slot holds, 0 for none, and the packet's length.
    tags: Box<[(u64, usize)]>,
    slot_bytes: usize,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// It is in a slot that was free or held something outdated.
    Stored,
    /// It is in the slot of an older packet, which is gone.
    Evicted,
    /// It was there already.
    Duplicate,
    /// It is too long, or its slot holds a newer packet.
    Refused,
}

impl Slots {
    /// Room for `count` packets of up to `slot_bytes` bytes.
    pub(crate) fn new(count: usize, slot_bytes: usize) -> Self {
        let count = count.max(1);
        Self {
            bytes: vec![0; count.saturating_mul(slot_bytes)].into_boxed_slice(),
            tags: vec![(0, 0); count].into_boxed_slice(),
            slot_bytes,
        }
    }

    /// How many packets it can hold.
    pub(crate) fn count(&self) -> usize {
        self.tags.len()
    }

    /// Keeps a packet if it can. Keys below `live_from` are outdated.
    pub(crate) fn insert(&mut self, key: u64, live_from: u64, packet: &[u8]) -> Kept {
        let slot = self.slot(key);
        let from = slot.saturating_mul(self.slot_bytes);
        let (Some(tag), Some(room)) =
            (self.tags.get_mut(slot), self.bytes.get_mut(from..from.saturating_add(packet.len())))
        else {
            return Kept::Refused;
        };
        let held = tag.0;
        if held == key {
            return Kept::Duplicate;
        }
        if packet.len() > self.slot_bytes || held > key {
            return Kept::Refused;
        }
        room.copy_from_slice(packet);
        *tag = (key, packet.len());
        if held >= live_from && held != 0 { Kept::Evicted } else { Kept::Stored }
    }

    /// The packet with this key.
    pub(crate) fn get(&self, key: u64) -> Option<&[u8]> {
        let slot = self.slot(key);
        let &(held, len) = self.tags.get(slot)?;
        let from = slot.saturating_mul(self.slot_bytes);
        if held == key && key != 0 { self.bytes.get(from..from.saturating_add(len)) } else { None }
    }

    /// Forgets all packets.
    pub(crate) fn clear(&mut self) {
        self.tags.fill((0, 0));
    }

    fn slot(&self, key: u64) -> usize {
        // The remainder is below a usize.
        usize::try_from(key % self.tags.len() as u64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Kept, Slots};

    #[test]
    fn a_newer_packet_takes_the_place_of_an_older_one_and_never_the_other_way() {
        let mut slots = Slots::new(4, 8);
        assert_eq!(slots.insert(1, 1, b"one"), Kept::Stored);
        assert_eq!(slots.insert(1, 1, b"two"), Kept::Duplicate);
        assert_eq!(slots.get(1), Some(&b"one"[..]));
        assert_eq!(slots.insert(5, 1, b"five"), Kept::Evicted);
        assert_eq!(slots.get(1), None);
        assert_eq!(slots.get(5), Some(&b"five"[..]));
        assert_eq!(slots.insert(1, 1, b"one"), Kept::Refused);
        assert_eq!(slots.insert(9, 6, b""), Kept::Stored);
        assert_eq!(slots.get(9), Some(&b""[..]));
    }

    #[test]
    fn a_packet_that_is_too_long_is_refused_even_in_the_last_slot() {
        let mut slots = Slots::new(2, 4);
        assert_eq!(slots.insert(2, 1, b"12345"), Kept::Refused);
        assert_eq!(slots.insert(3, 1, b"12345"), Kept::Refused);
        assert_eq!(slots.insert(3, 1, b"1234"), Kept::Stored);
        assert_eq!(slots.get(0), None);
    }
}
