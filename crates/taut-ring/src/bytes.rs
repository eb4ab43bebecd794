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
        let mut last = [0; WORD_BYTES];
        last[..rest.len()].copy_from_slice(rest);
        word.store(u64::from_ne_bytes(last), Ordering::Relaxed);
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
        let last = word.load(Ordering::Relaxed).to_ne_bytes();
        rest.copy_from_slice(&last[..rest.len()]);
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
