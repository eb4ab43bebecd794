//! Which places are occupied, and the nearest one in either direction, in three steps.

use alloc::{boxed::Box, vec};

const WORD_BITS: usize = u64::BITS as usize;
/// Three levels of 64 make up the largest bitmap.
pub(crate) const BITS_MAX: usize = WORD_BITS * WORD_BITS * WORD_BITS;

/// A set of up to 2^18 small numbers: a bit for each, a bit for each word of those, and a bit for
/// each word of these.
#[derive(Clone, Debug)]
pub(crate) struct Bitmap {
    bits: Box<[u64]>,
    words: Box<[u64]>,
    blocks: u64,
}

impl Bitmap {
    /// An empty set of numbers below `len`.
    pub(crate) fn new(len: usize) -> Self {
        let len = len.clamp(1, BITS_MAX);
        let word_count = len.div_ceil(WORD_BITS);
        Self {
            bits: vec![0; word_count].into_boxed_slice(),
            words: vec![0; word_count.div_ceil(WORD_BITS)].into_boxed_slice(),
            blocks: 0,
        }
    }

    pub(crate) fn insert(&mut self, number: usize) {
        let (word, block) = (number / WORD_BITS, number / WORD_BITS / WORD_BITS);
        self.bits[word] |= 1 << (number % WORD_BITS);
        self.words[block] |= 1 << (word % WORD_BITS);
        self.blocks |= 1 << block;
    }

    pub(crate) fn remove(&mut self, number: usize) {
        let (word, block) = (number / WORD_BITS, number / WORD_BITS / WORD_BITS);
        self.bits[word] &= !(1 << (number % WORD_BITS));
        if self.bits[word] == 0 {
            self.words[block] &= !(1 << (word % WORD_BITS));
            if self.words[block] == 0 {
                self.blocks &= !(1 << block);
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        self.bits.fill(0);
        self.words.fill(0);
        self.blocks = 0;
    }

    /// The greatest member.
    pub(crate) fn last(&self) -> Option<usize> {
        let block = highest(self.blocks)?;
        let word = block * WORD_BITS + highest(self.words[block])?;
        Some(word * WORD_BITS + highest(self.bits[word])?)
    }

    /// The greatest member below `end`.
    pub(crate) fn last_below(&self, end: usize) -> Option<usize> {
        let (word, block) = (end / WORD_BITS, end / WORD_BITS / WORD_BITS);
        let in_word = self.bits.get(word).map_or(0, |bits| bits & below(end % WORD_BITS));
        if let Some(bit) = highest(in_word) {
            return Some(word * WORD_BITS + bit);
        }
        let in_block = self.words.get(block).map_or(0, |words| words & below(word % WORD_BITS));
        let word = match highest(in_block) {
            Some(word) => block * WORD_BITS + word,
            None => {
                let all = if block < WORD_BITS { below(block) } else { u64::MAX };
                let block = highest(self.blocks & all)?;
                block * WORD_BITS + highest(self.words[block])?
            }
        };
        Some(word * WORD_BITS + highest(self.bits[word])?)
    }

    /// The least member that is `start` or above.
    pub(crate) fn first_from(&self, start: usize) -> Option<usize> {
        let (word, block) = (start / WORD_BITS, start / WORD_BITS / WORD_BITS);
        let in_word = self.bits.get(word)? & !below(start % WORD_BITS);
        if let Some(bit) = lowest(in_word) {
            return Some(word * WORD_BITS + bit);
        }
        let in_block = self.words[block] & !below(word % WORD_BITS) & !(1 << (word % WORD_BITS));
        let word = match lowest(in_block) {
            Some(word) => block * WORD_BITS + word,
            None => {
                let block = lowest(self.blocks & !below(block) & !(1 << block))?;
                block * WORD_BITS + lowest(self.words[block])?
            }
        };
        Some(word * WORD_BITS + lowest(self.bits[word])?)
    }
}

/// The bits below this one.
const fn below(bit: usize) -> u64 {
    (1 << bit) - 1
}

const fn highest(word: u64) -> Option<usize> {
    match word {
        0 => None,
        _ => Some(WORD_BITS - 1 - word.leading_zeros() as usize),
    }
}

const fn lowest(word: u64) -> Option<usize> {
    match word {
        0 => None,
        _ => Some(word.trailing_zeros() as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::{BITS_MAX, Bitmap};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn behaves_like_a_sorted_set(
            steps in proptest::collection::vec((0usize..5, any::<prop::sample::Index>()), 1..300),
            len in prop_oneof![Just(64), Just(4_096), Just(BITS_MAX)],
        ) {
            let (mut bitmap, mut set) = (Bitmap::new(len), BTreeSet::new());
            for (action, index) in steps {
                // Few numbers, spread over all words and blocks, at their edges.
                let number = index.index(len) & !0x3e;
                if action < 3 {
                    bitmap.insert(number);
                    set.insert(number);
                } else {
                    bitmap.remove(number);
                    set.remove(&number);
                }
                prop_assert_eq!(bitmap.last(), set.last().copied());
                for probe in [0, number, number + 1, len] {
                    prop_assert_eq!(bitmap.last_below(probe), set.range(..probe).last().copied());
                    prop_assert_eq!(bitmap.first_from(probe), set.range(probe..).next().copied());
                }
            }
            bitmap.clear();
            prop_assert_eq!((bitmap.last(), bitmap.first_from(0)), (None, None));
        }
    }
}
