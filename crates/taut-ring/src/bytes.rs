//! Bytes in and out of words of atomics, one relaxed operation for each word.

use taut_sync::atomic::{AtomicU64, Ordering};

/// Bytes of a word.
pub(crate) const WORD_BYTES: usize = size_of::<u64>();

/// Stores bytes into the first words; the rest of the last word is zero. Bytes that have no word
/// are dropped. Cost: one store for 8 bytes.
#[inline]
pub fn store_bytes(words: &[AtomicU64], bytes: &[u8]) {
    let (whole, rest) = bytes.as_chunks::<WORD_BYTES>();
    for (word, chunk) in words.iter().zip(whole) {
        // Relaxed: the header of the record, stored afterwards, orders them.
        word.store(u64::from_ne_bytes(*chunk), Ordering::Relaxed);
    }
    if let Some(word) = words.get(whole.len()).filter(|_| !rest.is_empty()) {
        word.store(join(rest), Ordering::Relaxed);
    }
}

/// Loads bytes from the first words; bytes that have no word stay as they are.
#[inline]
pub fn load_bytes(words: &[AtomicU64], bytes: &mut [u8]) {
    let (whole, rest) = bytes.as_chunks_mut::<WORD_BYTES>();
    let count = whole.len();
    for (word, chunk) in words.iter().zip(whole) {
        // Relaxed: ordered by the header of the record, loaded before.
        *chunk = word.load(Ordering::Relaxed).to_ne_bytes();
    }
    if let Some(word) = words.get(count).filter(|_| !rest.is_empty()) {
        part(word.load(Ordering::Relaxed), rest);
    }
}

/// A word of fewer than eight bytes. In pieces of four, two and one, and not by way of a buffer:
/// a load of what was just stored in smaller pieces waits until they have left the store buffer,
/// and there they stand behind the stores to lines that the reader has.
#[inline]
fn join(bytes: &[u8]) -> u64 {
    let (fours, rest) = bytes.split_at(bytes.len() & 4);
    let (twos, ones) = rest.split_at(rest.len() & 2);
    let (mut word, mut shift) = (0, 0);
    if let Some(four) = fours.first_chunk() {
        (word, shift) = (u64::from(u32::from_le_bytes(*four)), 32);
    }
    if let Some(two) = twos.first_chunk() {
        word |= u64::from(u16::from_le_bytes(*two)) << shift;
        shift += 16;
    }
    if let Some(one) = ones.first() {
        word |= u64::from(*one) << shift;
    }
    word.to_le()
}

/// The bytes, fewer than eight, that [`join`] made a word of.
#[inline]
fn part(word: u64, bytes: &mut [u8]) {
    let (fours, rest) = bytes.split_at_mut(bytes.len() & 4);
    let (twos, ones) = rest.split_at_mut(rest.len() & 2);
    let mut word = u64::from_le(word);
    if let Some(four) = fours.first_chunk_mut() {
        *four = (word as u32).to_le_bytes();
        word >>= 32;
    }
    if let Some(two) = twos.first_chunk_mut() {
        *two = (word as u16).to_le_bytes();
        word >>= 16;
    }
    if let Some(one) = ones.first_mut() {
        *one = word as u8;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn bytes_of_every_length_come_back() {
        for length in 0..40usize {
            let words: Vec<AtomicU64> = (0..5).map(|_| AtomicU64::new(u64::MAX)).collect();
            let bytes: Vec<u8> = (1..).take(length).collect();
            store_bytes(&words, &bytes);
            let mut back = std::vec![0; length];
            load_bytes(&words, &mut back);
            assert_eq!(back, bytes);
        }
    }
}
