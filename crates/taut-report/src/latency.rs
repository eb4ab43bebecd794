//! The spread of a latency, as the tools report it.

use hdrhistogram::Histogram;
use serde::Serialize;
use taut_lat::Summary;

/// A histogram of nanoseconds up to ten minutes, to 0.1%.
#[derive(Debug)]
pub struct Latency {
    recorded: Histogram<u64>,
    /// The value that came last, and how often in a row, not recorded yet: what is sent together
    /// and received together has one latency.
    last: u64,
    times: u64,
}

/// Its summary, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// How many values.
    pub count: u64,
    /// The smallest.
    pub min: u64,
    /// The mean, to a tenth.
    pub mean: f64,
    /// 50%.
    pub p50: u64,
    /// 99%.
    pub p99: u64,
    /// 99.9%.
    pub p999: u64,
    /// 99.99%.
    pub p9999: u64,
    /// The largest.
    pub max: u64,
}

impl Default for Latency {
    fn default() -> Self {
        let bounds = Histogram::new_with_bounds(1, 600_000_000_000, 3);
        let recorded = bounds.unwrap_or_else(|_| unreachable!("the bounds are constants"));
        Self { recorded, last: 0, times: 0 }
    }
}

impl Latency {
    /// An empty histogram.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        if ns != self.last {
            self.settle();
            self.last = ns;
        }
        self.times += 1;
    }

    #[inline]
    fn settle(&mut self) {
        if self.times > 0 {
            self.recorded.saturating_record_n(self.last, self.times);
            self.times = 0;
        }
    }

    /// Nothing when nothing was recorded.
    pub fn spread(&mut self) -> Option<Spread> {
        self.settle();
        let all = &self.recorded;
        let at = |quantile| all.value_at_quantile(quantile);
        (!all.is_empty()).then(|| Spread {
            count: all.len(),
            min: all.min(),
            mean: (all.mean() * 10.0).round() / 10.0,
            p50: at(0.5),
            p99: at(0.99),
            p999: at(0.999),
            p9999: at(0.9999),
            max: all.max(),
        })
    }
}

impl Spread {
    /// As a line for people, in microseconds.
    #[must_use]
    pub fn line(&self) -> String {
        let us = |ns: u64| ns as f64 / 1000.0;
        format!(
            "min {:.1}  mean {:.1}  p50 {:.1}  p99 {:.1}  p99.9 {:.1}  p99.99 {:.1}  max {:.1} us",
            us(self.min),
            self.mean / 1000.0,
            us(self.p50),
            us(self.p99),
            us(self.p999),
            us(self.p9999),
            us(self.max)
        )
    }
}

/// The figures of a recorder's histogram, in nanoseconds. The order of the fields is the order of
/// the keys, and part of the interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "each is what its name says")]
pub struct Figures {
    pub count: u64,
    pub sum: u64,
    pub min: u64,
    pub p50: u64,
    pub p99: u64,
    pub p999: u64,
    pub p9999: u64,
    pub max: u64,
}

impl From<Summary> for Figures {
    fn from(summary: Summary) -> Self {
        let Summary { count, sum, min, p50, p99, p999, p9999, max } = summary;
        Self { count, sum, min, p50, p99, p999, p9999, max }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_one_value_count_as_often_as_they_came() {
        let mut latency = Latency::new();
        assert_eq!(latency.spread(), None);
        for ns in [0, 0, 700, 700, 700, 0, 900] {
            latency.record(ns);
        }
        let spread = latency.spread().expect("values");
        assert_eq!((spread.count, spread.min, spread.p50, spread.max), (7, 0, 700, 900));
        latency.record(900);
        assert_eq!(latency.spread().map(|spread| spread.count), Some(8));
    }
}
