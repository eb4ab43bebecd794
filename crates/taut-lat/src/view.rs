//! The reading end of a histogram.

use core::fmt;

use taut_sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::buckets::{Bucket, non_empty};
use crate::recorder::{CLAMPED, COUNT, HEADER_WORDS, HISTOGRAM_WORDS, MAX, MIN_COMPLEMENT, SUM};
use crate::summary::{Summary, Totals, summarise, value_at_ppm};

/// Reads a histogram, also while a [`Recorder`](crate::Recorder) writes it.
///
/// The numbers of a histogram in use may disagree with each other by the few values under way; see
/// there. [`summary`](Self::summary), [`value_at_ppm`](Self::value_at_ppm) and
/// [`Snapshot`](crate::Snapshot) count the buckets that they read, so each is consistent in itself.
#[derive(Clone, Copy)]
pub struct View<'a> {
    words: &'a [AtomicU64; HISTOGRAM_WORDS],
}

impl<'a> View<'a> {
    /// A view of the first [`HISTOGRAM_WORDS`] of `words`; `None` if there
    /// are fewer.
    #[must_use]
    pub fn new(words: &'a [AtomicU64]) -> Option<Self> {
        words.first_chunk().map(Self::over)
    }

    pub(crate) const fn over(words: &'a [AtomicU64; HISTOGRAM_WORDS]) -> Self {
        Self { words }
    }

    /// How many values were recorded. One load.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.words[COUNT].load(Relaxed)
    }

    /// The sum of all values, ns.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.words[SUM].load(Relaxed)
    }

    /// The smallest value, ns; 0 when nothing was recorded.
    #[must_use]
    pub fn min(&self) -> u64 {
        match self.words[MIN_COMPLEMENT].load(Relaxed) {
            0 => 0,
            complement => !complement,
        }
    }

    /// The largest value, ns; 0 when nothing was recorded.
    #[must_use]
    pub fn max(&self) -> u64 {
        self.words[MAX].load(Relaxed)
    }

    /// How many values were above [`VALUE_MAX`](crate::VALUE_MAX) and recorded as that.
    #[must_use]
    pub fn clamped(&self) -> u64 {
        self.words[CLAMPED].load(Relaxed)
    }

    /// The value that `ppm` parts in a million do not exceed (990,000 is the 99th percentile), ns.
    ///
    /// Walks all buckets three times: about 10 us. For several percentiles take a summary.
    #[must_use]
    pub fn value_at_ppm(&self, ppm: u32) -> u64 {
        value_at_ppm(self.counts(), self.totals(), ppm)
    }

    /// The usual percentiles and the rest, in about 10 us.
    #[must_use]
    pub fn summary(&self) -> Summary {
        summarise(self.counts(), self.totals())
    }

    /// The buckets that hold values, from the smallest.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + use<'a> {
        non_empty(self.counts())
    }

    /// The counts of all buckets, from the smallest.
    pub(crate) fn counts(&self) -> impl Iterator<Item = u64> + Clone + use<'a> {
        let (_, buckets) = self.words.split_at(HEADER_WORDS);
        buckets.iter().map(|bucket| bucket.load(Relaxed))
    }

    pub(crate) fn totals(&self) -> Totals {
        Totals { sum: self.sum(), min: self.min(), max: self.max() }
    }
}

impl fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("View").field(&self.summary()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Recorder, new_words};

    #[test]
    fn an_empty_histogram_reads_as_zeros() {
        let words = new_words();
        let view = View::new(&words).unwrap();
        assert_eq!((view.count(), view.sum(), view.min(), view.max()), (0, 0, 0, 0));
        assert_eq!(view.summary(), Summary::default());
        assert_eq!(view.value_at_ppm(500_000), 0);
        assert_eq!(view.buckets().count(), 0);
    }

    #[test]
    fn a_percentile_stays_between_min_and_max() {
        let words = new_words();
        Recorder::new(&words).unwrap().record(1_000_003);
        let summary = View::new(&words).unwrap().summary();
        assert_eq!((summary.min, summary.p50, summary.max), (1_000_003, 1_000_003, 1_000_003));
    }

    #[test]
    fn zero_is_a_value_like_any_other() {
        let words = new_words();
        let mut recorder = Recorder::new(&words).unwrap();
        recorder.record(0);
        recorder.record(5);
        let view = View::new(&words).unwrap();
        assert_eq!((view.count(), view.min(), view.max()), (2, 0, 5));
        assert_eq!(view.value_at_ppm(500_000), 0);
    }

    #[test]
    fn lists_the_buckets_that_hold_values() {
        let words = new_words();
        let mut recorder = Recorder::new(&words).unwrap();
        for value in [3, 1_025, 1_027] {
            recorder.record(value);
        }
        let buckets: std::vec::Vec<Bucket> = View::new(&words).unwrap().buckets().collect();
        let first = Bucket { lowest: 3, highest: 3, count: 1 };
        let second = Bucket { lowest: 1_024, highest: 1_027, count: 2 };
        assert_eq!(buckets, [first, second]);
    }
}
