//! Where a session's numbers and messages are: in memory or in a file.

use std::io;
use std::path::Path;

use crate::owner_only::create_folder;
use crate::store::FileStore;
use taut_fix::{MemoryStore, Store, StoreError};
use taut_types::Nanos;

use crate::settings::SessionSettings;

/// Messages and bytes that a store in memory can give back.
const MESSAGE_COUNT: usize = 16 * 1024;
const MESSAGE_BYTES: usize = 4 << 20;

/// The store that a session's settings ask for.
#[derive(Debug)]
pub enum SessionStore {
    /// Nothing survives the process.
    Memory(Box<MemoryStore>),
    /// In a file that survives it.
    File(Box<FileStore>),
}

impl SessionStore {
    /// Opens it; the folder is made when it is not there.
    ///
    /// # Errors
    /// The file cannot be opened, is another's, or is no store.
    pub fn open(settings: &SessionSettings) -> io::Result<Self> {
        let Some(folder) = &settings.store else {
            return Ok(Self::Memory(Box::new(MemoryStore::new(MESSAGE_COUNT, MESSAGE_BYTES))));
        };
        let path = folder.join(settings.file_name() + ".store");
        let made = create_folder(folder);
        let store = made.and_then(|()| FileStore::open(&path, settings.sync));
        let mut store = store.map_err(|error| named(&path, &error))?;
        store.set_retention(settings.retention);
        Ok(Self::File(Box::new(store)))
    }

    /// The trading session that the numbers of a file belong to.
    #[must_use]
    pub const fn period(&self) -> Option<Nanos> {
        match self {
            Self::Memory(_) => None,
            Self::File(store) => store.period(),
        }
    }

    /// Whether something was written that a power cut may still take.
    #[must_use]
    pub const fn has_uncommitted(&self) -> bool {
        match self {
            Self::Memory(_) => false,
            Self::File(store) => store.has_uncommitted(),
        }
    }

    /// A trading session begins that the numbers belong to from now on: they start again at 1.
    pub(crate) fn begin_period(&mut self, start: Nanos) -> Result<(), StoreError> {
        match self {
            Self::Memory(store) => store.reset(),
            Self::File(store) => store.begin_period(start),
        }
    }

    /// Lets old messages go, when it is time.
    pub(crate) fn compact_if_due(&mut self) -> Result<(), StoreError> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::File(store) => store.compact_if_due().map(drop),
        }
    }

    /// Bytes of the file that were damaged or torn when it was opened.
    pub(crate) const fn lost_bytes(&self) -> u64 {
        match self {
            Self::Memory(_) => 0,
            Self::File(store) => store.torn_bytes() + store.damaged_bytes(),
        }
    }

    /// Before a batch is handed to the network.
    pub(crate) fn commit(&mut self) -> Result<(), StoreError> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::File(store) => store.commit(),
        }
    }
}

/// What went wrong with a file, and with which.
pub(crate) fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

macro_rules! each {
    ($self:ident, $store:ident => $call:expr) => {
        match $self {
            SessionStore::Memory($store) => $call,
            SessionStore::File($store) => $call,
        }
    };
}

impl Store for SessionStore {
    fn next_outgoing(&self) -> u64 {
        each!(self, store => store.next_outgoing())
    }

    fn next_incoming(&self) -> u64 {
        each!(self, store => store.next_incoming())
    }

    fn keep(&mut self, sequence: u64, message: &[u8]) -> Result<(), StoreError> {
        each!(self, store => store.keep(sequence, message))
    }

    fn set_next_outgoing(&mut self, next: u64) -> Result<(), StoreError> {
        each!(self, store => store.set_next_outgoing(next))
    }

    fn set_next_incoming(&mut self, next: u64) -> Result<(), StoreError> {
        each!(self, store => store.set_next_incoming(next))
    }

    fn read(&mut self, sequence: u64) -> Option<&[u8]> {
        each!(self, store => store.read(sequence))
    }

    fn reset(&mut self) -> Result<(), StoreError> {
        each!(self, store => store.reset())
    }
}
