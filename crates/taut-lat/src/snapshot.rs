//! A copy of a histogram in plain memory.

use alloc::boxed::Box;
use alloc::vec;
use core::fmt;

use crate::buckets::{BUCKET_COUNT, Bucket, non_empty};
use crate::summary::{Summary, Totals, summarise, value_at_ppm};
use crate::view::View;

/// A copy of a histogram: consistent in itself, and open to arithmetic.
///
/// Its count is that of the buckets it copied. 59 KB, allocated once when it is made; taking,
/// copying, merging and subtracting reuse it.
#[derive(Clone, PartialEq, Eq)]
pub struct Snapshot {
    counts: Box<[u64]>,
    count: u64,
    clamped: u64,
    totals: Totals,
}

impl Snapshot {
    /// An empty snapshot.
    #[must_use]
    pub fn new() -> Self {
        let counts = vec![0; BUCKET_COUNT].into_boxed_slice();
        Self { counts, count: 0, clamped: 0, totals: Totals { sum: 0, min: 0, max: 0 } }
    }

    /// A new snapshot of what `view` shows.
    #[must_use]
    pub fn of(view: &View<'_>) -> Self {
        let mut snapshot = Self::new();
        snapshot.take(view);
        snapshot
    }

    /// Replaces this by what `view` shows. About 5 us.
    pub fn take(&mut self, view: &View<'_>) {
        for (own, count) in self.counts.iter_mut().zip(view.counts()) {
            *own = count;
        }
        self.clamped = view.clamped();
        self.totals = view.totals();
        self.settle();
    }

    /// Replaces this by `other`.
    pub fn copy_from(&mut self, other: &Self) {
        self.counts.copy_from_slice(&other.counts);
        (self.count, self.clamped, self.totals) = (other.count, other.clamped, other.totals);
    }

    /// Adds the values of `other`.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        let min = if self.count == 0 { u64::MAX } else { self.totals.min };
        for (own, count) in self.counts.iter_mut().zip(&other.counts) {
            *own = own.saturating_add(*count);
        }
        self.clamped = self.clamped.saturating_add(other.clamped);
        self.totals = Totals {
            sum: self.totals.sum.wrapping_add(other.totals.sum),
            min: min.min(other.totals.min),
            max: self.totals.max.max(other.totals.max),
        };
        self.settle();
    }

    /// Takes the values of `earlier` away, an older snapshot of the same histogram: what is left is
    /// what was recorded since.
    ///
    /// Counts and sum are exact; `min` and `max` are those of the whole run where they fall into
    /// the outermost buckets that are left, and the bounds of these buckets otherwise.
    pub fn subtract(&mut self, earlier: &Self) {
        for (own, count) in self.counts.iter_mut().zip(&earlier.counts) {
            *own = own.saturating_sub(*count);
        }
        self.clamped = self.clamped.saturating_sub(earlier.clamped);
        self.totals.sum = self.totals.sum.wrapping_sub(earlier.totals.sum);
        self.settle();
    }

    /// What was recorded since `earlier`, as a new snapshot. Allocates; see [`Self::subtract`] and
    /// [`IntervalReader`](crate::IntervalReader) for doing it again and again.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut interval = self.clone();
        interval.subtract(earlier);
        interval
    }

    /// How many values it holds.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Their sum, ns.
    #[must_use]
    pub const fn sum(&self) -> u64 {
        self.totals.sum
    }

    /// The smallest value, ns; 0 when there is none.
    #[must_use]
    pub const fn min(&self) -> u64 {
        self.totals.min
    }

    /// The largest value, ns; 0 when there is none.
    #[must_use]
    pub const fn max(&self) -> u64 {
        self.totals.max
    }

    /// How many values were above [`VALUE_MAX`](crate::VALUE_MAX) and recorded as that.
    #[must_use]
    pub const fn clamped(&self) -> u64 {
        self.clamped
    }

    /// The value that `ppm` parts in a million do not exceed (990,000 is the 99th percentile), ns.
    #[must_use]
    pub fn value_at_ppm(&self, ppm: u32) -> u64 {
        value_at_ppm(self.counts.iter().copied(), self.totals, ppm)
    }

    /// The usual percentiles and the rest.
    #[must_use]
    pub fn summary(&self) -> Summary {
        summarise(self.counts.iter().copied(), self.totals)
    }

    /// The buckets that hold values, from the smallest.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        non_empty(self.counts.iter().copied())
    }

    /// Brings count and totals in line with the buckets.
    fn settle(&mut self) {
        self.count = self.counts.iter().sum();
        self.totals = self.totals.settled(self.counts.iter().copied());
    }
}

impl Default for Snapshot {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Snapshot").field(&self.summary()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Recorder, VALUE_MAX, new_words};

    fn snapshot_of(values: &[u64]) -> Snapshot {
        let words = new_words();
        let mut recorder = Recorder::new(&words).unwrap();
        values.iter().for_each(|&value| recorder.record(value));
        Snapshot::of(&View::new(&words).unwrap())
    }

    #[test]
    fn merging_is_recording_both() {
        let mut merged = snapshot_of(&[]);
        merged.merge(&snapshot_of(&[900, 17]));
        merged.merge(&snapshot_of(&[]));
        merged.merge(&snapshot_of(&[u64::MAX, 40_000]));
        assert_eq!(merged, snapshot_of(&[17, 900, 40_000, u64::MAX]));
        assert_eq!(merged.clamped(), 1);
    }

    #[test]
    fn subtracting_leaves_what_came_later() {
        let words = new_words();
        let mut recorder = Recorder::new(&words).unwrap();
        [10, 200_000].into_iter().for_each(|value| recorder.record(value));
        let earlier = Snapshot::of(&View::new(&words).unwrap());
        [55, 1_030, 70].into_iter().for_each(|value| recorder.record(value));
        let interval = Snapshot::of(&View::new(&words).unwrap()).since(&earlier);
        let summary = interval.summary();
        assert_eq!((summary.count, summary.sum, summary.min), (3, 1_155, 55));
        // The exact maximum of the interval is not known, only its bucket, 1028 to 1031.
        assert_eq!((summary.p50, summary.max), (70, 1_031));
    }

    #[test]
    fn a_new_maximum_stays_exact_in_its_interval() {
        let words = new_words();
        let mut recorder = Recorder::new(&words).unwrap();
        recorder.record(10);
        let earlier = Snapshot::of(&View::new(&words).unwrap());
        recorder.record(1_000_003);
        let interval = Snapshot::of(&View::new(&words).unwrap()).since(&earlier);
        assert_eq!((interval.min(), interval.max()), (999_424, 1_000_003));
    }

    #[test]
    fn nothing_less_itself_is_empty() {
        let snapshot = snapshot_of(&[1, VALUE_MAX, u64::MAX]);
        assert_eq!(snapshot.since(&snapshot), Snapshot::new());
    }
}
