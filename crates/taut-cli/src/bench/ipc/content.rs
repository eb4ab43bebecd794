//! What the messages of the benchmark say, and that all of it was written and read.
//!
//! A message says its number; a stamped one also when it was meant to be sent and when it was.

use taut_ring::Payload;
use taut_sync::atomic::{AtomicU64, Ordering};

/// What a message says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Content {
    pub number: u64,
    pub intended_ns: u64,
    pub sent_ns: u64,
}

/// Number, stamps, and the number again in all that follows. Every byte is written, none twice:
/// what is stored in two pieces and then loaded as one would be measured, and not the log.
#[inline]
pub fn stamp(message: &mut [u8], content: Content) {
    let Content { number, intended_ns, sent_ns } = content;
    let (words, rest) = message.as_chunks_mut::<8>();
    for (place, value) in words.iter_mut().zip([number, intended_ns, sent_ns]) {
        *place = value.to_ne_bytes();
    }
    words.iter_mut().skip(3).for_each(|place| *place = number.to_ne_bytes());
    let (fours, rest) = rest.as_chunks_mut::<4>();
    fours.iter_mut().for_each(|place| *place = (number as u32).to_ne_bytes());
    let (twos, ones) = rest.as_chunks_mut::<2>();
    twos.iter_mut().for_each(|place| *place = (number as u16).to_ne_bytes());
    ones.iter_mut().for_each(|place| *place = number as u8);
}

/// What a message says, if all of it says the same.
#[inline]
pub fn content(message: &[u8]) -> Option<Content> {
    let (words, rest) = message.as_chunks::<8>();
    let ([number, intended, sent], words) = words.split_first_chunk::<3>()?;
    let number = u64::from_ne_bytes(*number);
    let mut same = words.iter().fold(true, |same, word| same & (*word == number.to_ne_bytes()));
    let (fours, rest) = rest.as_chunks::<4>();
    let (twos, ones) = rest.as_chunks::<2>();
    fours.iter().for_each(|four| same &= *four == (number as u32).to_ne_bytes());
    twos.iter().for_each(|two| same &= *two == (number as u16).to_ne_bytes());
    ones.iter().for_each(|one| same &= *one == number as u8);
    let [intended_ns, sent_ns] = [*intended, *sent].map(u64::from_ne_bytes);
    same.then_some(Content { number, intended_ns, sent_ns })
}

/// What a tick says. Its words are compared one by one: two arrays at once would be stored in words
/// and loaded in vectors, which wait for the stores.
#[inline]
pub fn content_of_tick(payload: &Payload) -> Option<Content> {
    let [number, intended_ns, sent_ns, rest @ ..] = payload;
    let same = rest.iter().fold(true, |same, word| same & (word == number));
    same.then_some(Content { number: *number, intended_ns: *intended_ns, sent_ns: *sent_ns })
}

/// As [`stamp`], word by word in the log's own memory.
#[inline]
pub fn stamp_in_place(words: &[AtomicU64], size: usize, content: Content) {
    let Content { number, intended_ns, sent_ns } = content;
    let (first, rest) = words.split_at(words.len().min(3));
    for (word, value) in first.iter().zip([number, intended_ns, sent_ns]) {
        word.store(value, Ordering::Relaxed);
    }
    let (whole, end) = rest.split_at(rest.len() - usize::from(!size.is_multiple_of(8)));
    whole.iter().for_each(|word| word.store(number, Ordering::Relaxed));
    end.iter().for_each(|word| word.store(ending(number, size), Ordering::Relaxed));
}

/// As [`content`], word by word in the log's own memory.
#[inline]
pub fn content_in_place(words: &[AtomicU64], size: usize) -> Option<Content> {
    let ([number, intended, sent], rest) = words.split_first_chunk::<3>()?;
    let load = |word: &AtomicU64| word.load(Ordering::Relaxed);
    let number = load(number);
    let (whole, end) = rest.split_at_checked((size / 8).checked_sub(3)?)?;
    let mut same = whole.iter().fold(true, |same, word| same & (load(word) == number));
    end.iter().for_each(|word| same &= load(word) == ending(number, size));
    same.then(|| Content { number, intended_ns: load(intended), sent_ns: load(sent) })
}

/// The last word of a message that ends within it: the pieces of [`stamp`], the rest zero.
const fn ending(number: u64, size: usize) -> u64 {
    let (mut word, mut shift) = (0, 0);
    if size & 4 != 0 {
        (word, shift) = (number & 0xFFFF_FFFF, 32);
    }
    if size & 2 != 0 {
        word |= (number & 0xFFFF) << shift;
        shift += 16;
    }
    if size & 1 != 0 {
        word |= (number & 0xFF) << shift;
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_stamped_comes_back_and_any_other_byte_shows() {
        let content_of = Content { number: 0x0102_0304_0506_0708, intended_ns: 5, sent_ns: 7 };
        for size in 24..50usize {
            let words: Vec<AtomicU64> =
                (0..size.div_ceil(8)).map(|_| AtomicU64::new(u64::MAX)).collect();
            stamp_in_place(&words, size, content_of);
            assert_eq!(content_in_place(&words, size), Some(content_of), "{size}");
            let mut message = vec![0; size];
            stamp(&mut message, content_of);
            assert_eq!(content(&message), Some(content_of), "{size}");
            // One end may copy and the other not.
            let copied: Vec<AtomicU64> = (0..words.len()).map(|_| AtomicU64::new(0)).collect();
            taut_ring::store_bytes(&copied, &message);
            assert_eq!(content_in_place(&copied, size), Some(content_of), "{size}");
            for at in 24..size {
                words[at / 8].fetch_xor(1 << (at % 8 * 8), Ordering::Relaxed);
                assert_eq!(content_in_place(&words, size), None, "{size}: byte {at}");
                words[at / 8].fetch_xor(1 << (at % 8 * 8), Ordering::Relaxed);
                message[at] ^= 1;
                assert_eq!(content(&message), None, "{size}: byte {at}");
                message[at] ^= 1;
            }
        }
    }
}
