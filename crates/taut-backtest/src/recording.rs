//! A recording: rows, checked and packed once, read by any number of runs.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use taut_types::{Nanos, Qty};

use crate::row::{Event, Row, RowKind};
use crate::{BacktestError, FlatBook};

/// Rows in memory, and what books over them need to know: from which tick to which, how many
/// orders.
///
/// A file may hold one event twice, once for each side; each side takes its own rows in the order
/// of the file.
#[derive(Clone, Debug)]
pub struct Recording {
    rows: Vec<Row>,
    ticks: RangeInclusive<i64>,
    orders: usize,
    lot: Qty,
    exchange_end: usize,
    local_end: usize,
    starts_at: i64,
}

impl Recording {
    /// Packs events. Orders get numbers, so that no run has to look an id up: one search in a tree
    /// for each row about an order, here.
    ///
    /// # Errors
    /// For no rows, rows that do not fit or are not in order, and prices too far apart.
    pub fn new(events: impl IntoIterator<Item = Event>) -> Result<Self, BacktestError> {
        let events = events.into_iter();
        let mut rows = Vec::with_capacity(events.size_hint().0);
        let mut numbers = BTreeMap::new();
        let (mut low, mut high) = (i64::MAX, i64::MIN);
        let (mut exchange_end, mut local_end) = (0, 0);
        let (mut exchange_at, mut local_at) = (i64::MIN, i64::MIN);
        let mut starts_at = i64::MAX;
        for (at, event) in events.enumerate() {
            let is_about_order =
                !matches!(event.kind, RowKind::Level | RowKind::Trade | RowKind::Clear);
            let next = numbers.len();
            let number =
                if is_about_order { *numbers.entry(event.order_id).or_insert(next) } else { 0 };
            let too_large = BacktestError::TooLarge { row: at };
            let number = u32::try_from(number).map_err(|_| too_large)?;
            let row = Row::new(&event, number).ok_or(too_large)?;
            if row.is_at_exchange() {
                if row.exchange_at() < exchange_at {
                    return Err(BacktestError::OutOfOrder { row: at });
                }
                (exchange_at, exchange_end) = (row.exchange_at(), at + 1);
                starts_at = starts_at.min(exchange_at);
            }
            if row.is_local() {
                if row.local_at() < local_at {
                    return Err(BacktestError::OutOfOrder { row: at });
                }
                (local_at, local_end) = (row.local_at(), at + 1);
                starts_at = starts_at.min(local_at);
            }
            if !matches!(event.kind, RowKind::Trade | RowKind::Clear) {
                (low, high) = (low.min(row.tick()), high.max(row.tick()));
            }
            rows.push(row);
        }
        if rows.is_empty() {
            return Err(BacktestError::Empty);
        }
        let ticks = if low <= high { low..=high } else { 0..=0 };
        FlatBook::check(&ticks)?;
        let (orders, lot) = (numbers.len(), Qty::whole(1));
        Ok(Self { rows, ticks, orders, lot, exchange_end, local_end, starts_at })
    }

    /// The same, in lots of this quantity. Nothing but
    /// [`Compat::keeps_exact_fills`](crate::Compat::keeps_exact_fills) depends on it.
    #[must_use]
    pub fn with_lot(self, lot: Qty) -> Self {
        Self { lot, ..self }
    }

    /// What a lot is; one unit unless it was said.
    #[must_use]
    pub const fn lot(&self) -> Qty {
        self.lot
    }

    /// The rows.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The lowest and the highest tick of its levels and orders.
    #[must_use]
    pub const fn ticks(&self) -> &RangeInclusive<i64> {
        &self.ticks
    }

    /// How many orders it names.
    #[must_use]
    pub const fn orders(&self) -> usize {
        self.orders
    }

    /// The earliest time in it.
    #[must_use]
    pub const fn starts_at(&self) -> Nanos {
        Nanos(self.starts_at)
    }

    /// The rows up to the last one that the exchange learns of.
    pub(crate) fn exchange_rows(&self) -> &[Row] {
        self.rows.get(..self.exchange_end).unwrap_or_default()
    }

    /// The rows up to the last one that we learn of.
    pub(crate) fn local_rows(&self) -> &[Row] {
        self.rows.get(..self.local_end).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seen;
    use taut_types::Side;

    fn level(at: i64, tick: i64) -> Event {
        Event {
            exchange_at: Nanos(at),
            local_at: Nanos(at + 5),
            seen: Seen::Both,
            kind: RowKind::Level,
            side: Some(Side::Buy),
            tick,
            lots: 1,
            order_id: 0,
        }
    }

    #[test]
    fn orders_have_numbers_and_ticks_a_range() {
        let add = |id, tick| Event { kind: RowKind::Add, order_id: id, ..level(1, tick) };
        let all = Recording::new([add(1 << 60, 7), add(9, 3), add(1 << 60, 5)]).expect("rows");
        let numbers: Vec<_> = all.rows().iter().map(Row::order).collect();
        assert_eq!((numbers.as_slice(), all.orders()), (&[0, 1, 0][..], 2));
        assert_eq!((all.ticks(), all.starts_at()), (&(3..=7), Nanos(1)));
    }

    #[test]
    fn what_is_wrong_is_named_by_its_row() {
        let refused = |events: &[Event]| Recording::new(events.iter().copied()).unwrap_err();
        assert_eq!(refused(&[]), BacktestError::Empty);
        let early = Event { seen: Seen::Local, ..level(1, 1) };
        assert_eq!(refused(&[level(2, 1), early]), BacktestError::OutOfOrder { row: 1 });
        let early = Event { seen: Seen::Exchange, ..level(1, 1) };
        assert_eq!(refused(&[level(2, 1), early]), BacktestError::OutOfOrder { row: 1 });
        assert_eq!(refused(&[level(2, 1 << 40)]), BacktestError::TooLarge { row: 0 });
        let far = 1 + (1 << 30);
        assert_eq!(
            refused(&[level(2, 1), level(2, far)]),
            BacktestError::TooWide { ticks: 1 << 30 | 1 }
        );
    }

    #[test]
    fn a_row_of_one_side_need_not_be_in_order_for_the_other() {
        let at = |exchange_at, local_at, seen| Event {
            exchange_at: Nanos(exchange_at),
            local_at: Nanos(local_at),
            seen,
            ..level(0, 1)
        };
        let events = [at(2, 9, Seen::Exchange), at(1, 3, Seen::Local), at(2, 9, Seen::Local)];
        let all = Recording::new(events).expect("each side is in order");
        assert_eq!((all.exchange_rows().len(), all.local_rows().len()), (1, 3));
        assert_eq!(all.starts_at(), Nanos(2));
    }
}
