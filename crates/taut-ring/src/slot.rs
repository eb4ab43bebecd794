//! The unit of the fixed-size rings: one cache line of a sequence word and seven payload words.

use taut_simd::prefetch_write;
use taut_sync::assert_stores_come_after;
use taut_sync::atomic::{AtomicU64, Ordering};

use crate::error::RingError;

/// Payload words of a message. (Two under loom: a torn pair shows what a torn seven would, and the
/// search stays short.)
pub const PAYLOAD_WORDS: usize = if cfg!(loom) { 2 } else { 7 };
/// Words of a slot: the sequence, then the payload. 8 words of 8 bytes are one cache line.
pub const SLOT_WORDS: usize = 1 + PAYLOAD_WORDS;

/// A message: 56 bytes.
pub type Payload = [u64; PAYLOAD_WORDS];

/// One slot of a ring. Its sequence word is `p + 1` once position `p` is complete.
pub(crate) type Slot = [AtomicU64; SLOT_WORDS];

/// The `slot_count` slots in `memory`, which must be a power of two of them and no more.
pub(crate) fn slots_of(memory: &[AtomicU64], slot_count: usize) -> Result<&[Slot], RingError> {
    let (slots, rest) = memory.as_chunks::<SLOT_WORDS>();
    if slot_count < 2 || !slot_count.is_power_of_two() {
        return Err(RingError::SlotCount { slots: slot_count });
    }
    if slots.len() != slot_count || !rest.is_empty() {
        return Err(RingError::TooSmall { need: slot_count * SLOT_WORDS, have: memory.len() });
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

/// Stores a message of this position and then its sequence word.
#[inline]
pub(crate) fn publish(slots: &[Slot], position: u64, payload: &Payload) {
    let [sequence, words @ ..] = slot_at(slots, position);
    for (word, value) in words.iter().zip(payload) {
        // Relaxed: the sequence word below orders them.
        word.store(*value, Ordering::Relaxed);
    }
    // Release: the payload is visible to whoever acquires this word.
    sequence.store(position.wrapping_add(1), Ordering::Release);
}

/// How many slots ahead a writer asks. Further ahead, the reader's own prefetcher takes the lines
/// away again: an engine that hands over a report in about 40 ns took 57 ns a message with 2, 66
/// with 4 and 70 with 8, and 74 without (two cores, a reader close behind).
const AHEAD: u64 = 2;

/// Asks for the line of a slot that will be written soon, before the stores wait for it: a store
/// that waits holds up all stores behind it, the caller's own too.
#[inline]
pub(crate) fn claim_soon(slots: &[Slot], position: u64) {
    prefetch_write(&slot_at(slots, position.wrapping_add(AHEAD))[0]);
}

/// Stores the messages from this position on, the first one last: a reader in order sees all of
/// them or none.
#[inline]
pub(crate) fn publish_batch(slots: &[Slot], position: u64, batch: &[Payload]) {
    for (offset, payload) in batch.iter().enumerate().rev() {
        publish(slots, position.wrapping_add(offset as u64), payload);
    }
}

/// The message of this position, if it is complete; where a writer may overtake the reader, what
/// the words say must be confirmed afterwards.
#[inline]
pub(crate) fn look(slots: &[Slot], position: u64) -> Option<Payload> {
    let [sequence, words @ ..] = slot_at(slots, position);
    // Acquire: pairs with the release in `publish`, so that the payload is the one it announces.
    if sequence.load(Ordering::Acquire) != position.wrapping_add(1) {
        return None;
    }
    // Relaxed: ordered by the sequence word above.
    Some(core::array::from_fn(|index| words[index].load(Ordering::Relaxed)))
}

/// Asserts under loom that the slot is overwritten only after what was done so far.
#[inline]
pub(crate) fn assert_read(slots: &[Slot], position: u64) {
    let [_sequence, words @ ..] = slot_at(slots, position);
    words.iter().for_each(assert_stores_come_after);
}

/// Whether a message of this position is complete. Relaxed: for a new writer, which is alone.
pub(crate) fn is_complete(slots: &[Slot], position: u64) -> bool {
    let [sequence, ..] = slot_at(slots, position);
    sequence.load(Ordering::Relaxed) == position.wrapping_add(1)
}

/// Makes the slot of this position incomplete: `p` is what completes the position before, which
/// lives in another slot. Relaxed: for a new writer, before it writes anything else.
pub(crate) fn clear(slots: &[Slot], position: u64) {
    let [sequence, ..] = slot_at(slots, position);
    sequence.store(position, Ordering::Relaxed);
}
