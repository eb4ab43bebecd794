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

impl Content {
    /// Takes what a message says; whether all of it says the same.
    #[inline]
    pub fn take(&mut self, message: &[u8]) -> bool {
        let (words, rest) = message.as_chunks::<8>();
        let Some(([number, intended, sent], words)) = words.split_first_chunk::<3>() else {
            return false;
        };
        let number = u64::from_ne_bytes(*number);
        let mut same = words.iter().fold(true, |same, word| same & (*word == number.to_ne_bytes()));
        let (fours, rest) = rest.as_chunks::<4>();
        let (twos, ones) = rest.as_chunks::<2>();
        self.number = number;
        let mut number = number;
        if let Some(four) = fours.first() {
            same &= *four == (number as u32).to_le_bytes();
            number >>= 32;
        }
        if let Some(two) = twos.first() {
            same &= *two == (number as u16).to_le_bytes();
            number >>= 16;
        }
        if let Some(one) = ones.first() {
            same &= *one == number as u8;
        }
        self.intended_ns = u64::from_ne_bytes(*intended);
        self.sent_ns = u64::from_ne_bytes(*sent);
        same
    }

    /// As [`Content::take`], word by word in the log's own memory.
    #[inline]
    pub fn take_in_place(&mut self, words: &[AtomicU64], size: usize) -> bool {
        let load = |word: &AtomicU64| word.load(Ordering::Relaxed);
        let Some(([number, intended, sent], rest)) = words.split_first_chunk::<3>() else {
            return false;
        };
        let number = load(number);
        let Some((whole, end)) = (size / 8).checked_sub(3).and_then(|at| rest.split_at_checked(at))
        else {
            return false;
        };
        let mut same = whole.iter().fold(true, |same, word| same & (load(word) == number));
        if let Some(word) = end.first() {
            same &= load(word) == ending(number, size);
        }
        self.number = number;
        self.intended_ns = load(intended);
        self.sent_ns = load(sent);
        same
    }

    /// Takes what a tick says. Its words are compared one by one: two arrays would be compared as
    /// vectors, which wait until the words that they were stored as have left the store buffer.
    #[inline]
    pub fn take_tick(&mut self, payload: &Payload) -> bool {
        let [number, intended_ns, sent_ns, rest @ ..] = payload;
        self.number = *number;
        self.intended_ns = *intended_ns;
        self.sent_ns = *sent_ns;
        rest.iter().fold(true, |same, word| same & (word == number))
    }
}

/// Number, stamps, and the number again in all that follows, as much of it as there is room for.
/// Every byte is written, none twice: what is stored in two pieces and then loaded as one would be
/// measured, and not the log.
#[inline]
pub fn stamp(message: &mut [u8], content: Content) {
    let Content { number, intended_ns, sent_ns } = content;
    let (words, rest) = message.as_chunks_mut::<8>();
    for (place, value) in words.iter_mut().zip([number, intended_ns, sent_ns]) {
        *place = value.to_ne_bytes();
    }
    words.iter_mut().skip(3).for_each(|place| *place = number.to_ne_bytes());
    let (fours, rest) = rest.as_chunks_mut::<4>();
    let (twos, ones) = rest.as_chunks_mut::<2>();
    let mut number = number;
    if let Some(four) = fours.first_mut() {
        *four = (number as u32).to_le_bytes();
        number >>= 32;
    }
    if let Some(two) = twos.first_mut() {
        *two = (number as u16).to_le_bytes();
        number >>= 16;
    }
    if let Some(one) = ones.first_mut() {
        *one = number as u8;
    }
}

/// As [`stamp`], word by word in the log's own memory.
#[inline]
pub fn stamp_in_place(words: &[AtomicU64], size: usize, content: Content) {
    let store = |word: &AtomicU64, value| word.store(value, Ordering::Relaxed);
    let Some((first, rest)) = words.split_first_chunk::<3>() else { return };
    store(&first[0], content.number);
    store(&first[1], content.intended_ns);
    store(&first[2], content.sent_ns);
    let (whole, end) = rest.split_at(rest.len().min(size / 8 - 3));
    whole.iter().for_each(|word| store(word, content.number));
    if let Some(word) = end.first() {
        store(word, ending(content.number, size));
    }
}

/// The last word of a message that ends within it: the first bytes of the number, the rest zero.
#[inline]
const fn ending(number: u64, size: usize) -> u64 {
    number & !(u64::MAX << (size % 8 * 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_stamped_comes_back_and_any_other_byte_shows() {
        let sent = Content { number: 0x0102_0304_0506_0708, intended_ns: 5, sent_ns: 7 };
        let mut taken = Content::default();
        for size in 24..50usize {
            let words: Vec<AtomicU64> =
                (0..size.div_ceil(8)).map(|_| AtomicU64::new(u64::MAX)).collect();
            stamp_in_place(&words, size, sent);
            assert!(taken.take_in_place(&words, size) && taken == sent, "{size}");
            let mut message = vec![0; size];
            stamp(&mut message, sent);
            assert!(taken.take(&message) && taken == sent, "{size}");
            // One end may copy and the other not.
            let copied: Vec<AtomicU64> = (0..words.len()).map(|_| AtomicU64::new(0)).collect();
            taut_ring::store_bytes(&copied, &message);
            assert!(taken.take_in_place(&copied, size) && taken == sent, "{size}");
            for at in 24..size {
                words[at / 8].fetch_xor(1 << (at % 8 * 8), Ordering::Relaxed);
                assert!(!taken.take_in_place(&words, size), "{size}: byte {at}");
                words[at / 8].fetch_xor(1 << (at % 8 * 8), Ordering::Relaxed);
                message[at] ^= 1;
                assert!(!taken.take(&message), "{size}: byte {at}");
                message[at] ^= 1;
            }
        }
        let tick = [3, 1, 2, 3, 3, 3, 3];
        assert!(taken.take_tick(&tick) && taken.number == 3 && taken.sent_ns == 2);
        assert!(!taken.take_tick(&[3, 1, 2, 3, 3, 4, 3]));
    }
}
