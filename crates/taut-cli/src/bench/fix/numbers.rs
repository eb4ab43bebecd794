//! A store that keeps numbers and no message: what is left is the cost of encoding.

use taut_fix::{Store, StoreError};

/// The next numbers in both directions.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    outgoing: u64,
    incoming: u64,
}

impl Numbers {
    pub const fn new() -> Self {
        Self { outgoing: 1, incoming: 1 }
    }
}

impl Store for Numbers {
    fn next_outgoing(&self) -> u64 {
        self.outgoing
    }

    fn next_incoming(&self) -> u64 {
        self.incoming
    }

    fn keep(&mut self, sequence: u64, _: &[u8]) -> Result<(), StoreError> {
        self.set_next_outgoing(sequence.saturating_add(1))
    }

    fn set_next_outgoing(&mut self, next: u64) -> Result<(), StoreError> {
        self.outgoing = next;
        Ok(())
    }

    fn set_next_incoming(&mut self, next: u64) -> Result<(), StoreError> {
        self.incoming = next;
        Ok(())
    }

    fn read(&mut self, _: u64) -> Option<&[u8]> {
        None
    }

    fn reset(&mut self) -> Result<(), StoreError> {
        *self = Self::new();
        Ok(())
    }
}
