//! Where the session's numbers are kept: in memory, or in a file that survives the process.

use std::path::Path;

use taut_fix::{MemoryStore, Store, StoreError};
use taut_fix_engine::store::{FileStore, Sync};

use crate::error::GatewayError;

/// The numbers of a session, and no message: what was sent is never sent again by itself. A venue
/// that asks for it gets a gap fill, and whatever became of an order is settled by asking where it
/// stands.
#[derive(Debug)]
pub(super) enum Numbers {
    Memory(Box<MemoryStore>),
    File(Box<FileStore>),
}

impl Numbers {
    /// In this file, or in memory.
    pub(super) fn open(path: Option<&Path>) -> Result<Self, GatewayError> {
        match path {
            None => Ok(Self::Memory(Box::new(MemoryStore::new(1, 1)))),
            // Safe from a kill at once; after a power cut the numbers may be old, which the venue
            // notices at the logon, and they start again.
            Some(path) => FileStore::open(path, Sync::Never)
                .map(|store| Self::File(Box::new(store)))
                .map_err(|error| GatewayError::Store(error.raw_os_error().unwrap_or(0))),
        }
    }

    /// Whether an earlier process left its numbers.
    pub(super) fn remembers(&self) -> bool {
        self.next_outgoing() > 1 || self.next_incoming() > 1
    }

    fn store(&self) -> &dyn Store {
        match self {
            Self::Memory(store) => &**store,
            Self::File(store) => &**store,
        }
    }

    fn store_mut(&mut self) -> &mut dyn Store {
        match self {
            Self::Memory(store) => &mut **store,
            Self::File(store) => &mut **store,
        }
    }
}

impl Store for Numbers {
    #[inline]
    fn next_outgoing(&self) -> u64 {
        match self {
            Self::Memory(store) => store.next_outgoing(),
            Self::File(store) => store.next_outgoing(),
        }
    }

    fn next_incoming(&self) -> u64 {
        self.store().next_incoming()
    }

    #[inline]
    fn keep(&mut self, sequence: u64, _message: &[u8]) -> Result<(), StoreError> {
        self.set_next_outgoing(sequence.saturating_add(1))
    }

    #[inline]
    fn set_next_outgoing(&mut self, next: u64) -> Result<(), StoreError> {
        match self {
            Self::Memory(store) => store.set_next_outgoing(next),
            Self::File(store) => store.set_next_outgoing(next),
        }
    }

    fn set_next_incoming(&mut self, next: u64) -> Result<(), StoreError> {
        self.store_mut().set_next_incoming(next)
    }

    fn read(&mut self, _sequence: u64) -> Option<&[u8]> {
        None
    }

    fn reset(&mut self) -> Result<(), StoreError> {
        self.store_mut().reset()
    }
}
