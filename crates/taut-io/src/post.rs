//! Posting to a loop from other threads: a bounded lock-free mailbox ([`taut_ring::mailbox`], which
//! loom has searched), and a bell that rings only when the loop sleeps.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;

use taut_ring::mailbox::{Mailbox, words_for};
use taut_ring::{Payload, RingError};
use taut_sync::atomic::AtomicU64;

use crate::error::{IoError, Limit};
use crate::kernel::Bell;

/// The queue, and whether its reader sleeps: a mailbox in memory of its own.
pub(crate) struct Queue {
    memory: Box<[AtomicU64]>,
    slot_count: usize,
}

impl Queue {
    /// A queue of at least `posts_max` messages, rounded up to a power of two.
    pub fn new(posts_max: usize) -> Self {
        let slot_count = posts_max.max(2).next_power_of_two();
        let memory = (0..words_for(slot_count)).map(|_| AtomicU64::new(0)).collect();
        let queue = Self { memory, slot_count };
        if let Ok(mailbox) = queue.mailbox() {
            mailbox.format();
        }
        queue
    }

    /// Never an error: the memory was made for it.
    #[inline]
    fn mailbox(&self) -> Result<Mailbox<'_>, RingError> {
        Mailbox::over(&self.memory, self.slot_count)
    }

    /// Takes the message at `position`, if it is complete. One reader.
    #[inline]
    pub fn pop(&self, position: &mut u64) -> Option<Payload> {
        self.mailbox().ok()?.pop(position)
    }

    /// The reader is about to sleep: false when a message came, and then it must not.
    pub fn fall_asleep(&self, position: u64) -> bool {
        self.mailbox().is_ok_and(|mailbox| mailbox.fall_asleep(position))
    }

    /// The reader is awake.
    pub fn wake(&self) {
        if let Ok(mailbox) = self.mailbox() {
            mailbox.wake();
        }
    }
}

/// Posts messages to a loop from any thread.
pub struct Poster {
    queue: Arc<Queue>,
    bell: Arc<dyn Bell>,
}

impl Poster {
    pub(crate) fn new(queue: Arc<Queue>, bell: Arc<dyn Bell>) -> Self {
        Self { queue, bell }
    }

    /// Posts a message; the loop completes it as `Posted`, in a later turn. Cost: one
    /// compare-and-swap, nine stores and a fence, and a system call only when the loop sleeps. No
    /// lock, no allocation.
    ///
    /// # Errors
    /// [`Limit::Posts`] when the loop is a whole queue behind.
    pub fn post(&self, payload: &Payload) -> Result<(), IoError> {
        let full = IoError::Limit(Limit::Posts);
        let mailbox = self.queue.mailbox().map_err(|_| full)?;
        mailbox.push(payload).map_err(|_| full)?;
        if mailbox.must_ring() {
            self.bell.ring();
        }
        Ok(())
    }
}

impl Clone for Poster {
    fn clone(&self) -> Self {
        Self { queue: Arc::clone(&self.queue), bell: Arc::clone(&self.bell) }
    }
}

impl fmt::Debug for Poster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Poster")
    }
}
