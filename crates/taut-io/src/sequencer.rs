//! Puts packets that arrive out of order back into order: a packet that is ahead waits in a slot of
//! its own until the gap before it is filled. Push and pop are constant time.

use alloc::boxed::Box;

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// It is kept: it is next, or ahead.
    Kept,
    /// It was delivered or is kept already.
    Duplicate,
    /// It is further ahead than there are slots, and is not kept: the gap must be recovered
    /// otherwise.
    TooFarAhead,
    /// It is larger than a slot, and is not kept.
    TooLong,
}

/// A window of slots over the sequence numbers from the next one on. All memory is taken when it is
/// built.
#[derive(Debug)]
pub struct Sequencer {
    next: u64,
    slot_bytes: usize,
    /// Of each slot, one more than the length of the packet that waits there.
    lengths: Box<[usize]>,
    bytes: Box<[u8]>,
    waiting: usize,
}

impl Sequencer {
    /// A sequencer that expects `next` first, with `slots` slots of `slot_bytes`.
    #[must_use]
    pub fn new(next: u64, slots: usize, slot_bytes: usize) -> Self {
        let slots = slots.max(1);
        Self {
            next,
            slot_bytes,
            lengths: alloc::vec![0; slots].into_boxed_slice(),
            bytes: alloc::vec![0; slots * slot_bytes].into_boxed_slice(),
            waiting: 0,
        }
    }

    /// The sequence number that is delivered next.
    #[must_use]
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// Packets that wait.
    #[must_use]
    pub const fn waiting(&self) -> usize {
        self.waiting
    }

    /// Keeps a packet. Cost: one copy.
    pub fn push(&mut self, sequence: u64, packet: &[u8]) -> Pushed {
        let Some(ahead) = sequence.checked_sub(self.next) else { return Pushed::Duplicate };
        if ahead >= self.lengths.len() as u64 {
            return Pushed::TooFarAhead;
        }
        if packet.len() > self.slot_bytes {
            return Pushed::TooLong;
        }
        let slot = self.slot(sequence);
        if self.lengths[slot] > 0 {
            return Pushed::Duplicate;
        }
        let start = slot * self.slot_bytes;
        self.bytes[start..start + packet.len()].copy_from_slice(packet);
        self.lengths[slot] = packet.len() + 1;
        self.waiting += 1;
        Pushed::Kept
    }

    /// Delivers the next packet, if it is there: its sequence number and its bytes.
    pub fn pop(&mut self) -> Option<(u64, &[u8])> {
        let (sequence, slot) = (self.next, self.slot(self.next));
        let length = self.lengths[slot].checked_sub(1)?;
        self.lengths[slot] = 0;
        self.waiting -= 1;
        self.next += 1;
        let start = slot * self.slot_bytes;
        Some((sequence, &self.bytes[start..start + length]))
    }

    /// Gives the gap up: everything before `next` counts as delivered and is forgotten.
    pub fn skip_to(&mut self, next: u64) {
        while self.next < next && self.waiting > 0 {
            let slot = self.slot(self.next);
            self.waiting -= usize::from(core::mem::take(&mut self.lengths[slot]) > 0);
            self.next += 1;
        }
        self.next = self.next.max(next);
    }

    fn slot(&self, sequence: u64) -> usize {
        (sequence % self.lengths.len() as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::collections::btree_map::Entry;
    use std::vec::Vec;

    proptest! {
        #[test]
        fn agrees_with_a_sorted_map(
            slots in 1usize..20,
            steps in proptest::collection::vec((0u8..8, 0u64..30), 0..300),
        ) {
            let mut sequencer = Sequencer::new(5, slots, 8);
            let (mut kept, mut next) = (BTreeMap::<u64, Vec<u8>>::new(), 5u64);
            for (kind, offset) in steps {
                match kind {
                    0..5 => {
                        let sequence = (next + offset).saturating_sub(10);
                        let packet = std::vec![sequence as u8; (sequence % 10) as usize];
                        let expected = if sequence < next {
                            Pushed::Duplicate
                        } else if sequence - next >= slots as u64 {
                            Pushed::TooFarAhead
                        } else if packet.len() > 8 {
                            Pushed::TooLong
                        } else if let Entry::Vacant(place) = kept.entry(sequence) {
                            place.insert(packet.clone());
                            Pushed::Kept
                        } else {
                            Pushed::Duplicate
                        };
                        prop_assert_eq!(sequencer.push(sequence, &packet), expected);
                    }
                    5..7 => {
                        let expected = kept.remove(&next);
                        let popped = sequencer.pop().map(|(n, bytes)| (n, bytes.to_vec()));
                        prop_assert_eq!(popped, expected.map(|packet| (next, packet)));
                        next = sequencer.next();
                    }
                    _ => {
                        next = next.max((next + offset).saturating_sub(15));
                        sequencer.skip_to(next);
                        kept.retain(|sequence, _| *sequence >= next);
                    }
                }
                prop_assert_eq!((sequencer.waiting(), sequencer.next()), (kept.len(), next));
            }
        }
    }
}
