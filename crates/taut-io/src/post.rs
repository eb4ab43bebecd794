//! Posting to a loop from other threads: a bounded lock-free queue with many writers and one
//! reader, and a bell that rings only when the loop sleeps.

mod queue;

use alloc::sync::Arc;
use core::fmt;

use taut_ring::Payload;

use crate::error::{IoError, Limit};
use crate::kernel::Bell;
pub(crate) use crate::post::queue::Queue;

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
        if !self.queue.push(payload) {
            return Err(IoError::Limit(Limit::Posts));
        }
        if self.queue.must_ring() {
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
