//! LOBSTER's messages as rows about orders.
//!
//! An execution is a fill and what is left behind it. Rows about orders that the file never adds
//! are left out, and so are hidden executions, crosses and halts, which no order book has.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::rc::Rc;

use taut_book::Order;
use taut_types::{Lots, Nanos, OrderId, Price, Qty};
use time::{Date, Month};

use super::files::{Files, ReadOptions};
use crate::FileError;
use crate::lobster::{RowKind, UNIT, row_of};
use crate::rows::{Kind, ReadRows, Reading, Row, Seen};
use crate::text::TextFile;

/// LOBSTER's 1e-4 dollars in units of a price.
const PRICE_UNIT: i64 = Price::SCALE / 10_000;

pub(super) struct LobsterRows {
    files: Files,
    file: TextFile,
    midnight: Nanos,
    options: ReadOptions,
    /// What is left of each order.
    left: HashMap<OrderId, Lots>,
    rows: VecDeque<Row>,
    instrument: u32,
}

impl LobsterRows {
    pub(super) fn open(mut files: Files, options: &ReadOptions) -> Result<Self, FileError> {
        let path = files.next().ok_or_else(Files::none)?;
        let file = TextFile::open(&path, files.reading())?;
        let (midnight, instrument) = begin(&path, files.reading(), options)?;
        let (options, left, rows) = (options.clone(), HashMap::new(), VecDeque::new());
        Ok(Self { files, file, midnight, options, left, rows, instrument })
    }

    /// What a row of the file comes to.
    fn take(&mut self, time: Nanos, kind: RowKind) {
        let exchange_at = Nanos(self.midnight.0.saturating_add(time.0));
        let local_at = Nanos(exchange_at.0.saturating_add(self.options.latency.0));
        let (order, executed) = match kind {
            RowKind::Add(order) => {
                self.left.insert(order.id, order.lots);
                return self.push((exchange_at, local_at), Kind::Add, order, order.lots);
            }
            RowKind::Reduce(order) | RowKind::Delete(order) => (order, false),
            RowKind::Execute(order) => (order, true),
            RowKind::Print { .. } | RowKind::Halt => return self.files.reading().leave_out(1),
        };
        let Some(left) = self.left.get_mut(&order.id) else {
            return self.files.reading().leave_out(1);
        };
        *left = Lots(left.0.saturating_sub(order.lots.0));
        let left = *left;
        let times = (exchange_at, local_at);
        if executed {
            self.push(times, Kind::Fill, order, order.lots);
        }
        if left > Lots::ZERO {
            self.push(times, Kind::Modify, order, left);
        } else {
            self.left.remove(&order.id);
            self.push(times, Kind::Cancel, order, Lots::ZERO);
        }
    }

    fn push(&mut self, times: (Nanos, Nanos), kind: Kind, order: Order, lots: Lots) {
        self.rows.push_back(Row {
            exchange_at: times.0,
            local_at: times.1,
            seen: Seen::Both,
            kind,
            side: Some(order.side),
            price: Price(order.price.0.saturating_mul(UNIT * PRICE_UNIT)),
            qty: Qty::whole(lots.0),
            order_id: order.id.0,
            instrument: self.instrument,
        });
    }
}

impl ReadRows for LobsterRows {
    fn next_row(&mut self) -> Result<Option<Row>, FileError> {
        loop {
            if let Some(row) = self.rows.pop_front() {
                return Ok(Some(row));
            }
            if self.file.advance()? {
                let row = row_of(self.file.name(), self.file.number(), self.file.line())?;
                self.take(row.time, row.kind);
                continue;
            }
            let Some(path) = self.files.next() else { return Ok(None) };
            self.file = TextFile::open(&path, self.files.reading())?;
            (self.midnight, self.instrument) = begin(&path, self.files.reading(), &self.options)?;
            self.left.clear();
        }
    }
}

/// The day and the instrument of a file: `AAPL_2012-06-21_34200000_57600000_message_50.csv`.
fn begin(
    path: &Path,
    reading: &Rc<Reading>,
    options: &ReadOptions,
) -> Result<(Nanos, u32), FileError> {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let mut words = name.split('_');
    let (symbol, day) = (words.next().unwrap_or_default(), words.next().and_then(midnight));
    let midnight = options.midnight.or(day).ok_or_else(|| {
        let what = "its times are seconds after midnight, and its name does not say of which day \
                    (SYMBOL_YYYY-MM-DD_...); say it with --date";
        FileError::whole(&path.display().to_string(), what)
    })?;
    let symbol = match (day, &options.symbol) {
        (None, Some(symbol)) => symbol,
        _ => symbol,
    };
    Ok((midnight, reading.number(symbol.as_bytes())))
}

/// The first nanosecond of a day such as `2012-06-21`, UTC.
#[must_use]
pub fn midnight(day: &str) -> Option<Nanos> {
    let mut parts = day.splitn(3, '-');
    let year = parts.next()?.parse().ok()?;
    let month = Month::try_from(parts.next()?.parse::<u8>().ok()?).ok()?;
    let date = Date::from_calendar_date(year, month, parts.next()?.parse().ok()?).ok()?;
    let seconds = date.midnight().assume_utc().unix_timestamp();
    seconds.checked_mul(1_000_000_000).map(Nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_begins_at_its_midnight() {
        assert_eq!(midnight("2012-06-21"), Some(Nanos(1_340_236_800_000_000_000)));
        assert_eq!(midnight("1970-01-02"), Some(Nanos::from_secs(86_400)));
        for wrong in ["2012-02-30", "2012-13-01", "2012", "x-1-1", "9999-12-31"] {
            assert_eq!(midnight(wrong), None, "{wrong}");
        }
    }
}
