//! One writer, one reader, nothing lost: the writer is told when the ring is full.
//!
//! The memory is a control line (the reader's position, alone on 128 bytes) and then the slots. The
//! writer looks at the reader's position only when its cached copy says "full", and the reader
//! stores it only once for an eighth of the ring and when it finds nothing, so that in steady state
//! each message moves one cache line.

use taut_sync::atomic::{AtomicU64, Ordering};

use crate::error::RingError;
use crate::gate::Full;
use crate::slot::{
    Payload, SLOT_WORDS, Slot, assert_read, claim_soon, clear, is_complete, look, publish,
    publish_batch, slots_of,
};

/// Words in front of the slots: two lines, because the prefetcher pulls lines in pairs.
pub const CONTROL_WORDS: usize = 16;

/// Words of memory for a ring of `slot_count` slots.
#[must_use]
pub const fn words_for(slot_count: usize) -> usize {
    CONTROL_WORDS + slot_count * SLOT_WORDS
}

/// Splits the memory into the reader's position and the slots.
fn parts(memory: &[AtomicU64]) -> Result<(&AtomicU64, &[Slot]), RingError> {
    let need = words_for(2);
    match (memory.first(), memory.get(CONTROL_WORDS..)) {
        (Some(taken), Some(slots)) => Ok((taken, slots_of(slots, slots.len() / SLOT_WORDS)?)),
        _ => Err(RingError::TooSmall { need, have: memory.len() }),
    }
}

/// Makes zeroed memory of [`words_for`] slots a ring that begins at position `start`. Zeroed memory
/// is one that begins at 0 already; other starts are for tests near the ends of the numbers.
///
/// # Errors
/// When the memory is too small or holds no power of two of slots.
pub fn format(memory: &[AtomicU64], start: u64) -> Result<(), RingError> {
    let (taken, slots) = parts(memory)?;
    (0..slots.len() as u64).for_each(|n| clear(slots, start.wrapping_add(n)));
    // Relaxed: nobody else knows the memory yet.
    taken.store(start, Ordering::Relaxed);
    Ok(())
}

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
    /// A producer that goes on behind the last message in the ring.
    ///
    /// # Errors
    /// When the memory is too small or holds no power of two of slots.
    pub fn resume(memory: &'m [AtomicU64]) -> Result<Self, RingError> {
        let (taken, slots) = parts(memory)?;
        // Acquire: as in `has_room`.
        let taken_seen = taken.load(Ordering::Acquire);
        let at = |n: u64| taken_seen.wrapping_add(n);
        let count = slots.len() as u64;
        let held = (0..count).find(|n| !is_complete(slots, at(*n))).unwrap_or(count);
        // A predecessor that died in a batch left its end without its beginning.
        for position in (held + 1..count).map(at) {
            if is_complete(slots, position) {
                clear(slots, position);
            }
        }
        Ok(Self { taken, slots, position: at(held), taken_seen })
    }

    /// Writes one message. Cost: eight stores to one cache line.
    ///
    /// # Errors
    /// [`Full`] when the reader is a whole ring behind.
    #[inline]
    pub fn push(&mut self, payload: &Payload) -> Result<(), Full> {
        if !self.has_room(1) {
            return Err(Full);
        }
        claim_soon(self.slots, self.position);
        publish(self.slots, self.position, payload);
        self.position = self.position.wrapping_add(1);
        Ok(())
    }

    /// Writes all of a batch, or nothing; the reader sees it at once.
    ///
    /// # Errors
    /// [`Full`] when there is no room for all of it.
    #[inline]
    pub fn push_batch(&mut self, batch: &[Payload]) -> Result<(), Full> {
        if !self.has_room(batch.len() as u64) {
            return Err(Full);
        }
        publish_batch(self.slots, self.position, batch);
        self.position = self.position.wrapping_add(batch.len() as u64);
        Ok(())
    }

    /// Messages written so far, and the start.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// Whether there is room for so many messages.
    #[inline]
    #[must_use]
    pub fn has_room(&mut self, need: u64) -> bool {
        let capacity = self.slots.len() as u64;
        let fits = |taken: u64| {
            // A position that the other side made up must not make the ring look empty for ever.
            capacity.saturating_sub(self.position.wrapping_sub(taken)) >= need
        };
        if fits(self.taken_seen) {
            return true;
        }
        // Acquire: pairs with the reader's release, so that its loads of the slots are over before
        // we store into them.
        let taken = self.taken.load(Ordering::Acquire);
        let room = fits(taken);
        self.taken_seen = taken;
        room
    }
}

/// The reading end. There must be one.
#[derive(Debug)]
pub struct Consumer<'m> {
    taken: &'m AtomicU64,
    slots: &'m [Slot],
    position: u64,
    reported: u64,
}

impl<'m> Consumer<'m> {
    /// A consumer that goes on with the first message that its predecessor did not report as taken.
    ///
    /// # Errors
    /// When the memory is too small or holds no power of two of slots.
    pub fn resume(memory: &'m [AtomicU64]) -> Result<Self, RingError> {
        let (taken, slots) = parts(memory)?;
        // Relaxed: only we store it.
        let position = taken.load(Ordering::Relaxed);
        Ok(Self { taken, slots, position, reported: position })
    }

    /// Takes the next message, if there is one. Cost: one cache-line transfer.
    #[inline]
    pub fn pop(&mut self) -> Option<Payload> {
        let Some(payload) = look(self.slots, self.position) else {
            self.report();
            return None;
        };
        assert_read(self.slots, self.position);
        self.position = self.position.wrapping_add(1);
        let part = (self.slots.len() as u64 / 8).max(1);
        if self.position.wrapping_sub(self.reported) >= part {
            self.report();
        }
        Some(payload)
    }

    /// Tells the producer at once what is taken; a pop does so only now and then.
    #[inline]
    pub fn report(&mut self) {
        if self.reported != self.position {
            self.reported = self.position;
            // Release: our loads of the slots are over before the writer sees them free.
            self.taken.store(self.position, Ordering::Release);
        }
    }

    /// Messages taken so far, and the start.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
