//! Rows in the order of two clocks, as hftbacktest wants them.
//!
//! What the exchange's side learns of ascends by the exchange's time, what ours learns of by the
//! local time. The two orders are merged: a row that both come to at once stays one row, another is
//! told twice, once for each side. How late rows come is known from the survey, so that each waits
//! only until no earlier one can come.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use taut_types::Nanos;

use super::survey::Survey;
use crate::FileError;
use crate::rows::{ReadRows, Row, Seen};

/// Rows in both orders.
pub(crate) struct TwoOrders<R> {
    rows: R,
    shift: i64,
    exchange: Waiting,
    local: Waiting,
    has_ended: bool,
}

impl<R: ReadRows> TwoOrders<R> {
    /// The rows of which this is the survey, their local times later by `shift`.
    pub(crate) fn new(rows: R, survey: &Survey, shift: i64) -> Self {
        let [exchange, local] = survey.lateness.map(Waiting::new);
        Self { rows, shift, exchange, local, has_ended: false }
    }

    /// Takes one more row of the file.
    fn fill(&mut self) -> Result<(), FileError> {
        let Some(mut row) = self.rows.next_row()? else {
            self.has_ended = true;
            return Ok(());
        };
        row.local_at = Nanos(row.local_at.0.saturating_add(self.shift));
        if row.is_at_exchange() {
            self.exchange.push(row.exchange_at.0, row);
        }
        if row.is_local() {
            self.local.push(row.local_at.0, row);
        }
        Ok(())
    }
}

impl<R: ReadRows> ReadRows for TwoOrders<R> {
    fn next_row(&mut self) -> Result<Option<Row>, FileError> {
        loop {
            let is_decided = self.exchange.is_ready() && self.local.is_ready();
            if is_decided || self.has_ended {
                break;
            }
            self.fill()?;
        }
        let times = |row: &Row| (row.exchange_at, row.local_at);
        let order = match (self.exchange.first(), self.local.first()) {
            (Some(one), Some(other)) => times(one).cmp(&times(other)),
            (Some(_), None) => Ordering::Less,
            (None, _) => Ordering::Greater,
        };
        let (row, seen) = match order {
            Ordering::Equal => {
                self.local.pop();
                (self.exchange.pop(), Seen::Both)
            }
            Ordering::Less => (self.exchange.pop(), Seen::Exchange),
            Ordering::Greater => (self.local.pop(), Seen::Local),
        };
        Ok(row.map(|row| Row { seen, ..row }))
    }
}

/// Rows that wait for those that may still come before them.
struct Waiting {
    heap: BinaryHeap<Entry>,
    pushed: u64,
    lateness: i64,
    latest: i64,
}

impl Waiting {
    fn new(lateness: i64) -> Self {
        Self { heap: BinaryHeap::new(), pushed: 0, lateness, latest: i64::MIN }
    }

    fn push(&mut self, time: i64, row: Row) {
        self.heap.push(Entry { time, number: self.pushed, row });
        self.pushed += 1;
        self.latest = self.latest.max(time);
    }

    fn first(&self) -> Option<&Row> {
        self.heap.peek().map(|entry| &entry.row)
    }

    /// Whether no row that is still to come can be before the first: of equal ones the earlier in
    /// the file is.
    fn is_ready(&self) -> bool {
        let sure = self.latest.saturating_sub(self.lateness);
        self.heap.peek().is_some_and(|entry| entry.time <= sure)
    }

    fn pop(&mut self) -> Option<Row> {
        self.heap.pop().map(|entry| entry.row)
    }
}

/// A row in a heap whose greatest is the earliest.
struct Entry {
    time: i64,
    number: u64,
    row: Row,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.time, other.number).cmp(&(self.time, self.number))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Entry {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Kind;
    use taut_types::{Price, Qty};

    fn row(exchange_at: i64, local_at: i64, order_id: u64) -> Row {
        Row {
            exchange_at: Nanos(exchange_at),
            local_at: Nanos(local_at),
            seen: Seen::Both,
            kind: Kind::Level,
            side: None,
            price: Price(1),
            qty: Qty::whole(1),
            order_id,
            instrument: 0,
        }
    }

    struct Listed<I>(I);

    impl<I: Iterator<Item = Row>> ReadRows for Listed<I> {
        fn next_row(&mut self) -> Result<Option<Row>, FileError> {
            Ok(self.0.next())
        }
    }

    /// The most rows that waited, and all in both orders.
    fn ordered(rows: &[Row], shift: i64) -> (usize, Vec<Row>) {
        let mut survey = Survey::default();
        rows.iter().for_each(|row| survey.add(row));
        let mut orders = TwoOrders::new(Listed(rows.iter().copied()), &survey, shift);
        let (mut most, mut all) = (0, Vec::new());
        while let Some(row) = orders.next_row().expect("no file") {
            all.push(row);
            most = most.max(orders.exchange.heap.len().max(orders.local.heap.len()));
        }
        (most, all)
    }

    /// The plain way: both lists sorted whole, then merged.
    fn plain(rows: &[Row]) -> Vec<Row> {
        let (mut one, mut other) = (rows.to_vec(), rows.to_vec());
        one.sort_by_key(|row| row.exchange_at);
        other.sort_by_key(|row| row.local_at);
        let (mut one, mut other) = (one.into_iter().peekable(), other.into_iter().peekable());
        let times = |row: &Row| (row.exchange_at, row.local_at);
        let mut all = Vec::new();
        loop {
            let seen = match (one.peek(), other.peek()) {
                (None, None) => return all,
                (Some(a), Some(b)) if times(a) == times(b) => Seen::Both,
                (Some(a), Some(b)) if times(a) > times(b) => Seen::Local,
                (None, _) => Seen::Local,
                _ => Seen::Exchange,
            };
            let at_exchange = if seen == Seen::Local { None } else { one.next() };
            let local = if seen == Seen::Exchange { None } else { other.next() };
            all.extend(at_exchange.or(local).map(|row| Row { seen, ..row }));
        }
    }

    #[test]
    fn a_row_is_told_twice_where_the_clocks_order_it_differently() {
        let (_, all) = ordered(&[row(10, 20, 1), row(9, 21, 2), row(12, 22, 3)], 5);
        let told: Vec<_> = all.iter().map(|row| (row.order_id, row.local_at.0, row.seen)).collect();
        let (exchange, local) = (Seen::Exchange, Seen::Local);
        assert_eq!(
            told,
            [(2, 26, exchange), (1, 25, Seen::Both), (2, 26, local), (3, 27, Seen::Both)]
        );
    }

    #[test]
    fn rows_wait_no_longer_than_others_are_late_and_come_out_as_if_all_were_sorted() {
        let mut seed = 7_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
            (seed >> 33) % below
        };
        let rows: Vec<_> = (0..5_000)
            .map(|at| {
                let exchange = at * 10 + random(50).cast_signed();
                row(exchange, at * 10 + 100 + random(3).cast_signed(), at.cast_unsigned())
            })
            .collect();
        let (most, all) = ordered(&rows, 0);
        assert_eq!(all, plain(&rows));
        assert!(most < 40, "{most} of 5,000 waited");
        // Once more in the same order it changes nothing.
        let (_, again) = ordered(&all, 0);
        assert_eq!(again, all);
        assert_eq!(ordered(&[], 0).1, []);
    }
}
