//! A seqlock cell: the newest value of a few words, from one writer to any number of readers.
//!
//! The first word is the version (odd while a value is written), the rest is the value.

use taut_sync::atomic::{AtomicU64, Ordering, fence};

use crate::error::RingError;

/// Words of memory for a value of `value_words` words.
#[must_use]
pub const fn words_for(value_words: usize) -> usize {
    1 + value_words
}

fn parts<const N: usize>(memory: &[AtomicU64]) -> Result<(&AtomicU64, &[AtomicU64]), RingError> {
    match memory.split_first() {
        Some((version, rest)) if rest.len() >= N => Ok((version, &rest[..N])),
        _ => Err(RingError::TooSmall { need: words_for(N), have: memory.len() }),
    }
}

/// The writing end. There must be one at a time.
#[derive(Debug)]
pub struct CellWriter<'m, const N: usize> {
    version: &'m AtomicU64,
    words: &'m [AtomicU64],
}

impl<'m, const N: usize> CellWriter<'m, N> {
    /// A writer over zeroed memory of [`words_for`] `N` words.
    ///
    /// # Errors
    /// When the memory is too small.
    pub fn new(memory: &'m [AtomicU64]) -> Result<Self, RingError> {
        let (version, words) = parts::<N>(memory)?;
        Ok(Self { version, words })
    }

    /// Replaces the value. It never waits.
    pub fn set(&mut self, value: &[u64; N]) {
        // We are the only writer: a relaxed load sees our own last store. A predecessor that died
        // half way left an odd version, which `| 1` takes over.
        let writing = self.version.load(Ordering::Relaxed) | 1;
        self.version.store(writing, Ordering::Relaxed);
        // Release fence: no word below becomes visible before the odd version above.
        fence(Ordering::Release);
        for (word, value) in self.words.iter().zip(value) {
            word.store(*value, Ordering::Relaxed);
        }
        // Release: the words are visible to whoever acquires this version.
        self.version.store(writing.wrapping_add(1), Ordering::Release);
    }
}

/// A reading end.
#[derive(Clone, Copy, Debug)]
pub struct CellReader<'m, const N: usize> {
    version: &'m AtomicU64,
    words: &'m [AtomicU64],
}

impl<'m, const N: usize> CellReader<'m, N> {
    /// A reader over memory of [`words_for`] `N` words.
    ///
    /// # Errors
    /// When the memory is too small.
    pub fn new(memory: &'m [AtomicU64]) -> Result<Self, RingError> {
        let (version, words) = parts::<N>(memory)?;
        Ok(Self { version, words })
    }

    /// The version and the value, or nothing when none was ever set or one is being written.
    ///
    /// The version is even and grows with every value; ask again after nothing.
    pub fn get(&self) -> Option<(u64, [u64; N])> {
        // Acquire: pairs with the writer's last store.
        let before = self.version.load(Ordering::Acquire);
        if before == 0 || before % 2 == 1 {
            return None;
        }
        let value = core::array::from_fn(|index| self.words[index].load(Ordering::Relaxed));
        // Acquire fence: the loads above stay above the second look at the version.
        fence(Ordering::Acquire);
        (self.version.load(Ordering::Relaxed) == before).then_some((before, value))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn holds_the_newest_value_and_nothing_before_the_first() {
        let memory: [AtomicU64; 4] = core::array::from_fn(|_| AtomicU64::new(0));
        let reader = CellReader::<3>::new(&memory).unwrap();
        assert_eq!(reader.get(), None);
        let mut writer = CellWriter::<3>::new(&memory).unwrap();
        for n in 1..5u64 {
            writer.set(&[n, n + 1, n + 2]);
            assert_eq!(reader.get(), Some((2 * n, [n, n + 1, n + 2])));
        }
    }

    #[test]
    fn versions_pass_the_ends_of_smaller_numbers() {
        for start in [(1 << 31) - 4, (1 << 32) - 4, (1 << 63) - 4] {
            let memory: [AtomicU64; 2] = core::array::from_fn(|_| AtomicU64::new(start));
            let reader = CellReader::<1>::new(&memory).unwrap();
            let mut writer = CellWriter::<1>::new(&memory).unwrap();
            for n in 1..5u64 {
                writer.set(&[n]);
                assert_eq!(reader.get(), Some((start + 2 * n, [n])));
            }
        }
    }

    #[test]
    fn a_value_whose_writer_died_half_way_is_not_seen_and_is_healed_by_the_next() {
        let memory: [AtomicU64; 2] = core::array::from_fn(|_| AtomicU64::new(0));
        memory[0].store(1, Ordering::Relaxed);
        let reader = CellReader::<1>::new(&memory).unwrap();
        assert_eq!(reader.get(), None);
        CellWriter::<1>::new(&memory).unwrap().set(&[7]);
        assert_eq!(reader.get(), Some((2, [7])));
    }

    #[test]
    fn refuses_memory_that_is_too_small() {
        let memory: [AtomicU64; 2] = core::array::from_fn(|_| AtomicU64::new(0));
        let error = CellReader::<2>::new(&memory).err();
        assert_eq!(error, Some(RingError::TooSmall { need: 3, have: 2 }));
    }
}
