//! A segment that is written: a file of fixed size, mapped whole.

use std::ops::Range;
use std::path::Path;

use taut_sync::atomic::{AtomicU64, Ordering};
use taut_sys::{Mapping, MemoryFile, SysError};
use taut_types::Nanos;

use crate::entry::Entry;
use crate::error::segment_name;
use crate::header::{HEADER_WORDS, Header};
use crate::record::{self, RECORD_WORDS_MAX, WRITTEN_WORDS_MAX};

const WORD_BYTES: usize = size_of::<u64>();
/// `EEXIST`.
const EXISTS: i32 = 17;
/// Only its owner reads it: orders are nobody else's business.
const MODE: u32 = 0o600;

/// A segment with its header and checkpoint in place.
#[derive(Debug)]
pub struct Segment {
    pub number: u32,
    pub salt: u64,
    /// The word where the records begin.
    pub records_at: usize,
    file: MemoryFile,
    mapping: Mapping,
}

impl Segment {
    /// Makes a segment. The file appears under its name when it is whole and, with `is_synced`,
    /// safe from a power cut: what has a name has a right header and checkpoint.
    pub fn make(
        folder: &Path,
        header: Header,
        checkpoint: impl Iterator<Item = Entry>,
        is_synced: bool,
    ) -> Result<Self, SysError> {
        let Header { number, salt, records_at, words, made_at, .. } = header;
        let file = MemoryFile::unnamed(folder, (words * WORD_BYTES) as u64, MODE)?;
        let mapping = file.map(taut_sys::Access::Write, false)?;
        // Every page is there and writable before the hot path comes, and its blocks are written
        // with zeros: the file system has nothing left to decide then.
        mapping.populate(0..words * WORD_BYTES)?;
        let segment = Self { number, salt, records_at, file, mapping };
        let mut at = HEADER_WORDS;
        for (sequence, entry) in (0..).zip(checkpoint) {
            at = segment.append(at, sequence, made_at, &entry);
        }
        for (place, word) in segment.words().iter().zip(header.to_words()) {
            place.store(word.to_le(), Ordering::Relaxed);
        }
        if is_synced {
            segment.sync()?;
        }
        let path = folder.join(segment_name(number));
        if !segment.file.link(&path)? {
            return Err(SysError::from_errno("name the file", EXISTS));
        }
        if is_synced {
            sync_folder(folder)?;
        }
        segment.populate(records_at)?;
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
        let (record, len) = record::write(self.salt, sequence, now, entry);
        self.store(at, &record, len)
    }

    /// Stores a record, its first word last: it is not there before the rest is.
    #[inline]
    pub fn store(&self, at: usize, record: &[u64; WRITTEN_WORDS_MAX], len: usize) -> usize {
        let Some(places) = self.words().get(at..at + len) else { return at };
        let ([first, rest @ ..], [word, words @ ..]) = (places, record) else { return at };
        for (place, word) in rest.iter().zip(words) {
            place.store(word.to_le(), Ordering::Relaxed);
        }
        first.store(word.to_le(), Ordering::Release);
        at + len
    }

    /// Whether a record stands at a place.
    pub fn has_record(&self, at: usize) -> bool {
        self.words().get(at).is_some_and(|word| word.load(Ordering::Acquire) != 0)
    }

    /// The words from a place on, as many as a record may have, as long as there is a record.
    pub fn load(&self, at: usize, to: &mut [u64; RECORD_WORDS_MAX]) -> usize {
        let places = self.words().get(at..).unwrap_or(&[]);
        let Some(first) = places.first() else { return 0 };
        let len = usize::from(u64::from_le(first.load(Ordering::Acquire)) as u16);
        let mut count = 0;
        for (word, place) in to.iter_mut().zip(places).take(len) {
            *word = u64::from_le(place.load(Ordering::Relaxed));
            count += 1;
        }
        count
    }

    /// Makes what was written safe from a power cut.
    pub fn sync(&self) -> Result<(), SysError> {
        self.file.sync_data()
    }

    /// Makes the pages from a word on writable again: the kernel takes that away when it writes
    /// them back, and the next store to each would wait for the file system.
    pub fn populate(&self, at: usize) -> Result<(), SysError> {
        const AHEAD_BYTES: usize = 256 << 10;
        let bytes = self.mapping.bytes();
        let start = (at * WORD_BYTES).min(bytes);
        let range: Range<usize> = start..(start + AHEAD_BYTES).min(bytes);
        self.mapping.populate(range)
    }
}

/// A new name is safe from a power cut.
fn sync_folder(folder: &Path) -> Result<(), SysError> {
    let done = std::fs::File::open(folder).and_then(|folder| folder.sync_all());
    done.map_err(|error| {
        SysError::from_errno("synchronise the folder", error.raw_os_error().unwrap_or(0))
    })
}
