//! The writing end of a histogram.

use alloc::boxed::Box;
use core::fmt;

use taut_sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::buckets::{BUCKET_COUNT, VALUE_MAX, index_of};

/// The words of one histogram: eight of header, then one per bucket. 59 KB.
///
/// The header is count, sum, complement of min, max, clamped, and three that stay zero (so that it
/// is one cache line and the buckets start on the next). Every word only grows, and all zero is the
/// empty histogram: fresh shared memory needs no initialisation.
pub const HISTOGRAM_WORDS: usize = HEADER_WORDS + BUCKET_COUNT;

pub(crate) const HEADER_WORDS: usize = 8;
pub(crate) const COUNT: usize = 0;
pub(crate) const SUM: usize = 1;
/// `!min`: zero stands for "no value yet", and a smaller minimum is a larger word.
pub(crate) const MIN_COMPLEMENT: usize = 2;
pub(crate) const MAX: usize = 3;
pub(crate) const CLAMPED: usize = 4;

/// An empty histogram's words on the heap, for a recorder and its reader in one process.
#[must_use]
pub fn new_words() -> Box<[AtomicU64]> {
    (0..HISTOGRAM_WORDS).map(|_| AtomicU64::new(0)).collect()
}

/// Records values into a histogram that lives in a slice of atomics.
///
/// **One writer.** Recording is a relaxed load and a relaxed store per word, without a locked
/// instruction: a second recorder over the same words would lose counts (and break nothing else).
/// Any number of readers ([`View`](crate::View)) may look on, in this process or another.
///
/// **What a reader sees.** All accesses are relaxed, so a reader may see a bucket without its
/// count or its sum, by the few values that are under way. Each single word only grows, hence a
/// later read by the same reader is never smaller (coherence), and differences of two reads are
/// never negative. The numbers are exact for a reader that knows, through any synchronising edge (a
/// joined thread, a reaped process, an acquire load of a flag), that the writer has stopped.
pub struct Recorder<'a> {
    words: &'a [AtomicU64; HISTOGRAM_WORDS],
}

impl<'a> Recorder<'a> {
    /// A recorder over the first [`HISTOGRAM_WORDS`] of `words`; `None` if there are fewer.
    ///
    /// It continues what is recorded there; a new histogram is all zero.
    #[must_use]
    pub fn new(words: &'a [AtomicU64]) -> Option<Self> {
        words.first_chunk().map(Self::over)
    }

    pub(crate) const fn over(words: &'a [AtomicU64; HISTOGRAM_WORDS]) -> Self {
        Self { words }
    }

    /// Records one value, in about 3 ns when its bucket is in the cache.
    ///
    /// A value above [`VALUE_MAX`] is recorded as [`VALUE_MAX`] (in sum and max too) and counted as
    /// clamped: a histogram with clamped values has a max that means "at least".
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        let value = value_ns.min(VALUE_MAX);
        if value_ns > VALUE_MAX {
            add(&self.words[CLAMPED], 1);
        }
        add(&self.words[HEADER_WORDS + index_of(value)], 1);
        add(&self.words[SUM], value);
        raise(&self.words[MIN_COMPLEMENT], !value);
        raise(&self.words[MAX], value);
        add(&self.words[COUNT], 1);
    }
}

impl fmt::Debug for Recorder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.words[COUNT].load(Relaxed);
        f.debug_struct("Recorder").field("count", &count).finish_non_exhaustive()
    }
}

#[inline]
fn add(word: &AtomicU64, amount: u64) {
    word.store(word.load(Relaxed).wrapping_add(amount), Relaxed);
}

/// Raises `word` to `value`; the store is skipped (almost always) when it is there already.
#[inline]
fn raise(word: &AtomicU64, value: u64) {
    if word.load(Relaxed) < value {
        word.store(value, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::View;

    #[test]
    fn refuses_too_few_words() {
        let words = new_words();
        assert!(Recorder::new(&words[1..]).is_none());
        assert!(Recorder::new(&words).is_some());
    }

    #[test]
    fn continues_what_an_earlier_recorder_wrote() {
        let words = new_words();
        Recorder::new(&words).unwrap().record(7);
        Recorder::new(&words).unwrap().record(9);
        let view = View::new(&words).unwrap();
        assert_eq!((view.count(), view.sum(), view.min(), view.max()), (2, 16, 7, 9));
    }

    #[test]
    fn clamps_what_is_too_large_and_says_so() {
        let words = new_words();
        let mut recorder = Recorder::new(&words).unwrap();
        recorder.record(VALUE_MAX);
        recorder.record(u64::MAX);
        let view = View::new(&words).unwrap();
        assert_eq!((view.count(), view.clamped(), view.max()), (2, 1, VALUE_MAX));
        assert_eq!(view.sum(), 2 * VALUE_MAX);
    }

    #[test]
    fn allocates_nothing_while_recording() {
        let words = new_words();
        let mut recorder = Recorder::new(&words).unwrap();
        let allocations = allocation_counter::measure(|| {
            for value in 0..10_000 {
                recorder.record(value * value);
            }
        });
        assert_eq!(allocations.count_total, 0);
    }
}
