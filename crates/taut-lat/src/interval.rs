//! A time series of one histogram.

use core::fmt;
use core::mem;

use crate::snapshot::Snapshot;
use crate::summary::Summary;
use crate::view::View;

/// Cuts what a histogram records into intervals: what is new at each read.
///
/// Every value is counted in exactly one interval, also while they are recorded; its part of the
/// sum may fall into the next one (or be dropped, if that is empty). The total is exact once the
/// writer has stopped.
pub struct IntervalReader {
    earlier: Snapshot,
    later: Snapshot,
    interval: Snapshot,
}

impl IntervalReader {
    /// A reader whose first interval begins with the histogram's first value.
    #[must_use]
    pub fn new() -> Self {
        Self { earlier: Snapshot::new(), later: Snapshot::new(), interval: Snapshot::new() }
    }

    /// Everything that was recorded since the previous call. Allocates nothing; about 20 us.
    pub fn next_interval(&mut self, view: &View<'_>) -> &Snapshot {
        self.later.take(view);
        self.interval.copy_from(&self.later);
        self.interval.subtract(&self.earlier);
        mem::swap(&mut self.earlier, &mut self.later);
        &self.interval
    }

    /// Everything up to the latest call.
    #[must_use]
    pub const fn total(&self) -> &Snapshot {
        &self.earlier
    }

    /// The summary of the latest interval.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.interval.summary()
    }
}

impl Default for IntervalReader {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for IntervalReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntervalReader")
            .field("total", &self.earlier)
            .field("interval", &self.interval)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Recorder, new_words};

    #[test]
    fn intervals_add_up_to_the_total() {
        let words = new_words();
        let mut recorder = Recorder::new(&words).unwrap();
        let view = View::new(&words).unwrap();
        let mut reader = IntervalReader::new();
        let mut merged = Snapshot::new();
        for round in 0..5 {
            (0..round * 100).for_each(|value| recorder.record(value * 31 + round));
            merged.merge(reader.next_interval(&view));
        }
        assert_eq!(reader.next_interval(&view).count(), 0);
        assert_eq!(&merged, reader.total());
        assert_eq!(merged.count(), 1_000);
    }

    #[test]
    fn reading_while_another_thread_records_loses_nothing() {
        const COUNT: u64 = 100_000;
        let words = new_words();
        let view = View::new(&words).unwrap();
        let mut reader = IntervalReader::new();
        let mut merged = Snapshot::new();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut recorder = Recorder::new(&words).unwrap();
                (0..COUNT).for_each(|value| recorder.record(value));
            });
            while !writer.is_finished() {
                let summary = view.summary();
                assert!(summary.min <= summary.p50 && summary.p9999 <= summary.max);
                merged.merge(reader.next_interval(&view));
            }
        });
        merged.merge(reader.next_interval(&view));
        let total = reader.total();
        assert!(merged.buckets().eq(total.buckets()));
        assert_eq!((total.count(), total.sum()), (COUNT, COUNT * (COUNT - 1) / 2));
        assert_eq!((total.min(), total.max()), (0, COUNT - 1));
    }

    #[test]
    fn allocates_nothing_while_reading() {
        let words = new_words();
        Recorder::new(&words).unwrap().record(3);
        let mut reader = IntervalReader::new();
        let allocations = allocation_counter::measure(|| {
            reader.next_interval(&View::new(&words).unwrap());
            assert_eq!(reader.summary().max, 3);
        });
        assert_eq!(allocations.count_total, 0);
    }
}
