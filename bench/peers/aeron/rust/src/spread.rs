//! The spread of times, as one line of JSON prints it.

/// Times in nanoseconds, all of them kept.
pub struct Spread(Vec<u64>);

impl Spread {
    pub fn new(count: u64) -> Self {
        Self(Vec::with_capacity(count as usize))
    }

    pub fn record(&mut self, ns: i64) {
        self.0.push(ns.max(0).unsigned_abs());
    }

    pub fn print(mut self, peer: &str) {
        self.0.sort_unstable();
        let last = self.0.len().saturating_sub(1);
        let at = |share: f64| self.0.get((share * last as f64).round() as usize).unwrap_or(&0);
        let (p50, p99, p999) = (at(0.5), at(0.99), at(0.999));
        let (count, max) = (self.0.len(), at(1.0));
        println!(
            "{{\"peer\":\"{peer}\",\"count\":{count},\"p50\":{p50},\"p99\":{p99},\
             \"p999\":{p999},\"max\":{max}}}"
        );
    }
}
