//! A segment that is written: a file of fixed size, mapped whole.

use std::path::Path;

use taut_sync::atomic::{AtomicU64, Ordering};
use taut_sys::{Access, Mapping, MemoryFile, SysError, random_bytes, utc};

use super::header::{HEADER_WORDS, Header};
use crate::error::segment_name;

/// `EEXIST`.
const EXISTS: i32 = 17;
/// Only its owner reads it: orders are nobody else's business.
const MODE: u32 = 0o600;

#[derive(Debug)]
pub struct Segment {
    pub number: u32,
    pub salt: u64,
    mapping: Mapping,
}

impl Segment {
    /// Makes a segment of so many words. Every page is there and writable before the first frame
    /// comes; the file appears under its name when it is whole.
    pub fn make(folder: &Path, number: u32, words: usize) -> Result<Self, SysError> {
        let bytes = words * size_of::<u64>();
        let file = MemoryFile::unnamed(folder, bytes as u64, MODE)?;
        let mapping = file.map(Access::Write, false)?;
        mapping.populate(0..bytes)?;
        let mut salt = [0; 8];
        random_bytes(&mut salt)?;
        let salt = u64::from_le_bytes(salt);
        let header = Header { words, number, salt, made_at: utc().0.cast_unsigned() };
        for (place, word) in mapping.words().iter().zip(header.to_words()) {
            place.store(word.to_le(), Ordering::Relaxed);
        }
        if !file.link(&folder.join(segment_name(number)))? {
            return Err(SysError::from_errno("name the file", EXISTS));
        }
        Ok(Self { number, salt, mapping })
    }

    fn words(&self) -> &[AtomicU64] {
        self.mapping.words()
    }

    /// Whether so many words have room at a place.
    pub fn has_room(&self, at: usize, words: usize) -> bool {
        at + words <= self.words().len()
    }

    /// Whether so many words would have room in an empty segment.
    pub fn could_hold(&self, words: usize) -> bool {
        self.has_room(HEADER_WORDS, words)
    }

    /// Stores a frame, its first word last; returns the place behind it.
    #[inline]
    pub fn store(&self, at: usize, frame: &[u64]) -> usize {
        let Some(places) = self.words().get(at..at + frame.len()) else { return at };
        let ([first, rest @ ..], [word, words @ ..]) = (places, frame) else { return at };
        for (place, word) in rest.iter().zip(words) {
            place.store(word.to_le(), Ordering::Relaxed);
        }
        first.store(word.to_le(), Ordering::Release);
        at + frame.len()
    }
}
