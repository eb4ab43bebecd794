//! The naive twin of the histogram: a sorted list of everything. And the reference implementation.

use std::vec::Vec;

use hdrhistogram::Histogram;
use proptest::prelude::*;

use crate::buckets::{highest_of, index_of};
use crate::{Recorder, Snapshot, VALUE_MAX, View, new_words};

/// The value at a rank, counted from 1, of everything that was recorded.
struct SortedList(Vec<u64>);

impl SortedList {
    fn new(mut values: Vec<u64>) -> Self {
        values.sort_unstable();
        Self(values)
    }

    fn value_at_ppm(&self, ppm: u32) -> u64 {
        let rank = (self.0.len() as u128 * u128::from(ppm)).div_ceil(1_000_000).max(1);
        self.0[rank as usize - 1]
    }
}

/// Latencies of every magnitude, with many repetitions and the edges.
fn values() -> impl Strategy<Value = Vec<u64>> {
    let value = prop_oneof![
        4 => (0u32..36, any::<u64>()).prop_map(|(bits, value)| value & ((2 << bits) - 1)),
        2 => 1_000u64..4_000,
        1 => prop::sample::select(std::vec![0, 511, 512, 1_023, 1_024, VALUE_MAX]),
    ];
    prop::collection::vec(value, 1..400)
}

fn recorded(values: &[u64]) -> Snapshot {
    let words = new_words();
    let mut recorder = Recorder::new(&words).unwrap();
    values.iter().for_each(|&value| recorder.record(value));
    let view = View::new(&words).unwrap();
    let snapshot = Snapshot::of(&view);
    assert_eq!(snapshot.summary(), view.summary());
    assert_eq!(snapshot.count(), view.count());
    snapshot
}

proptest! {
    #[test]
    fn a_percentile_is_within_a_256th_above_the_exact_one(
        values in values(),
        ppms in prop::collection::vec(0..=1_000_000u32, 1..20),
    ) {
        let histogram = recorded(&values);
        let exact = SortedList::new(values);
        for ppm in ppms.into_iter().chain([0, 500_000, 990_000, 999_000, 999_900, 1_000_000]) {
            let (reported, exact) = (histogram.value_at_ppm(ppm), exact.value_at_ppm(ppm));
            prop_assert!(exact <= reported, "{ppm}: {reported} is below {exact}");
            prop_assert!(reported - exact <= exact / 256, "{ppm}: {reported} of {exact}");
        }
    }

    #[test]
    fn count_sum_and_extremes_are_exact(values in values()) {
        let summary = recorded(&values).summary();
        prop_assert_eq!(summary.count, values.len() as u64);
        prop_assert_eq!(summary.sum, values.iter().sum::<u64>());
        prop_assert_eq!(Some(&summary.min), values.iter().min());
        prop_assert_eq!(Some(&summary.max), values.iter().max());
    }

    #[test]
    fn subtracting_and_merging_agree_with_recording(
        first in values(),
        second in values(),
    ) {
        let (whole, part) = (recorded(&[&first[..], &second].concat()), recorded(&first));
        let rest = whole.since(&part);
        let buckets: Vec<_> = rest.buckets().collect();
        prop_assert_eq!(buckets, recorded(&second).buckets().collect::<Vec<_>>());
        prop_assert_eq!(rest.sum(), second.iter().sum::<u64>());
        prop_assert!(rest.min() <= *second.iter().min().unwrap());
        prop_assert!(rest.max() >= *second.iter().max().unwrap());
        let mut merged = part;
        merged.merge(&recorded(&second));
        prop_assert_eq!(merged, whole);
    }
}

/// HdrHistogram with three significant digits cuts each of our buckets into four: what it reports
/// lies in the bucket that we report.
#[test]
fn percentiles_are_those_of_hdrhistogram() {
    let mut random = fastrand::Rng::with_seed(1);
    let values: Vec<u64> = (0..100_000).map(|_| random.u64(..) >> random.u32(28..64)).collect();
    let mut reference = Histogram::<u64>::new_with_bounds(1, VALUE_MAX, 3).unwrap();
    values.iter().for_each(|&value| reference.record(value).unwrap());
    let ours = recorded(&values);
    assert_eq!(ours.count(), reference.len());
    for ppm in (0..=1_000_000).step_by(997).chain([990_000, 999_000, 999_900, 1_000_000]) {
        let theirs = reference.value_at_quantile(f64::from(ppm) / 1e6);
        let theirs = highest_of(index_of(theirs)).clamp(ours.min(), ours.max());
        assert_eq!(ours.value_at_ppm(ppm), theirs, "at {ppm} ppm");
    }
    for bucket in ours.buckets() {
        let theirs = reference.count_between(bucket.lowest, bucket.highest);
        assert_eq!(bucket.count, theirs, "{bucket:?}");
    }
}
