//! One writer, one reader, nothing lost: the writer is told when the ring is full.
//!
//! The memory is a control line (the reader's position, alone on 128 bytes) and then the slots. A
//! slot's sequence word is `p + 1` once position `p` is complete. The writer looks at the reader's
//! position only when its cached copy says "full", so that in steady state each message moves one
//! cache line.

use taut_sync::atomic::{AtomicU64, Ordering};

use crate::slot::{
    Payload, RingError, SLOT_WORDS, Slot, load_payload, sequence_of, slot_at, slots_of,
    store_payload,
};

/// Words in front of the slots: two lines, because the prefetcher pulls lines in pairs.
pub const CONTROL_WORDS: usize = 2 * SLOT_WORDS;

/// Words of memory for a ring of `slot_count` slots.
#[must_use]
pub const fn words_for(slot_count: usize) -> usize {
    CONTROL_WORDS + slot_count * SLOT_WORDS
}

/// Splits the memory into the reader's position and the slots.
fn parts(memory: &[AtomicU64]) -> Result<(&AtomicU64, &[Slot]), RingError> {
    let need = words_for(2);
    match (memory.first(), memory.get(CONTROL_WORDS..)) {
        (Some(taken), Some(slots)) => Ok((taken, slots_of(slots)?)),
        _ => Err(RingError::TooSmall { need, have: memory.len() }),
    }
}

/// The ring is full; the message was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// The writing end. There must be one.
#[derive(Debug)]
pub struct Producer<'m> {
    taken: &'m AtomicU64,
    slots: &'m [Slot],
    position: u64,
    /// Up to which position the reader is known to have taken messages.
    taken_seen: u64,
}

impl<'m> Producer<'m> {
    /// A producer over zeroed memory of [`words_for`] a power of two of slots.
    ///
    /// # Errors
    /// When the memory is too small or holds no power of two of slots.
    pub fn new(memory: &'m [AtomicU64]) -> Result<Self, RingError> {
        let (taken, slots) = parts(memory)?;
        Ok(Self { taken, slots, position: 0, taken_seen: 0 })
    }

    /// Writes one message. Cost: eight stores to one cache line.
    ///
    /// # Errors
    /// [`Full`] when the reader is a whole ring behind.
    #[inline]
    pub fn push(&mut self, payload: &Payload) -> Result<(), Full> {
        let capacity = self.slots.len() as u64;
        if self.position.wrapping_sub(self.taken_seen) >= capacity {
            // Acquire: pairs with the reader's release, so that its loads of the slot are over
            // before we store into it.
            self.taken_seen = self.taken.load(Ordering::Acquire);
            // A position that the other side made up must not make the ring look empty for ever.
            if self.position.wrapping_sub(self.taken_seen) >= capacity {
                return Err(Full);
            }
        }
        let slot = slot_at(self.slots, self.position);
        store_payload(slot, payload);
        self.position = self.position.wrapping_add(1);
        // Release: the payload is visible to whoever acquires this word.
        sequence_of(slot).store(self.position, Ordering::Release);
        Ok(())
    }

    /// Messages written so far.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }
}

/// The reading end. There must be one.
#[derive(Debug)]
pub struct Consumer<'m> {
    taken: &'m AtomicU64,
    slots: &'m [Slot],
    position: u64,
}

impl<'m> Consumer<'m> {
    /// A consumer over zeroed memory of [`words_for`] a power of two of slots.
    ///
    /// # Errors
    /// When the memory is too small or holds no power of two of slots.
    pub fn new(memory: &'m [AtomicU64]) -> Result<Self, RingError> {
        let (taken, slots) = parts(memory)?;
        Ok(Self { taken, slots, position: 0 })
    }

    /// Takes the next message, if there is one. Cost: one cache-line transfer, one store.
    #[inline]
    pub fn pop(&mut self) -> Option<Payload> {
        let slot = slot_at(self.slots, self.position);
        let next = self.position.wrapping_add(1);
        // Acquire: pairs with the writer's release of this word.
        if sequence_of(slot).load(Ordering::Acquire) != next {
            return None;
        }
        let payload = load_payload(slot);
        self.position = next;
        // Release: our loads of the slot are over before the writer sees it free.
        self.taken.store(next, Ordering::Release);
        Some(payload)
    }

    /// Messages taken so far.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;
    use std::vec::Vec;

    fn memory(slots: usize) -> Vec<AtomicU64> {
        (0..words_for(slots)).map(|_| AtomicU64::new(0)).collect()
    }

    #[test]
    fn refuses_memory_that_is_too_small() {
        let words = memory(0);
        let have = CONTROL_WORDS;
        assert_eq!(Producer::new(&words).err(), Some(RingError::SlotCount { slots: 0 }));
        let error = Consumer::new(&words[..1]).err();
        assert_eq!(error, Some(RingError::TooSmall { need: have + 16, have: 1 }));
    }

    proptest! {
        #[test]
        fn behaves_like_a_bounded_queue(
            power in 1u32..5,
            operations in proptest::collection::vec(any::<bool>(), 0..400),
        ) {
            let memory = memory(1 << power);
            let mut producer = Producer::new(&memory).unwrap();
            let mut consumer = Consumer::new(&memory).unwrap();
            let mut model = VecDeque::new();
            for (n, push) in operations.into_iter().enumerate() {
                if push {
                    let payload = [n as u64; 7];
                    let expected = if model.len() == 1 << power { Err(Full) } else { Ok(()) };
                    prop_assert_eq!(producer.push(&payload), expected);
                    if expected.is_ok() { model.push_back(payload) }
                } else {
                    prop_assert_eq!(consumer.pop(), model.pop_front());
                }
            }
        }
    }

    #[test]
    fn two_threads_lose_and_reorder_nothing() {
        const COUNT: u64 = 200_000;
        let memory = memory(64);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut producer = Producer::new(&memory).unwrap();
                for n in 0..COUNT {
                    while producer.push(&[n; 7]).is_err() {
                        std::thread::yield_now();
                    }
                }
            });
            let mut consumer = Consumer::new(&memory).unwrap();
            let mut expected = 0;
            while expected < COUNT {
                match consumer.pop() {
                    Some(payload) => {
                        assert_eq!(payload, [expected; 7]);
                        expected += 1;
                    }
                    None => std::thread::yield_now(),
                }
            }
        });
    }
}
