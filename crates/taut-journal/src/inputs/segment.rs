//! A segment that is written.

use std::path::Path;

use taut_sync::atomic::AtomicU64;
use taut_sys::{Mapping, SysError, utc};

use super::header::{HEADER_WORDS, Header};
use crate::mapped;

#[derive(Debug)]
pub struct Segment {
    pub number: u32,
    pub salt: u64,
    mapping: Mapping,
}

impl Segment {
    /// Makes a segment of so many words. The file appears under its name when it is whole.
    pub fn make(folder: &Path, number: u32, words: usize) -> Result<Self, SysError> {
        let (file, mapping) = mapped::make(folder, words)?;
        let salt = mapped::salt()?;
        let header = Header { words, number, salt, made_at: utc().0.cast_unsigned() };
        mapped::store_header(mapping.words(), &header.to_words());
        mapped::name(&file, folder, number)?;
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
        mapped::store(self.words(), at, frame)
    }
}
