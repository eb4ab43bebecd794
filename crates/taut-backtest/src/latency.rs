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
