//! One writer, any number of readers, never blocking the writer: a slow reader is overtaken and is
//! told exactly how many messages it lost.
//!
//! Each slot is a seqlock. While position `p` is written its sequence word is `2p + 1`, afterwards
//! `2p + 2`; a reader that waits for `p` accepts the slot only when the word is `2p + 2` before and
//! after it copied the payload. A writer that dies between the two leaves an odd word, which no
//! reader takes: half a message is never seen.

use taut_sync::atomic::{AtomicU64, Ordering, fence};

use crate::slot::{
    Payload, RingError, Slot, load_payload, sequence_of, slot_at, slots_of, store_payload,
};

/// The writing end. There must be one at a time.
#[derive(Debug)]
pub struct Publisher<'m> {
    slots: &'m [Slot],
    position: u64,
}

impl<'m> Publisher<'m> {
    /// A publisher that starts at position 0 of zeroed memory: a power of two of 8-word slots.
    ///
    /// # Errors
    /// When the memory holds no power of two of slots.
    pub fn new(memory: &'m [AtomicU64]) -> Result<Self, RingError> {
        Ok(Self { slots: slots_of(memory)?, position: 0 })
    }

    /// Publishes one message. Cost: eight stores to one cache line; it never waits.
    #[inline]
    pub fn publish(&mut self, payload: &Payload) {
        let slot = slot_at(self.slots, self.position);
        let sequence = sequence_of(slot);
        let writing = self.position.wrapping_mul(2).wrapping_add(1);
        sequence.store(writing, Ordering::Relaxed);
        // Release fence: no payload store below may become visible before the odd word above, or a
        // reader would accept the old word around a new payload.
        fence(Ordering::Release);
        store_payload(slot, payload);
        // Release: the payload is visible to whoever acquires this word.
        sequence.store(writing.wrapping_add(1), Ordering::Release);
        self.position = self.position.wrapping_add(1);
    }

    /// Messages published so far.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }
}

/// What a poll found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polled {
    /// Nothing new.
    Empty,
    /// The next message.
    Message(Payload),
    /// The writer overtook this reader, which lost this many messages and goes on after them.
    Lapped(u64),
}

/// A reading end; as many as you like, each with a position of its own. It never writes.
#[derive(Debug)]
pub struct Subscriber<'m> {
    slots: &'m [Slot],
    position: u64,
}

impl<'m> Subscriber<'m> {
    /// A subscriber that starts with the first message.
    ///
    /// # Errors
    /// When the memory holds no power of two of slots.
    pub fn new(memory: &'m [AtomicU64]) -> Result<Self, RingError> {
        Ok(Self { slots: slots_of(memory)?, position: 0 })
    }

    /// Takes the next message, if there is one. Cost: one cache-line transfer; it never waits.
    #[inline]
    pub fn poll(&mut self) -> Polled {
        let slot = slot_at(self.slots, self.position);
        let sequence = sequence_of(slot);
        let complete = self.position.wrapping_mul(2).wrapping_add(2);
        // Acquire: pairs with the writer's last store, so that the payload loads see its message.
        let before = sequence.load(Ordering::Acquire);
        if before != complete {
            return self.not_next(before, complete);
        }
        let payload = load_payload(slot);
        // Acquire fence: the payload loads above stay above the second look at the word.
        fence(Ordering::Acquire);
        let after = sequence.load(Ordering::Relaxed);
        if after != complete {
            return self.not_next(after, complete);
        }
        self.position = self.position.wrapping_add(1);
        Polled::Message(payload)
    }

    /// Messages taken or lost so far.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// The slot's word is not the one that completes our position: it is older, or we were lapped.
    #[cold]
    fn not_next(&mut self, word: u64, complete: u64) -> Polled {
        // The word of a position being written is one below the word that completes it.
        if word.wrapping_add(1) <= complete {
            return Polled::Empty;
        }
        // The slot now belongs to a later position: all before it that we did not take are lost.
        let newer = word.wrapping_sub(1) / 2;
        let lost = newer.wrapping_sub(self.position);
        self.position = newer;
        Polled::Lapped(lost)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn memory(slots: usize) -> Vec<AtomicU64> {
        (0..slots * 8).map(|_| AtomicU64::new(0)).collect()
    }

    #[test]
    fn every_subscriber_gets_every_message_in_order() {
        let memory = memory(8);
        let mut publisher = Publisher::new(&memory).unwrap();
        let mut readers = [Subscriber::new(&memory).unwrap(), Subscriber::new(&memory).unwrap()];
        for n in 0..100u64 {
            publisher.publish(&[n; 7]);
            for reader in &mut readers {
                assert_eq!(reader.poll(), Polled::Message([n; 7]));
                assert_eq!(reader.poll(), Polled::Empty);
            }
        }
    }

    #[test]
    fn a_lapped_reader_learns_exactly_how_many_it_lost() {
        for published in 0..40u64 {
            let memory = memory(4);
            let mut publisher = Publisher::new(&memory).unwrap();
            let mut reader = Subscriber::new(&memory).unwrap();
            (0..published).for_each(|n| publisher.publish(&[n; 7]));
            let (mut taken, mut lost) = (0, 0);
            loop {
                match reader.poll() {
                    Polled::Empty => break,
                    Polled::Message(payload) => {
                        assert_eq!(payload, [taken + lost; 7]);
                        taken += 1;
                    }
                    Polled::Lapped(count) => lost += count,
                }
            }
            assert_eq!(taken + lost, published);
            assert!(taken >= published.min(1), "at least the newest is there");
        }
    }

    #[test]
    fn a_message_whose_writer_died_half_way_is_never_seen() {
        let memory = memory(4);
        let mut publisher = Publisher::new(&memory).unwrap();
        let mut reader = Subscriber::new(&memory).unwrap();
        publisher.publish(&[1; 7]);
        // The dying writer's trace: the odd word of position 1 and a part of its payload.
        memory[8].store(3, Ordering::Relaxed);
        memory[9].store(99, Ordering::Relaxed);
        assert_eq!(reader.poll(), Polled::Message([1; 7]));
        assert_eq!(reader.poll(), Polled::Empty);
    }

    #[test]
    fn refuses_memory_that_is_no_power_of_two_of_slots() {
        assert_eq!(Publisher::new(&memory(3)).err(), Some(RingError::SlotCount { slots: 3 }));
        assert_eq!(Subscriber::new(&memory(1)).err(), Some(RingError::SlotCount { slots: 1 }));
    }
}
