//! The spread of a latency, as the reports give it.

use hdrhistogram::Histogram;
use serde_json::{Value, json};

/// A histogram of nanoseconds up to a minute, to 0.1%.
#[derive(Debug)]
pub struct Spread(Histogram<u64>);

impl Spread {
    pub fn new() -> Self {
        let bounds = Histogram::new_with_bounds(1, 60_000_000_000, 3);
        Self(bounds.unwrap_or_else(|_| unreachable!("the bounds are constants")))
    }

    pub fn record(&mut self, ns: u64) {
        self.0.saturating_record(ns);
    }

    /// Nothing when nothing was recorded.
    pub fn json(&self) -> Value {
        if self.0.is_empty() {
            return Value::Null;
        }
        let at = |quantile| self.0.value_at_quantile(quantile);
        json!({
            "min": self.0.min(), "p50": at(0.5), "p99": at(0.99), "p999": at(0.999),
            "p9999": at(0.9999), "max": self.0.max(), "count": self.0.len(),
        })
    }
}
