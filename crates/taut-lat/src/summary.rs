//! Percentiles of a histogram's counts.

use crate::buckets::{highest_of, lowest_of};

/// The figures of a histogram that a report prints, in nanoseconds. All zero when it is empty.
///
/// A percentile is the largest value of its bucket, as in HdrHistogram, but never above `max` nor
/// below `min`: at most 1/256 above the exact value, and never under it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// How many values were recorded.
    pub count: u64,
    /// Their exact sum.
    pub sum: u64,
    /// The smallest value.
    pub min: u64,
    /// Half of the values are at most this.
    pub p50: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The 99.9th percentile.
    pub p999: u64,
    /// The 99.99th percentile.
    pub p9999: u64,
    /// The largest value.
    pub max: u64,
}

impl Summary {
    /// The mean, rounded down; 0 when nothing was recorded.
    #[must_use]
    pub const fn mean(&self) -> u64 {
        match self.sum.checked_div(self.count) {
            Some(mean) => mean,
            None => 0,
        }
    }
}

/// Sum and extremes as the header of a histogram has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) sum: u64,
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl Totals {
    /// The totals with extremes that agree with `counts`: within the outermost buckets.
    ///
    /// The header of a histogram in use may be a few values off its buckets; that of a difference
    /// of two snapshots knows the extremes of the whole run only.
    pub(crate) fn settled(self, counts: impl Iterator<Item = u64>) -> Self {
        let mut used = counts.enumerate().filter(|&(_, count)| count > 0).map(|(index, _)| index);
        let Some(first) = used.next() else { return Self { sum: 0, min: 0, max: 0 } };
        let last = used.last().unwrap_or(first);
        Self {
            sum: self.sum,
            min: self.min.clamp(lowest_of(first), highest_of(first)),
            max: self.max.clamp(lowest_of(last), highest_of(last)),
        }
    }
}

/// The summary of `counts`.
pub(crate) fn summarise(counts: impl Iterator<Item = u64> + Clone, totals: Totals) -> Summary {
    let count: u64 = counts.clone().sum();
    if count == 0 {
        return Summary::default();
    }
    let totals = totals.settled(counts.clone());
    let ranks = [500_000, 990_000, 999_000, 999_900].map(|ppm| rank(count, ppm));
    let [p50, p99, p999, p9999] = values_at_ranks(counts, totals, ranks);
    let Totals { sum, min, max } = totals;
    Summary { count, sum, min, p50, p99, p999, p9999, max }
}

/// The value that `ppm` parts in a million of `counts` do not exceed; 0 when there are none.
pub(crate) fn value_at_ppm(
    counts: impl Iterator<Item = u64> + Clone,
    totals: Totals,
    ppm: u32,
) -> u64 {
    let rank = rank(counts.clone().sum(), ppm);
    let [value] = values_at_ranks(counts.clone(), totals.settled(counts), [rank]);
    value
}

/// The values at ascending `ranks`, which `counts` reach, in one walk.
fn values_at_ranks<const N: usize>(
    counts: impl Iterator<Item = u64>,
    totals: Totals,
    ranks: [u64; N],
) -> [u64; N] {
    let mut seen = 0u64;
    let mut counts = counts.enumerate();
    let mut value = totals.min;
    ranks.map(|rank| {
        while seen < rank {
            let Some((index, count)) = counts.next() else { return totals.max };
            seen = seen.saturating_add(count);
            value = highest_of(index).clamp(totals.min, totals.max);
        }
        value
    })
}

/// Which of `count` sorted values, from 1, stands at `ppm`: the smallest that has at least that
/// share at or below it. 0 when there are no values.
fn rank(count: u64, ppm: u32) -> u64 {
    const WHOLE: u128 = 1_000_000;
    let rank = (u128::from(count) * u128::from(ppm)).div_ceil(WHOLE);
    (rank as u64).max(1).min(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_as_hdrhistogram_does() {
        assert_eq!(rank(0, 500_000), 0);
        assert_eq!(rank(1, 0), 1);
        assert_eq!(rank(2, 500_000), 1);
        assert_eq!(rank(3, 500_000), 2);
        assert_eq!(rank(1_000, 999_900), 1_000);
        assert_eq!(rank(u64::MAX, 1_000_000), u64::MAX);
        assert_eq!(rank(10, u32::MAX), 10);
    }

    #[test]
    fn an_empty_summary_is_all_zero() {
        let totals = Totals { sum: 0, min: u64::MAX, max: 0 };
        assert_eq!(summarise([0, 0].into_iter(), totals), Summary::default());
        assert_eq!(Summary::default().mean(), 0);
    }
}
