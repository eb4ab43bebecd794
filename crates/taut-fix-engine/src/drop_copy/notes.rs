//! The trading thread's end: executions are noted, and handed over later.

use std::collections::VecDeque;
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, OnceLock};

use taut_io::{Payload, Poster};
use taut_types::Nanos;

/// Executions that may be noted between two times that they are handed over.
const NOTED: usize = 1_024;

/// How long the end waits for the other thread to take what is left, and how often it looks.
const LAST_WAIT: Nanos = Nanos::from_secs(2);
const LOOK: Nanos = Nanos::from_millis(1);

/// What the other thread is woken with; the queue itself says whether more will come.
const LOOK_AGAIN: Payload = [0; 7];

/// The trading thread's end. Dropped, it hands over what is left, for which it waits two seconds at
/// the most, and has the server log its readers out and end.
#[derive(Debug)]
pub struct DropCopyNotes<T> {
    noted: VecDeque<T>,
    /// None once no more will come.
    to: Option<SyncSender<T>>,
    wake: Poster,
    lost: u64,
    /// What was lost in the end, for the server to tell.
    lost_at_end: Arc<OnceLock<u64>>,
    last_wait: Nanos,
}

impl<T> DropCopyNotes<T> {
    pub(super) fn new(to: SyncSender<T>, wake: Poster, lost_at_end: Arc<OnceLock<u64>>) -> Self {
        let noted = VecDeque::with_capacity(NOTED);
        Self { noted, to: Some(to), wake, lost: 0, lost_at_end, last_wait: LAST_WAIT }
    }

    /// Waits so long for the other thread at the end.
    #[cfg(test)]
    pub(super) const fn set_last_wait(&mut self, wait: Nanos) {
        self.last_wait = wait;
    }

    /// Executions that were lost because the other thread was too far behind, or has ended.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// Notes an execution. Cost: a copy of it; none of memory.
    pub fn note(&mut self, execution: T) {
        if self.noted.len() == NOTED {
            self.hand_over();
        }
        if self.noted.len() < NOTED {
            self.noted.push_back(execution);
        } else {
            self.lost += 1;
        }
    }

    /// Hands over what was noted. Cost: some 50 ns for each, and a system call when the other
    /// thread sleeps.
    pub fn hand_over(&mut self) {
        if self.noted.is_empty() {
            return;
        }
        let Some(to) = &self.to else { return };
        while let Some(execution) = self.noted.pop_front() {
            match to.try_send(execution) {
                Ok(()) => {}
                Err(TrySendError::Full(execution)) => {
                    self.noted.push_front(execution);
                    break;
                }
                Err(TrySendError::Disconnected(_)) => self.lost += 1,
            }
        }
        // Full of such words, it is about to look.
        let _ = self.wake.post(&LOOK_AGAIN);
    }
}

impl<T> Drop for DropCopyNotes<T> {
    fn drop(&mut self) {
        let deadline = taut_sys::monotonic() + self.last_wait;
        self.hand_over();
        while !self.noted.is_empty() && taut_sys::monotonic() < deadline {
            taut_sys::sleep(LOOK);
            self.hand_over();
        }
        let _ = self.lost_at_end.set(self.lost + self.noted.len() as u64);
        // First the end, then the word: whichever word the server reads after this, it sees the
        // end, also when this one finds no room among those that wait already.
        self.to = None;
        let _ = self.wake.post(&LOOK_AGAIN);
    }
}
