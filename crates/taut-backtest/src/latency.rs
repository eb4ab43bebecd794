//! How long requests and responses are on their way.

use alloc::vec::Vec;

use crate::BacktestError;

/// The ways between us and the exchange, in nanoseconds.
///
/// Whatever a model says, no request overtakes an earlier one, and no response does.
pub trait Latency {
    /// From sending a request at a time to the exchange. Below 0 it is refused on its way, and so
    /// many nanoseconds after the time, the sign turned, the sender knows.
    fn entry(&self, at: i64) -> i64;
    /// From a change at the exchange at a time to us.
    fn response(&self, at: i64) -> i64;
}

/// Always the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConstantLatency {
    /// There.
    pub entry: i64,
    /// And back.
    pub response: i64,
}

impl Latency for ConstantLatency {
    fn entry(&self, _: i64) -> i64 {
        self.entry
    }

    fn response(&self, _: i64) -> i64 {
        self.response
    }
}

/// A measured round trip, in nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatencyRow {
    /// When the request was sent.
    pub request_at: i64,
    /// When the exchange took it; 0 when it refused it.
    pub exchange_at: i64,
    /// When its answer arrived.
    pub response_at: i64,
}

/// Measured round trips, and straight lines between them. Before the first and after the last
/// their own values hold. Beside a refused round trip requests are refused.
#[derive(Clone, Debug)]
pub struct InterpolatedLatency {
    rows: Vec<LatencyRow>,
    /// Those that were not refused.
    taken: Vec<LatencyRow>,
}

impl InterpolatedLatency {
    /// Takes rows in the order of their times. A look-up costs a search among them.
    ///
    /// # Errors
    /// When there is no row that was not refused, a time does not rise, or an answer comes before
    /// its request.
    pub fn new(rows: Vec<LatencyRow>) -> Result<Self, BacktestError> {
        let mut taken: Vec<LatencyRow> = Vec::with_capacity(rows.len());
        for (at, row) in rows.iter().enumerate() {
            let bad = BacktestError::BadLatency { row: at };
            let rises = at == 0 || rows[at - 1].request_at < row.request_at;
            if !rises || row.response_at < row.request_at {
                return Err(bad);
            }
            if row.exchange_at <= 0 {
                continue;
            }
            let rises = taken.last().is_none_or(|last| last.exchange_at < row.exchange_at);
            if !rises || !(row.request_at..=row.response_at).contains(&row.exchange_at) {
                return Err(bad);
            }
            taken.push(*row);
        }
        if taken.is_empty() {
            return Err(BacktestError::BadLatency { row: rows.len() });
        }
        Ok(Self { rows, taken })
    }
}

impl Latency for InterpolatedLatency {
    fn entry(&self, at: i64) -> i64 {
        let (row, next) = around(&self.rows, at, |row| row.request_at);
        if row.exchange_at <= 0 || next.exchange_at <= 0 {
            return -between(at, row, next, |row| row.request_at, |row| row.response_at);
        }
        between(at, row, next, |row| row.request_at, |row| row.exchange_at)
    }

    fn response(&self, at: i64) -> i64 {
        let (row, next) = around(&self.taken, at, |row| row.exchange_at);
        between(at, row, next, |row| row.exchange_at, |row| row.response_at)
    }
}

/// Latencies that a run measured, drawn as often as each was there. A request is late by what comes
/// before it leaves and by half of a round trip, a response by half of another one.
///
/// What is drawn for a time depends on the seed and the time alone, so that a run that stops more
/// often than another has the same latencies.
#[derive(Clone, Debug)]
pub struct DrawnLatency {
    seed: u64,
    before: Draws,
    round_trip: Draws,
}

/// Values with how many there are up to each.
#[derive(Clone, Debug, Default)]
struct Draws(Vec<(u64, i64)>);

impl DrawnLatency {
    /// Draws from values in nanoseconds with their counts. None where there is no round trip; where
    /// nothing comes before a request, it leaves at once.
    #[must_use]
    pub fn new(seed: u64, before: &[(u64, u64)], round_trip: &[(u64, u64)]) -> Option<Self> {
        let round_trip = Draws::new(round_trip);
        let before = Draws::new(before);
        (!round_trip.0.is_empty()).then_some(Self { seed, before, round_trip })
    }

    fn half(&self, at: i64, way: u64) -> i64 {
        self.round_trip.draw(mixed(self.seed ^ way, at)) / 2
    }
}

impl Draws {
    fn new(counts: &[(u64, u64)]) -> Self {
        let mut all = 0_u64;
        let values = counts.iter().filter(|(_, count)| *count > 0).map(|(value, count)| {
            all = all.saturating_add(*count);
            (all, i64::try_from(*value).unwrap_or(i64::MAX))
        });
        Self(values.collect())
    }

    /// The value at a part of all: `of` of 2^64.
    fn draw(&self, of: u64) -> i64 {
        let all = self.0.last().map_or(0, |last| last.0);
        let wanted = ((u128::from(of) * u128::from(all)) >> 64) as u64;
        let at = self.0.partition_point(|(up_to, _)| *up_to <= wanted);
        self.0.get(at).map_or(0, |value| value.1)
    }
}

/// A seed and a time as 64 bits that look like chance (Steele, Lea and Flood's SplitMix64).
const fn mixed(seed: u64, at: i64) -> u64 {
    let golden = 0x9e37_79b9_7f4a_7c15_u64;
    let mut word = seed.wrapping_mul(golden) ^ at.cast_unsigned().wrapping_add(golden);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

impl Latency for DrawnLatency {
    fn entry(&self, at: i64) -> i64 {
        let before = self.before.draw(mixed(self.seed ^ 1, at));
        before.saturating_add(self.half(at, 2))
    }

    fn response(&self, at: i64) -> i64 {
        self.half(at, 3)
    }
}

/// The rows before and after a time; twice the same one where there is one alone.
fn around(rows: &[LatencyRow], at: i64, x: fn(&LatencyRow) -> i64) -> (&LatencyRow, &LatencyRow) {
    let after = rows.partition_point(|row| x(row) <= at);
    let row = &rows[after.saturating_sub(1)];
    (row, if after == 0 { row } else { rows.get(after).unwrap_or(row) })
}

/// The difference `y - x` on the line between two rows, in floats and truncated: to the nanosecond
/// what hftbacktest has.
fn between(
    at: i64,
    row: &LatencyRow,
    next: &LatencyRow,
    x: fn(&LatencyRow) -> i64,
    y: fn(&LatencyRow) -> i64,
) -> i64 {
    let (from, to) = (y(row) - x(row), y(next) - x(next));
    if x(row) == x(next) {
        return from;
    }
    let slope = (to - from) as f64 / (x(next) - x(row)) as f64;
    (slope * (at - x(row)) as f64) as i64 + from
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    fn row(request_at: i64, exchange_at: i64, response_at: i64) -> LatencyRow {
        LatencyRow { request_at, exchange_at, response_at }
    }

    #[test]
    fn latencies_lie_on_lines_between_rows() {
        let rows =
            vec![row(100, 110, 130), row(200, 230, 240), row(300, 0, 350), row(400, 410, 420)];
        let latency = InterpolatedLatency::new(rows).expect("rows");
        let entries =
            [(0, 10), (100, 10), (150, 20), (199, 29), (200, -40), (250, -45), (399, -21)];
        for (at, entry) in entries {
            assert_eq!(latency.entry(at), entry, "{at}");
        }
        assert_eq!((latency.entry(400), latency.entry(999)), (10, 10));
        for (at, response) in [(0, 20), (110, 20), (170, 15), (230, 10), (300, 10), (999, 10)] {
            assert_eq!(latency.response(at), response, "{at}");
        }
    }

    #[test]
    fn draws_are_as_often_as_they_were_measured_and_the_same_for_a_seed() {
        let (before, trips) = ([(1, 10)], [(100, 30), (200, 60), (1_000, 10)]);
        let latency = DrawnLatency::new(7, &before, &trips).expect("round trips");
        let (mut entries, mut responses) = ([0; 3], [0; 3]);
        for at in 0..10_000 {
            let at = at * 1_000_003;
            let place = |half| [50, 100, 500].iter().position(|it| *it == half).expect("a half");
            entries[place(latency.entry(at) - 1)] += 1;
            responses[place(latency.response(at))] += 1;
            assert_eq!(latency.entry(at), latency.clone().entry(at));
        }
        for counts in [entries, responses] {
            for (count, expected) in counts.iter().zip([3_000_i32, 6_000, 1_000]) {
                assert!((count - expected).abs() < 250, "{counts:?}");
            }
        }
        let other = DrawnLatency::new(8, &before, &trips).expect("round trips");
        assert!((0..100).any(|at| other.entry(at) != latency.entry(at)));
        assert!(DrawnLatency::new(7, &before, &[(5, 0)]).is_none());
        let alone = DrawnLatency::new(7, &[], &[(5, 1)]).expect("a round trip");
        assert_eq!((alone.entry(3), alone.response(3)), (2, 2));
    }

    #[test]
    fn rows_that_do_not_rise_are_refused() {
        let refused = |rows| InterpolatedLatency::new(rows).map(drop).unwrap_err();
        for (rows, at) in [
            (vec![], 0),
            (vec![row(1, 0, 2)], 1),
            (vec![row(1, 2, 3), row(1, 3, 4)], 1),
            (vec![row(1, 9, 10), row(2, 9, 11)], 1),
            (vec![row(5, 4, 6)], 0),
            (vec![row(5, 7, 6)], 0),
        ] {
            assert_eq!(refused(rows), BacktestError::BadLatency { row: at });
        }
    }
}
