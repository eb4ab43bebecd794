//! What went wrong on one side of the journal, for the other side.

use taut_sync::atomic::{AtomicU64, Ordering};
use taut_sys::SysError;

use crate::error::JournalError;
use crate::lock::FolderLock;

/// What both sides of a journal have.
#[derive(Debug)]
pub struct Shared {
    pub fault: Fault,
    /// Up to this number entries are safe from a power cut, where marks say so.
    pub safe: AtomicU64,
    /// Of its folders: kept as long as one of them is there.
    pub _locks: Vec<FolderLock>,
}

/// Error numbers that writer and housekeeper tell each other; 0 is none.
#[derive(Debug, Default)]
pub struct Fault {
    /// Something could not be made safe: bit 63, segment (31 bits), error number (32 bits).
    poison: AtomicU64,
    /// The next segment could not be made: bit 63, error number.
    unprepared: AtomicU64,
}

const SET: u64 = 1 << 63;
const SYNC: &str = "synchronise";

impl Fault {
    /// Cost: a load of a line that nobody writes.
    #[inline]
    pub fn is_set(&self) -> bool {
        self.poison.load(Ordering::Relaxed) != 0
    }

    /// Poisons the journal, for good.
    pub fn set(&self, segment: u32, error: SysError) -> JournalError {
        let word = SET | u64::from(segment) << 32 | u64::from(error.errno().cast_unsigned());
        self.poison.store(word, Ordering::Relaxed);
        JournalError::Poisoned { segment, error }
    }

    #[cold]
    pub fn poisoned(&self, now_in: u32) -> JournalError {
        let word = self.poison.load(Ordering::Relaxed);
        let segment = ((word & !SET) >> 32) as u32;
        let error = SysError::from_errno(SYNC, (word as u32).cast_signed());
        JournalError::Poisoned { segment: if word == 0 { now_in } else { segment }, error }
    }

    /// Notes why the next segment is not ready, or that it is.
    pub fn note_unprepared(&self, error: Option<SysError>) {
        let word = error.map_or(0, |error| SET | u64::from(error.errno().cast_unsigned()));
        self.unprepared.store(word, Ordering::Relaxed);
    }

    #[cold]
    pub fn full(&self, segment: u32) -> JournalError {
        let word = self.unprepared.load(Ordering::Relaxed);
        let error = SysError::from_errno("make the segment", (word as u32).cast_signed());
        JournalError::Full { segment, error: (word != 0).then_some(error) }
    }
}
