//! The rows of a message file, each checked on its own.

use std::path::Path;

use taut_book::Order;
use taut_types::{HalfTicks, Lots, Nanos, OrderId, Price, Side, parse_decimal};

use crate::{FileError, lines};

/// Names of the columns, as the errors use them.
pub(super) const TIME: &str = "time";
pub(super) const TYPE: &str = "type";
pub(super) const ORDER_ID: &str = "order id";
pub(super) const SIZE: &str = "size";
pub(super) const PRICE: &str = "price";
pub(super) const DIRECTION: &str = "direction";

const COLUMNS: [&str; 6] = [TIME, TYPE, ORDER_ID, SIZE, PRICE, DIRECTION];
/// Prices are in 1e-4 dollars; a cent, the tick, has 100 of them.
const UNITS_PER_TICK: i64 = 100;
const UNIT: i64 = Price::SCALE / 10_000;
/// Whose the orders are: nobody's.
const OWNER: u32 = 0;

/// What a row says happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// Type 1: an order was added.
    Add(Order),
    /// Type 2: a part of an order was cancelled.
    Reduce(Order),
    /// Type 3: an order was deleted.
    Delete(Order),
    /// Type 4: a part of a visible order, or all of it, was executed.
    Execute(Order),
    /// Types 5 and 6: a hidden order was executed, or an auction traded.
    Print {
        /// Its price, possibly between two ticks.
        price: Price,
        /// Its size.
        lots: Lots,
        /// The side of the order that rested.
        resting_side: Side,
    },
    /// Type 7: trading was halted or resumed.
    Halt,
}

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// From 1.
    pub line: usize,
    /// After midnight.
    pub time: Nanos,
    /// What happened.
    pub kind: RowKind,
}

impl Row {
    /// The visible order that the row is about.
    #[must_use]
    pub const fn order(&self) -> Option<Order> {
        match self.kind {
            RowKind::Add(order)
            | RowKind::Reduce(order)
            | RowKind::Delete(order)
            | RowKind::Execute(order) => Some(order),
            RowKind::Print { .. } | RowKind::Halt => None,
        }
    }
}

/// A message file whose rows are each right on their own.
#[derive(Clone, Debug)]
pub struct Messages {
    file: String,
    rows: Vec<Row>,
}

impl Messages {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, or a row is wrong.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let text = std::fs::read(path).map_err(|error| FileError::unreadable(path, &error))?;
        Self::parse(&path.display().to_string(), &text)
    }

    /// Reads the text of a file of this name, up to the first wrong row.
    ///
    /// # Errors
    /// When a row is wrong.
    pub fn parse(file: &str, text: &[u8]) -> Result<Self, FileError> {
        if matches!(text, b"" | b"\n") {
            let columns = COLUMNS.join(",");
            let problem = format!("it has no rows; expected LOBSTER messages: {columns}");
            return Err(FileError::whole(file, problem));
        }
        let mut rows = Vec::with_capacity(text.len() / 40);
        let mut before = Nanos::ZERO;
        for (number, line) in lines(text) {
            let row = row_of(file, number, line)?;
            if row.time < before {
                let earlier = format!(
                    "it is {} ns earlier than the row before; sort the file by time",
                    before.since(row.time).0
                );
                let value = line.split(|&b| b == b',').next().unwrap_or_default();
                return Err(FileError::field(file, number, TIME, text_of(value), earlier));
            }
            before = row.time;
            rows.push(row);
        }
        Ok(Self { file: file.to_owned(), rows })
    }

    /// The file's name.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The rows in order.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }
}

/// What a line says, whose number is counted from 1.
pub(crate) fn row_of(file: &str, number: usize, line: &[u8]) -> Result<Row, FileError> {
    Fields::split(file, number, line)?.row()
}

/// The columns of one line.
struct Fields<'a> {
    file: &'a str,
    line: usize,
    values: [&'a [u8]; 6],
}

impl<'a> Fields<'a> {
    fn split(file: &'a str, line: usize, text: &'a [u8]) -> Result<Self, FileError> {
        let mut values = [&b""[..]; 6];
        let mut count = 0;
        for value in text.split(|&byte| byte == b',') {
            if let Some(to) = values.get_mut(count) {
                *to = value.trim_ascii();
            }
            count += 1;
        }
        if count == COLUMNS.len() {
            return Ok(Self { file, line, values });
        }
        let problem = format!(
            "the row has {count} columns instead of 6 ({}); is this a LOBSTER message file?",
            COLUMNS.join(", ")
        );
        // The first column that is missing, or the last one, which has something behind it.
        let field = COLUMNS.get(count).copied().unwrap_or(DIRECTION);
        let value = if count < COLUMNS.len() { "missing".into() } else { text_of(values[5]) };
        Err(FileError::field(file, line, field, value, problem))
    }

    fn row(&self) -> Result<Row, FileError> {
        let time = self.time()?;
        let kind = match self.values[1] {
            b"1" => RowKind::Add(self.order()?),
            b"2" => RowKind::Reduce(self.order()?),
            b"3" => RowKind::Delete(self.order()?),
            b"4" => RowKind::Execute(self.order()?),
            b"5" | b"6" => RowKind::Print {
                price: Price(self.price_units()?.saturating_mul(UNIT)),
                lots: self.lots()?,
                resting_side: self.side()?,
            },
            b"7" => RowKind::Halt,
            _ => {
                return Err(self.wrong(
                    1,
                    "it is none of 1 add, 2 reduce, 3 delete, 4 execution, 5 hidden execution, \
                     6 cross, 7 halt; correct or remove the row",
                ));
            }
        };
        Ok(Row { line: self.line, time, kind })
    }

    /// Some rows have more than nine decimals, noise of the floats that they were made from.
    fn time(&self) -> Result<Nanos, FileError> {
        let text = self.values[0];
        let point = text.iter().position(|&byte| byte == b'.').unwrap_or(text.len());
        let (nanos, noise) = text.split_at(text.len().min(point + 10));
        match parse_decimal(nanos, 9) {
            Ok(nanos) if nanos >= 0 && noise.iter().all(u8::is_ascii_digit) => Ok(Nanos(nanos)),
            _ => Err(self.wrong(
                0,
                "it is no time; expected seconds after midnight, such as 34200.004241176",
            )),
        }
    }

    fn order(&self) -> Result<Order, FileError> {
        let id = match parse_decimal(self.values[2], 0).map(u64::try_from) {
            Ok(Ok(id)) if id > 0 => OrderId(id),
            _ => return Err(self.wrong(2, "it is no order id; expected a whole number above 0")),
        };
        let lots = self.lots()?;
        let units = self.price_units()?;
        if units % UNITS_PER_TICK != 0 {
            return Err(self.wrong(
                4,
                "it is no whole number of cents (a multiple of 100); only instruments with a tick \
                 of one cent can be replayed",
            ));
        }
        let price = HalfTicks(units / UNITS_PER_TICK * 2);
        Ok(Order { id, owner: OWNER, side: self.side()?, price, lots })
    }

    fn lots(&self) -> Result<Lots, FileError> {
        match parse_decimal(self.values[3], 0) {
            Ok(lots) if lots > 0 => Ok(Lots(lots)),
            _ => Err(self.wrong(3, "it is no size; expected a whole number of shares above 0")),
        }
    }

    fn price_units(&self) -> Result<i64, FileError> {
        match parse_decimal(self.values[4], 0) {
            Ok(units) if units > 0 && units < i64::MAX / UNIT => Ok(units),
            _ => Err(self.wrong(
                4,
                "it is no price; expected a whole number of 1/10000 dollars above 0, such as \
                 5853300 for 585.33",
            )),
        }
    }

    /// The side of the resting order.
    fn side(&self) -> Result<Side, FileError> {
        match self.values[5] {
            b"1" => Ok(Side::Buy),
            b"-1" => Ok(Side::Sell),
            _ => Err(self.wrong(5, "it is no direction; expected 1 (buy) or -1 (sell)")),
        }
    }

    fn wrong(&self, column: usize, problem: &str) -> FileError {
        FileError::field(
            self.file,
            self.line,
            COLUMNS[column],
            text_of(self.values[column]),
            problem,
        )
    }
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> FileError {
        Messages::parse("f.csv", text.as_bytes()).expect_err("a wrong file")
    }

    #[test]
    fn reads_every_type_of_row() {
        let text = "34200.5,1,7,18,5853300,1\r\n34200.5,2,7,8,5853300,1\n34200.6,4,7,4,5853300,1\n\
                    34200.6,3,7,6,5853300,1\n34201,5,0,3,5853350,-1\n34201,6,0,3,5853300,1\n\
                    34202.000000001999,7,0,0,-1,-1\n";
        let messages = Messages::parse("f.csv", text.as_bytes()).expect("a right file");
        let rows = messages.rows();
        let order = |lots| Order {
            id: OrderId(7),
            owner: OWNER,
            side: Side::Buy,
            price: HalfTicks(117_066),
            lots: Lots(lots),
        };
        let print = |units: i64, side| RowKind::Print {
            price: Price(units * 100_000),
            lots: Lots(3),
            resting_side: side,
        };
        let kinds: Vec<_> = rows.iter().map(|row| row.kind).collect();
        assert_eq!(
            kinds,
            [
                RowKind::Add(order(18)),
                RowKind::Reduce(order(8)),
                RowKind::Execute(order(4)),
                RowKind::Delete(order(6)),
                print(5_853_350, Side::Sell),
                print(5_853_300, Side::Buy),
                RowKind::Halt,
            ]
        );
        assert_eq!(rows[2].time, Nanos(34_200_600_000_000));
        assert_eq!((rows[6].line, rows[6].time), (7, Nanos(34_202_000_000_001)));
    }

    #[test]
    fn names_line_field_value_and_remedy() {
        let good = "1.0,1,7,18,5853300,1\n";
        for (row, field, value) in [
            ("x,1,8,18,5853300,1", TIME, "x"),
            ("-1.0,1,8,18,5853300,1", TIME, "-1.0"),
            ("1.0000000000x,1,8,18,5853300,1", TIME, "1.0000000000x"),
            ("1.0,9,8,18,5853300,1", TYPE, "9"),
            ("1.0,1,0,18,5853300,1", ORDER_ID, "0"),
            ("1.0,1,eight,18,5853300,1", ORDER_ID, "eight"),
            ("1.0,1,8,-18,5853300,1", SIZE, "-18"),
            ("1.0,1,8,1.5,5853300,1", SIZE, "1.5"),
            ("1.0,1,8,18,,1", PRICE, ""),
            ("1.0,1,8,18,5853350,1", PRICE, "5853350"),
            ("1.0,1,8,18,9223372036854775807,1", PRICE, "9223372036854775807"),
            ("1.0,1,8,18,5853300,0", DIRECTION, "0"),
            ("1.0,1,8,18", PRICE, "missing"),
            ("", TYPE, "missing"),
            ("1.0,1,8,18,5853300,1,x", DIRECTION, "1"),
            ("0.9,1,8,18,5853300,1", TIME, "0.9"),
        ] {
            let error = refused(&format!("{good}{row}\n{good}"));
            assert_eq!((error.line(), error.field_name()), (Some(2), Some(field)), "{row}");
            let text = error.to_string();
            assert!(
                text.starts_with(&format!("f.csv:2: field `{field}` is \"{value}\": ")),
                "{text}"
            );
            assert!(!text.contains('\n'));
        }
    }

    #[test]
    fn refuses_an_empty_file_and_survives_a_binary_one() {
        assert_eq!(refused("").line(), None);
        assert_eq!(refused("\n").line(), None);
        let error = Messages::parse("f", &[0xff, 0x00, 0x1b, b',', 7]).expect_err("no rows");
        assert!(error.to_string().is_ascii(), "{error}");
    }
}
