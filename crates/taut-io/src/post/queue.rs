//! The queue between the threads that post and the loop: many writers, one reader, bounded, without
//! a lock. Under loom it is proved beside the rings, in taut-ring's models.

use alloc::boxed::Box;

use taut_ring::{PAYLOAD_WORDS, Payload};
use taut_sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use taut_sync::{CachePadded, assert_stores_come_after};

/// A slot's turn tells whose it is: position `p` is free for its writer at turn `p`, complete for
/// the reader at `p + 1`, free again at `p + capacity`.
struct Slot {
    turn: AtomicU64,
    words: [AtomicU64; PAYLOAD_WORDS],
}

/// The queue, and whether its reader sleeps.
pub struct Queue {
    written: CachePadded<AtomicU64>,
    sleeping: CachePadded<AtomicBool>,
    slots: Box<[Slot]>,
}

impl Queue {
    /// A queue of at least `posts_max` messages, rounded up to a power of two.
    pub fn new(posts_max: usize) -> Self {
        let count = posts_max.max(2).next_power_of_two() as u64;
        let slot = |turn| Slot {
            turn: AtomicU64::new(turn),
            words: core::array::from_fn(|_| AtomicU64::new(0)),
        };
        Self {
            written: CachePadded::new(AtomicU64::new(0)),
            sleeping: CachePadded::new(AtomicBool::new(false)),
            slots: (0..count).map(slot).collect(),
        }
    }

    fn slot(&self, position: u64) -> &Slot {
        &self.slots[position as usize & (self.slots.len() - 1)]
    }

    /// Appends a message; false when the queue is full.
    pub fn push(&self, payload: &Payload) -> bool {
        let mut position = self.written.load(Ordering::Relaxed);
        loop {
            let slot = self.slot(position);
            // Acquire: the reader's loads of the slot are over before we store into it.
            let turn = slot.turn.load(Ordering::Acquire);
            if turn == position {
                let claim = self.written.compare_exchange_weak(
                    position,
                    position.wrapping_add(1),
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                );
                match claim {
                    Ok(_) => {
                        for (word, value) in slot.words.iter().zip(payload) {
                            word.store(*value, Ordering::Relaxed);
                        }
                        // Release: the words are visible to whoever acquires the turn.
                        slot.turn.store(position.wrapping_add(1), Ordering::Release);
                        return true;
                    }
                    Err(current) => position = current,
                }
            } else if turn.wrapping_sub(position).cast_signed() < 0 {
                return false;
            } else {
                // Another thread has claimed it.
                taut_sync::spin_loop();
                position = self.written.load(Ordering::Relaxed);
            }
        }
    }

    /// Takes the message at `position`, if it is complete. One reader.
    pub fn pop(&self, position: &mut u64) -> Option<Payload> {
        let slot = self.slot(*position);
        // Acquire: pairs with the writer's release of the turn.
        if slot.turn.load(Ordering::Acquire) != position.wrapping_add(1) {
            return None;
        }
        let payload = core::array::from_fn(|n| slot.words[n].load(Ordering::Relaxed));
        slot.words.iter().for_each(assert_stores_come_after);
        // Release: our loads are over before the next writer sees the slot free.
        slot.turn.store(position.wrapping_add(self.slots.len() as u64), Ordering::Release);
        *position = position.wrapping_add(1);
        Some(payload)
    }

    fn has(&self, position: u64) -> bool {
        // Relaxed: nothing is read by it.
        self.slot(position).turn.load(Ordering::Relaxed) == position.wrapping_add(1)
    }

    /// The reader is about to sleep: false when a message came, and then it must not.
    pub fn fall_asleep(&self, position: u64) -> bool {
        self.sleeping.store(true, Ordering::Relaxed);
        // Sequentially consistent with the writer's fence: either it sees that we sleep, or we see
        // its message.
        fence(Ordering::SeqCst);
        let may = !self.has(position);
        if !may {
            self.wake();
        }
        may
    }

    /// The reader is awake.
    pub fn wake(&self) {
        self.sleeping.store(false, Ordering::Relaxed);
    }

    /// A message was pushed: whether the reader must be woken. True for one of those who ask.
    pub fn must_ring(&self) -> bool {
        fence(Ordering::SeqCst);
        self.sleeping.load(Ordering::Relaxed) && self.sleeping.swap(false, Ordering::Relaxed)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn four_threads_lose_nothing_and_each_keeps_its_order() {
        const EACH: u64 = 20_000;
        let queue = Queue::new(64);
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let queue = &queue;
                scope.spawn(move || {
                    for n in 0..EACH {
                        while !queue.push(&[writer, n, 0, 0, 0, 0, n]) {
                            std::thread::yield_now();
                        }
                    }
                });
            }
            let (mut position, mut next) = (0, [0; 4]);
            while next.iter().sum::<u64>() < 4 * EACH {
                match queue.pop(&mut position) {
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
    fn a_full_queue_refuses_and_a_sleeper_is_rung_once() {
        let queue = Queue::new(2);
        assert!(queue.fall_asleep(0));
        assert!(queue.push(&[1; 7]) && queue.push(&[2; 7]) && !queue.push(&[3; 7]));
        assert!(queue.must_ring() && !queue.must_ring());
        assert!(!queue.fall_asleep(0), "a message waits");
        let mut position = 0;
        assert_eq!(queue.pop(&mut position), Some([1; 7]));
        assert!(queue.push(&[3; 7]));
    }
}
