//! The spread of a latency, as the channel tools report it.

use hdrhistogram::Histogram;
use serde::Serialize;

/// A histogram of nanoseconds up to ten minutes, to 0.1%.
#[derive(Debug)]
pub struct Latency(Histogram<u64>);

/// Its summary, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    pub count: u64,
    pub min: u64,
    pub mean: f64,
    pub p50: u64,
    pub p99: u64,
    pub p999: u64,
    pub p9999: u64,
    pub max: u64,
}

impl Latency {
    pub fn new() -> Self {
        let bounds = Histogram::new_with_bounds(1, 600_000_000_000, 3);
        Self(bounds.unwrap_or_else(|_| unreachable!("the bounds are constants")))
    }

    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.0.saturating_record(ns);
    }

    /// Nothing when nothing was recorded.
    pub fn spread(&self) -> Option<Spread> {
        let at = |quantile| self.0.value_at_quantile(quantile);
        (!self.0.is_empty()).then(|| Spread {
            count: self.0.len(),
            min: self.0.min(),
            mean: (self.0.mean() * 10.0).round() / 10.0,
            p50: at(0.5),
            p99: at(0.99),
            p999: at(0.999),
            p9999: at(0.9999),
            max: self.0.max(),
        })
    }
}

impl Spread {
    /// As a line for people, in microseconds.
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
