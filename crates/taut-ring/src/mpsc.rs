//! Many writers, one reader, nothing lost: the order requests of many strategies.
//!
//! A producer claims a position by compare-and-swap and then writes its slot. Before it claims it
//! notes the position at its own place, so that the reader can tell whose claim holds it up: when
//! that producer is dead, the reader skips the claim; while it lives, nobody steals from it.

use taut_sync::atomic::{AtomicU64, Ordering};

use crate::error::RingError;
use crate::gate::Full;
use crate::slot::{
    Payload, SLOT_WORDS, Slot, assert_read, clear, is_complete, look, publish, slots_of,
};

/// Words that share two cache lines.
const PAIR_WORDS: usize = 16;
/// How often a producer tries to claim a slot.
const CLAIMS_MAX: u32 = 10_000;

/// Words of memory for a ring of `slot_count` slots (a power of two) and `producer_count` places.
#[must_use]
pub const fn words_for(slot_count: usize, producer_count: usize) -> usize {
    (2 + producer_count) * PAIR_WORDS + slot_count * SLOT_WORDS
}

/// The shape of a ring in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Slots, a power of two.
    pub slot_count: usize,
    /// Producers at the same time.
    pub producer_count: usize,
}

#[derive(Clone, Copy, Debug)]
struct Parts<'m> {
    /// The next position to claim.
    tail: &'m AtomicU64,
    /// Up to here the reader has taken.
    taken: &'m AtomicU64,
    /// Each producer's note: the position that it is claiming, plus one.
    notes: &'m [[AtomicU64; PAIR_WORDS]],
    slots: &'m [Slot],
}

impl Layout {
    fn parts(self, memory: &[AtomicU64]) -> Result<Parts<'_>, RingError> {
        let need = words_for(self.slot_count, self.producer_count);
        let too_small = RingError::TooSmall { need, have: memory.len() };
        let control = (2 + self.producer_count) * PAIR_WORDS;
        let (control, slots) = memory.split_at_checked(control).ok_or(too_small)?;
        let slots = slots_of(slots, self.slot_count)?;
        match control.as_chunks().0 {
            [tail, taken, notes @ ..] => {
                Ok(Parts { tail: &tail[0], taken: &taken[0], notes, slots })
            }
            _ => Err(too_small),
        }
    }

    /// Makes zeroed memory a ring that begins at position `start`; zeroed memory begins at 0.
    ///
    /// # Errors
    /// When the memory is not of this layout.
    pub fn format(self, memory: &[AtomicU64], start: u64) -> Result<(), RingError> {
        let parts = self.parts(memory)?;
        (0..parts.slots.len() as u64).for_each(|n| clear(parts.slots, start.wrapping_add(n)));
        // Relaxed, both: nobody else knows the memory yet.
        parts.tail.store(start, Ordering::Relaxed);
        parts.taken.store(start, Ordering::Relaxed);
        Ok(())
    }
}

/// A writing end. Each has a place of its own.
#[derive(Debug)]
pub struct Producer<'m> {
    parts: Parts<'m>,
    note: &'m AtomicU64,
    taken_seen: u64,
}

impl<'m> Producer<'m> {
    /// A producer at the place `place`, which must be nobody's.
    ///
    /// # Errors
    /// When the memory is not of this layout or has no such place; [`RingError::Claimed`] while
    /// the place names the dead one whose claim holds up the reader.
    pub fn new(memory: &'m [AtomicU64], layout: Layout, place: usize) -> Result<Self, RingError> {
        let parts = layout.parts(memory)?;
        let note = &parts.notes.get(place).ok_or(RingError::Place { place })?[0];
        // Acquire: as in `push`.
        let taken_seen = parts.taken.load(Ordering::Acquire);
        // Relaxed, all: the last producer here is dead; how that is known orders its stores.
        let noted = note.load(Ordering::Relaxed);
        let position = noted.wrapping_sub(1);
        let tail = parts.tail.load(Ordering::Relaxed);
        let waits = position.wrapping_sub(taken_seen) < tail.wrapping_sub(taken_seen);
        if noted != 0 && waits && !is_complete(parts.slots, position) {
            return Err(RingError::Claimed { place });
        }
        Ok(Self { parts, note, taken_seen })
    }

    /// Writes one message. Cost: one compare-and-swap of a shared line and the message's line.
    ///
    /// # Errors
    /// [`Full`] when the reader is a whole ring behind.
    #[inline]
    pub fn push(&mut self, payload: &Payload) -> Result<(), Full> {
        let Parts { tail, taken, slots, .. } = self.parts;
        let capacity = slots.len() as u64;
        // Relaxed: the compare-and-swap finds out whether it is still true.
        let mut position = tail.load(Ordering::Relaxed);
        // Each claim that fails is one that another producer made, unless somebody writes garbage.
        let mut claims_left = CLAIMS_MAX;
        loop {
            if position.wrapping_sub(self.taken_seen) >= capacity {
                // Acquire: pairs with the reader's release, so that its loads of the slot are over
                // before we store into it.
                self.taken_seen = taken.load(Ordering::Acquire);
                let behind = position.wrapping_sub(self.taken_seen);
                // An older tail than the taken we just saw wraps to something enormous.
                if behind >= capacity && behind <= u64::MAX / 2 {
                    return Err(Full);
                }
            }
            self.note.store(position.wrapping_add(1), Ordering::Relaxed);
            let next = position.wrapping_add(1);
            // Release: who sees the claim sees the note above. Relaxed on failure: try again.
            match tail.compare_exchange(position, next, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => break,
                Err(_) if claims_left == 0 => return Err(Full),
                Err(newer) => position = newer,
            }
            claims_left -= 1;
        }
        publish(slots, position, payload);
        Ok(())
    }
}

/// The reading end. There must be one.
#[derive(Debug)]
pub struct Consumer<'m> {
    parts: Parts<'m>,
    position: u64,
}

impl<'m> Consumer<'m> {
    /// A consumer that goes on where its predecessor stopped.
    ///
    /// # Errors
    /// When the memory is not of this layout.
    pub fn resume(memory: &'m [AtomicU64], layout: Layout) -> Result<Self, RingError> {
        let parts = layout.parts(memory)?;
        // Relaxed: only we store it.
        let position = parts.taken.load(Ordering::Relaxed);
        Ok(Self { parts, position })
    }

    /// Takes the next message, if it is complete. Cost: one cache-line transfer and one store.
    #[inline]
    pub fn pop(&mut self) -> Option<Payload> {
        let payload = look(self.parts.slots, self.position)?;
        assert_read(self.parts.slots, self.position);
        self.pass();
        Some(payload)
    }

    /// Whether there is a message.
    #[must_use]
    pub fn has_next(&self) -> bool {
        is_complete(self.parts.slots, self.position)
    }

    /// Whether a claim that is not complete holds up the reader, and the places of the producers
    /// that may hold it: exactly one of them does. Look at it when a pop finds nothing for long.
    pub fn holders(&self) -> impl Iterator<Item = usize> {
        // Acquire: pairs with the release of the claim, so that the notes below are seen.
        let tail = self.parts.tail.load(Ordering::Acquire);
        let waits = tail != self.position && !is_complete(self.parts.slots, self.position);
        let note = self.position.wrapping_add(1);
        let notes = self.parts.notes.iter().enumerate();
        notes
            .filter(move |(_, words)| waits && words[0].load(Ordering::Relaxed) == note)
            .map(|(place, _)| place)
    }

    /// Skips the claim of a producer that is known to be dead: all [`Consumer::holders`] must be.
    /// Returns whether there was one.
    pub fn skip_claim(&mut self) -> bool {
        let waits = self.holders().next().is_some();
        if waits {
            self.pass();
        }
        waits
    }

    /// Messages taken or skipped so far, and the start.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    #[inline]
    fn pass(&mut self) {
        self.position = self.position.wrapping_add(1);
        // Release: our loads of the slot are over before a producer sees it free.
        self.parts.taken.store(self.position, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
