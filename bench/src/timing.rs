//! What a call costs: the best of many rounds.

use taut_types::Nanos;

const ROUNDS: usize = 60;

/// Nanoseconds for each of `count` calls in the best round, to a tenth.
pub fn best(count: usize, mut round: impl FnMut()) -> f64 {
    let spans = (0..ROUNDS).map(|_| {
        let start = taut_sys::monotonic();
        round();
        taut_sys::monotonic() - start
    });
    let best = spans.min().unwrap_or(Nanos::ZERO).0 as f64;
    (best / count as f64 * 10.0).round() / 10.0
}
