//! The unit of every ring: one cache line of a sequence word and seven payload words.

use taut_sync::atomic::{AtomicU64, Ordering};

/// Payload words of a message.
pub const PAYLOAD_WORDS: usize = 7;
/// Words of a slot: the sequence, then the payload. 8 words of 8 bytes are one cache line.
pub const SLOT_WORDS: usize = 1 + PAYLOAD_WORDS;

/// A message: 56 bytes.
pub type Payload = [u64; PAYLOAD_WORDS];

/// Why memory cannot hold a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RingError {
    /// The slot count is not a power of two, or below two.
    SlotCount {
        /// Slots that the memory holds.
        slots: usize,
    },
    /// The memory has fewer words than the structure needs.
    TooSmall {
        /// Words needed.
        need: usize,
        /// Words there are.
        have: usize,
    },
}

/// One slot of a ring.
pub(crate) type Slot = [AtomicU64; SLOT_WORDS];

/// The slots in `memory`, which must be a power of two of them.
pub(crate) fn slots_of(memory: &[AtomicU64]) -> Result<&[Slot], RingError> {
    let (slots, _rest) = memory.as_chunks::<SLOT_WORDS>();
    if slots.len() < 2 || !slots.len().is_power_of_two() {
        return Err(RingError::SlotCount { slots: slots.len() });
    }
    Ok(slots)
}

/// The slot of a position. The mask keeps the index below the length, a power of two.
#[inline]
pub(crate) fn slot_at(slots: &[Slot], position: u64) -> &Slot {
    let mask = slots.len() - 1;
    // A position beyond usize::MAX on a 32-bit target wraps to the same masked index.
    &slots[position as usize & mask]
}

/// Stores the payload words. Relaxed: the sequence word, stored afterwards, orders them.
#[inline]
pub(crate) fn store_payload(slot: &Slot, payload: &Payload) {
    let [_sequence, words @ ..] = slot;
    for (word, value) in words.iter().zip(payload) {
        word.store(*value, Ordering::Relaxed);
    }
}

/// Loads the payload words. Relaxed: the sequence word, loaded before, orders them.
#[inline]
pub(crate) fn load_payload(slot: &Slot) -> Payload {
    let [_sequence, words @ ..] = slot;
    core::array::from_fn(|index| words[index].load(Ordering::Relaxed))
}

/// The sequence word of a slot.
#[inline]
pub(crate) fn sequence_of(slot: &Slot) -> &AtomicU64 {
    let [sequence, ..] = slot;
    sequence
}
