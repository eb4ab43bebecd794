//! A segment that is written: a file of fixed size, mapped whole.

use std::ops::Range;
use std::path::Path;

use taut_sync::atomic::{AtomicU64, Ordering};
use taut_sys::{Mapping, MemoryFile, SysError};
use taut_types::Nanos;

use crate::entry::Entry;
use crate::header::{HEADER_WORDS, Header};
use crate::mapped::{self, WORD_BYTES};
use crate::record::{self, First, Word, Written};
use crate::settings::Durability;

/// A segment with its header and checkpoint in place.
#[derive(Debug)]
pub struct Segment {
    pub number: u32,
    pub salt: u64,
    /// The word where the records begin.
    pub records_at: usize,
    durability: Durability,
    file: MemoryFile,
    mapping: Mapping,
}

impl Segment {
    /// Makes a segment. The file appears under its name when it is whole and, unless the durability
    /// is none, safe from a power cut: what has a name has a right header and checkpoint.
    pub fn make(
        folder: &Path,
        header: Header,
        checkpoint: impl Iterator<Item = Entry>,
        durability: Durability,
    ) -> Result<Self, SysError> {
        let Header { number, salt, records_at, words, made_at, .. } = header;
        let (file, mapping) = mapped::make(folder, words)?;
        let segment = Self { number, salt, records_at, durability, file, mapping };
        let is_synced = durability != Durability::None;
        let mut at = HEADER_WORDS;
        for (sequence, entry) in (0..).zip(checkpoint) {
            at = segment.append(at, sequence, made_at, &entry);
        }
        mapped::store_header(segment.words(), &header.to_words());
        if is_synced {
            segment.file.sync_data()?;
        }
        // What is written back is not writable without a fault any more. Where every order waits
        // for the disk, that is nothing, and pages that are dirty for nothing are written too.
        if durability == Durability::Async {
            segment.mapping.populate(0..words * WORD_BYTES)?;
        }
        mapped::name(&segment.file, folder, number)?;
        if is_synced {
            sync_folder(folder)?;
        }
        Ok(segment)
    }

    fn words(&self) -> &[AtomicU64] {
        self.mapping.words()
    }

    /// Whether a record of so many words has room at a place.
    #[inline]
    pub fn has_room(&self, at: usize, words: usize) -> bool {
        at + words <= self.words().len()
    }

    /// Puts a record in its place, for which there is room, and returns the next place.
    #[inline]
    pub fn append(&self, at: usize, sequence: u64, now: Nanos, entry: &Entry) -> usize {
        let mut record: Written = [0; _];
        let len = record::write(&mut record, self.salt, (sequence, now), entry);
        self.store(at, &record, len)
    }

    /// Stores a record, its first word last: it is not there before the rest is.
    #[inline]
    pub fn store(&self, at: usize, record: &Written, len: usize) -> usize {
        // Behind the salt.
        mapped::store(self.words(), at, record.get(1..=len).unwrap_or(&[]))
    }

    /// Whether a record of so many words would have room if nothing but a checkpoint as long as
    /// this one's stood before it.
    pub fn could_hold(&self, words: usize) -> bool {
        words < record::WORDS_END && self.has_room(self.records_at, words)
    }

    /// Puts a record of bytes in its place, for which there is room, and returns the next place.
    #[inline]
    pub fn append_bytes(&self, at: usize, stamp: (u64, Nanos), kind: u16, payload: &[u8]) -> usize {
        let head = record::head(self.salt, stamp, kind, payload);
        mapped::store_bytes(self.words(), at, head, payload)
    }

    /// Whether a record stands at a place.
    pub fn has_record(&self, at: usize) -> bool {
        self.words().get(at).is_some_and(|word| word.load(Ordering::Acquire) != 0)
    }

    /// What the record at a place says first, and its number; nothing where there is none yet.
    pub fn first(&self, at: usize) -> Option<(First, u64)> {
        let [first, number, ..] = self.words().get(at..)? else { return None };
        let first = First::of(u64::from_le(first.load(Ordering::Acquire)))?;
        Some((first, u64::from_le(number.load(Ordering::Relaxed))))
    }

    /// The first words of a record that is there, as they stand in the file.
    pub fn load<'t>(&self, at: usize, words: usize, to: &'t mut [Word]) -> &'t [Word] {
        let places = self.words().get(at..).unwrap_or(&[]);
        let mut count = 0;
        for (word, place) in to.iter_mut().zip(places).take(words) {
            *word = place.load(Ordering::Relaxed).to_ne_bytes();
            count += 1;
        }
        to.get(..count).unwrap_or(&[])
    }

    /// Makes these words safe from a power cut: alone, so that the pages behind them stay writable,
    /// or, where every order waits for it, the faster way.
    pub fn sync(&self, words: Range<usize>) -> Result<(), SysError> {
        if self.durability == Durability::Sync {
            return self.file.sync_data();
        }
        self.mapping.sync(words.start * WORD_BYTES..words.end * WORD_BYTES)
    }

    /// Makes the pages from a word on writable again: the kernel takes that away when it writes
    /// them back, also by itself after half a minute, and the next store to each would wait for
    /// the file system.
    pub fn populate(&self, at: usize) -> Result<(), SysError> {
        const AHEAD_BYTES: usize = 1 << 20;
        if self.durability == Durability::Sync {
            return Ok(());
        }
        let bytes = self.mapping.bytes();
        let start = (at * WORD_BYTES).min(bytes);
        let range: Range<usize> = start..(start + AHEAD_BYTES).min(bytes);
        self.mapping.populate(range)
    }
}

/// Makes the names in a folder safe from a power cut: of what was made in it, or renamed.
///
/// # Errors
/// What the system says.
pub fn sync_folder(folder: &Path) -> Result<(), SysError> {
    let done = std::fs::File::open(folder).and_then(|folder| folder.sync_all());
    done.map_err(|error| {
        SysError::from_errno("synchronise the folder", error.raw_os_error().unwrap_or(0))
    })
}
