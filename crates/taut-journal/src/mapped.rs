//! The file under a segment: of a fixed size, mapped whole, every page there before the hot path
//! comes.

use std::path::Path;

use taut_sync::atomic::{AtomicU64, Ordering};
use taut_sys::{Access, Mapping, MemoryFile, SysError, random_bytes};

use crate::error::segment_name;
use crate::record::{HEAD_WORDS, last_word, words_for};

/// Bytes of a word.
pub const WORD_BYTES: usize = size_of::<u64>();
/// `EEXIST`.
const EXISTS: i32 = 17;
/// Only its owner reads it: orders are nobody else's business.
const MODE: u32 = 0o600;

/// Makes a file of so many words, which has no name yet. Its pages are writable, and its blocks are
/// written with zeros: the file system has nothing left to decide when the hot path comes.
pub fn make(folder: &Path, words: usize) -> Result<(MemoryFile, Mapping), SysError> {
    let bytes = words * WORD_BYTES;
    let file = MemoryFile::unnamed(folder, bytes as u64, MODE)?;
    let mapping = file.map(Access::Write, false)?;
    mapping.populate(0..bytes)?;
    Ok((file, mapping))
}

/// Gives it the name of its segment: it appears whole.
pub fn name(file: &MemoryFile, folder: &Path, segment: u32) -> Result<(), SysError> {
    if file.link(&folder.join(segment_name(segment)))? {
        return Ok(());
    }
    Err(SysError::from_errno("name the file", EXISTS))
}

/// A salt for the sums of a segment.
pub fn salt() -> Result<u64, SysError> {
    let mut salt = [0; WORD_BYTES];
    random_bytes(&mut salt)?;
    Ok(u64::from_le_bytes(salt))
}

/// Stores a header.
pub fn store_header(places: &[AtomicU64], header: &[u64]) {
    for (place, word) in places.iter().zip(header) {
        place.store(word.to_le(), Ordering::Relaxed);
    }
}

/// Stores a record, its first word last: it is not there before the rest is. Returns the place
/// behind it.
#[inline]
pub fn store(places: &[AtomicU64], at: usize, record: &[u64]) -> usize {
    let Some(places) = places.get(at..at + record.len()) else { return at };
    let ([first, rest @ ..], [word, words @ ..]) = (places, record) else { return at };
    for (place, word) in rest.iter().zip(words) {
        place.store(word.to_le(), Ordering::Relaxed);
    }
    first.store(word.to_le(), Ordering::Release);
    at + record.len()
}

/// The same of a record whose payload are these bytes.
#[inline]
pub fn store_bytes(
    places: &[AtomicU64],
    at: usize,
    [first, sequence, time]: [u64; HEAD_WORDS],
    payload: &[u8],
) -> usize {
    let end = at + words_for(payload.len());
    let Some([place, number, stamp, places @ ..]) = places.get(at..end) else { return at };
    number.store(sequence.to_le(), Ordering::Relaxed);
    stamp.store(time.to_le(), Ordering::Relaxed);
    let (whole, rest) = payload.as_chunks::<WORD_BYTES>();
    for (place, word) in places.iter().zip(whole) {
        place.store(u64::from_ne_bytes(*word), Ordering::Relaxed);
    }
    if let Some(last) = places.get(whole.len()) {
        last.store(u64::from_ne_bytes(last_word(rest)), Ordering::Relaxed);
    }
    place.store(first.to_le(), Ordering::Release);
    end
}
