//! Many writers that come and go, one reader that may sleep: posts to a loop from other threads.
//!
//! Unlike [`mpsc`](crate::mpsc), a writer has no place of its own, and so none is needed to begin
//! with; in return, one that dies between its claim and its last store holds the reader up. It is
//! for threads of one process.

use taut_sync::atomic::{AtomicU64, Ordering, fence};

use crate::error::RingError;
use crate::gate::Full;
use crate::slot::{
    Payload, SLOT_WORDS, Slot, assert_read, clear, look, publish, slot_at, slots_of,
};

/// Words that share two cache lines.
const PAIR_WORDS: usize = 16;
/// How often a writer tries to claim a slot.
const CLAIMS_MAX: u32 = 10_000;

/// Words of memory for a mailbox of `slot_count` slots (a power of two).
#[must_use]
pub const fn words_for(slot_count: usize) -> usize {
    2 * PAIR_WORDS + slot_count * SLOT_WORDS
}

/// A mailbox in memory. Everybody may have one over the same memory; one of them reads.
///
/// A slot's sequence word tells whose it is: `p` is free for the writer of position `p`, `p + 1` is
/// complete for the reader, and `p` plus the count of slots is free again.
#[derive(Clone, Copy, Debug)]
pub struct Mailbox<'m> {
    /// The next position to claim.
    written: &'m AtomicU64,
    /// 1 while the reader sleeps and nobody has taken it upon himself to wake it.
    sleeping: &'m AtomicU64,
    slots: &'m [Slot],
}

impl<'m> Mailbox<'m> {
    /// The mailbox in formatted memory.
    ///
    /// # Errors
    /// When the memory is not [`words_for`] that many slots.
    pub fn over(memory: &'m [AtomicU64], slot_count: usize) -> Result<Self, RingError> {
        let too_small = RingError::TooSmall { need: words_for(slot_count), have: memory.len() };
        let (control, slots) = memory.split_at_checked(2 * PAIR_WORDS).ok_or(too_small)?;
        let (written, sleeping) = control.split_at(PAIR_WORDS);
        let slots = slots_of(slots, slot_count)?;
        Ok(Self { written: &written[0], sleeping: &sleeping[0], slots })
    }

    /// Makes zeroed memory an empty mailbox. Before anybody else knows of it.
    pub fn format(&self) {
        (0..self.slots.len() as u64).for_each(|position| clear(self.slots, position));
    }

    /// Appends a message. Cost: a compare-and-swap of a shared line and the message's line.
    ///
    /// # Errors
    /// [`Full`] when the reader is a whole mailbox behind.
    pub fn push(&self, payload: &Payload) -> Result<(), Full> {
        // Relaxed: the compare-and-swap finds out whether it is still true.
        let mut position = self.written.load(Ordering::Relaxed);
        // A claim that fails is another writer's, unless somebody writes garbage.
        for _ in 0..CLAIMS_MAX {
            let [sequence, ..] = slot_at(self.slots, position);
            // Acquire: the reader's loads of the slot are over before we store into it.
            let turn = sequence.load(Ordering::Acquire);
            if turn == position {
                let next = position.wrapping_add(1);
                // Relaxed: the slot's own word orders everything.
                let claim = self.written.compare_exchange_weak(
                    position,
                    next,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                );
                match claim {
                    Ok(_) => {
                        publish(self.slots, position, payload);
                        return Ok(());
                    }
                    Err(newer) => position = newer,
                }
            } else if turn.wrapping_sub(position).cast_signed() < 0 {
                return Err(Full);
            } else {
                // Another writer has claimed it.
                taut_sync::spin_loop();
                position = self.written.load(Ordering::Relaxed);
            }
        }
        Err(Full)
    }

    /// Takes the message at the reader's position, if it is complete, and moves the position on.
    pub fn pop(&self, position: &mut u64) -> Option<Payload> {
        let payload = look(self.slots, *position)?;
        assert_read(self.slots, *position);
        let [sequence, ..] = slot_at(self.slots, *position);
        // Release: our loads are over before the next writer sees the slot free.
        sequence.store(position.wrapping_add(self.slots.len() as u64), Ordering::Release);
        *position = position.wrapping_add(1);
        Some(payload)
    }

    /// The reader is about to sleep: false when a message came, and then it must not.
    #[must_use]
    pub fn fall_asleep(&self, position: u64) -> bool {
        self.sleeping.store(1, Ordering::Relaxed);
        // Sequentially consistent with the writer's fence: either it sees that we sleep, or we see
        // its message.
        fence(Ordering::SeqCst);
        let may = look(self.slots, position).is_none();
        if !may {
            self.wake();
        }
        may
    }

    /// The reader is awake.
    pub fn wake(&self) {
        self.sleeping.store(0, Ordering::Relaxed);
    }

    /// A message was pushed: whether the reader must be woken. True for one of those who ask.
    #[must_use]
    pub fn must_ring(&self) -> bool {
        fence(Ordering::SeqCst);
        self.sleeping.load(Ordering::Relaxed) == 1 && self.sleeping.swap(0, Ordering::Relaxed) == 1
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn memory(slot_count: usize) -> Vec<AtomicU64> {
        let memory: Vec<_> = (0..words_for(slot_count)).map(|_| AtomicU64::new(0)).collect();
        Mailbox::over(&memory, slot_count).unwrap().format();
        memory
    }

    #[test]
    fn four_threads_lose_nothing_and_each_keeps_its_order() {
        const EACH: u64 = 20_000;
        let memory = memory(64);
        let mailbox = Mailbox::over(&memory, 64).unwrap();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                scope.spawn(move || {
                    for n in 0..EACH {
                        while mailbox.push(&[writer, n, 0, 0, 0, 0, n]).is_err() {
                            std::thread::yield_now();
                        }
                    }
                });
            }
            let (mut position, mut next) = (0, [0; 4]);
            while next.iter().sum::<u64>() < 4 * EACH {
                match mailbox.pop(&mut position) {
                    Some([writer, n, .., last]) => {
                        assert_eq!((n, last), (next[writer as usize], n));
                        next[writer as usize] += 1;
                    }
                    None => std::thread::yield_now(),
                }
            }
        });
    }

    #[test]
    fn a_full_mailbox_refuses_and_a_sleeper_is_rung_once() {
        let memory = memory(2);
        let mailbox = Mailbox::over(&memory, 2).unwrap();
        assert!(mailbox.fall_asleep(0));
        assert!(mailbox.push(&[1; 7]).is_ok() && mailbox.push(&[2; 7]).is_ok());
        assert_eq!(mailbox.push(&[3; 7]), Err(Full));
        assert!(mailbox.must_ring() && !mailbox.must_ring());
        assert!(!mailbox.fall_asleep(0), "a message waits");
        let mut position = 0;
        assert_eq!(mailbox.pop(&mut position), Some([1; 7]));
        assert!(mailbox.push(&[3; 7]).is_ok());
    }

    #[test]
    fn memory_of_another_shape_is_refused() {
        let memory = memory(4);
        assert!(Mailbox::over(&memory, 2).is_err() && Mailbox::over(&memory[..20], 4).is_err());
        assert!(Mailbox::over(&memory[1..], 4).is_err() && Mailbox::over(&memory, 3).is_err());
    }
}
