//! One writer, any number of readers, messages of 56 bytes.
//!
//! A message is one cache line: its sequence word and seven payload words. A [`Subscriber`] that
//! only looks may be overtaken, and is told exactly how many messages it lost. One that registers
//! is waited for, as the publisher's [`Policy`] says. Both kinds can read the same ring.
//!
//! A publisher that dies in the middle leaves a slot whose sequence word is not the one that any
//! reader waits for: half a message is never seen. The next one [resumes](Publisher::resume) where
//! the committed messages end, with a new epoch that readers see in order.

use taut_sync::atomic::{AtomicU64, Ordering};

use crate::control::{Control, Counters, PARTS, control_words};
use crate::error::RingError;
use crate::gate::{Full, Gate, Policy, ReaderGate, Verdict, ahead};
use crate::slot::{
    Payload, SLOT_WORDS, Slot, assert_read, claim_soon, clear, is_complete, look, publish,
    publish_batch, slot_at, slots_of,
};

/// Words of memory for a ring of `slot_count` slots (a power of two) and at most `reader_count`
/// registered readers.
#[must_use]
pub const fn words_for(slot_count: usize, reader_count: usize) -> usize {
    control_words(reader_count) + slot_count * SLOT_WORDS
}

/// The shape of a ring in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Slots, a power of two.
    pub slot_count: usize,
    /// Readers that may register.
    pub reader_count: usize,
}

impl Layout {
    fn parts(self, memory: &[AtomicU64]) -> Result<(Control<'_>, &[Slot]), RingError> {
        let (control, rest) = Control::split(memory, self.reader_count)?;
        Ok((control, slots_of(rest, self.slot_count)?))
    }

    /// Makes zeroed memory a ring that begins at position `start`. Zeroed memory is one that begins
    /// at 0 already; other starts are for tests near the ends of the numbers.
    ///
    /// # Errors
    /// When the memory is not of this layout.
    pub fn format(self, memory: &[AtomicU64], start: u64) -> Result<(), RingError> {
        let (control, slots) = self.parts(memory)?;
        control.format(start);
        (0..slots.len() as u64).for_each(|n| clear(slots, start.wrapping_add(n)));
        Ok(())
    }
}

/// The writing end. There must be one at a time.
#[derive(Debug)]
pub struct Publisher<'m> {
    control: Control<'m>,
    slots: &'m [Slot],
    gate: Gate<'m>,
    position: u64,
}

impl<'m> Publisher<'m> {
    /// A publisher that goes on where the last one stopped, also if that died in the middle of a
    /// message: nothing committed is lost, nothing uncommitted is seen. Memory never written to
    /// begins at its start.
    ///
    /// # Errors
    /// When the memory is not of this layout.
    pub fn resume(
        memory: &'m [AtomicU64],
        layout: Layout,
        policy: Policy,
    ) -> Result<Self, RingError> {
        let (control, slots) = layout.parts(memory)?;
        let count = slots.len() as u64;
        // Relaxed: we are the only writer; how the last one's end is known orders its stores.
        let mut head = control.head().load(Ordering::Relaxed);
        // It may have died between the last sequence word and the head.
        for _ in 0..count {
            if !is_complete(slots, head) {
                break;
            }
            head = head.wrapping_add(1);
        }
        // Or in a batch, whose first message is published last: the others must not appear later.
        for position in (1..count).map(|n| head.wrapping_add(n)) {
            if is_complete(slots, position) {
                clear(slots, position);
            }
        }
        control.head().store(head, Ordering::Relaxed);
        control.next_epoch();
        Ok(Self { control, slots, gate: Gate::new(control, policy, count, head), position: head })
    }

    /// Publishes one message. Cost: nine stores, eight of them to the message's cache line.
    ///
    /// # Errors
    /// [`Full`] when a registered reader is a whole ring behind, unless the policy overwrites or
    /// evicts.
    #[inline]
    pub fn publish(&mut self, payload: &Payload) -> Result<(), Full> {
        self.gate.admit(self.position, 1)?;
        claim_soon(self.slots, self.position);
        publish(self.slots, self.position, payload);
        self.moved_to(self.position.wrapping_add(1));
        Ok(())
    }

    /// Publishes all of a batch or, when there is no room for it, nothing. Readers see it at once:
    /// its first message is published last. Cheaper than one by one, because a reader that waits
    /// does not fetch each line while it is written.
    ///
    /// # Errors
    /// As for [`Publisher::publish`]; also when the batch is longer than an eighth of the ring.
    #[inline]
    pub fn publish_batch(&mut self, batch: &[Payload]) -> Result<(), Full> {
        let count = batch.len() as u64;
        if count > self.batch_max() {
            return Err(Full);
        }
        self.gate.admit(self.position, count)?;
        publish_batch(self.slots, self.position, batch);
        self.moved_to(self.position.wrapping_add(count));
        Ok(())
    }

    /// The longest batch: an eighth of the ring, at least one message.
    #[must_use]
    pub const fn batch_max(&self) -> u64 {
        let part = self.slots.len() as u64 / PARTS;
        if part == 0 { 1 } else { part }
    }

    /// Declares the next message a key message: one that a reader can begin with, such as a
    /// snapshot.
    pub fn mark_key(&mut self) {
        // Relaxed: a reader of the key finds out by the slots what is there.
        self.control.key().store(self.position, Ordering::Relaxed);
        self.control.key_set().store(1, Ordering::Relaxed);
    }

    /// Where the next message goes.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// What others can read about this ring.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.control.counters()
    }

    #[inline]
    fn moved_to(&mut self, position: u64) {
        self.position = position;
        // Relaxed: it tells where to begin; the slots tell what is there.
        self.control.head().store(position, Ordering::Relaxed);
    }
}

/// What a poll found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polled<T = Payload> {
    /// Nothing new.
    Empty,
    /// The next message.
    Message(T),
    /// The writer overtook this reader, which lost this many messages (of a log: bytes) and goes on
    /// after them.
    Lapped(u64),
    /// The next message is the first of a new writer, with this epoch; poll again for it.
    NewWriter(u64),
}

/// Where a reader begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// With the next message.
    Latest,
    /// With the oldest message that is safe from the writer.
    Oldest,
    /// With the last key message; with the oldest when there is none or it is gone.
    Key,
    /// At this position; with the oldest when it is gone, and never beyond the newest.
    At(u64),
}

/// A reading end; as many as you like, each with a position of its own.
#[derive(Debug)]
pub struct Subscriber<'m> {
    slots: &'m [Slot],
    control: Control<'m>,
    gate: ReaderGate<'m>,
    position: u64,
}

impl<'m> Subscriber<'m> {
    /// A subscriber that the publisher does not know: it never writes to the memory.
    ///
    /// # Errors
    /// When the memory is not of this layout.
    pub fn passive(
        memory: &'m [AtomicU64],
        layout: Layout,
        start: Start,
    ) -> Result<Self, RingError> {
        let (control, slots) = layout.parts(memory)?;
        let position = begin(&control, slots.len() as u64, start);
        let gate = ReaderGate::passive(control, slots.len() as u64, position);
        Ok(Self { slots, control, gate, position })
    }

    /// A subscriber that the publisher waits for, at the place `place`, which must be nobody's.
    ///
    /// # Errors
    /// When the memory is not of this layout or has no such place.
    pub fn registered(
        memory: &'m [AtomicU64],
        layout: Layout,
        start: Start,
        place: usize,
    ) -> Result<Self, RingError> {
        let (control, slots) = layout.parts(memory)?;
        let count = slots.len() as u64;
        let choose = || begin(&control, count, start);
        let (gate, position) = ReaderGate::registered(control, place, count, choose)?;
        Ok(Self { slots, control, gate, position })
    }

    /// Takes the next message, if there is one. Cost: one cache-line transfer; it never waits.
    #[inline]
    pub fn poll(&mut self) -> Polled {
        let Some(payload) = look(self.slots, self.position) else { return self.nothing() };
        match self.gate.confirm(self.position) {
            Verdict::Sound => {
                if self.gate.is_asserted() {
                    assert_read(self.slots, self.position);
                }
                self.position = self.position.wrapping_add(1);
                self.gate.passed(self.position);
                Polled::Message(payload)
            }
            Verdict::Lapped => Polled::Lapped(self.lapped()),
            Verdict::NewEpoch(epoch) => Polled::NewWriter(epoch),
        }
    }

    /// Tells the publisher at once what is read; a poll does so only now and then.
    pub fn report(&mut self) {
        self.gate.report(self.position);
    }

    /// The position of the next message.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// The epoch of the writer of the last message.
    #[must_use]
    pub const fn epoch(&self) -> u64 {
        self.gate.epoch()
    }

    /// Whether the publisher waits for this subscriber: it registered and was not evicted.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.gate.is_held()
    }

    /// Whether there is a message, or was one that the writer has overtaken since.
    #[must_use]
    pub fn has_next(&self) -> bool {
        let [sequence, ..] = slot_at(self.slots, self.position);
        // Relaxed: the poll that follows orders. A slot that is still to come holds the sequence of
        // a lap ago.
        let ahead = sequence.load(Ordering::Relaxed).wrapping_sub(self.position.wrapping_add(1));
        ahead.cast_signed() >= 0
    }

    /// The slot does not hold our message: it is still to come, or was overwritten.
    #[inline]
    fn nothing(&mut self) -> Polled {
        if self.gate.is_lapped(self.position) {
            return Polled::Lapped(self.lapped());
        }
        self.gate.caught_up(self.position);
        Polled::Empty
    }

    /// Goes on with the oldest message that is not about to be overwritten; returns what is lost.
    // A number, and not what a poll returns: that would take every message through memory.
    #[cold]
    fn lapped(&mut self) -> u64 {
        let next = begin(&self.control, self.slots.len() as u64, Start::Oldest);
        let lost = next.wrapping_sub(self.position);
        self.position = next;
        self.gate.report(next);
        self.gate.note_lost(lost);
        lost
    }
}

/// The position where a reader begins. A part of the capacity is left to the writer, so that it
/// does not overtake the reader at once.
fn begin(control: &Control<'_>, capacity: u64, start: Start) -> u64 {
    let counters = control.counters();
    // Relaxed: what the position promises is confirmed with each message.
    let reserve = control.reserve().load(Ordering::Relaxed);
    let head = counters.head;
    let part = (capacity / PARTS).max(1);
    // The reserve is never behind the head by a look; by two looks it may be.
    let reserved = if ahead(reserve, head) > capacity { 0 } else { ahead(reserve, head) };
    let safe = capacity.saturating_sub(reserved.max(part));
    let held = safe.min(ahead(head, counters.base));
    let oldest = head.wrapping_sub(held);
    let wanted = match start {
        Start::Latest => return head,
        Start::Oldest => return oldest,
        Start::Key => counters.key.unwrap_or(oldest),
        Start::At(position) => position,
    };
    if ahead(head, wanted) > held { oldest } else { wanted }
}

#[cfg(all(test, not(loom)))]
mod tests;
