//! The trading thread's end: copies are noted, and handed over later.

use std::sync::mpsc::{SyncSender, TrySendError};

use taut_io::Poster;
use taut_oms::{Change, Order};
use taut_ring::{PAYLOAD_WORDS, Payload};

use crate::drop_copy::execution::{Execution, Origin};
use crate::message::UpdateKind;

/// Copies that may be noted between two rounds of housekeeping.
const NOTED: usize = 1_024;
/// Copies that may wait for the other thread.
pub const WAITING: usize = 16_384;

/// What the other thread is woken with: there are copies, or there will be no more.
const COPIES: Payload = [0; PAYLOAD_WORDS];
pub const END: Payload = [1; PAYLOAD_WORDS];

/// The trading thread's end. Dropped, it has the server log its readers out and end.
#[derive(Debug)]
pub struct DropCopies {
    pub(super) noted: Vec<Execution>,
    pub(super) to: SyncSender<Execution>,
    wake: Poster,
    lost: u64,
}

impl DropCopies {
    pub(super) fn new(to: SyncSender<Execution>, wake: Poster) -> Self {
        Self { noted: Vec::with_capacity(NOTED), to, wake, lost: 0 }
    }

    /// Copies that were lost because the other thread was too far behind.
    pub(crate) const fn lost(&self) -> u64 {
        self.lost
    }

    /// Notes what a message of the venue did to an order: its trades, and what else its owner is
    /// told. Cost: a copy of some 250 bytes for each.
    pub(crate) fn note(
        &mut self,
        order: &Order,
        change: &Change,
        told: Option<UpdateKind>,
        origin: &Origin,
    ) {
        for execution in Execution::all_of(order, change, told, origin) {
            if self.noted.len() == NOTED {
                self.hand_over();
            }
            if self.noted.len() < NOTED {
                self.noted.push(execution);
            } else {
                self.lost += 1;
            }
        }
    }

    /// Hands over what was noted. Cost: some 50 ns for each, and a system call when the other
    /// thread sleeps.
    pub(crate) fn hand_over(&mut self) {
        if self.noted.is_empty() {
            return;
        }
        let mut taken = 0;
        for execution in &self.noted {
            match self.to.try_send(*execution) {
                Ok(()) => taken += 1,
                Err(TrySendError::Full(_)) => break,
                Err(TrySendError::Disconnected(_)) => {
                    self.lost += 1;
                    taken += 1;
                }
            }
        }
        self.noted.drain(..taken);
        // Full of such words, it is about to look.
        let _ = self.wake.post(&COPIES);
    }
}

impl Drop for DropCopies {
    fn drop(&mut self) {
        self.hand_over();
        let _ = self.wake.post(&END);
    }
}
